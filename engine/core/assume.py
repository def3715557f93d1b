"""Assumptions become part of the machine: a rewriting of the declaration.

`at_most` 0 makes the event unavailable while `when` holds. A positive number adds a
counter that the event raises while `when` holds, that every progress event resets, and
at whose end the event is unavailable while `when` holds. So proof, bounds and
certificate need not know of assumptions.
"""

from collections.abc import Iterable

import attrs

from unspiral.engine.core.declare import (
    Assumption,
    Counter,
    Event,
    Machine,
    Phase,
    Transition,
)
from unspiral.engine.core.language import OTHERWISE
from unspiral.engine.errors import UnknownName

__all__ = ["assume"]


def assume(machine: Machine, names: Iterable[str]) -> Machine:
    """Return the machine in an environment that keeps the named assumptions.

    Args:
        machine: a flat machine, so that progress inside a nested one counts as well.
        names: the names of assumptions.

    Raises:
        UnknownName: no such assumption, or it speaks of no phase or event that is here.
    """
    known = {each.name: each for each in machine.assumptions}
    result = machine
    for name in dict.fromkeys(names):
        if name not in known:
            raise UnknownName(
                "assumption", name, tuple(known), f"machine {machine.name}"
            )
        result = _apply(result, known[name])
    return result


def _apply(machine: Machine, assumption: Assumption) -> Machine:
    _require(machine, assumption)
    ghost = f"assumed.{assumption.name}"
    counted = assumption.at_most.strip() != "0"
    room = f"{ghost} < {assumption.at_most}" if counted else ""
    allowed = f"not ({assumption.when})" if assumption.when else ""
    condition = " or ".join(part for part in (allowed, room) if part) or "False"
    phases = tuple(
        _restrict(phase, assumption.event, condition)
        if phase.name == assumption.phase
        else phase
        for phase in machine.phases
    )
    if not counted:
        return attrs.evolve(machine, phases=phases)
    rows = tuple(
        each for row in machine.rows for each in _count(row, assumption, ghost)
    )
    memory = (*machine.memory, Counter(ghost, high=assumption.at_most))
    return attrs.evolve(machine, phases=phases, transitions=rows, memory=memory)


def _require(machine: Machine, assumption: Assumption) -> None:
    where = f"assumption {assumption.name} of machine {machine.name}"
    acting = {phase.name: phase for phase in machine.phases if phase.events}
    if assumption.phase not in acting:
        raise UnknownName("acting phase", assumption.phase, tuple(acting), where)
    events = tuple(event.name for event in acting[assumption.phase].events)
    if assumption.event not in events:
        raise UnknownName("event", assumption.event, events, where)


def _restrict(phase: Phase, event: str, condition: str) -> Phase:
    def restricted(each: Event) -> Event:
        if each.name != event:
            return each
        return attrs.evolve(each, available=_both(each.available, condition))

    return attrs.evolve(phase, events=tuple(restricted(e) for e in phase.events))


def _count(row: Transition, assumption: Assumption, ghost: str) -> list[Transition]:
    if row.progress:
        return [_also(row, f"{ghost} = 0")]
    if (row.source, row.event) != (assumption.phase, assumption.event):
        return [row]
    counted = _also(row, f"{ghost} = min({ghost} + 1, {assumption.at_most})")
    if not assumption.when:
        return [counted]
    # An action has no condition, so the row is asked twice: while `when` holds, first.
    plain = "" if row.guard.strip() == OTHERWISE else row.guard
    guard = _both(plain, assumption.when)
    name = f"{row.name}?{assumption.name}"
    return [attrs.evolve(counted, name=name, guard=guard), row]


def _also(row: Transition, more: str) -> Transition:
    return attrs.evolve(
        row, action=f"{row.action}; {more}" if row.action.strip() else more
    )


def _both(one: str, two: str) -> str:
    return f"({one}) and ({two})" if one.strip() else two
