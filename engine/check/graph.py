"""The explored states as a graph in arrays. It knows edges and numbers, no machine."""

import functools
from collections.abc import Mapping
from typing import Any, TypeAlias

import attrs
import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from unspiral.engine.check.explore import Exploration
from unspiral.engine.check.layout import Layout
from unspiral.engine.check.system import Edge, System

__all__ = ["Graph", "graph_of"]

Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]


@attrs.frozen(eq=False)
class Graph:
    """States as 0..n-1 and edges sorted by their source.

    Attributes:
        system: the system explored.
        layouts: how its states are numbered.
        numbers: per state, its number in the exploration.
        first: per state, where its edges begin (n + 1 entries).
        sources: per edge, its state.
        targets: per edge, the follower.
        labels: per edge, its place in `system.edges`.
        start: the initial state.
        ends: the terminals and faults, which are the last states.
    """

    system: System
    layouts: Mapping[str, Layout]
    numbers: Ints
    first: Ints
    sources: Ints
    targets: Ints
    labels: npt.NDArray[np.int32]
    start: int
    ends: tuple[str, ...]

    @property
    def size(self) -> int:
        """Return how many states there are."""
        return int(self.numbers.size)

    def of_label(self, values: list[Any], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Spread a value per edge of the system over the edges of the graph."""
        return np.asarray(values, dtype)[self.labels]

    @functools.cached_property
    def progress(self) -> Bools:
        """Return, per edge, whether it does the user's work."""
        return self.of_label([e.progress for e in self.system.edges], np.bool_)

    @functools.cached_property
    def costs(self) -> Bools:
        """Return, per edge, whether taking it costs anything."""
        return self.of_label([e.costs for e in self.system.edges], np.bool_)

    @functools.cached_property
    def lengths(self) -> npt.NDArray[np.float64]:
        """Return, per edge, how many rows it stands for (at least 1)."""
        lengths = [max(1, len(e.rows)) for e in self.system.edges]
        return self.of_label(lengths, np.float64)

    def worst(self, name: str) -> Ints:
        """Return, per edge, the most of a cost or reason that it can stand for."""
        return self.of_label(
            [e.worst.get(name, 0) for e in self.system.edges], np.int64
        )

    def edge(self, number: int) -> Edge:
        """Return the edge of the system that an edge of the graph is."""
        return self.system.edges[int(self.labels[number])]

    def memory(self, state: int) -> tuple[str, dict[str, int]]:
        """Return the phase (or end) of a state, and what varies there."""
        number = int(self.numbers[state])
        for layout in self.layouts.values():
            rank = number - layout.offset
            if rank < layout.size:
                return layout.phase, {
                    d.name: rank // d.stride % d.size + d.low for d in layout.digits
                }
        behind = sum(layout.size for layout in self.layouts.values())
        return self.ends[number - behind], {}

    def values(self, name: str) -> Ints:
        """Return, per state, the value of a variable; -1 where it is not kept."""
        found = np.full(self.size, -1, np.int64)
        for layout in self.layouts.values():
            begin, end = np.searchsorted(
                self.numbers, [layout.offset, layout.offset + layout.size]
            )
            ranks = self.numbers[begin:end] - layout.offset
            if name in layout.fixed:
                found[begin:end] = layout.fixed[name]
            for digit in layout.digits:
                if digit.name == name:
                    found[begin:end] = ranks // digit.stride % digit.size + digit.low
        return found

    def end(self, name: str) -> int | None:
        """Return the state of a terminal or fault, or None if it is not reached."""
        if name not in self.ends:
            return None
        return self.size - len(self.ends) + self.ends.index(name)

    def matrix(self, weights: npt.NDArray[np.float64], chosen: Bools) -> csr_array:
        """Return some of the edges as a sparse matrix (parallel edges stay)."""
        first = np.concatenate(([0], np.cumsum(chosen)))[self.first]
        shape = (self.size, self.size)
        parts = (weights[chosen], self.targets[chosen].astype(np.int32), first)
        return csr_array(parts, shape=shape)


def graph_of(found: Exploration) -> Graph:
    """Return the graph of a recorded exploration."""
    order = np.argsort(found.sources, kind="stable")
    sources = np.searchsorted(found.numbers, found.sources[order])
    targets = np.searchsorted(found.numbers, found.targets[order])
    size = found.numbers.size
    counts = np.bincount(sources, minlength=size)
    return Graph(
        system=found.system,
        layouts=found.layouts,
        numbers=found.numbers,
        first=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        sources=sources.astype(np.int64),
        targets=targets.astype(np.int64),
        labels=found.labels[order],
        start=_start(found),
        ends=found.ends,
    )


def _start(found: Exploration) -> int:
    layout = found.layouts.get(found.system.initial)
    if layout is None:
        return 0  # nothing was explored
    memory = {word.name: word.initial for word in found.system.words}
    rank = sum((memory[d.name] - d.low) * d.stride for d in layout.digits)
    return int(np.searchsorted(found.numbers, layout.offset + rank))
