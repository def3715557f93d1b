"""Points of coverage: a row taken, and what one condition of a guard said on the way.

A row alone says little: `otherwise` may be taken because a budget is spent or because
nothing was wrong. So each guard that was asked is taken apart into its conditions (what
`and`, `or` and `not` join), and a point is *row x guard asked x condition x verdict*. A
row that is taken with no guard asked is one point of its own.

This is the one place where it is said what is covered: the proof says which points can
be reached (`check.coverage`), and a `Meter` says which ones runs have shown. Pure.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

import attrs

from unspiral.engine.core.language import (
    TRUE,
    Bool,
    Const,
    Node,
    Not,
    python,
    render,
)
from unspiral.engine.core.step import MemoryValue, Step
from unspiral.engine.core.table import Row, Table

__all__ = ["Meter", "Point", "conditions_of", "points_of"]

Test: TypeAlias = Callable[[tuple[MemoryValue, ...]], tuple[bool, ...]]


@attrs.frozen(order=True, cache_hash=True)
class Point:
    """One thing that a run can show.

    Attributes:
        row: the name of the row taken.
        asked: the name of the row whose guard was asked; `row` itself or one before it.
        condition: one condition of that guard, limits put in; "" if it asks nothing.
        verdict: what the condition said.
    """

    row: str
    asked: str
    condition: str
    verdict: bool

    def __str__(self) -> str:
        if not self.condition:
            return f"{self.row}: taken"
        of = "" if self.asked == self.row else f" (asked by {self.asked})"
        said = "holds" if self.verdict else "does not hold"
        return f"{self.row}: {self.condition} {said}{of}"


@attrs.frozen
class _Asked:
    """A condition that is asked on the way to a row, and its two points."""

    node: Node
    holds: Point
    fails: Point


def conditions_of(guard: Node) -> tuple[Node, ...]:
    """Return what `and`, `or` and `not` join in a guard, each once, as written."""
    return tuple(dict.fromkeys(_parts(guard)))


def _parts(node: Node) -> Iterator[Node]:
    match node:
        case Bool(_, items):
            for item in items:
                yield from _parts(item)
        case Not(item):
            yield from _parts(item)
        case Const():
            pass
        case _:
            yield node


def points_of(row: Row) -> Mapping[Point, Node]:
    """Return the points of a row, each with the condition under which it is shown.

    Whether the row can then be taken at all is for the proof to say.
    """
    found: dict[Point, Node] = {}
    for asked in _asked(row):
        found[asked.holds] = asked.node
        if asked.node != TRUE:
            found[asked.fails] = Not(asked.node)
    return found


def _asked(row: Row) -> tuple[_Asked, ...]:
    found = [
        _Asked(
            node,
            Point(row.name, each.name, render(node), verdict=True),
            Point(row.name, each.name, render(node), verdict=False),
        )
        for each in (*row.earlier, row)
        for node in conditions_of(each.guard)
    ]
    taken = Point(row.name, row.name, "", verdict=True)
    return tuple(found) or (_Asked(TRUE, taken, taken),)


class Meter:
    """Says which points runs have shown.

    Attributes:
        seen: the points, each with the number of runs that showed it.
    """

    def __init__(self, table: Table) -> None:
        self.seen: dict[Point, int] = {}
        self._rows = tuple((_asked(row), _test(row, table)) for row in table.rows)
        self._known: dict[tuple[int, tuple[bool, ...]], frozenset[Point]] = {}

    def shown(self, steps: Iterable[Step]) -> frozenset[Point]:
        """Return the points that a run shows; nothing is counted."""
        parts = {self._of(step) for step in steps}
        return frozenset[Point]().union(*parts)

    def count(self, points: Iterable[Point]) -> None:
        """Count the points of one run."""
        for point in points:
            self.seen[point] = self.seen.get(point, 0) + 1

    def _of(self, step: Step) -> frozenset[Point]:
        asked, test = self._rows[step.row.index]
        said = test(step.before.memory)
        key = step.row.index, said
        if key not in self._known:
            self._known[key] = frozenset(
                each.holds if verdict else each.fails
                for each, verdict in zip(asked, said, strict=True)
            )
        return self._known[key]


def _test(row: Row, table: Table) -> Test:
    """Compile what all conditions of a row say of a memory."""
    local = {name: f"m[{i}]" for name, i in table.positions.items()}
    texts = [f"bool({python(each.node, local)})" for each in _asked(row)]
    # Emitted from whitelisted trees, as in `core.step`.
    made: Test = eval(f"lambda m: ({', '.join(texts)},)", {})  # noqa: S307
    return made
