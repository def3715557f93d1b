"""The types of limits and memory: the scope in which a machine's texts are judged."""

from collections.abc import Mapping

from unspiral.engine.core.declare import Choice, Counter, LimitValue, Machine
from unspiral.engine.core.language import BOOL, INT, ChoiceType, Scope, Type

__all__ = ["limit_scope", "memory_scope"]


def limit_scope(limits: Mapping[str, LimitValue], machine: Machine) -> Scope:
    """Return the types of the limits."""
    types: dict[str, Type] = {}
    declared = {limit.name: limit for limit in machine.all_limits}
    for name, value in limits.items():
        if isinstance(value, bool):
            types[name] = BOOL
        elif isinstance(value, str):
            alternatives = declared[name].alternatives
            types[name] = ChoiceType(tuple(str(each) for each in alternatives))
        else:
            types[name] = INT
    return types


def memory_scope(machine: Machine) -> Scope:
    """Return the types of a machine's memory."""
    types: dict[str, Type] = {}
    for memory in machine.variables:
        if isinstance(memory, Choice):
            types[memory.name] = ChoiceType(memory.values)
        else:
            types[memory.name] = INT if isinstance(memory, Counter) else BOOL
    return types
