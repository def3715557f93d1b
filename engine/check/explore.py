"""Exploration: which states can be reached, and how they are connected.

One array of marks a phase, addressed by the rank of a state; phases are swept in order,
each with all the states that have arrived, in chunks that stay in the cache. Nothing
here knows machines or laws. The memory is announced before it is taken, and a search
that would take more than allowed, or is interrupted, says how far it got.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import attrs
import numpy as np
import numpy.typing as npt

from unspiral.engine.check.kernel import Kernel, kernel_of
from unspiral.engine.check.layout import Layout, UnboundedError, layout_of
from unspiral.engine.check.reduce import NOTHING
from unspiral.engine.check.system import Edge, System

__all__ = ["DEFAULT_MEMORY", "INTERRUPTED", "Cut", "Exploration", "Progress", "explore"]

Ranks: TypeAlias = npt.NDArray[Any]
Progress: TypeAlias = Callable[[int, int], None]
INTERRUPTED = "interrupted"  #: the reason of a cut by ctrl-C
DEFAULT_MEMORY = 4 * 2**30  #: bytes for marks and edges, unless the caller says more
_CHUNK = 1 << 16
_MAX_ROUNDS = 50_000  # one by one: a search that long does not come to an end
_BYTES_AN_EDGE = 24


@attrs.frozen
class Cut:
    """Why a search was not finished.

    Attributes:
        reason: in words.
        states: how many states had been found.
    """

    reason: str
    states: int


@attrs.frozen(eq=False)
class Exploration:
    """What a search found.

    Attributes:
        system: what was explored.
        layouts: how its states are numbered.
        states: the number of reachable states, ends included.
        transitions: the number of (state, edge) pairs.
        ends: the terminals and faults reached.
        sources: per recorded edge, the number of its state (empty if not recorded).
        targets: per recorded edge, the number of the follower; ends are numbered
            behind all phases.
        labels: per recorded edge, its place in `system.edges`.
        numbers: the numbers of all reachable states, ascending (if recorded).
        bytes: the memory taken by marks.
        cut: why the search was not finished, or None.
    """

    system: System
    layouts: Mapping[str, Layout]
    states: int
    transitions: int
    ends: tuple[str, ...]
    sources: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int32]
    numbers: npt.NDArray[np.int64]
    bytes: int
    cut: Cut | None = None


def explore(  # noqa: PLR0913 - each is a choice of the caller
    system: System,
    *,
    record: bool = True,
    by_liveness: bool = True,
    keep: frozenset[str] = NOTHING,
    memory: int = DEFAULT_MEMORY,
    progress: Progress | None = None,
) -> Exploration:
    """Find every reachable state.

    Args:
        system: what to explore.
        record: keep the edges, for cycles and bounds; else only count.
        by_liveness: merge states that differ in what can no longer matter.
        keep: variables that matter everywhere.
        memory: most bytes to take for marks and recorded edges.
        progress: called now and then with the states found and those waiting.
    """
    try:
        layouts = layout_of(system, by_liveness=by_liveness, keep=keep)
    except UnboundedError as error:
        reason = f"memory {error.name} has no greatest value and cannot be dropped"
        return _nothing(system, Cut(reason, 0))
    size = sum(layout.size for layout in layouts.values())
    if size > memory:
        reason = f"{size:,} possible states need more than {memory:,} bytes"
        return _nothing(system, Cut(reason, 0))
    return _Search(system, layouts, record=record, memory=memory).run(progress)


def _nothing(system: System, cut: Cut) -> Exploration:
    none = np.zeros(0, np.int64)
    labels = np.zeros(0, np.int32)
    return Exploration(system, {}, 0, 0, (), none, none, labels, none, 0, cut)


class _Search:
    """One exploration under way."""

    def __init__(
        self,
        system: System,
        layouts: Mapping[str, Layout],
        *,
        record: bool,
        memory: int,
    ) -> None:
        self.system = system
        self.layouts = layouts
        self.record = record
        self.size = sum(layout.size for layout in layouts.values())
        self.memory = memory
        small = self.size < 2**31 - 1
        self.dtype: npt.DTypeLike = np.int32 if small else np.int64
        self.seen = {p: np.zeros(x.size, np.bool_) for p, x in layouts.items()}
        self.waiting: dict[str, list[Ranks]] = {phase: [] for phase in layouts}
        self.kernels: dict[str, Kernel] = {}
        self.places = {id(edge): i for i, edge in enumerate(system.edges)}
        self.ends: dict[str, int] = {}
        self.states = 0
        self.transitions = 0
        self.edges: list[tuple[Ranks, Ranks | int, int]] = []

    def run(self, progress: Progress | None) -> Exploration:
        start = self.layouts[self.system.initial]
        rank = _rank(start, {w.name: w.initial for w in self.system.words})
        self.arrive(self.system.initial, np.array([rank], self.dtype), unique=True)
        cut = None
        rounds = 0
        try:
            while any(self.waiting.values()):
                rounds += 1
                if rounds > _MAX_ROUNDS:
                    reason = (
                        f"more than {_MAX_ROUNDS:,} rounds; a counter goes that far"
                    )
                    cut = Cut(reason, self.states)
                    break
                for phase in self.layouts:
                    if self.waiting[phase]:
                        self.sweep(phase)
                if progress is not None:
                    progress(self.states, self.waiting_states())
                if self.transitions * _BYTES_AN_EDGE > self.memory and self.record:
                    reason = f"edges need more than {self.memory:,} bytes"
                    cut = Cut(reason, self.states)
                    break
        except KeyboardInterrupt:
            cut = Cut(INTERRUPTED, self.states)
        return self.result(cut)

    def waiting_states(self) -> int:
        return sum(part.size for parts in self.waiting.values() for part in parts)

    def kernel(self, phase: str) -> Kernel:
        if phase not in self.kernels:
            self.kernels[phase] = kernel_of(self.system, self.layouts, phase)
        return self.kernels[phase]

    def sweep(self, phase: str) -> None:
        """Follow all edges of the states that wait in a phase."""
        kernel = self.kernel(phase)
        parts, self.waiting[phase] = self.waiting[phase], []
        ranks = np.concatenate(parts) if len(parts) > 1 else parts[0]
        for begin in range(0, ranks.size, _CHUNK):
            chunk = ranks[begin : begin + _CHUNK]
            for number, where, followers in kernel.expand(chunk, np):
                edge = kernel.edges[number]
                count = chunk.size if where is None else where.size
                self.transitions += count
                if followers is None:
                    self.ends.setdefault(edge.target, len(self.ends))
                else:
                    unique = kernel.injective[number]
                    self.arrive(edge.target, followers, unique=unique)
                if self.record:
                    self.note(edge, chunk if where is None else chunk[where], followers)

    def note(self, edge: Edge, ranks: Ranks, followers: Ranks | None) -> None:
        end = self.size + self.ends[edge.target] if followers is None else followers
        self.edges.append((ranks, end, self.places[id(edge)]))

    def arrive(self, phase: str, ranks: Ranks, *, unique: bool) -> None:
        """Mark states as reached, and let the new ones wait for their turn."""
        seen = self.seen[phase]
        new = ranks[~seen[ranks]]
        if not new.size:
            return
        if not unique and new.size > 1:
            new.sort()
            new = new[np.concatenate(([True], new[1:] != new[:-1]))]
        seen[new] = True
        self.states += new.size
        self.waiting[phase].append(new)

    def result(self, cut: Cut | None) -> Exploration:
        sources, targets, labels = self.arrays()
        numbers = [
            np.flatnonzero(self.seen[p]).astype(np.int64) + layout.offset
            for p, layout in self.layouts.items()
            if self.record
        ]
        ends = self.size + np.arange(len(self.ends), dtype=np.int64)
        return Exploration(
            system=self.system,
            layouts=self.layouts,
            states=self.states + len(self.ends),
            transitions=self.transitions,
            ends=tuple(self.ends),
            sources=sources,
            targets=targets,
            labels=labels,
            numbers=np.concatenate([*numbers, ends]) if self.record else ends,
            bytes=self.size,
            cut=cut,
        )

    def arrays(
        self,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        total = sum(ranks.size for ranks, _, _ in self.edges)
        sources = np.empty(total, np.int64)
        targets = np.empty(total, np.int64)
        labels = np.empty(total, np.int32)
        at = 0
        for ranks, followers, place in self.edges:
            edge = self.system.edges[place]
            until = at + ranks.size
            sources[at:until] = ranks
            sources[at:until] += self.layouts[edge.source].offset
            targets[at:until] = followers
            if not isinstance(followers, int):
                targets[at:until] += self.layouts[edge.target].offset
            labels[at:until] = place
            at = until
        self.edges.clear()
        return sources, targets, labels


def _rank(layout: Layout, memory: Mapping[str, int]) -> int:
    return sum((memory[d.name] - d.low) * d.stride for d in layout.digits)
