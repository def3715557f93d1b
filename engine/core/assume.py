"""Assumptions become part of the machine: a rewriting of the declaration.

`at_most` 0 makes the event unavailable while `when` holds. A positive number adds a
counter that the event raises, that every progress event resets, and at whose end the
event is unavailable. So proof, bounds and certificate need not know of assumptions.
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
from unspiral.engine.errors import UnknownName

__all__ = ["assume"]


def assume(machine: Machine, names: Iterable[str]) -> Machine:
    """Return the machine in an environment that keeps the named assumptions.

    Raises:
        UnknownName: no such assumption.
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
    step = f"{ghost} = min({ghost} + 1, {assumption.at_most})"
    rows = tuple(_count(row, assumption, ghost, step) for row in machine.rows)
    memory = (*machine.memory, Counter(ghost, high=assumption.at_most))
    return attrs.evolve(machine, phases=phases, transitions=rows, memory=memory)


def _restrict(phase: Phase, event: str, condition: str) -> Phase:
    def restricted(each: Event) -> Event:
        if each.name != event:
            return each
        available = each.available
        both = f"({available}) and ({condition})" if available else condition
        return attrs.evolve(each, available=both)

    return attrs.evolve(phase, events=tuple(restricted(e) for e in phase.events))


def _count(
    row: Transition, assumption: Assumption, ghost: str, step: str
) -> Transition:
    if row.progress:
        extra = f"{ghost} = 0"
    elif (row.source, row.event) == (assumption.phase, assumption.event):
        extra = step
    else:
        return row
    action = f"{row.action}; {extra}" if row.action.strip() else extra
    return attrs.evolve(row, action=action)
