"""Cycles: which there are, and the shortest lasso that shows one.

A death spiral is a cycle that costs something and makes no progress; an open-ended
cycle makes progress and nothing ends it. Both are looked for with strongly connected
components, so nothing is missed; the shortest lasso is found by shortest paths.
"""

from collections.abc import Iterable
from typing import TypeAlias

import attrs
import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from unspiral.engine.check.graph import Bools, Graph, Ints

Floats: TypeAlias = npt.NDArray[np.float64]
Before: TypeAlias = npt.NDArray[np.int32]

__all__ = [
    "Path",
    "inside_components",
    "lassos",
    "shortest_lasso",
    "shortest_path",
    "shortest_paths",
]

_MAX_HEADS = 2_000  # loop heads tried for the shortest lasso
_MAX_KINDS = 8  # kinds of cycles that are shown


@attrs.frozen
class Path:
    """Edges of a graph: a stem and, if it is a lasso, a loop."""

    stem: tuple[int, ...]
    loop: tuple[int, ...] = ()

    @property
    def edges(self) -> tuple[int, ...]:
        """Return all edges, the loop once."""
        return self.stem + self.loop


def inside_components(graph: Graph, allowed: Bools) -> tuple[Bools, Ints]:
    """Return which allowed edges lie on cycles of allowed edges, and the components.

    An edge lies on a cycle if and only if both its ends are in one component.
    """
    matrix = graph.matrix(np.ones(allowed.size), allowed)
    matrix.sum_duplicates()  # scipy's components never end on parallel edges
    _, labels = connected_components(matrix, directed=True, connection="strong")
    same = labels[graph.sources] == labels[graph.targets]
    return allowed & same, labels.astype(np.int64)


def lassos(graph: Graph, allowed: Bools, required: Bools) -> list[Path]:
    """Return the shortest lasso of each kind of cycle, the shortest first.

    Args:
        graph: the states.
        allowed: the edges of which a loop may consist.
        required: the edges of which a loop must have one.

    Components whose edges have the same continue reasons count as one kind.
    """
    inside, labels = inside_components(graph, allowed)
    seeds = inside & required
    if not seeds.any():
        return []
    kinds: dict[frozenset[str], set[int]] = {}
    components = np.unique(labels[graph.sources[seeds]])
    member = np.isin(labels[graph.sources], components) & inside
    reasons: dict[int, set[str]] = {int(c): set() for c in components}
    of_edges = graph.labels[member].astype(np.int64)
    pairs = np.unique(np.stack([labels[graph.sources[member]], of_edges]), axis=1)
    for component, label in zip(*pairs, strict=True):
        reasons[int(component)].add(graph.system.edges[int(label)].reason)
    for component, names in reasons.items():
        kinds.setdefault(frozenset(names), set()).add(component)
    found: list[Path] = []
    for chosen in list(kinds.values())[:_MAX_KINDS]:
        here = inside & np.isin(labels[graph.sources], list(chosen))
        path = shortest_lasso(graph, here, here & required)
        if path is not None:
            found.append(path)
    found.sort(key=lambda p: (_length(graph, p.edges), len(p.stem)))
    told: dict[frozenset[str], Path] = {}
    for path in found:
        told.setdefault(frozenset(graph.edge(e).reason for e in path.loop), path)
    return list(told.values())


def _length(graph: Graph, edges: tuple[int, ...]) -> float:
    return float(graph.lengths[list(edges)].sum())


def _distances(
    matrix: csr_array, start: int, limit: float = np.inf
) -> tuple[Floats, Before]:
    """Return how far each state is from one of them, and the state before it."""
    distance, before = dijkstra(
        matrix, indices=np.asarray(start), limit=limit, return_predecessors=True
    )
    return distance.reshape(-1), before.reshape(-1)


def shortest_path(graph: Graph, target: int) -> Path | None:
    """Return a shortest path from the start to a state, or None if there is none."""
    return shortest_paths(graph, [target])[0]


def shortest_paths(graph: Graph, targets: Iterable[int]) -> list[Path | None]:
    """Return for each state a shortest path from the start, or None; one search."""
    everything = np.ones(graph.targets.size, np.bool_)
    matrix = graph.matrix(graph.lengths, everything)
    distance, before = _distances(matrix, graph.start)
    return [
        Path(_walk(graph, everything, before, target))
        if np.isfinite(distance[target])
        else None
        for target in targets
    ]


def shortest_lasso(graph: Graph, loop: Bools, required: Bools) -> Path | None:
    """Return the lasso with the fewest steps whose loop has a required edge.

    Args:
        graph: the states.
        loop: the edges of which the loop may consist; all lie on cycles.
        required: some of those, of which the loop must have one.
    """
    everything = np.ones(graph.targets.size, np.bool_)
    matrix = graph.matrix(graph.lengths, everything)
    distance, before = _distances(matrix, graph.start)
    states = np.unique(graph.sources[loop])
    heads = states[np.argsort(distance[states], kind="stable")]
    doubled = _doubled(graph, loop, required, states)
    best: tuple[float, int, Before] | None = None
    for head in map(int, heads[:_MAX_HEADS]):
        limit = np.inf if best is None else best[0] - float(distance[head])
        if limit <= 1:
            break
        place = int(np.searchsorted(doubled.states, head))
        far, back = _distances(doubled.matrix, place, limit)
        total = float(distance[head]) + float(far[place + doubled.states.size])
        if best is None or total < best[0]:
            best = (total, head, back)
    if best is None or not np.isfinite(best[0]):
        return None
    _, head, back = best
    stem = _walk(graph, everything, before, head)
    return Path(stem, doubled.walk(graph, head, back))


@attrs.frozen(eq=False)
class _Doubled:
    """The loop edges over two copies of the states: before and after a required one."""

    states: Ints
    matrix: csr_array
    loop: Bools
    required: Bools

    def walk(self, graph: Graph, head: int, back: Before) -> tuple[int, ...]:
        size = self.states.size
        place = int(np.searchsorted(self.states, head))
        here = place + size
        edges: list[int] = []
        while here != place or not edges:
            there = int(back[here])
            crossing = here >= size and there < size
            chosen = self.required if crossing else self.loop
            source, target = self.states[there % size], self.states[here % size]
            edges.append(_edge_between(graph, chosen, int(source), int(target)))
            here = there
        return tuple(reversed(edges))


def _doubled(graph: Graph, loop: Bools, required: Bools, states: Ints) -> _Doubled:
    size = states.size

    def part(chosen: Bools) -> tuple[Ints, Ints, Ints]:
        numbers = np.flatnonzero(chosen)
        sources = np.searchsorted(states, graph.sources[numbers])
        targets = np.searchsorted(states, graph.targets[numbers])
        return sources, targets, numbers

    one, two = part(loop), part(required)
    sources = np.concatenate([one[0], one[0] + size, two[0]])
    targets = np.concatenate([one[1], one[1] + size, two[1] + size])
    numbers = np.concatenate([one[2], one[2], two[2]])
    order = np.argsort(sources, kind="stable")
    counts = np.bincount(sources, minlength=2 * size)
    first = np.concatenate(([0], np.cumsum(counts)))
    weights = graph.lengths[numbers[order]]
    matrix = csr_array((weights, targets[order], first), shape=(2 * size, 2 * size))
    return _Doubled(states, matrix, loop, required)


def _walk(graph: Graph, chosen: Bools, before: Before, target: int) -> tuple[int, ...]:
    edges: list[int] = []
    here = target
    while here != graph.start:
        there = int(before[here])
        edges.append(_edge_between(graph, chosen, there, here))
        here = there
    return tuple(reversed(edges))


def _edge_between(graph: Graph, chosen: Bools, source: int, target: int) -> int:
    """Return the shortest chosen edge from one state to another."""
    edges = np.arange(int(graph.first[source]), int(graph.first[source + 1]))
    edges = edges[chosen[edges] & (graph.targets[edges] == target)]
    return int(edges[np.argmin(graph.lengths[edges])])
