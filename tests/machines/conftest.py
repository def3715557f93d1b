"""A plain search by `step`, so that the machines are judged by nothing but the core."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import pytest

from unspiral.engine.core.language import names
from unspiral.engine.core.laws import Watcher, compile_law
from unspiral.engine.core.step import (
    Snapshot,
    Step,
    available_events,
    initial_snapshot,
    stepper,
)
from unspiral.engine.core.table import Table


class Found(NamedTuple):
    """What a search has seen: every state, and the steps that leave it."""

    steps: dict[Snapshot, tuple[Step, ...]]
    forget: Callable[[Snapshot], Snapshot]

    @property
    def rows(self) -> set[str]:
        return {s.row.name for steps in self.steps.values() for s in steps}

    @property
    def ends(self) -> set[str]:
        return {s.phase for s, steps in self.steps.items() if not steps}


def steps_from(table: Table, snapshot: Snapshot) -> tuple[Step, ...]:
    if snapshot.phase in table.terminals:
        return ()
    handlers = stepper(table)
    events: Iterable[str | None] = (None,)
    if table.events[snapshot.phase]:
        events = available_events(table, snapshot)
    return tuple(handlers[snapshot.phase, event](snapshot) for event in events)


def read_by_guards(table: Table, also: frozenset[str]) -> set[str]:
    """Return the memory that can decide anything: the rest need not be told apart."""
    read = {name for node in table.available.values() for name in names(node)} | also
    read |= {name for row in table.rows for name in names(row.guard)}
    while True:
        more = {
            name
            for row in table.rows
            for assign in row.action
            if assign.name in read
            for name in names(assign.value)
        } - read
        if not more:
            return read
        read |= more


def search(
    table: Table, most: int = 400_000, *, also: frozenset[str] = frozenset()
) -> Found:
    """Explore; memory that neither a guard nor `also` reads is not told apart."""
    kept = read_by_guards(table, also)
    initial = initial_snapshot(table)
    dropped = [
        (i, v.initial) for i, v in enumerate(table.variables) if v.name not in kept
    ]

    def forget(snapshot: Snapshot) -> Snapshot:
        if snapshot.phase in table.terminals:
            return Snapshot(snapshot.phase, initial.memory)
        memory = list(snapshot.memory)
        for place, value in dropped:
            memory[place] = value
        return Snapshot(snapshot.phase, tuple(memory))

    found: dict[Snapshot, tuple[Step, ...]] = {}
    waiting = [initial]
    while waiting:
        state = waiting.pop()
        if state in found:
            continue
        found[state] = steps_from(table, state)
        waiting += [forget(step.after) for step in found[state]]
        assert len(found) < most, "too large for a plain search"
    return Found(found, forget)


def components(graph: dict[Snapshot, list[Snapshot]]) -> dict[Snapshot, int]:
    """Return the number of the strong component of each state (Tarjan, iterative)."""
    index: dict[Snapshot, int] = {}
    low: dict[Snapshot, int] = {}
    number: dict[Snapshot, int] = {}
    path: list[Snapshot] = []
    for root in list(graph):
        if root in index:
            continue
        index[root] = low[root] = len(index)
        path.append(root)
        work = [(root, iter(graph[root]))]
        while work:
            state, rest = work[-1]
            for after in rest:
                if after not in index:
                    index[after] = low[after] = len(index)
                    path.append(after)
                    work.append((after, iter(graph[after])))
                    break
                if after not in number:
                    low[state] = min(low[state], index[after])
            else:
                work.pop()
                if work:
                    before = work[-1][0]
                    low[before] = min(low[before], low[state])
                if low[state] == index[state]:
                    while state not in number:
                        number[path.pop()] = index[state]
    return number


def spiral_rows(found: Found) -> set[str]:
    """Return the rows that cost something on a cycle without progress."""
    edges = [
        (state, step, found.forget(step.after))
        for state, steps in found.steps.items()
        for step in steps
        if not step.row.progress
    ]
    graph: dict[Snapshot, list[Snapshot]] = {state: [] for state in found.steps}
    for state, _, after in edges:
        graph[state].append(after)
    number = components(graph)
    return {
        step.row.name
        for state, step, after in edges
        if step.row.cost and number[state] == number[after]
    }


def worst(
    table: Table,
    count: Callable[[Step], int],
    *,
    goes_on: Callable[[Step], bool] = lambda _: True,
    start: Snapshot | None = None,
) -> int:
    """Return the most that `count` sums to along any run from `start`.

    Only steps that `goes_on` accepts are followed; they must form no cycle.
    """
    most: dict[Snapshot, int] = {}
    stack = [(start or initial_snapshot(table), False)]
    while stack:
        state, done = stack.pop()
        if state in most:
            continue
        steps = [s for s in steps_from(table, state) if goes_on(s)]
        if done:
            most[state] = max((count(s) + most[s.after] for s in steps), default=0)
            continue
        stack.append((state, True))
        stack += [(s.after, False) for s in steps if s.after not in most]
    return most[start or initial_snapshot(table)]


def broken(table: Table, name: str, most: int = 600_000) -> bool:
    """Tell whether some run breaks a law that forbids."""
    law = next(each for each in table.machine.laws if each.name == name)
    observer = compile_law(law, table)
    found = search(table, also=observer.names)
    watcher = Watcher(observer, table)
    seen = {(initial_snapshot(table), 0)}
    waiting = list(seen)
    while waiting:
        state, mode = waiting.pop()
        for step in found.steps[state]:
            watcher.state = mode
            if not watcher.see(step):
                return True
            reached = (found.forget(step.after), watcher.state)
            if reached not in seen:
                seen.add(reached)
                waiting.append(reached)
                assert len(seen) < most, "too large for a plain search"
    return False


class Plain(NamedTuple):
    """The plain search, for tests."""

    search: Callable[..., Found]
    spiral_rows: Callable[[Found], set[str]]
    worst: Callable[..., int]
    broken: Callable[..., bool]


@pytest.fixture(scope="session")
def plain() -> Plain:
    return Plain(search, spiral_rows, worst, broken)
