"""A checker without any idea: breadth-first search with `step`, Tarjan by recursion.

It shares nothing with the engine's proof but the table, and is what that is held to.
"""

from collections import deque

import attrs

from unspiral.engine.core.declare import Law
from unspiral.engine.core.language import evaluate
from unspiral.engine.core.laws import Watcher, compile_law
from unspiral.engine.core.observer import Observer
from unspiral.engine.core.step import (
    Snapshot,
    Step,
    available_events,
    initial_snapshot,
    memory_of,
    step,
)
from unspiral.engine.core.table import Table
from unspiral.engine.errors import OutOfRange, StuckError

__all__ = ["Naive", "explore_naively", "law_holds"]


@attrs.frozen
class Naive:
    """What the naive search found.

    Attributes:
        states: the snapshots, each with its distance from the start.
        steps: every step that can be taken.
        faults: how many (snapshot, event) pairs have no row, leave a domain, or are
            phases in which no event is available.
    """

    states: dict[Snapshot, int]
    steps: list[Step]
    faults: int

    def cycles(self, *, progress: bool) -> list[Step]:
        """Return the steps on cycles, of all steps or of those without progress."""
        chosen = [s for s in self.steps if progress or not s.row.progress]
        after: dict[Snapshot, set[Snapshot]] = {}
        for each in chosen:
            after.setdefault(each.before, set()).add(each.after)
        component = components(after)
        return [s for s in chosen if component[s.before] == component.get(s.after)]

    @property
    def spirals(self) -> bool:
        """Tell whether a cycle without progress costs something."""
        return any(any(s.row.cost.values()) for s in self.cycles(progress=False))

    def shortest_lasso(self) -> int | None:
        """Return the fewest steps of a stem and a costed loop without progress."""
        loops = self.cycles(progress=False)
        after: dict[Snapshot, list[Step]] = {}
        for each in loops:
            after.setdefault(each.before, []).append(each)
        best: int | None = None
        for head in {s.before for s in loops}:
            length = _round(head, after)
            if length is not None and (
                best is None or self.states[head] + length < best
            ):
                best = self.states[head] + length
        return best

    def most(self, weight: str) -> int | None:
        """Return the most of a cost in a whole run; None if nothing bounds it."""
        if any(s.row.cost.get(weight, 0) for s in self.cycles(progress=True)):
            return None
        after: dict[Snapshot, set[Snapshot]] = {}
        for each in self.steps:
            after.setdefault(each.before, set()).add(each.after)
        component = components(after)
        # Tarjan numbers components in reverse topological order.
        value: dict[int, int] = {}
        by_component: dict[int, list[Step]] = {}
        for each in self.steps:
            by_component.setdefault(component[each.before], []).append(each)
        for number in sorted(set(component.values())):
            value[number] = max(
                (
                    s.row.cost.get(weight, 0) + value[component[s.after]]
                    for s in by_component.get(number, ())
                    if component[s.after] != number
                ),
                default=0,
            )
        start = next(s for s, depth in self.states.items() if depth == 0)
        return value[component[start]]


def _round(head: Snapshot, after: dict[Snapshot, list[Step]]) -> int | None:
    """Return the fewest steps from a snapshot back to it with some cost."""
    seen = {(head, False): 0}
    queue = deque([(head, False)])
    while queue:
        here, paid = queue.popleft()
        for each in after.get(here, ()):
            costs = paid or any(each.row.cost.values())
            if each.after == head and costs:
                return seen[here, paid] + 1
            if (each.after, costs) not in seen:
                seen[each.after, costs] = seen[here, paid] + 1
                queue.append((each.after, costs))
    return None


def explore_naively(table: Table, most: int = 20_000) -> Naive | None:
    """Take every step of every reachable snapshot; None if there are too many."""
    start = initial_snapshot(table)
    states = {start: 0}
    steps: list[Step] = []
    faults = 0
    queue = deque([start])
    while queue:
        here = queue.popleft()
        if here.phase in table.terminals:
            continue
        answers = _answers(table, here)
        faults += not answers
        for event in answers:
            taken = _taken(table, here, event)
            if taken is None:
                faults += 1
                continue
            steps.append(taken)
            if taken.after not in states:
                states[taken.after] = states[here] + 1
                queue.append(taken.after)
                if len(states) > most:
                    return None
    return Naive(states, steps, faults)


def _answers(table: Table, here: Snapshot) -> tuple[str | None, ...]:
    return available_events(table, here) if table.events[here.phase] else (None,)


def _taken(table: Table, here: Snapshot, event: str | None) -> Step | None:
    """Take a step; None if no row applies or a counter would leave its domain."""
    try:
        return step(table, here, event)
    except (StuckError, OutOfRange):
        return None


def components(after: dict[Snapshot, set[Snapshot]]) -> dict[Snapshot, int]:
    """Return the strongly connected component of each snapshot (Tarjan 1972)."""
    index: dict[Snapshot, int] = {}
    low: dict[Snapshot, int] = {}
    done: dict[Snapshot, int] = {}
    stack: list[Snapshot] = []
    found = -1
    nodes = dict.fromkeys([*after, *(t for targets in after.values() for t in targets)])
    for root in nodes:
        if root in index:
            continue
        index[root] = low[root] = len(index)
        stack.append(root)
        work = [(root, iter(after.get(root, ())))]
        while work:
            here, rest = work[-1]
            for each in rest:
                if each not in index:
                    index[each] = low[each] = len(index)
                    stack.append(each)
                    work.append((each, iter(after.get(each, ()))))
                    break
                if each not in done:
                    low[here] = min(low[here], index[each])
            else:
                work.pop()
                if work:
                    above = work[-1][0]
                    low[above] = min(low[above], low[here])
                if low[here] == index[here]:
                    found += 1
                    done.update(dict.fromkeys(_popped(stack, here), found))
    return done


def _popped(stack: list[Snapshot], last: Snapshot) -> list[Snapshot]:
    """Take everything down to a snapshot from a stack."""
    at = stack.index(last)
    taken = stack[at:]
    del stack[at:]
    return taken


def law_holds(table: Table, law: Law) -> bool:
    """Judge a law by the product of the snapshots with the states of its watcher."""
    observer = compile_law(law, table)
    if observer.trivial:
        return True
    found = _watched(observer, table)
    if found is None:
        return False
    after, marked = found
    component = components(after)
    return not any(component[one] == component[two] for one, two in marked)


def _watched(
    observer: Observer, table: Table
) -> tuple[dict[Snapshot, set[Snapshot]], list[tuple[Snapshot, Snapshot]]] | None:
    """Return the steps with the law's duty open, and those that must not recur.

    None: the law is broken by a run that ends, or by a step.
    """
    reader = Watcher(observer, table)
    endless = observer.recurrent is not None
    watched = observer.counting if endless else observer.pending
    start = (initial_snapshot(table), 0)
    seen = {start}
    queue = deque([start])
    after: dict[Snapshot, set[Snapshot]] = {}
    marked: list[tuple[Snapshot, Snapshot]] = []
    while queue:
        here, state = queue.popleft()
        if here.phase in table.terminals:
            if state in observer.pending:
                return None
            continue
        for event in _answers(table, here):
            taken = _taken(table, here, event)
            if taken is None:
                continue
            reader.state = state
            if not reader.see(taken):
                return None
            follower = (taken.after, reader.state)
            if state in watched and reader.state in watched:
                one, two = _both(here, state), _both(taken.after, reader.state)
                after.setdefault(one, set()).add(two)
                if not endless or _is_what(observer, table, taken):
                    marked.append((one, two))
            if follower not in seen:
                seen.add(follower)
                queue.append(follower)
    return after, marked


def _both(snapshot: Snapshot, state: int) -> Snapshot:
    return Snapshot(snapshot.phase, (*snapshot.memory, state))


def _is_what(observer: Observer, table: Table, taken: Step) -> bool:
    letter = observer.letters[taken.row.index][observer.recurrent or 0]
    return bool(evaluate(letter, memory_of(table, taken.before)))
