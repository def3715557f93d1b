"""How many steps a second: the pure step, `transitions`, and a bare dict.

All three take the same random walk through the reference loop, in turn, several times
in one process; the best round of each counts. Read the ratios: the absolute numbers
belong to the machine on which they were measured.

    python benchmarks/step.py [steps]

The bare dict knows phases only, no memory, no guards, no verdicts: it is what no table
in Python can be faster than. The other two give every guard's verdict with each step.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.reference_loop import reference_loop
from unspiral.engine.core.environments import Random
from unspiral.engine.core.library import Driver
from unspiral.engine.core.step import Step, initial_snapshot, step, stepper
from unspiral.engine.core.table import Table, compile_table

__all__ = ["WAYS", "main", "walk"]

ROUNDS = 5
Walk = list[Step]


def walk(table: Table, length: int, seed: int = 1) -> Walk:
    """Return a random walk; where a run ends, the next one begins."""
    environment = Random(seed)
    first = initial_snapshot(table)
    here, steps = first, list[Step]()
    while len(steps) < length:
        asks = table.events[here.phase]
        event = environment.answer(table, here) if asks else None
        steps.append(step(table, here, event))
        here = steps[-1].after
        here = first if here.phase in table.terminals else here
    return steps


def by_step(table: Table, steps: Walk) -> Callable[[], str]:
    """Return a walk by the pure step, one call and one Step a row."""
    first, ends = initial_snapshot(table), table.terminals
    events = [taken.event for taken in steps]

    def go() -> str:
        here = first
        for event in events:
            after = step(table, here, event).after
            here = first if after[0] in ends else after
        return here.phase

    return go


def by_handlers(table: Table, steps: Walk) -> Callable[[], str]:
    """Return a walk by the compiled functions behind `step`, as loops in a hurry do."""
    first, ends, handlers = initial_snapshot(table), table.terminals, stepper(table)
    events = [taken.event for taken in steps]

    def go() -> str:
        here = first
        for event in events:
            after = handlers[here[0], event](here)[3]
            here = first if after[0] in ends else after
        return here.phase

    return go


def by_transitions(table: Table, steps: Walk) -> Callable[[], str]:
    """Return a walk by the machine of `transitions`, as the live loop is driven."""
    driver, first, ends = Driver(table), initial_snapshot(table), table.terminals
    events = [taken.event for taken in steps]

    def go() -> str:
        model = driver.model
        model.state, model.memory = first
        here = first
        for event in events:
            here = driver.step(here, event).after
            if here[0] in ends:
                here = first
                model.state, model.memory = first
        return here.phase

    return go


def by_dict(table: Table, steps: Walk) -> Callable[[], str]:
    """Return a walk by one look-up a row, from phase to phase."""
    rows = {(row.source, row.name): row.target for row in table.rows}
    names, first, ends = [s.row.name for s in steps], table.initial, table.terminals

    def go() -> str:
        here = first
        for name in names:
            here = rows[here, name]
            here = first if here in ends else here
        return here

    return go


WAYS: dict[str, Callable[[Table, Walk], Callable[[], str]]] = {
    "core.step": by_step,
    "its compiled functions": by_handlers,
    "transitions (core.library)": by_transitions,
    "bare dict": by_dict,
}


def main(length: int = 200_000) -> None:
    """Measure and print."""
    table = compile_table(reference_loop(50, 10, 3))
    steps = walk(table, length)
    runs = {name: way(table, steps) for name, way in WAYS.items()}
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(ROUNDS):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    slowest = max(best.values())
    print(f"{length:,} steps of the reference loop, best of {ROUNDS} rounds")
    for name, seconds in best.items():
        rate, ratio = length / seconds, slowest / seconds
        print(f"  {name:<28}{rate:>12,.0f} steps/s {ratio:>8.1f} x")


if __name__ == "__main__":
    main(*(int(word.replace("_", "")) for word in sys.argv[1:2]))
