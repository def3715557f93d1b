"""Expressions that may serve as terms of a certificate, and what rows do to them.

A candidate is an expression over one or two memories that is never below 0. It may
count in some phases alone and be 0 elsewhere: then a row that leaves them never raises
it, and one that enters them raises it unless it is 0 there. It knows nothing of the
search.
"""

import itertools
from collections.abc import Iterable, Iterator

from unspiral.engine.check.moves import MOST, Moves, Values
from unspiral.engine.core.language import (
    Arith,
    Compare,
    Const,
    Name,
    Node,
    Not,
    evaluate,
    integer,
    names,
    render,
)
from unspiral.engine.core.table import Row, Table, Variable

__all__ = ["Candidate", "Candidates"]


class Candidate:
    """One expression over the memory of a table.

    Attributes:
        text: the expression.
    """

    def __init__(self, node: Node, moves: Moves) -> None:
        self.text = render(node)
        self._node = node
        self._names = tuple(sorted(names(node)))
        self._moves = moves
        self._known: dict[Values, int] = {}
        self._effects: dict[tuple[int, bool, bool], tuple[bool, bool]] = {}

    def lowers(self, row: Row, inside: frozenset[str]) -> bool:
        """Tell whether a row surely lowers it where it counts `inside` some phases."""
        return row.source in inside and self._effect(row, inside)[0]

    def raises(self, row: Row, inside: frozenset[str]) -> bool:
        """Tell whether a row may raise it where it counts `inside` some phases."""
        return row.target in inside and self._effect(row, inside)[1]

    def shrink(self, part: frozenset[str], rows: Iterable[Row]) -> frozenset[str]:
        """Return what is left of `part` when no row may raise it: the largest part."""
        inside, before = part, frozenset[str]()
        while inside != before:
            before = inside
            for row in rows:
                if self.raises(row, inside):
                    inside -= {row.target}
        return inside

    def _effect(self, row: Row, inside: frozenset[str]) -> tuple[bool, bool]:
        """Return whether a row surely lowers it and whether it may raise it."""
        key = row.index, row.source in inside, row.target in inside
        if key not in self._effects:
            self._effects[key] = self._judge(row, before=key[1], after=key[2])
        return self._effects[key]

    def _judge(self, row: Row, *, before: bool, after: bool) -> tuple[bool, bool]:
        if before and after and not any(a.name in self._names for a in row.action):
            return False, False
        pairs = self._moves.of(row, self._names)
        if pairs is None:
            return False, True
        ends = [
            (self._value(old) if before else 0, self._value(new) if after else 0)
            for old, new in pairs
        ]
        return all(new < old for old, new in ends), any(new > old for old, new in ends)

    def _value(self, values: Values) -> int:
        if values not in self._known:
            memory = dict(zip(self._names, values, strict=True))
            self._known[values] = integer(evaluate(self._node, memory))
        return self._known[values]


class Candidates:
    """The candidates of one table, the simple ones first.

    Attributes:
        simple: over one memory.
    """

    def __init__(self, table: Table, moves: Moves) -> None:
        self._moves = moves
        self._variables = {
            v.name: v
            for v in table.variables
            if v.domain is not None and len(v.domain) <= MOST
        }
        self.simple = tuple(
            Candidate(node, self._moves)
            for variable in self._variables.values()
            for node in _expressions(variable)
        )

    def pairs(self, rows: Iterable[Row]) -> tuple[Candidate, ...]:
        """Return candidates over two counters that one of the rows counts together.

        The first weighs more than the second can fall: such a row may lower either.
        """
        together: dict[tuple[str, str], None] = {}
        for row in rows:
            counted = [
                assign.name
                for assign in row.action
                if names(assign.value)
                and assign.name in self._variables
                and self._variables[assign.name].kind == "counter"
            ]
            together.update(dict.fromkeys(itertools.permutations(counted, 2)))
        return tuple(
            Candidate(Arith("+", Arith("*", Const(_size(two)), a), b), self._moves)
            for one, two in (
                (self._variables[x], self._variables[y]) for x, y in together
            )
            for a, b in itertools.product(_expressions(one), _expressions(two))
        )


def _size(variable: Variable) -> int:
    return len(variable.domain or ())


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
