"""Summaries: a nested machine becomes one edge per outcome.

The phases of a nested machine form a region with one entry, in which its own memory
always starts afresh. For each value of the outer memory that the region reads or
writes, the region is explored once by a plain search; each way out, with the values it
leaves behind, becomes one edge that carries its shortest and its dearest sequence of
rows, so that a trace through it can be written out again.

A region with a cycle that costs something is not summarised: the cycle is then found
where every other cycle is found.
"""

import functools
import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

import attrs

from unspiral.engine.check.reduce import NOTHING
from unspiral.engine.check.region import Inner, Region, State
from unspiral.engine.check.system import MODEL_CALLS, REASON, Edge, System
from unspiral.engine.core.language import (
    Assign,
    Compare,
    Const,
    Name,
    Node,
    conjunction,
    substitute,
)
from unspiral.engine.core.table import Row

__all__ = ["summarise"]

_MAX_CONTEXTS = 256
#: per state, the weight of the heaviest way to it, and its last edge
Best: TypeAlias = dict[State, tuple[int, tuple[State, Edge] | None]]


def summarise(
    system: System, regions: Iterable[Region], keep: frozenset[str] = NOTHING
) -> System:
    """Replace each region that can be summarised by one phase with an edge an outcome.

    Args:
        system: a system in which the quotient has not yet been taken.
        regions: the regions of its machine.
        keep: variables of which every change must stay visible.
    """
    for region in regions:
        edges = _Summary(Inner(system, region, keep)).edges()
        if edges is not None:
            gone = frozenset(region.phases[1:])
            system = attrs.evolve(
                system,
                phases=tuple(p for p in system.phases if p not in gone),
                edges=(
                    *(e for e in system.edges if e.source not in region.phases),
                    *edges,
                ),
            )
    return system


class _TooLargeError(Exception):
    """A region that is not worth summarising."""


class _Summary:
    """The edges that stand for one region."""

    def __init__(self, region: Inner) -> None:
        self.region = region

    def edges(self) -> list[Edge] | None:
        """Return the edges that stand for the region, or None to leave it as it is."""
        if self.region.watched:
            return None
        try:
            contexts = self.contexts()
            return [edge for each in contexts for edge in self.outcomes(each)]
        except _TooLargeError:
            return None

    def contexts(self) -> list[tuple[int, ...]]:
        domains: list[Iterable[int]] = []
        total = 1
        for word in self.region.words:
            if self.region.own(word):
                domains.append((word.initial,))
                continue
            total *= word.size
            if not 0 < total <= _MAX_CONTEXTS:
                raise _TooLargeError
            domains.append(range(word.low, (word.high or 0) + 1))
        return list(itertools.product(*domains))

    def outcomes(self, context: tuple[int, ...]) -> list[Edge]:
        search = _Search(self.region, context)
        search.run()
        when: Node = conjunction(
            *(
                Compare("==", Name(word.name), Const(value))
                for word, value in zip(self.region.words, context, strict=True)
                if not self.region.own(word)
            )
        )
        return [
            edge
            for exits in search.exits().values()
            for edge in self.joined(when, exits, search)
        ]

    def joined(self, when: Node, exits: "list[_Exit]", search: "_Search") -> list[Edge]:
        most = max(exits, key=lambda e: e.worst.get(MODEL_CALLS, 0))
        shortest = min(exits, key=lambda e: e.length)
        dearest = search.dearest(most)
        worst: dict[str, int] = {}
        for each in exits:
            for name, amount in each.worst.items():
                worst[name] = max(amount, worst.get(name, 0))
        last = shortest.edge
        edge = Edge(
            source=self.region.entry,
            target=last.target,
            enabled=when,
            updates=shortest.updates,
            rows=search.shortest(shortest),
            worst=worst,
            dearest=dearest,
            progress=last.progress,
            reason=last.reason,
            marked=last.marked,
        )
        if edge.costs:
            return [edge]
        # A cycle through it may cost or not: both must be seen.
        spent = [name for name in worst if worst[name] and not name.startswith(REASON)]
        ways = [max(exits, key=functools.partial(_spent, name)) for name in spent]
        rows = [search.most_of(n, e) for n, e in zip(spent, ways, strict=True)]
        return [edge, *(attrs.evolve(edge, rows=each) for each in rows)]


def _spent(name: str, by: "Edge | _Exit") -> int:
    return by.worst.get(name, 0)


@attrs.frozen(eq=False)
class _Exit:
    """One way out of a region.

    Attributes:
        state: where it leaves.
        edge: the edge taken.
        updates: what it leaves behind.
        length: how many rows a shortest way to it and out has.
        worst: for each cost, the most that was spent.
    """

    state: State
    edge: Edge
    updates: tuple[Assign, ...]
    length: int
    worst: Mapping[str, int]


class _Search:
    """The exploration of a region for one value of the outer memory."""

    def __init__(self, region: Inner, context: tuple[int, ...]) -> None:
        self.region = region
        self.start: State = (region.entry, context)
        self.ways: dict[State, list[tuple[Edge, State]]] = {}
        self.order: list[State] = []
        self.worst: dict[str, Best] = {}

    def run(self) -> None:
        """Explore breadth first, then order the states; a costed cycle is refused."""
        queue = [self.start]
        self.ways[self.start] = []
        for state in queue:
            self.region.room -= 1
            if not self.region.room:
                raise _TooLargeError
            phase, memory = state
            for edge, move in self.region.moves[phase]:
                after = move(memory)
                if after is None:
                    continue
                self.ways[state].append((edge, (edge.target, after)))
                follower = (edge.target, after)
                if edge.target in self.region.phases and follower not in self.ways:
                    self.ways[follower] = []
                    queue.append(follower)
        self.sort(queue)

    def sort(self, states: list[State]) -> None:
        """Order the states so that every inner edge points forwards."""
        waiting = dict.fromkeys(states, 0)
        for state in states:
            for _, follower in self.ways[state]:
                if follower in waiting:
                    waiting[follower] += 1
        ready = [state for state in states if not waiting[state]]
        for state in ready:
            self.order.append(state)
            for _, follower in self.ways[state]:
                if follower in waiting:
                    waiting[follower] -= 1
                    if not waiting[follower]:
                        ready.append(follower)
        if len(self.order) < len(states):
            raise _TooLargeError  # a cycle: leave it to the main search

    def exits(self) -> "dict[object, list[_Exit]]":
        """Return the ways out, those with the same effect together."""
        names_of_costs = {
            name
            for ways in self.ways.values()
            for edge, _ in ways
            for name in edge.worst
        }
        self.worst = worst = {
            name: self.paths(functools.partial(_spent, name)) for name in names_of_costs
        }
        found: dict[object, list[_Exit]] = {}
        for state in self.order:
            for edge, (target, memory) in self.ways[state]:
                if target in self.region.phases:
                    continue
                updates = self.left_behind(edge, state[1], memory)
                each = _Exit(
                    state=state,
                    edge=edge,
                    updates=updates,
                    length=len(edge.rows) - self.short[state][0],
                    worst={
                        name: best[state][0] + edge.worst.get(name, 0)
                        for name, best in worst.items()
                    },
                )
                key = (target, edge.progress, edge.reason, edge.marked, updates)
                found.setdefault(key, []).append(each)
        return found

    @functools.cached_property
    def short(self) -> "Best":
        return self.paths(lambda edge: -len(edge.rows))

    @functools.cached_property
    def dear(self) -> "Best":
        return self.paths(lambda edge: edge.calls)

    def shortest(self, found: _Exit) -> tuple[Row, ...]:
        """Return the rows of a shortest way out."""
        parts = [edge.rows for edge in self.edges(self.short, found)]
        return tuple(itertools.chain.from_iterable(parts))

    def dearest(self, found: _Exit) -> tuple[Row, ...]:
        """Return the rows of a way out with the most model calls."""
        parts = [edge.dearest for edge in self.edges(self.dear, found)]
        return tuple(itertools.chain.from_iterable(parts))

    def most_of(self, name: str, found: _Exit) -> tuple[Row, ...]:
        """Return the rows of a way out that spends the most of a cost."""
        parts = [edge.rows for edge in self.edges(self.worst[name], found)]
        return tuple(itertools.chain.from_iterable(parts))

    def edges(self, best: "Best", found: _Exit) -> list[Edge]:
        """Return the edges of the best way out."""
        way = [found.edge]
        here = best[found.state][1]
        while here is not None:
            state, edge = here
            way.append(edge)
            here = best[state][1]
        return way[::-1]

    def paths(self, weight: Callable[[Edge], int]) -> "Best":
        """Return the heaviest path from the entry to each state, by its last edge."""
        best: Best = {self.start: (0, None)}
        for state in self.order:
            value = best[state][0]
            for edge, follower in self.ways[state]:
                if follower not in self.ways:
                    continue
                total = value + weight(edge)
                if follower not in best or total > best[follower][0]:
                    best[follower] = (total, (state, edge))
        return best

    def left_behind(
        self, edge: Edge, before: tuple[int, ...], after: tuple[int, ...]
    ) -> tuple[Assign, ...]:
        """Return what a way out assigns: values inside the region, texts outside."""
        region = self.region
        texts, kept = region.leaving[edge]
        key = edge, tuple(after[i] for i in kept), before if texts else ()
        if key not in region.left:
            own = [word.name for word in region.words]
            read = dict(zip(own, before, strict=True))
            assigned = {u.name: substitute(u.value, read) for u in texts}
            assigned |= {own[i]: Const(after[i]) for i in kept}
            region.left[key] = tuple(
                itertools.starmap(Assign, sorted(assigned.items()))
            )
        return region.left[key]
