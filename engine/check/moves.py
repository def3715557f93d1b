"""What a row may do to some memory, decided locally: no state of the machine is built.

A row is taken when its event is available, its guard holds and no earlier alternative
does. Of these conditions those that are connected with that memory are enumerated over
the domains of the names that they mention. Leaving conditions out is safe: it only adds
moves. So a condition whose names would make more than `MOST` cases is left out, and one
that reads a counter without greatest value counts as true wherever it may be.

The search for a certificate reads this; `recheck` does not, and has its own.
"""

import itertools
import math
from collections.abc import Iterator
from typing import TypeAlias

from unspiral.engine.core.language import (
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

__all__ = ["MOST", "Move", "Moves", "Values"]

MOST = 20_000  #: cases that are enumerated for one row and question
Values: TypeAlias = tuple[MemoryValue, ...]
Move: TypeAlias = tuple[Values, Values]


class Moves:
    """The moves of one table; what was worked out is kept."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._domains = {
            v.name: tuple(v.domain)
            for v in table.variables
            if v.domain is not None and len(v.domain) <= MOST
        }
        self._rows = {row.name: self._conditions(row) for row in table.rows}
        self._known: dict[tuple[str, tuple[str, ...]], frozenset[Move] | None] = {}

    def of(self, row: Row, memory: tuple[str, ...]) -> frozenset[Move] | None:
        """Return the pairs (before, after) of some memory over all ways to take a row.

        Pairs that leave the domain are left out: such a step is an error and ends the
        run. None means that there are too many cases, or no end of them.
        """
        key = row.name, memory
        if key not in self._known:
            self._known[key] = self._moves(row, memory)
        return self._known[key]

    @property
    def never(self) -> frozenset[str]:
        """Return the rows whose condition never holds or whose phase is never entered.

        Phases are entered by rows with progress, too.
        """
        live = [row for row in self._table.rows if self._possible(row)]
        entered = {self._table.initial}
        for _ in self._table.phases:
            entered |= {row.target for row in live if row.source in entered}
        taken = {row.name for row in live if row.source in entered}
        return frozenset(self._rows) - taken

    def _moves(self, row: Row, memory: tuple[str, ...]) -> frozenset[Move] | None:
        assigned = {assign.name: assign.value for assign in row.action}
        values = [assigned.get(name, Name(name)) for name in memory]
        core = frozenset(memory).union(*(names(value) for value in values))
        if not self._few(core):
            return None
        trees = (*map(Name, memory), *values)
        inside = [frozenset(self._domains[name]) for name in memory]
        found = (
            (image[: len(memory)], image[len(memory) :])
            for image in self._images(row, trees, core)
        )
        return frozenset(
            (before, after)
            for before, after in found
            if all(x in domain for x, domain in zip(after, inside, strict=True))
        )

    def _conditions(self, row: Row) -> tuple[Node, ...]:
        """Return what holds when a row is taken; unbounded memory may be anything."""
        parts = [row.guard, *(negation(each.guard) for each in row.earlier)]
        if row.event is not None:
            parts.append(self._table.available[row.source, row.event])
        dropped = frozenset(self._table.scope) - self._domains.keys()
        whole = conjunction(*(may(free(part, dropped), be=True) for part in parts))
        return (
            whole.items if isinstance(whole, Bool) and whole.op == "and" else (whole,)
        )

    def _possible(self, row: Row) -> bool:
        """Tell whether no part of a row's condition is a contradiction."""
        return all(
            not self._few(names(each))
            or next(self._images(row, (), names(each)), None) is not None
            for each in self._rows[row.name]
        )

    def _few(self, read: frozenset[str]) -> bool:
        """Tell whether names are bounded and make few enough cases."""
        if not read <= self._domains.keys():
            return False
        return math.prod(len(self._domains[name]) for name in read) <= MOST

    def _connected(self, row: Row, core: frozenset[str]) -> list[Node]:
        """Return the conditions connected with some names, as far as cases allow."""
        read = core
        chosen: list[Node] = []
        conditions = self._rows[row.name]
        for each in conditions * len(conditions):  # each may link another
            linked = not names(each) or bool(names(each) & read)
            if linked and each not in chosen and self._few(read | names(each)):
                chosen.append(each)
                read |= names(each)
        return chosen

    def _images(
        self, row: Row, values: tuple[Node, ...], core: frozenset[str]
    ) -> Iterator[Values]:
        """Yield the values of some trees over all ways to take a row."""
        chosen = self._connected(row, core)
        read = core.union(*(names(each) for each in chosen))
        local = {name: f"m[{i}]" for i, name in enumerate(sorted(read))}
        test = " and ".join(python(each, local) for each in chosen) or "True"
        image = "".join(f"{python(each, local)}, " for each in values)
        # The source is emitted from whitelisted trees: no text of a user is in it.
        source = f"lambda cases: (({image}) for m in cases if {test})"
        yield from eval(source, {"min": min, "max": max})(  # noqa: S307
            itertools.product(*(self._domains[name] for name in local))
        )
