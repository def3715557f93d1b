"""Expressions that may serve as terms of a certificate, and what rows do to them.

A candidate is an expression over one memory that is never below 0. It may count in some
phases alone and be 0 elsewhere: then a row that leaves them never raises it, and one
that enters them raises it unless it is 0 there. It knows nothing of the search.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from unspiral.engine.check.moves import MOST, Move, moves
from unspiral.engine.core.language import (
    Arith,
    Compare,
    Const,
    Name,
    Node,
    Not,
    evaluate,
    render,
)
from unspiral.engine.core.step import MemoryValue
from unspiral.engine.core.table import Row, Table, Variable

__all__ = ["Candidate", "candidates"]

Moves: TypeAlias = Callable[[Row, str], frozenset[Move] | None]


class Candidate:
    """One expression over one memory of a table.

    Attributes:
        text: the expression.
    """

    def __init__(self, node: Node, variable: Variable, moves_of: Moves) -> None:
        self.text = render(node)
        self._name = variable.name
        self._moves = moves_of
        self._value: Mapping[MemoryValue, int] = {
            x: int(evaluate(node, {variable.name: x}))  # type: ignore[arg-type]
            for x in variable.domain or ()
        }

    def lowers(self, row: Row, inside: frozenset[str]) -> bool:
        """Tell whether a row surely lowers it where it counts `inside` some phases."""
        if row.source not in inside:
            return False
        if row.target in inside and not self._written(row):
            return False
        pairs = self._moves(row, self._name)
        return pairs is not None and all(n < o for o, n in self._ends(row, inside))

    def raises(self, row: Row, inside: frozenset[str]) -> bool:
        """Tell whether a row may raise it where it counts `inside` some phases."""
        if row.target not in inside:
            return False
        if row.source in inside and not self._written(row):
            return False
        pairs = self._moves(row, self._name)
        return pairs is None or any(n > o for o, n in self._ends(row, inside))

    def shrink(self, part: frozenset[str], rows: Iterable[Row]) -> frozenset[str]:
        """Return what is left of `part` when no row may raise it: the largest part."""
        inside, before = part, frozenset[str]()
        while inside != before:
            before = inside
            for row in rows:
                if self.raises(row, inside):
                    inside -= {row.target}
        return inside

    def _written(self, row: Row) -> bool:
        return any(assign.name == self._name for assign in row.action)

    def _ends(self, row: Row, inside: frozenset[str]) -> Iterator[tuple[int, int]]:
        for old, new in self._moves(row, self._name) or ():
            before = self._value[old] if row.source in inside else 0
            yield before, self._value[new] if row.target in inside else 0


def candidates(table: Table) -> tuple[Candidate, ...]:
    """Return the candidates of a table: a few for each memory that has an end."""
    known: dict[tuple[str, str], frozenset[Move] | None] = {}

    def moves_of(row: Row, name: str) -> frozenset[Move] | None:
        key = row.name, name
        if key not in known:
            known[key] = moves(table, row, name)
        return known[key]

    return tuple(
        Candidate(node, variable, moves_of)
        for variable in table.variables
        if variable.domain is not None and len(variable.domain) <= MOST
        for node in _expressions(variable)
    )


def _expressions(variable: Variable) -> Iterator[Node]:
    name = Name(variable.name)
    match variable.kind:
        case "counter":
            yield Arith("-", Const(variable.high or 0), name)
            yield name if variable.low == 0 else Arith("-", name, Const(variable.low))
        case "flag":
            yield Not(name)
            yield name
        case "choice":
            for value in variable.values:
                yield Compare("!=", name, Const(value))
                yield Compare("==", name, Const(value))
