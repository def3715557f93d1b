"""From a path in a reduced graph back to steps of the machine as declared.

Reductions drop memory and join rows; what they find counts only when `core.step`, fed
with the same events, takes the same rows. This is the one place where that is judged.
"""

from collections.abc import Iterable

from unspiral.engine.check.cycles import Path
from unspiral.engine.check.graph import Graph
from unspiral.engine.check.verdict import Lasso
from unspiral.engine.core.step import Snapshot, Step, initial_snapshot, step
from unspiral.engine.core.table import Row, Table
from unspiral.engine.errors import RunError

__all__ = ["lift", "replay"]

_ROUNDS = 4  # rounds after which memory that can recur has done so


def replay(
    table: Table, rows: Iterable[Row], start: Snapshot | None = None
) -> tuple[Step, ...] | None:
    """Take the given rows one by one; None if the machine would take another."""
    snapshot = initial_snapshot(table) if start is None else start
    steps: list[Step] = []
    for row in rows:
        if row.source != snapshot.phase:
            return None
        try:
            taken = step(table, snapshot, row.event)
        except RunError:
            return None
        if taken.row is not row:
            return None
        steps.append(taken)
        snapshot = taken.after
    return tuple(steps)


def lift(
    table: Table,
    graph: Graph,
    path: Path,
    *,
    dropped: Iterable[str] = (),
    dear: bool = False,
) -> Lasso | None:
    """Return the steps of a path, or None if the machine does not take them.

    A loop that can be entered again with what it left behind can be entered for ever:
    what conditions read is the same each time. What the quotient dropped must have come
    to recur, too, so the loop is taken until one round leaves that as it was.

    Args:
        table: the machine as declared.
        graph: where the path was found.
        path: the path.
        dropped: what the quotient dropped.
        dear: write out the dearest instead of the shortest way through summaries.
    """

    def rows(edges: tuple[int, ...]) -> list[Row]:
        found = [graph.edge(number) for number in edges]
        return [r for e in found for r in (e.dearest if dear else e.rows)]

    stem = replay(table, rows(path.stem))
    if stem is None:
        return None
    if not path.loop:
        return Lasso(stem)
    after = stem[-1].after if stem else initial_snapshot(table)
    places = [table.positions[name] for name in dropped]
    again = rows(path.loop)
    loop = replay(table, again, after)
    for _ in range(_ROUNDS):
        if not loop or not _changes(loop, places):
            break
        stem, loop = stem + loop, replay(table, again, loop[-1].after)
    if not loop or _changes(loop, places):
        return None
    if replay(table, again, loop[-1].after) is None:
        return None
    return _recurring(table, stem, loop)


def _changes(loop: tuple[Step, ...], places: list[int]) -> bool:
    """Tell whether a round leaves some of the memory other than it was."""
    before, after = loop[0].before.memory, loop[-1].after.memory
    return any(before[i] != after[i] for i in places)


def _recurring(table: Table, stem: tuple[Step, ...], loop: tuple[Step, ...]) -> Lasso:
    """Lengthen the stem by whole rounds until the memory recurs exactly.

    Memory that can no longer matter may differ at first. If it does not recur soon,
    some counter that nothing reads goes on counting, and the lasso stays as found.
    """
    begun = stem
    rows = [each.row for each in loop]
    taken = loop
    for _ in range(_ROUNDS):
        if taken[-1].after == taken[0].before:
            return _rewound(begun, taken)
        again = replay(table, rows, taken[-1].after)
        if again is None:
            break
        begun, taken = begun + taken, again
    return Lasso(stem, loop)


def _rewound(stem: tuple[Step, ...], loop: tuple[Step, ...]) -> Lasso:
    """Let the loop begin as early as it can."""
    while stem and stem[-1] == loop[-1]:
        stem, loop = stem[:-1], (loop[-1], *loop[:-1])
    return Lasso(stem, loop)
