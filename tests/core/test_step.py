"""A step is pure, total over what is offered, and says why no other row was taken."""

from collections.abc import Callable, Iterator

import pytest

from unspiral.engine.core.declare import (
    Counter,
    Event,
    Limit,
    Machine,
    Phase,
    Terminal,
    Transition,
)
from unspiral.engine.core.language import UNLIMITED, evaluate
from unspiral.engine.core.step import (
    Snapshot,
    Step,
    available_events,
    initial_snapshot,
    memory_of,
    step,
    stepper,
)
from unspiral.engine.core.table import Table, compile_table
from unspiral.engine.errors import (
    ExpressionError,
    IllegalEvent,
    OutOfRange,
    StuckError,
)

Walk = Callable[[Table], Iterator[Step]]


def counting(guard: str = "", action: str = "", high: str = "cap") -> Machine:
    return Machine(
        "counting",
        phases=(Phase("work", (Event("go", "n != 9"),)),),
        terminals=(Terminal("done"),),
        memory=(Counter("n", high), Counter("m", 3, low=-1, initial=0)),
        limits=(Limit("cap", 3),),
        transitions=(
            Transition("work", "work", "go", guard, action, reason="again"),
            Transition("work", "done", "go", "otherwise"),
        ),
    )


def test_a_step_is_what_the_trees_of_its_row_say(subject: Table, walk: Walk) -> None:
    for taken, _ in zip(walk(subject), range(2_000), strict=False):
        memory = memory_of(subject, taken.before)
        after = memory | {
            assign.name: evaluate(assign.value, memory) for assign in taken.row.action
        }

        assert memory_of(subject, taken.after) == after
        assert taken.after.phase == taken.row.target
        assert [evaluate(row.guard, memory) for row, _ in taken.asked] == [
            verdict for _, verdict in taken.asked
        ]
        for variable in subject.variables:
            domain = variable.domain
            value = memory_of(subject, taken.after)[variable.name]
            assert domain is None or value in domain
            assert type(value) is type(variable.initial)


def test_the_first_snapshot_holds_the_initial_values(loop: Machine) -> None:
    table = compile_table(loop)

    assert initial_snapshot(table) == ("call.ask", (1, False, "none", 0, 0))
    assert memory_of(table, initial_snapshot(table))["turn"] == 1


def test_earlier_alternatives_are_told_with_their_guards(loop: Machine) -> None:
    table = compile_table(loop)
    last_turn = Snapshot("tools", (4, False, "none", 0, 0))

    taken = step(table, last_turn, "done")

    assert taken.row.name == "tools:done#2"
    assert [(row.name, verdict) for row, verdict in taken.asked] == [
        ("tools:done#1", False),
        ("tools:done#2", True),
    ]
    assert taken.why_not == ("not tools:done#1 -> call.ask: turn < 4 is false",)


def test_all_right_sides_read_the_memory_before_the_row() -> None:
    table = compile_table(counting(action="n = m + 1; m = n + 2"))

    assert step(table, initial_snapshot(table), "go").after.memory == (1, 2)


@pytest.mark.parametrize("event", ["god", "", None])
def test_what_a_phase_does_not_offer_is_illegal(
    loop: Machine, event: str | None
) -> None:
    table = compile_table(loop)
    here = initial_snapshot(table)

    with pytest.raises(IllegalEvent) as caught:
        step(table, here, event)

    assert caught.value.allowed == ("good", "busy", "broken")
    assert here == initial_snapshot(table)


def test_a_decision_takes_no_event(loop: Machine) -> None:
    table = compile_table(loop)
    judging = Snapshot("call.judge", initial_snapshot(table).memory)

    assert step(table, judging).row.name == "call.judge#1"
    with pytest.raises(IllegalEvent):
        step(table, judging, "good")


def test_a_terminal_takes_nothing(loop: Machine) -> None:
    table = compile_table(loop)
    ended = Snapshot("completed", initial_snapshot(table).memory)

    assert available_events(table, ended) == ()
    for event in (None, "good"):
        with pytest.raises(IllegalEvent, match="the run has ended in 'completed'"):
            step(table, ended, event)


def test_an_event_is_offered_only_while_it_is_available(loop: Machine) -> None:
    table = compile_table(loop)
    fragile = Snapshot("call.ask", (1, True, "none", 0, 0))
    tried = Snapshot("call.ask", (1, True, "none", 0, 1))

    assert available_events(table, fragile) == ("good", "busy")
    assert available_events(table, tried) == ("good", "busy", "broken")
    with pytest.raises(IllegalEvent):
        step(table, fragile, "broken")


def test_no_row_that_holds_is_an_error_of_the_machine() -> None:
    machine = (
        counting().amend("work:go#2", guard="n == 3").amend("work:go#1", guard="n == 2")
    )
    table = compile_table(machine)

    with pytest.raises(StuckError, match=r"with \{'n': 0, 'm': 0\}; add an `otherw"):
        step(table, initial_snapshot(table), "go")


@pytest.mark.parametrize(
    ("action", "counter", "value", "low", "high"),
    [
        ("n += 4", "n", 4, 0, 3),
        ("n -= 1", "n", -1, 0, 3),
        ("n = 7", "n", 7, 0, 3),
        ("m = n - 2", "m", -2, -1, 3),
        ("n = 1; m = 4", "m", 4, -1, 3),
        ("n = max(n, cap) + 1", "n", 4, 0, 3),
    ],
)
def test_a_counter_never_leaves_its_domain(
    action: str, counter: str, value: int, low: int, high: int
) -> None:
    table = compile_table(counting(action=action))

    with pytest.raises(OutOfRange) as caught:
        step(table, initial_snapshot(table), "go")

    error = caught.value
    assert (error.row, error.counter, error.value) == ("work:go#1", counter, value)
    assert (error.low, error.high) == (low, high)


@pytest.mark.parametrize("action", ["n += 1", "m -= 1", "n = 3; m = 3", "n = cap"])
def test_the_ends_of_a_domain_belong_to_it(action: str) -> None:
    table = compile_table(counting(guard="n < 3 and m > -1", action=action))
    here = initial_snapshot(table)
    while here.phase == "work":
        here = step(table, here, "go").after

    assert here.phase == "done"


def test_a_counter_without_end_grows_and_never_sinks_below() -> None:
    table = compile_table(counting(action="n += 1"), limits={"cap": UNLIMITED})
    here = initial_snapshot(table)
    for _ in range(9):
        here = step(table, here, "go").after

    assert here.memory == (9, 0)
    assert available_events(table, here) == ()
    down = compile_table(counting(action="n -= 1"), limits={"cap": UNLIMITED})
    with pytest.raises(OutOfRange):
        step(down, initial_snapshot(down), "go")


@pytest.mark.parametrize(
    ("guard", "action"),
    [
        ("n - cap < 1", ""),
        ("-1 * cap < n", ""),
        ("n < 3", "n = cap"),
        ("n < 3", "n += cap"),
        ("n < 3", "n = max(n, cap)"),
    ],
)
def test_a_row_that_computes_with_unlimited_is_refused(guard: str, action: str) -> None:
    machine = counting(guard, action, high="9")

    assert len(compile_table(machine).rows) == 2
    with pytest.raises(ExpressionError, match="a limit that is UNLIMITED"):
        compile_table(machine, limits={"cap": UNLIMITED})


@pytest.mark.parametrize(
    "rows",
    [
        [("cap != UNLIMITED", "n = cap"), ("otherwise", "")],
        [("cap != UNLIMITED and n - cap < 1", "n = cap"), ("otherwise", "")],
        [("cap == UNLIMITED", ""), ("n - cap < 1", "n = cap"), ("otherwise", "")],
    ],
)
def test_a_row_that_is_dead_where_the_limit_is_unlimited_is_fine(
    rows: list[tuple[str, str]],
) -> None:
    machine = Machine(
        "careful",
        phases=(Phase("work", ("go",)),),
        terminals=(Terminal("done"),),
        memory=(Counter("n", "9"),),
        limits=(Limit("cap", 3),),
        transitions=tuple(
            Transition("work", "done", "go", guard, action) for guard, action in rows
        ),
    )
    table = compile_table(machine)
    endless = compile_table(machine, limits={"cap": UNLIMITED})

    assert step(table, initial_snapshot(table), "go").after.memory == (3,)
    assert step(endless, initial_snapshot(endless), "go").after.memory == (0,)


@pytest.mark.parametrize(
    ("guard", "told"),
    [
        ("n < cap", "n < 3"),
        ("cap < 2", "cap < 2"),
        ("cap > 2 and n < cap", "n < 3"),
        ("cap > 2", ""),
    ],
)
def test_a_guard_is_told_with_limits_or_as_declared_where_they_alone_refuse_it(
    guard: str, told: str
) -> None:
    assert compile_table(counting(guard)).rows[0].guard_text == told


def test_a_table_is_compiled_to_functions_once(loop: Machine) -> None:
    table = compile_table(loop)

    assert stepper(table) is stepper(table)
