"""Leaves out memory that nothing reads, what writes it, and limits that nothing reads.

Such parts are findings of a machine; a well-formed one has none. Knows declarations and
the language, no randomness.
"""

from collections.abc import Iterable

import attrs

from unspiral.engine.core.declare import Counter, Machine, Transition
from unspiral.engine.core.language import (
    Node,
    names,
    parse_action,
    parse_expression,
    parse_guard,
    render_action,
)

__all__ = ["prune"]


def prune(machine: Machine) -> Machine:
    """Return the machine without memory and limits that decide nothing."""
    result = machine
    while True:
        reads = _reads(result)
        keep = {memory.name for memory in result.memory if memory.name in reads}
        if len(keep) == len(result.memory):
            break
        result = attrs.evolve(
            result,
            memory=[each for each in result.memory if each.name in keep],
            transitions=[_without(row, keep) for row in result.transitions],
        )
    read = reads | _names(
        parse_expression(memory.high)
        for memory in result.memory
        if isinstance(memory, Counter)
    )
    inner = {
        limit.name
        for phase in result.phases
        if phase.runs is not None
        for limit in phase.runs.all_limits
    }
    own = [each for each in result.limits if each.name in read - inner]
    return attrs.evolve(result, limits=own)


def _names(trees: Iterable[Node]) -> frozenset[str]:
    return frozenset(name for tree in trees for name in names(tree))


def _reads(machine: Machine) -> frozenset[str]:
    """Return what is read; a memory that only its own next value reads is not."""
    trees = [parse_guard(row.guard) for row in machine.transitions]
    found = set(_names(trees))
    for phase in machine.phases:
        found |= _names(parse_guard(event.available) for event in phase.events)
        if phase.runs is not None:
            found |= {each.name for each in phase.runs.memory if each.shared}
    for row in machine.transitions:
        for assign in parse_action(row.action):
            found |= names(assign.value) - {assign.name}
    return frozenset(found)


def _without(row: Transition, keep: set[str]) -> Transition:
    """Return a row that writes only what is kept."""
    kept = [each for each in parse_action(row.action) if each.name in keep]
    return attrs.evolve(row, action=render_action(tuple(kept)))
