"""What a row may do to some memory, decided locally: no state of the machine is built.

A row is taken when its event is available, its guard holds and no earlier alternative
does. Of these conditions those that are connected with that memory are enumerated over
the domains of the names that they mention. Leaving conditions out is safe: it only adds
moves. So a condition whose names would make more than `MOST` cases is left out, and one
that reads a counter without greatest value counts as true wherever it may be.

The search for a certificate reads this; `recheck` does not, and has its own.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from unspiral.engine.core.language import (
    FALSE,
    Bool,
    Name,
    Node,
    conjunction,
    free,
    may,
    names,
    negation,
    python,
)
from unspiral.engine.core.step import MemoryValue
from unspiral.engine.core.table import Row, Table

__all__ = ["MOST", "Move", "Values", "moves", "never_taken"]

MOST = 20_000  #: cases that are enumerated for one row and question
Values: TypeAlias = tuple[MemoryValue, ...]
Move: TypeAlias = tuple[Values, Values]


def moves(table: Table, row: Row, of: tuple[str, ...]) -> frozenset[Move] | None:
    """Return the pairs (before, after) of some memory over all ways to take a row.

    Pairs that leave the domain are left out: such a step is an error and ends the run.
    None means that there are too many cases, or no end of them.
    """
    domains = _domains(table)
    assigned = {assign.name: assign.value for assign in row.action}
    values = [assigned.get(name, Name(name)) for name in of]
    core = frozenset(of).union(*(names(value) for value in values))
    if not core <= domains.keys() or _cases(core, domains) > MOST:
        return None
    if not all(_emits(value) for value in values):
        return None
    chosen = _connected(_conditions(table, row), core, domains)
    read = core.union(*(names(each) for each in chosen))
    images = _images(chosen, (*map(Name, of), *values), read, domains)
    inside = [frozenset(domains[name]) for name in of]
    found = ((image[: len(of)], image[len(of) :]) for image in images)
    return frozenset(
        (before, after)
        for before, after in found
        if all(x in domain for x, domain in zip(after, inside, strict=True))
    )


def never_taken(table: Table) -> frozenset[str]:
    """Return the rows whose condition never holds or whose phase is never entered."""
    domains = _domains(table)
    live = [row for row in table.rows if _possible(table, row, domains)]
    entered = {table.initial}
    for _ in table.phases:
        entered |= {row.target for row in live if row.source in entered}
    taken = {row.name for row in live if row.source in entered}
    return frozenset(row.name for row in table.rows if row.name not in taken)


def _domains(table: Table) -> Mapping[str, tuple[MemoryValue, ...]]:
    """Return the domain of each memory that has an end."""
    return {
        v.name: tuple(v.domain)
        for v in table.variables
        if v.domain is not None and len(v.domain) <= MOST
    }


def _conditions(table: Table, row: Row) -> tuple[Node, ...]:
    """Return the conjuncts that hold when a row is taken, unbounded memory freed."""
    parts = [row.guard, *(negation(each.guard) for each in row.earlier)]
    if row.event is not None:
        parts.append(table.available[row.source, row.event])
    dropped = frozenset(table.scope) - _domains(table).keys()
    whole = conjunction(*(may(free(part, dropped), be=True) for part in parts))
    items = whole.items if isinstance(whole, Bool) and whole.op == "and" else (whole,)
    return tuple(item for item in items if _emits(item))


def _emits(node: Node) -> bool:
    """Tell whether a tree can be evaluated: not if it computes with UNLIMITED."""
    try:
        python(node, {name: name for name in names(node)})
    except ValueError:
        return False
    return True


def _possible(
    table: Table, row: Row, domains: Mapping[str, tuple[MemoryValue, ...]]
) -> bool:
    conditions = _conditions(table, row)
    if FALSE in conditions:
        return False
    for condition in conditions:
        core = names(condition)
        if _cases(core, domains) > MOST:
            continue
        chosen = _connected(conditions, core, domains)
        read = core.union(*(names(each) for each in chosen))
        if next(_images(chosen, (), read, domains), None) is None:
            return False
    return True


def _cases(read: Iterable[str], domains: Mapping[str, tuple[MemoryValue, ...]]) -> int:
    count = 1
    for name in read:
        count *= len(domains[name])
    return count


def _connected(
    conditions: tuple[Node, ...],
    core: frozenset[str],
    domains: Mapping[str, tuple[MemoryValue, ...]],
) -> tuple[Node, ...]:
    """Return the conditions connected with some names, as far as cases allow."""
    read = core
    chosen: list[Node] = []
    grown = True
    while grown:
        grown = False
        for condition in conditions:
            more = read | names(condition)
            linked = condition not in chosen and bool(names(condition) & read)
            if linked and _cases(more, domains) <= MOST:
                chosen.append(condition)
                read = more
                grown = True
    return tuple(chosen)


def _images(
    conditions: tuple[Node, ...],
    values: tuple[Node, ...],
    read: frozenset[str],
    domains: Mapping[str, tuple[MemoryValue, ...]],
) -> Iterator[tuple[MemoryValue, ...]]:
    """Yield the values of some trees wherever all conditions hold."""
    order = sorted(read)
    local = {name: f"m[{i}]" for i, name in enumerate(order)}
    test = " and ".join(python(each, local) for each in conditions) or "True"
    image = "".join(f"{python(each, local)}, " for each in values)
    # The source is emitted from whitelisted trees: no text of a user is in it.
    source = f"lambda cases: (({image}) for m in cases if {test})"
    yield from eval(source, {"min": min, "max": max})(  # noqa: S307
        itertools.product(*(domains[name] for name in order))
    )
