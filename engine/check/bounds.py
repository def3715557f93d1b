"""Worst cases: max-plus sums over the acyclic rest of the graph.

Without death spirals the edges without progress form no cycle that costs anything, so
the most that can be spent from a state until the next progress event is a longest path.
A whole run is a chain of such segments, at most as many as the counter allows that
every progress event raises; as soon as one more segment adds the same everywhere, the
sum is known for every value of that counter's limit.
"""

import attrs
import numpy as np

from unspiral.engine.check.cycles import inside_components
from unspiral.engine.check.graph import Bools, Graph, Ints

__all__ = ["Segments", "Worst", "WorstCase", "segments_of"]

_MINUS = np.int64(-(2**60))  # less than any sum
_MAX_ROUNDS = 100_000
_MAX_RUN = 200_000  # edges of a witness
_PATIENCE = 64  # progress events after which a run is taken to have no worst case


@attrs.frozen(eq=False)
class Segments:
    """The edges without progress, in an order in which longest paths can be summed.

    Attributes:
        graph: the states.
        layers: per layer, edges and where the edges of each of its states begin; every
            edge leads to a state of an earlier layer.
        heads: per layer, its states.
        starts: the states in which a segment may begin.
    """

    graph: Graph
    layers: tuple[tuple[Ints, Ints], ...]
    heads: tuple[Ints, ...]
    starts: Ints

    def longest(self, weights: Ints, ends: Ints) -> Ints:
        """Return, per state, the most along a path that ends with a value of `ends`."""
        value = ends.copy()
        targets = self.graph.targets
        for heads, (edges, first) in zip(self.heads, self.layers, strict=True):
            best = np.maximum.reduceat(weights[edges] + value[targets[edges]], first)
            value[heads] = np.maximum(value[heads], best)
        return value


@attrs.frozen(eq=False)
class Worst:
    """The worst case of one cost.

    Attributes:
        between: the most from the start, or a progress event, to the next or the end.
        start: the state in which that segment begins.
        per_run: the most in a whole run, or None if nothing bounds it.
        slope: by how much one more progress event raises `per_run`, once that is the
            same for ever; None if it was not found to be.
        plan: the edges of a segment and of a run that attain the values.
    """

    between: int
    start: int
    per_run: int | None
    slope: int | None
    segment: tuple[int, ...]
    run: tuple[int, ...]


def segments_of(graph: Graph) -> Segments | None:
    """Order the edges without progress, or None if some cycle of them remains.

    Cycles that cost nothing are cut: an edge on one is left out, since going round
    adds nothing.
    """
    allowed = ~graph.progress
    ordered = _order(graph, allowed)
    if ordered is None:
        inside, _ = inside_components(graph, allowed)
        if (inside & graph.costs).any():
            return None
        ordered = _order(graph, allowed & ~inside)
    if ordered is None:
        return None
    starts = np.unique(np.append(graph.targets[graph.progress], graph.start))
    return Segments(graph, ordered[0], ordered[1], starts)


def _order(
    graph: Graph, allowed: Bools
) -> tuple[tuple[tuple[Ints, Ints], ...], tuple[Ints, ...]] | None:
    """Peel off states whose allowed edges all lead to states peeled before."""
    chosen = np.flatnonzero(allowed)
    sources, targets = graph.sources[chosen], graph.targets[chosen]
    left = np.bincount(sources, minlength=graph.size)
    by_target = np.argsort(targets, kind="stable")
    into = np.concatenate(([0], np.cumsum(np.bincount(targets, minlength=graph.size))))
    out = np.concatenate(([0], np.cumsum(left)))
    ready = np.flatnonzero(left == 0)
    done = ready.size
    layers: list[tuple[Ints, Ints]] = []
    heads: list[Ints] = []
    while ready.size:
        arriving = by_target[_spans(into, ready)]
        before = sources[arriving]
        np.subtract.at(left, before, 1)
        ready = np.unique(before[left[before] == 0])
        if ready.size:
            counts = out[ready + 1] - out[ready]
            first = np.concatenate(([0], np.cumsum(counts[:-1])))
            layers.append((chosen[_spans(out, ready)], first))
            heads.append(ready)
            done += ready.size
    return (tuple(layers), tuple(heads)) if done == graph.size else None


def _spans(first: Ints, which: Ints) -> Ints:
    """Return the concatenated index ranges of some rows of a compressed matrix."""
    begins, counts = first[which], first[which + 1] - first[which]
    total = int(counts.sum())
    jumps = np.repeat(begins - np.concatenate(([0], np.cumsum(counts[:-1]))), counts)
    return np.arange(total) + jumps


class WorstCase:
    """The computation of one worst case over given segments.

    Args:
        segments: the ordered edges without progress.
        weights: per edge, what it spends.
        rounds: how many progress events a run can have at most, or None.
    """

    def __init__(self, segments: Segments, weights: Ints, rounds: int | None) -> None:
        self.segments = segments
        self.graph = segments.graph
        self.weights = weights
        self.rounds = rounds
        self.steps = np.flatnonzero(self.graph.progress)
        self.usable = self.graph.progress.copy()
        for edges, _ in segments.layers:
            self.usable[edges] = True

    def solve(self) -> Worst:
        """Compute the worst case."""
        between = self.between()
        starts = self.segments.starts
        start = int(starts[np.argmax(between[starts])])
        segment = self.follow(start, between, np.zeros(self.graph.size, np.int64))
        worst = int(between[start])
        levels, slope, ends = self.levels()
        if not ends:
            return Worst(worst, start, None, None, segment, ())
        total, run = self.whole(levels, slope)
        return Worst(worst, start, total, slope, segment, run)

    def between(self) -> Ints:
        """Return, per state, the most until the next progress event or the end."""
        return self.onwards(np.zeros(self.graph.size, np.int64), stop=True)

    def onwards(self, later: Ints, *, stop: bool) -> Ints:
        """Return, per state, the most if the next progress event is worth `later`."""
        ends = np.full(self.graph.size, 0 if stop else _MINUS, np.int64)
        gain = self.weights[self.steps] + later[self.graph.targets[self.steps]]
        np.maximum.at(ends, self.graph.sources[self.steps], gain)
        return self.segments.longest(self.weights, ends)

    def levels(self) -> tuple[list[Ints], int | None, bool]:
        """Return the values with at most 0, 1, ... progress events.

        Also by how much one more event raises them from the last on (None: not
        known to be the same for ever), and whether a run has a worst case at all.
        """
        nothing = np.zeros(self.graph.size, np.int64)
        levels = [self.segments.longest(self.weights, nothing)]
        hubs = self.hubs()
        rounds = _PATIENCE if self.rounds is None else min(self.rounds, _MAX_ROUNDS)
        while self.steps.size and len(levels) <= rounds:
            later = levels[-1]
            levels.append(self.onwards(later, stop=True))
            if (levels[-1] == later).all():
                return levels, 0, True
            rise = levels[-1][hubs] - later[hubs]
            if rise.size and (rise == rise[0]).all() and self.carried(levels, hubs):
                return levels, int(rise[0]), self.rounds is not None
        return levels, None, len(levels) - 1 == self.rounds or not self.steps.size

    def carried(self, levels: list[Ints], hubs: Ints) -> bool:
        """Tell whether at every hub a worst path goes on to another progress event.

        Then one more event adds the same again, for ever.
        """
        kept = np.full(self.graph.size, _MINUS, np.int64)
        kept[hubs] = levels[-2][hubs]
        only_on = self.onwards(kept, stop=False)
        return bool((only_on[hubs] == levels[-1][hubs]).all())

    def hubs(self) -> Ints:
        """Return the states after progress from which more progress can be made."""
        nothing = np.zeros(self.graph.size, np.int64)
        can = self.onwards(nothing, stop=False) >= 0
        after = np.unique(self.graph.targets[self.steps])
        return after[can[after]]

    def whole(self, levels: list[Ints], slope: int | None) -> tuple[int, tuple[int, ...]]:
        """Return the most of a whole run and the edges of one that attains it."""
        known = len(levels) - 1
        level = known if self.rounds is None or slope is None else self.rounds
        far = _Far(self, levels, slope or 0) if level > known else None
        run: list[int] = []
        state = self.graph.start
        total: int | None = None
        while True:
            if far is not None and level > known:
                value, later = far.values(level, state)
            else:
                value, later = levels[level], levels[level - 1] if level else None
            total = int(value[state]) if total is None else total
            part = self.follow(state, value, later)
            run += part
            if not part or not self.graph.progress[part[-1]] or len(run) > _MAX_RUN:
                return total, tuple(run)
            state = int(self.graph.targets[part[-1]])
            level -= 1

    def follow(self, state: int, value: Ints, later: Ints | None) -> tuple[int, ...]:
        """Return the edges of a worst segment from a state; its last may be progress.

        Args:
            state: where it begins.
            value: per state, the most that can be spent from it.
            later: what each state is worth after a progress edge; None: none is taken.
        """
        edges: list[int] = []
        graph = self.graph
        while value[state] > 0:
            here = np.arange(graph.first[state], graph.first[state + 1])
            ahead = graph.progress[here]
            onward = value[graph.targets[here]]
            if later is not None:
                onward = np.where(ahead, later[graph.targets[here]], onward)
            fits = self.usable[here] & (self.weights[here] + onward == value[state])
            if later is None:
                fits &= ~ahead
            edge = int(here[np.argmax(fits)])
            edges.append(edge)
            if graph.progress[edge]:
                break
            state = int(graph.targets[edge])
        return tuple(edges)


class _Far:
    """The values with so many events to come that one more adds the same everywhere.

    Seen from a hub the next segment is then always the same, so it is computed once.
    """

    def __init__(self, case: WorstCase, levels: list[Ints], slope: int) -> None:
        self.case = case
        self.last = levels[-1]
        self.known = len(levels) - 1
        self.slope = slope
        self.hubs = case.hubs()
        self.ahead = self.shifted(1)
        self.value = case.onwards(self.ahead, stop=True)

    def shifted(self, more: int) -> Ints:
        """Return the last values with `more - 1` further events at the hubs."""
        later = self.last.copy()
        later[self.hubs] += self.slope * (more - 1)
        return later

    def values(self, level: int, state: int) -> tuple[Ints, Ints]:
        """Return the values at a level, and those after the next progress event."""
        if np.isin(state, self.hubs):
            return self.value, self.ahead
        later = self.shifted(level - self.known)
        return self.case.onwards(later, stop=True), later
