"""Two machines that use every feature of a declaration, and every shipped one."""

import itertools
from collections.abc import Callable, Iterator

import pytest

from unspiral import machines
from unspiral.engine.core.declare import (
    REASONS,
    Choice,
    Counter,
    Event,
    Flag,
    Limit,
    LimitValue,
    Machine,
    Phase,
    Terminal,
    Transition,
)
from unspiral.engine.core.language import UNLIMITED, names, parse_expression
from unspiral.engine.core.step import Step, available_events, initial_snapshot, step
from unspiral.engine.core.table import Table, compile_table

MOST_EDGES = 200_000

ATTEMPT = Machine(
    "attempt",
    phases=(
        Phase("ask", ("good", "busy", Event("broken", "not fragile or tries > 0"))),
        Phase("judge"),
    ),
    terminals=(Terminal("answered"), Terminal("gave_up", "error")),
    memory=(Counter("tries", "max_tries"), Flag("fragile", shared=True)),
    limits=(Limit("max_tries", 2),),
    transitions=(
        Transition("ask", "answered", "good"),
        Transition("ask", "gave_up", "broken", action="fragile = True"),
        Transition("ask", "judge", "busy"),
        Transition(
            "judge",
            "ask",
            guard="tries < max_tries",
            action="tries += 1",
            reason="again",
            cost={"model_calls": 1},
        ),
        Transition("judge", "gave_up", guard="otherwise"),
    ),
)

LOOP = Machine(
    "loop",
    phases=(
        Phase("call", runs=ATTEMPT),
        Phase("tools", ("done", Event("stop", "turn > 1")), cost={"tool_runs": 1}),
        Phase("recover"),
    ),
    terminals=(
        Terminal("completed"),
        Terminal("too_long", "limit"),
        Terminal("failed", "error"),
    ),
    memory=(
        Counter("turn", "max_turns", low=1),
        Flag("fragile"),
        Choice("last", REASONS),
        Counter("recoveries", "2"),
    ),
    limits=(Limit("max_turns", 4), Limit("patient", default=True)),
    transitions=(
        Transition("call", "tools", "answered"),
        Transition("call", "recover", "gave_up", guard="patient and recoveries < 2"),
        Transition("call", "failed", "gave_up", guard="otherwise"),
        Transition(
            "tools",
            "call",
            "done",
            guard="turn < max_turns",
            action="turn += 1; last = 'next_turn'; recoveries = 0; fragile = False",
            reason="next_turn",
            progress=True,
        ),
        Transition("tools", "too_long", "done", guard="otherwise"),
        Transition("tools", "completed", "stop", guard="last == 'next_turn'"),
        Transition("tools", "failed", "stop", guard="otherwise"),
        Transition(
            "recover",
            "call",
            guard="last not in ('recovered',) or not fragile",
            action="recoveries = min(recoveries + 1, 2); last = 'recovered'",
            reason="recovered",
        ),
        Transition("recover", "failed", guard="otherwise"),
    ),
)


def edges(table: Table) -> Iterator[Step]:
    """Yield every reachable edge, breadth first."""
    start = initial_snapshot(table)
    seen, queue = {start}, [start]
    for here in queue:
        if here.phase in table.terminals:
            continue
        decides = not table.events[here.phase]
        for event in (None,) if decides else available_events(table, here):
            taken = step(table, here, event)
            yield taken
            if taken.after not in seen:
                seen.add(taken.after)
                queue.append(taken.after)


def bounded(machine: Machine, edition: str | None) -> Table:
    """Compile at the edition's limits; those that bound counters are cut if need be."""
    table = compile_table(machine, edition)
    highs = (v.high for v in table.flat.memory if isinstance(v, Counter))
    bounds = frozenset[str]().union(*(names(parse_expression(high)) for high in highs))
    for greatest in (10**9, 6, 3, 2, 1):
        limits = {
            name: min(4 if value is UNLIMITED else int(value), greatest)
            for name, value in table.limits.items()
            if name in bounds and not isinstance(value, bool | str)
        }
        smaller = compile_table(machine, edition, limits)
        if sum(1 for _ in itertools.islice(edges(smaller), MOST_EDGES)) < MOST_EDGES:
            return smaller
    pytest.fail(f"{machine.name} is too large to be walked at any limits")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test that takes `subject` every machine at every edition."""
    if "subject" not in metafunc.fixturenames:
        return
    shipped = [machines.load(name) for name in machines.names()]
    pairs: list[tuple[Machine, str | None]] = []
    for machine in (ATTEMPT, LOOP, *shipped):
        editions = [each.name for each in machine.editions]
        if machine.name == "agent_loop":  # the query loop's rows, and a few more
            editions = ["hardened"]
        pairs += [(machine, edition) for edition in editions or (None,)]
    ids = [f"{machine.name}-{edition or 'plain'}" for machine, edition in pairs]
    metafunc.parametrize("subject", pairs, ids=ids, indirect=True)


@pytest.fixture(scope="session")
def subject(request: pytest.FixtureRequest) -> Table:
    machine, edition = request.param
    return bounded(machine, edition)


@pytest.fixture(scope="session")
def cut() -> Callable[[Machine, str, dict[str, LimitValue]], Table]:
    """Return a machine at small limits, some of them given."""
    small: dict[str, dict[str, LimitValue]] = {}

    def made(machine: Machine, edition: str, limits: dict[str, LimitValue]) -> Table:
        key = f"{machine.name} {edition}"
        if key not in small:
            small[key] = dict(bounded(machine, edition).limits)
        return compile_table(machine, edition, {**small[key], **limits})

    return made


@pytest.fixture(scope="session")
def walk() -> Callable[[Table], Iterator[Step]]:
    return edges


@pytest.fixture(scope="session")
def loop() -> Machine:
    return LOOP


@pytest.fixture(scope="session")
def attempt() -> Machine:
    return ATTEMPT
