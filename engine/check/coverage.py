"""Which points of coverage can be reached, and by which shortest run each.

Every point (`core.points`) becomes an end of the transition system: where its row could
be taken with its condition as the point says, a run may also end there. Then one search
with all the reductions of the proof finds all points at once, and each counts only when
`core.step` has replayed the run to it.
"""

from collections.abc import Iterable, Iterator, Mapping

import attrs

from unspiral.engine.check.cycles import shortest_paths
from unspiral.engine.check.explore import DEFAULT_MEMORY, INTERRUPTED, Progress
from unspiral.engine.check.feasible import satisfiable
from unspiral.engine.check.search import Result, Search
from unspiral.engine.check.system import FAULT, Edge, System
from unspiral.engine.core.language import Node, conjunction, encode
from unspiral.engine.core.points import Meter, Point, points_of
from unspiral.engine.core.step import Step
from unspiral.engine.core.table import Table

__all__ = ["Reach", "reach"]

_POINT = f"{FAULT}point "  #: begins the names of the ends that stand for points


@attrs.frozen(eq=False)
class Reach:
    """What the explorer says of the points of a table.

    Attributes:
        runs: each point that can be reached, with a shortest run that shows it.
        unknown: points of which the search could not say whether they can be reached.
        cut: why not, or "".
    """

    runs: Mapping[Point, tuple[Step, ...]]
    unknown: tuple[Point, ...] = ()
    cut: str = ""


def reach(
    table: Table, *, memory: int = DEFAULT_MEMORY, progress: Progress | None = None
) -> Reach:
    """Find the points that can be reached.

    Args:
        table: the machine.
        memory: most bytes that one exploration may take.
        progress: called now and then with the states found and those waiting.

    Raises:
        KeyboardInterrupt: a person cut the search.
    """
    search = Search(table, memory, progress)
    meter = Meter(table)
    ends = _ends(table, search.system)
    runs: dict[Point, tuple[Step, ...]] = {}
    cut = ""
    # First without what only progress writes; what does not lift is tried with it.
    for drop in (True, False):
        result = search.reduced(_with(search.system, ends.values()), drop=drop)
        cut = result.cut.reason if result.cut else ""
        if cut == INTERRUPTED:
            raise KeyboardInterrupt
        if not cut:
            ends = {name: ends[name] for name in result.graph.ends if name in ends}
        for steps in _lifted(result, ends):
            for point in meter.shown(steps):
                if point not in runs or len(steps) < len(runs[point]):
                    runs[point] = steps
        ends = {name: end for name, end in ends.items() if end.points[0] not in runs}
        if not ends:
            return Reach(runs)
    unknown = sorted(point for end in ends.values() for point in end.points)
    return Reach(runs, tuple(unknown), cut or "no run to them could be replayed")


@attrs.frozen(eq=False)
class _End:
    """Points of one row that are shown by the same steps, and the edge that ends."""

    points: tuple[Point, ...]
    edge: Edge


def _ends(table: Table, system: System) -> dict[str, _End]:
    found: dict[str, _End] = {}
    for edge in system.edges:
        if not edge.rows or edge.target.startswith(FAULT):
            continue
        alike: dict[Node, list[Point]] = {}
        for point, node in points_of(edge.rows[0]).items():
            alike.setdefault(encode(node, table.scope), []).append(point)
        for node, points in alike.items():
            enabled = conjunction(edge.enabled, node)
            if satisfiable(enabled, system.words):
                name = f"{_POINT}{len(found)}"
                end = attrs.evolve(edge, target=name, enabled=enabled, updates=())
                found[name] = _End(tuple(points), end)
    return found


def _with(system: System, ends: Iterable[_End]) -> System:
    edges = (*system.edges, *(end.edge for end in ends))
    return attrs.evolve(system, edges=edges)


def _lifted(result: Result, ends: Iterable[str]) -> Iterator[tuple[Step, ...]]:
    """Yield the runs to ends that the machine as declared takes, the shortest found."""
    graph = result.graph
    states = [state for end in ends if (state := graph.end(end)) is not None]
    for path in shortest_paths(graph, states) if states else ():
        lasso = None if path is None else result.lift(path)
        if lasso is not None:
            yield lasso.stem
