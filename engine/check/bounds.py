"""Worst cases: max-plus sums over the acyclic rest of the graph.

Without death spirals the edges without progress form no cycle that costs anything.
States on a common cycle are drawn together; then the most that can be spent from a
state until the next progress event is a longest path.

A whole run is a chain of segments between edges that raise a bounded counter (`turn`),
at most as many as that counter allows; as soon as one more segment adds the same
everywhere, the sum is known for every value of that counter's limit.
"""

import functools
from collections import deque
from collections.abc import Iterable

import attrs
import numpy as np

from unspiral.engine.check.cycles import inside_components
from unspiral.engine.check.graph import Bools, Graph, Ints

__all__ = ["Knot", "Segments", "WorstCase", "WorstRun", "segments_of"]

_MINUS = np.int64(-(2**60))  # less than any sum
_MAX_ROUNDS = 100_000
_MAX_RUN = 20_000  # edges, or cuts, of a run that is still written out


@attrs.frozen(eq=False)
class Knot:
    """A graph whose cycles without cuts have been drawn together.

    Attributes:
        whole: the graph as explored.
        inside: per edge of it, whether it lies on such a cycle.
        group: per state of it, the state of the small graph.
        small: the graph in which each of those cycles is one state.
        origin: per edge of the small graph, the edge that it is.
    """

    whole: Graph
    inside: Bools
    group: Ints
    small: Graph
    origin: Ints

    def written_out(self, state: int, edges: Iterable[int]) -> tuple[int, ...]:
        """Return a path of the small graph, from a state of the whole, in the whole."""
        path: list[int] = []
        for edge in self.origin[list(edges)].tolist():
            path += self.across(state, int(self.whole.sources[edge]))
            path.append(edge)
            state = int(self.whole.targets[edge])
        return tuple(path)

    def across(self, state: int, target: int) -> list[int]:
        """Return a shortest path between two states of one cycle."""
        came: dict[int, int] = {state: -1}
        queue = deque([state])
        while target not in came:
            here = queue.popleft()
            for edge in range(self.whole.first[here], self.whole.first[here + 1]):
                follower = int(self.whole.targets[edge])
                if self.inside[edge] and follower not in came:
                    came[follower] = edge
                    queue.append(follower)
        path: list[int] = []
        while came[target] >= 0:
            path.append(came[target])
            target = int(self.whole.sources[came[target]])
        return path[::-1]


@attrs.frozen(eq=False)
class Segments:
    """The edges between cuts, in an order in which longest paths can be summed.

    Attributes:
        graph: the states.
        cuts: the edges that end a segment and may begin another.
        edges: the other edges, those of each layer together; each leads to a state of
            an earlier layer.
        layers: per layer, where its edges begin and end in `edges`, its states, and
            where the edges of each of these begin, counted from the layer's first.
        starts: the states in which a segment may begin.
        knot: where the states of the graph come from.
    """

    graph: Graph
    cuts: Ints
    edges: Ints
    layers: tuple[tuple[int, int, Ints, Ints], ...]
    starts: Ints
    knot: Knot

    def bounds(self, name: str) -> bool:
        """Tell whether no cycle spends any of a cost."""
        return not (self.knot.inside & (self.knot.whole.worst(name) > 0)).any()

    @functools.cached_property
    def targets(self) -> Ints:
        """Return the followers along `edges`."""
        return self.graph.targets[self.edges]

    @functools.cached_property
    def usable(self) -> Bools:
        """Return, per edge of the graph, whether it is a cut or in order."""
        mask = np.zeros(self.graph.targets.size, np.bool_)
        mask[self.edges] = True
        mask[self.cuts] = True
        return mask

    @functools.cached_property
    def cutting(self) -> Bools:
        """Return, per edge of the graph, whether it is a cut."""
        mask = np.zeros(self.graph.targets.size, np.bool_)
        mask[self.cuts] = True
        return mask

    def longest(self, weights: Ints, ends: Ints) -> Ints:
        """Return, per state, the most along a path that ends with a value of `ends`."""
        value = ends.copy()
        ordered = weights[self.edges]
        targets = self.targets
        for begin, end, heads, first in self.layers:
            sums = ordered[begin:end] + value[targets[begin:end]]
            value[heads] = np.maximum(value[heads], np.maximum.reduceat(sums, first))
        return value

    def onwards(self, weights: Ints, later: Ints, *, stop: bool) -> Ints:
        """Return, per state, the most if what follows a cut is worth `later`.

        Args:
            weights: per edge, what it spends.
            later: per state, what it is worth after a cut.
            stop: whether the path may end before a cut.
        """
        ends = np.full(self.graph.size, 0 if stop else _MINUS, np.int64)
        gain = weights[self.cuts] + later[self.graph.targets[self.cuts]]
        np.maximum.at(ends, self.graph.sources[self.cuts], gain)
        return self.longest(weights, ends)


def segments_of(graph: Graph, cuts: Bools) -> Segments:
    """Order the edges between cuts.

    States on a cycle without a cut become one: from each of them all the others can be
    reached, so that nothing behind the cycle is lost. Going round adds nothing, if
    `Segments.bounds` holds for the cost.
    """
    knot = _untied(graph, cuts)
    small = knot.small
    cutting = cuts[knot.origin]
    edges, layers = _order(small, ~cutting)
    starts = np.unique(np.append(small.targets[cutting], small.start))
    return Segments(small, np.flatnonzero(cutting), edges, layers, starts, knot)


def _untied(graph: Graph, cuts: Bools) -> Knot:
    """Make one state of all that lie on a common cycle of edges that are no cuts."""
    inside, labels = inside_components(graph, ~cuts)
    kept = np.flatnonzero(~inside)
    sources = labels[graph.sources[kept]]
    order = np.argsort(sources, kind="stable")
    origin = kept[order]
    size = int(labels.max()) + 1
    counts = np.bincount(sources, minlength=size)
    small = Graph(
        system=graph.system,
        layouts=graph.layouts,
        numbers=np.arange(size, dtype=np.int64),
        first=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        sources=sources[order],
        targets=labels[graph.targets[origin]],
        labels=graph.labels[origin],
        start=int(labels[graph.start]),
        ends=(),
    )
    return Knot(graph, inside, labels, small, origin)


def _order(
    graph: Graph, allowed: Bools
) -> tuple[Ints, tuple[tuple[int, int, Ints, Ints], ...]]:
    """Peel off states whose allowed edges all lead to states peeled before.

    The allowed edges form no cycle, so nothing is left in the end.
    """
    chosen = np.flatnonzero(allowed)
    sources, targets = graph.sources[chosen], graph.targets[chosen]
    left = np.bincount(sources, minlength=graph.size)
    by_target = np.argsort(targets, kind="stable")
    into = np.concatenate(([0], np.cumsum(np.bincount(targets, minlength=graph.size))))
    out = np.concatenate(([0], np.cumsum(left)))
    ready = np.flatnonzero(left == 0)
    edges: list[Ints] = []
    layers: list[tuple[int, int, Ints, Ints]] = []
    at = 0
    while ready.size:
        before = sources[by_target[_spans(into, ready)]]
        np.subtract.at(left, before, 1)
        ready = np.unique(before[left[before] == 0])
        if ready.size:
            counts = out[ready + 1] - out[ready]
            first = np.concatenate(([0], np.cumsum(counts[:-1])))
            edges.append(chosen[_spans(out, ready)])
            layers.append((at, at + edges[-1].size, ready, first))
            at += edges[-1].size
    whole = np.concatenate(edges) if edges else np.zeros(0, np.int64)
    return whole, tuple(layers)


def _spans(first: Ints, which: Ints) -> Ints:
    """Return the concatenated index ranges of some rows of a compressed matrix."""
    begins, counts = first[which], first[which + 1] - first[which]
    total = int(counts.sum())
    jumps = np.repeat(begins - np.concatenate(([0], np.cumsum(counts[:-1]))), counts)
    return np.arange(total) + jumps


def _follow(
    segments: Segments, weights: Ints, state: int, value: Ints, later: Ints | None
) -> tuple[int, ...]:
    """Return the edges of a worst segment from a state; its last may be a cut.

    Args:
        segments: the order.
        weights: per edge, what it spends.
        state: where it begins.
        value: per state, the most that can be spent from it.
        later: what each state is worth after a cut; None: no cut is taken.
    """
    edges: list[int] = []
    graph = segments.graph
    while value[state] > 0:
        here = np.arange(int(graph.first[state]), int(graph.first[state + 1]))
        cuts = segments.cutting[here]
        onward = value[graph.targets[here]]
        if later is not None:
            onward = np.where(cuts, later[graph.targets[here]], onward)
        fits = segments.usable[here] & (weights[here] + onward == value[state])
        if later is None:
            fits &= ~cuts
        edge = int(here[np.argmax(fits)])
        edges.append(edge)
        if segments.cutting[edge]:
            break
        state = int(graph.targets[edge])
    return tuple(edges)


class WorstCase:
    """The most that one segment can spend.

    Attributes:
        value: the most.
        first: the state of the small graph in which such a segment begins.
    """

    def __init__(self, segments: Segments, name: str) -> None:
        self.segments = segments
        self.weights = weights = segments.graph.worst(name)
        self.nothing = np.zeros(segments.graph.size, np.int64)
        self.values = segments.onwards(weights, self.nothing, stop=True)
        self.first = int(segments.starts[np.argmax(self.values[segments.starts])])
        self.value = int(self.values[self.first])

    @property
    def edges(self) -> tuple[int, ...]:
        """Return the edges of a segment that attains it."""
        first, values = self.first, self.values
        path = _follow(self.segments, self.weights, first, values, self.nothing)
        return self.segments.knot.written_out(self.start, path)

    @property
    def start(self) -> int:
        """Return a state of the whole graph in which such a segment begins."""
        knot = self.segments.knot
        cuts = knot.origin[self.segments.cuts]
        begins = np.append(knot.whole.targets[cuts], knot.whole.start)
        return int(begins[np.argmax(knot.group[begins] == self.first)])


class WorstRun:
    """The most that a whole run with a bounded number of cuts can spend.

    Attributes:
        total: the most.
        slope: by how much one more cut raises it once that is the same for ever, or
            None if it was not found to be.
        edges: the edges of a run that attains it, or None if they are too many.
    """

    def __init__(self, segments: Segments, name: str, rounds: int) -> None:
        self.segments = segments
        self.graph = segments.graph
        self.weights = segments.graph.worst(name)
        self.hubs = self._hubs()
        self.levels, self.slope = self._levels(min(rounds, _MAX_ROUNDS))
        level = rounds if self.slope is not None else len(self.levels) - 1
        self.total, path = self._walk(level)
        knot = segments.knot
        self.edges = None if path is None else knot.written_out(knot.whole.start, path)

    def _levels(self, rounds: int) -> tuple[list[Ints], int | None]:
        """Return the values with at most 0, 1, ... cuts, until they rise evenly.

        The second value is by how much they then rise, or None if they do not.
        """
        nothing = np.zeros(self.graph.size, np.int64)
        levels = [self.segments.longest(self.weights, nothing)]
        if not self.hubs.size:
            rounds = min(rounds, 1)
        while len(levels) <= rounds:
            later = levels[-1]
            levels.append(self.segments.onwards(self.weights, later, stop=True))
            if not self.hubs.size:
                break
            rise = levels[-1][self.hubs] - later[self.hubs]
            if (rise == rise[0]).all() and self._carried(levels):
                return levels, int(rise[0])
        return levels, None

    def _carried(self, levels: list[Ints]) -> bool:
        """Tell whether at every hub a worst path goes on to another cut.

        Then one more cut adds the same again, for ever.
        """
        kept = np.full(self.graph.size, _MINUS, np.int64)
        kept[self.hubs] = levels[-2][self.hubs]
        only_on = self.segments.onwards(self.weights, kept, stop=False)
        return bool((only_on[self.hubs] == levels[-1][self.hubs]).all())

    def _hubs(self) -> Ints:
        """Return the states after a cut from which another cut can be reached."""
        nothing = np.zeros(self.graph.size, np.int64)
        can = self.segments.onwards(self.weights, nothing, stop=False) >= 0
        after = np.unique(self.graph.targets[self.segments.cuts])
        return after[can[after]]

    def _walk(self, level: int) -> tuple[int, tuple[int, ...] | None]:
        """Return the most with so many cuts, and the edges of a run that spends it."""
        run: list[int] = []
        state = self.graph.start
        value, later = self._values(level)
        total = int(value[state])
        if level > _MAX_RUN:
            return total, None
        while True:
            part = _follow(self.segments, self.weights, state, value, later)
            run += part
            if len(run) > _MAX_RUN:
                return total, None
            if not part or not self.segments.cutting[part[-1]]:
                return total, tuple(run)
            state = int(self.graph.targets[part[-1]])
            level -= 1
            far = level >= len(self.levels) and np.isin(state, self.hubs)
            value, later = self._steady if far else self._values(level)

    def _values(self, level: int) -> tuple[Ints, Ints | None]:
        """Return the values with so many cuts to come, and those after the next."""
        if level < len(self.levels):
            return self.levels[level], self.levels[level - 1] if level else None
        later = self._shifted(level - len(self.levels))
        return self.segments.onwards(self.weights, later, stop=True), later

    def _shifted(self, more: int) -> Ints:
        """Return the last values with `more` further cuts at the hubs."""
        later = self.levels[-1].copy()
        later[self.hubs] += (self.slope or 0) * more
        return later

    @functools.cached_property
    def _steady(self) -> tuple[Ints, Ints]:
        """Return what a hub sees when many cuts are to come: always the same way."""
        later = self._shifted(0)
        return self.segments.onwards(self.weights, later, stop=True), later
