"""Reductions: smaller systems with the same answer. Pure; systems to systems.

constants   a variable that no edge writes is its initial value
slicing     a variable that no condition depends on is removed
quotient    a variable that only progress writes is dropped; conditions on it are free
liveness    per phase, which variables can still matter

Constants, slicing and liveness keep every run. The quotient may add runs, so a cycle
found in it is a candidate until `step` has replayed it; that none is there is a proof
for every value of the dropped variables at once.
"""

from collections.abc import Mapping

import attrs

from unspiral.engine.check.feasible import Word, satisfiable
from unspiral.engine.check.system import Edge, System
from unspiral.engine.core.language import (
    Arith,
    Assign,
    Const,
    Name,
    Node,
    free,
    may,
    names,
    substitute,
)

__all__ = [
    "Quotient",
    "fold_constants",
    "live_names",
    "quotient",
    "slice_away",
    "undropped",
]


def fold_constants(system: System) -> System:
    """Put the initial value in place of every variable that no edge writes."""
    written = {update.name for edge in system.edges for update in edge.updates}
    fixed: dict[str, Node | int] = {
        word.name: word.initial for word in system.words if word.name not in written
    }
    if not fixed:
        return system
    flags = {name: bool(value) for name, value in fixed.items() if name in system.flags}
    values = {**fixed, **flags}
    edges = [
        attrs.evolve(
            edge,
            enabled=substitute(edge.enabled, values),
            updates=tuple(
                Assign(u.name, substitute(u.value, values)) for u in edge.updates
            ),
        )
        for edge in system.edges
    ]
    kept = tuple(edge for edge in edges if satisfiable(edge.enabled, system.words))
    return attrs.evolve(system, edges=kept).without(fixed)


NOTHING: frozenset[str] = frozenset()


def slice_away(system: System, keep: frozenset[str] = NOTHING) -> System:
    """Remove the variables on which no condition depends, however indirectly.

    Args:
        system: the system.
        keep: variables that stay in any case.
    """
    needed = keep.union(*(names(edge.enabled) for edge in system.edges))
    while True:
        more = needed.union(
            *(
                names(update.value)
                for edge in system.edges
                for update in edge.updates
                if update.name in needed
            )
        )
        if more == needed:
            break
        needed = more
    return system.without(w.name for w in system.words if w.name not in needed)


@attrs.frozen(eq=False)
class Quotient:
    """A system without the variables that only progress writes.

    Attributes:
        system: the smaller system.
        dropped: the variables that were dropped.
        counted: per edge, whether it raises a dropped counter that has a greatest
            value and is never lowered; such an edge is on no cycle of the machine.
        rounds: how many such edges a run can have at most.
        counter: the name of the only such counter, or "" if there are more or none.
    """

    system: System
    dropped: tuple[Word, ...]
    counted: tuple[bool, ...]
    rounds: int = 0
    counter: str = ""


def quotient(system: System, keep: frozenset[str] = NOTHING) -> Quotient:
    """Drop every variable that only progress writes, but those to keep.

    Nobody reads what is written on the way into an end, so that does not count.
    """
    kept = keep | {
        update.name
        for edge in system.edges
        for update in edge.updates
        if edge.target in system.phases and not edge.progress
    }
    # What the new value of a kept variable is computed from must be kept as well.
    while True:
        more = kept.union(
            *(names(u.value) for e in system.edges for u in e.updates if u.name in kept)
        )
        if more == kept:
            break
        kept = more
    dropped = tuple(word for word in system.words if word.name not in kept)
    gone = frozenset(word.name for word in dropped)
    edges = tuple(
        attrs.evolve(edge, enabled=may(free(edge.enabled, gone), be=True))
        for edge in system.edges
    )
    smaller = attrs.evolve(system, edges=edges).without(gone)
    return _counted(system, Quotient(smaller, dropped, ()))


def undropped(system: System) -> Quotient:
    """Return the quotient that drops nothing."""
    return Quotient(system, (), (False,) * len(system.edges))


def _counted(system: System, taken: Quotient) -> Quotient:
    """Find the edges that raise a dropped counter with a greatest value."""
    raised: list[str] = []
    counted = [False] * len(system.edges)
    rounds = 0
    for word in taken.dropped:
        rises = [_raise(edge, word.name) for edge in system.edges]
        writes = [
            edge.target in system.phases
            and any(u.name == word.name for u in edge.updates)
            for edge in system.edges
        ]
        only = all(rise or not write for rise, write in zip(rises, writes, strict=True))
        if word.high is None or not only or not any(rises):
            continue
        raised.append(word.name)
        rounds += (word.high - word.initial) // min(filter(None, rises))
        counted = [
            known or rise > 0 for known, rise in zip(counted, rises, strict=True)
        ]
    return attrs.evolve(
        taken,
        counted=tuple(counted),
        rounds=rounds,
        counter=raised[0] if len(raised) == 1 else "",
    )


def _raise(edge: Edge, name: str) -> int:
    """Return by how much an edge surely raises a counter, 0 if that is not known."""
    for update in edge.updates:
        match update:
            case Assign(target, Arith("+", Name(source), Const(int() as amount))):
                if target == source == name:
                    return amount
            case _:
                pass
    return 0


def live_names(
    system: System, keep: frozenset[str] = NOTHING
) -> Mapping[str, frozenset[str]]:
    """Return, per phase, the variables whose value there can still matter.

    Args:
        system: the system.
        keep: variables that matter everywhere.
    """
    kept = keep & {word.name for word in system.words}
    live: dict[str, frozenset[str]] = dict.fromkeys(system.phases, kept)
    changed = True
    while changed:
        changed = False
        for edge in reversed(system.edges):
            after = live.get(edge.target, frozenset())
            before = live[edge.source] | _needed(edge, after)
            if before != live[edge.source]:
                live[edge.source] = before
                changed = True
    return live


def _needed(edge: Edge, after: frozenset[str]) -> frozenset[str]:
    updated = {update.name: update.value for update in edge.updates}
    through = after - updated.keys()
    read = (names(updated[name]) for name in after & updated.keys())
    return names(edge.enabled).union(through, *read)
