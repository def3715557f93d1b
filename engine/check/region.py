"""The part of a system that stands for a nested machine, made ready to be explored.

Its own memory always starts afresh; what else it reads or writes is its context. This
module knows edges and words; what the ways out are worth is for `summary` to say.
"""

from collections.abc import Callable
from typing import TypeAlias

import attrs

from unspiral.engine.check.reduce import live_names
from unspiral.engine.check.system import OBSERVER, Edge, System, Word
from unspiral.engine.core.declare import Machine
from unspiral.engine.core.language import Assign, names, python
from unspiral.engine.core.nest import flatten, nested_phases

__all__ = ["Inner", "Region", "State", "Values", "regions_of"]

_MAX_STATES = 60_000  # of a region, over all contexts: beyond, it is no gain
_MAX_OBSERVED = 6_000  # the same if a law watches inside: contexts are many then
Values: TypeAlias = tuple[int, ...]
State: TypeAlias = tuple[str, Values]
Move: TypeAlias = Callable[[Values], Values | None]


@attrs.frozen
class Region:
    """The part of a flat machine that stands for one nested machine.

    Attributes:
        phases: its phases, the entry first.
        own: the memory of the nested machine that is not shared.
    """

    phases: tuple[str, ...]
    own: frozenset[str]


def regions_of(machine: Machine) -> tuple[Region, ...]:
    """Return the region of each nested phase.

    A machine nested in a nested one belongs to the region of the outermost.
    """
    found: list[Region] = []
    for phase in nested_phases(machine):
        if phase.runs is not None:
            inner = flatten(phase.runs)
            others = [p.name for p in inner.phases if p.name != inner.start_phase]
            own = [m.name for m in inner.variables if not m.shared]
            found.append(
                Region(
                    phases=tuple(
                        f"{phase.name}.{name}" for name in (inner.start_phase, *others)
                    ),
                    own=frozenset(f"{phase.name}.{name}" for name in own),
                )
            )
    return tuple(found)


class Inner:
    """A region made ready to be explored.

    Attributes:
        phases: its phases.
        entry: the phase in which it is entered.
        words: the variables that it reads, or writes and goes on.
        watched: whether what happens inside must stay visible.
        room: how many more states may be explored.
        moves: per phase, its edges, each with what it does to the variables.
        leaving: per edge, what it assigns outside, and the places of what stays alive.
        left: what ways out leave behind, as far as it was worked out.
    """

    def __init__(self, system: System, region: Region, keep: frozenset[str]) -> None:
        phases = region.phases
        self.phases = frozenset(phases)
        self.entry = phases[0]
        outside = [edge for edge in system.edges if edge.source not in self.phases]
        # What is written from outside does not start afresh, whatever its name.
        self.fresh = region.own - {u.name for e in outside for u in e.updates}
        inside = [edge for edge in system.edges if edge.source in self.phases]
        self.names = self.relevant(inside)
        self.words = tuple(w for w in system.words if w.name in self.names)
        # Between a mark inside and the way out it would be lost where the mark was.
        self.watched = any(
            e.marked or e.progress or any(u.name in keep for u in e.updates)
            for e in inside
            if e.target in self.phases
        )
        observed = any(u.name == OBSERVER for e in inside for u in e.updates)
        self.room = _MAX_OBSERVED if observed else _MAX_STATES
        self.moves = {
            phase: [self.compiled(e) for e in inside if e.source == phase]
            for phase in phases
        }
        live = live_names(system)
        self.leaving = {
            edge: self.leaves(edge, live.get(edge.target, frozenset()))
            for edge in inside
        }
        self.left: dict[object, tuple[Assign, ...]] = {}

    def relevant(self, inside: list[Edge]) -> frozenset[str]:
        """Return the variables on which the way through the region depends."""
        found = frozenset[str]().union(*(names(edge.enabled) for edge in inside))
        stay = [edge for edge in inside if edge.target in self.phases]
        found = found.union(u.name for edge in stay for u in edge.updates)
        while True:
            more = found.union(
                *(
                    names(update.value)
                    for edge in inside
                    for update in edge.updates
                    if update.name in found
                )
            )
            if more == found:
                return found
            found = more

    def leaves(
        self, edge: Edge, live: frozenset[str]
    ) -> tuple[tuple[Assign, ...], tuple[int, ...]]:
        """Return the assignments outside, and the places of what stays alive inside."""
        own = [word.name for word in self.words]
        texts = tuple(update for update in edge.updates if update.name not in own)
        return texts, tuple(i for i, name in enumerate(own) if name in live)

    def compiled(self, edge: Edge) -> tuple[Edge, Move]:
        """Return an edge with what it does, which is None where it cannot be taken."""
        local = {word.name: f"m[{i}]" for i, word in enumerate(self.words)}
        after = dict(local)
        for update in edge.updates:
            if update.name in local:
                after[update.name] = f"int({python(update.value, local)})"
        made = f"({', '.join(after.values())}{',' if after else ''})"
        source = f"lambda m: {made} if {python(edge.enabled, local)} else None"
        # Emitted from a whitelisted tree, as in `core.step`.
        return edge, eval(source, {})  # noqa: S307

    def own(self, word: Word) -> bool:
        """Tell whether a variable is the nested machine's own: it starts afresh."""
        return word.name in self.fresh
