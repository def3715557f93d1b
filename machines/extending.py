"""A machine made from another one: more rows, and what has a name again is replaced.

Only what differs is written down, so that a change of the first is one of the second.
Nothing is taken away, and no row is changed but for where its cost stands.
"""

from collections.abc import Iterable
from typing import Protocol, TypeVar

import attrs

from unspiral.engine.core.declare import (
    Assumption,
    Event,
    Law,
    Machine,
    Memory,
    Phase,
    Terminal,
    Transition,
)

__all__ = ["charge_rows", "extend"]


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_Part = TypeVar("_Part", bound=_Named)


def extend(  # noqa: PLR0913 - the parts of a machine, each named by its caller
    machine: Machine,
    name: str,
    rows: Iterable[Transition],
    *,
    phases: Iterable[Phase] = (),
    terminals: Iterable[Terminal] = (),
    memory: Iterable[Memory] = (),
    assumptions: Iterable[Assumption] = (),
    laws: Iterable[Law] = (),
    doc: str = "",
    source: str = "",
) -> Machine:
    """Return a machine with the parts of another one, and more.

    Args:
        machine: the one to begin with; it stays as it is.
        name: of the new one.
        rows: new ones. One with an event stands after the rows of its phase, and the
            phase offers the event. One of a deciding phase stands before its last row,
            which is for whatever is left, and needs a name.
        phases: new ones, or other ones with names that are known. What an acting one
            offers is read from its rows.
        terminals: as `phases`.
        memory: as `phases`.
        assumptions: as `phases`.
        laws: as `phases`.
        doc: what loop the new one is; as before unless given.
        source: where it is described; as before unless given.

    Raises:
        BadDeclaration: a new row has the name of another row.
    """
    new = tuple(rows)
    return attrs.evolve(
        machine,
        name=name,
        phases=[_hearing(phase, new) for phase in _joined(machine.phases, phases)],
        terminals=_joined(machine.terminals, terminals),
        transitions=_placed(machine, new),
        memory=_joined(machine.memory, memory),
        assumptions=_joined(machine.assumptions, assumptions),
        laws=_joined(machine.laws, laws),
        doc=doc or machine.doc,
        source=source or machine.source,
    )


def charge_rows(machine: Machine, phase: str, free: Iterable[str]) -> Machine:
    """Return a machine in which some answers of a phase cost nothing.

    What the phase costs stands at its other rows instead.

    Args:
        machine: the machine; it stays as it is.
        phase: an acting phase that costs something.
        free: the events that cost nothing.

    Raises:
        UnknownName: there is no such phase.
    """
    cost = machine.phase(phase).cost
    kept = frozenset(free)

    def charged(row: Transition) -> Transition:
        if row.source != phase or row.event in kept:
            return row
        keys = dict.fromkeys((*cost, *row.cost))
        both = {key: cost.get(key, 0) + row.cost.get(key, 0) for key in keys}
        return attrs.evolve(row, cost=both)

    return attrs.evolve(
        machine,
        phases=[
            attrs.evolve(each, cost={}) if each.name == phase else each
            for each in machine.phases
        ],
        transitions=[charged(row) for row in machine.transitions],
    )


def _joined(old: Iterable[_Part], new: Iterable[_Part]) -> tuple[_Part, ...]:
    parts = {each.name: each for each in old} | {each.name: each for each in new}
    return tuple(parts.values())


def _hearing(phase: Phase, rows: Iterable[Transition]) -> Phase:
    if phase.runs is not None:
        return phase
    known = {event.name for event in phase.events}
    asked = (row.event for row in rows if row.source == phase.name and row.event)
    new = [Event(name) for name in dict.fromkeys(asked) if name not in known]
    return attrs.evolve(phase, events=(*phase.events, *new))


def _placed(machine: Machine, new: Iterable[Transition]) -> list[Transition]:
    rows = list(machine.rows)  # with the names that they have had
    decided = {row.source for row in rows if not row.event}
    for each in new:
        same = [at for at, row in enumerate(rows) if row.source == each.source]
        before_last = each.source in decided
        place = same[-1] + (not before_last) if same else len(rows)
        rows.insert(place, each)
    return rows
