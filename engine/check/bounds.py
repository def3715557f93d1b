"""Worst cases: max-plus sums over the acyclic rest of the graph.

Without death spirals the edges without progress form no cycle that costs anything, so
the most that can be spent from a state until the next progress event is a longest path.
A whole run is a chain of segments between edges that raise a bounded counter (`turn`),
at most as many as that counter allows; as soon as one more segment adds the same
everywhere, the sum is known for every value of that counter's limit.
"""

import functools

import attrs
import numpy as np

from unspiral.engine.check.cycles import inside_components
from unspiral.engine.check.graph import Bools, Graph, Ints

__all__ = ["Segments", "WorstCase", "WorstRun", "segments_of"]

_MINUS = np.int64(-(2**60))  # less than any sum
_MAX_ROUNDS = 100_000
_MAX_RUN = 200_000  # edges of a witness


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
        round: per edge of the graph, whether it was left out since it lies on a cycle.
    """

    graph: Graph
    cuts: Ints
    edges: Ints
    layers: tuple[tuple[int, int, Ints, Ints], ...]
    starts: Ints
    round: Bools

    def bounds(self, weights: Ints) -> bool:
        """Tell whether no cycle spends any of these weights."""
        return not (self.round & (weights > 0)).any()

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
    """Order the edges between cuts; those on cycles are left out.

    Going round such a cycle adds nothing if `Segments.bounds` holds for the weights.
    """
    allowed = ~cuts
    inside = np.zeros(allowed.size, np.bool_)
    ordered = _order(graph, allowed)
    if ordered is None:
        inside, _ = inside_components(graph, allowed)
        ordered = _order(graph, allowed & ~inside)
    assert ordered is not None  # noqa: S101 - without its cycles a graph has an order
    edges, layers = ordered
    starts = np.unique(np.append(graph.targets[cuts], graph.start))
    return Segments(graph, np.flatnonzero(cuts), edges, layers, starts, inside)


def _order(
    graph: Graph, allowed: Bools
) -> tuple[Ints, tuple[tuple[int, int, Ints, Ints], ...]] | None:
    """Peel off states whose allowed edges all lead to states peeled before."""
    chosen = np.flatnonzero(allowed)
    sources, targets = graph.sources[chosen], graph.targets[chosen]
    left = np.bincount(sources, minlength=graph.size)
    by_target = np.argsort(targets, kind="stable")
    into = np.concatenate(([0], np.cumsum(np.bincount(targets, minlength=graph.size))))
    out = np.concatenate(([0], np.cumsum(left)))
    ready = np.flatnonzero(left == 0)
    done = ready.size
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
            done += ready.size
    if done < graph.size:
        return None
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
        start: the state in which such a segment begins.
    """

    def __init__(self, segments: Segments, weights: Ints) -> None:
        self.segments = segments
        self.weights = weights
        self.nothing = np.zeros(segments.graph.size, np.int64)
        self.values = segments.onwards(weights, self.nothing, stop=True)
        self.start = int(segments.starts[np.argmax(self.values[segments.starts])])
        self.value = int(self.values[self.start])

    @property
    def edges(self) -> tuple[int, ...]:
        """Return the edges of a segment that attains it."""
        start, values = self.start, self.values
        return _follow(self.segments, self.weights, start, values, self.nothing)


class WorstRun:
    """The most that a whole run with a bounded number of cuts can spend.

    Attributes:
        total: the most.
        slope: by how much one more cut raises it once that is the same for ever, or
            None if it was not found to be.
        edges: the edges of a run that attains it.
    """

    def __init__(self, segments: Segments, weights: Ints, rounds: int) -> None:
        self.segments = segments
        self.graph = segments.graph
        self.weights = weights
        self.hubs = self._hubs()
        self.levels, self.slope = self._levels(min(rounds, _MAX_ROUNDS))
        level = rounds if self.slope is not None else len(self.levels) - 1
        self.total, self.edges = self._walk(level)

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

    def _walk(self, level: int) -> tuple[int, tuple[int, ...]]:
        run: list[int] = []
        state = self.graph.start
        total: int | None = None
        while True:
            value, later = self._values(level, state)
            total = int(value[state]) if total is None else total
            part = _follow(self.segments, self.weights, state, value, later)
            run += part
            if not part or not self.segments.cutting[part[-1]] or len(run) > _MAX_RUN:
                return total, tuple(run)
            state = int(self.graph.targets[part[-1]])
            level -= 1

    def _values(self, level: int, state: int) -> tuple[Ints, Ints | None]:
        """Return the values with so many cuts to come, and those after the next."""
        known = len(self.levels) - 1
        if level <= known:
            later = self.levels[level - 1] if level else None
            return self.levels[level], later
        if np.isin(state, self.hubs):
            return self._steady
        later = self._shifted(level - 1 - known)
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
