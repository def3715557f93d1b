"""Texts of guards and actions over given memory, right by construction.

Every condition is well typed, and no effect leaves the domain of a counter: it
saturates, or it comes with the guard that it needs. Knows no rows and no phases.
"""

import itertools
from collections.abc import Sequence

from hypothesis import strategies as st

from unspiral.engine.core.declare import (
    NONE,
    REASONS,
    Choice,
    Counter,
    Flag,
    Limit,
    Memory,
)

__all__ = ["atoms", "conditions", "effects", "guarded_effects", "raising", "resetting"]


def atoms(memory: Sequence[Memory], limits: Sequence[Limit]) -> list[str]:
    """Return the smallest conditions that can be asked, the plainest first."""
    found: list[str] = []
    for each in memory:
        match each:
            case Flag(name=name):
                found += [name, f"not {name}"]
            case Counter(name=name, low=low, high=high):
                found += [f"{name} < {high}", f"{name} >= {low + 1}"]
            case Choice(name=name, values=values):
                known = (NONE,) if values == REASONS else values
                found += [f"{name} {op} {v!r}" for v in known for op in ("==", "!=")]
                if len(known) > 2:  # noqa: PLR2004 - of two, `in` says nothing
                    found.append(f"{name} in {known[:2]!r}")
    for limit in limits:
        if isinstance(limit.default, bool):
            found += [limit.name, f"not {limit.name}"]
        elif isinstance(limit.default, str):
            found += [f"{limit.name} == {value!r}" for value in limit.alternatives]
    return found


def conditions(
    memory: Sequence[Memory], limits: Sequence[Limit]
) -> st.SearchStrategy[str]:
    """Return guards; nothing can be drawn where there is nothing to ask."""
    known = atoms(memory, limits)
    if not known:
        return st.nothing()
    atom = st.sampled_from(known)
    # Two conditions about one name would often be a contradiction or say nothing.
    pairs = [
        f"{one} {word} {two}"
        for one, two in itertools.combinations(known, 2)
        if subject(one) != subject(two)
        for word in ("and", "or")
    ]
    if not pairs:
        return atom
    joined = st.sampled_from(pairs)
    return atom | joined | st.builds("not ({})".format, joined)


def subject(atom: str) -> str:
    """Return what a smallest condition is about."""
    return atom.removeprefix("not ").split()[0]


def raising(memory: Memory) -> tuple[str, str]:
    """Return the guard under which a budget has room, and the effect that spends it."""
    if isinstance(memory, Counter):
        return f"{memory.name} < {memory.high}", f"{memory.name} += 1"
    return f"not {memory.name}", f"{memory.name} = True"


def resetting(memory: Memory) -> str:
    """Return the effect that renews a budget."""
    low = memory.low if isinstance(memory, Counter) else "False"
    return f"{memory.name} = {low}"


def guarded_effects(memory: Memory) -> list[tuple[str, str]]:
    """Return effects that need a guard, each with it."""
    if not isinstance(memory, Counter):
        return []
    down = f"{memory.name} > {memory.low}", f"{memory.name} -= 1"
    return [raising(memory), down]


def effects(memory: Memory, *, only_up: bool = False) -> list[str]:
    """Return effects that are safe under every guard.

    Args:
        memory: what is written.
        only_up: it is a budget that this row may spend and never renew.
    """
    match memory:
        case Counter(name=name, low=low, high=high):
            up = f"{name} = min({name} + 1, {high})"
            down = f"{name} = max({name} - 1, {low})"
            return [up] if only_up else [f"{name} = {low}", up, down]
        case Flag(name=name):
            down_too = [f"{name} = False", f"{name} = not {name}"]
            return [f"{name} = True", *([] if only_up else down_too)]
        case Choice(name=name, values=values):
            known = (NONE,) if values == REASONS else values
            return [f"{name} = {value!r}" for value in known]
