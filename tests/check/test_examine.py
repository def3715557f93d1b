"""What the examination finds in small machines whose answer one can see."""

import attrs
import pytest

from unspiral.engine.check import Outcome, check, check_readings, check_table
from unspiral.engine.check.explore import explore
from unspiral.engine.check.system import system_of
from unspiral.engine.core.declare import (
    Counter,
    Event,
    Flag,
    Law,
    Limit,
    Machine,
    Phase,
    Terminal,
    Transition,
)
from unspiral.engine.core.language import UNLIMITED
from unspiral.engine.core.table import compile_table
from unspiral.engine.errors import InvalidMachine


def loop(*rows: Transition, memory: tuple[Counter | Flag, ...] = ()) -> Machine:
    """Return a machine with one costly phase, one free one, and one end."""
    return Machine(
        "loop",
        phases=[
            Phase("call", ["again", "ask", "end"], cost={"model_calls": 1}),
            Phase("think", [Event("back"), Event("out")]),
        ],
        terminals=[Terminal("done")],
        transitions=rows,
        memory=memory,
        limits=[Limit("cap", 3, values=(3, 4), reading="a test")],
    )


END = Transition("call", "done", "end")
ASK = Transition("call", "think", "ask")
BACK = Transition("think", "call", "back", reason="again")
OUT = Transition("think", "done", "out")


def test_a_retry_with_no_cap_is_a_spiral_with_the_shortest_lasso() -> None:
    verdict = check(loop(Transition("call", "call", "again"), ASK, END, BACK, OUT))

    lasso = verdict.spirals[0]
    assert verdict.verdict is Outcome.REFUTED
    assert [step.event for step in lasso.stem] == []
    assert [step.event for step in lasso.loop] == ["again"]
    assert lasso.cost == {"model_calls": 1}


def test_a_retry_with_a_cap_is_proved_with_the_bound_that_one_can_count() -> None:
    again = Transition("call", "call", "again", "n < cap", "n += 1")
    give_up = Transition("call", "done", "again", "otherwise")
    back = Transition("think", "done", "back")
    machine = loop(again, give_up, ASK, END, back, OUT, memory=(Counter("n", "cap"),))

    verdict = check(machine)

    assert verdict.verdict is Outcome.PROVED
    assert verdict.bounds is not None
    assert verdict.bounds.model_calls_per_run == 3 + 1


def test_a_cycle_that_costs_nothing_is_no_spiral() -> None:
    machine = Machine(
        "idle",
        phases=[Phase("wait", ["tick", "go"])],
        terminals=[Terminal("done")],
        transitions=[
            Transition("wait", "wait", "tick"),
            Transition("wait", "done", "go"),
        ],
    )

    verdict = check(machine)

    assert verdict.verdict is Outcome.PROVED
    assert verdict.bounds is not None
    assert verdict.bounds.model_calls_per_run == 0


def test_a_cycle_with_progress_is_open_ended_and_no_spiral() -> None:
    work = Transition("call", "call", "again", reason="next_turn", progress=True)
    verdict = check(loop(work, ASK, END, Transition("think", "done", "back"), OUT))

    assert verdict.verdict is Outcome.PROVED
    assert [lasso.reasons for lasso in verdict.open_ended] == [("next_turn",)]
    assert verdict.bounds is not None
    assert verdict.bounds.model_calls_per_run is None
    assert verdict.bounds.model_calls_between_progress == 1


def test_a_phase_that_takes_no_event_now_is_a_deadlock() -> None:
    machine = Machine(
        "stuck",
        phases=[
            Phase("first", ["go"]),
            Phase("second", [Event("out", available="ready")]),
        ],
        terminals=[Terminal("done")],
        memory=[Flag("ready")],
        transitions=[
            Transition("first", "second", "go"),
            Transition("second", "done", "out", action="ready = True"),
        ],
    )

    verdict = check_table(compile_table(machine))

    assert verdict.verdict is Outcome.REFUTED
    assert [step.event for step in verdict.deadlocks[0].stem] == ["go"]


def test_an_event_without_a_row_that_applies_is_a_deadlock() -> None:
    again = Transition("call", "call", "again", "n < 2", "n += 1")
    machine = loop(again, ASK, END, BACK, OUT, memory=(Counter("n", "2"),))

    verdict = check_table(compile_table(machine))

    assert [s.event for s in verdict.deadlocks[0].stem] == ["again", "again"]


def test_a_counter_that_leaves_its_domain_is_found_with_the_run_to_it() -> None:
    again = Transition("call", "call", "again", "", "n += 1")
    machine = loop(again, ASK, END, BACK, OUT, memory=(Counter("n", "cap"),))

    verdict = check_table(compile_table(machine))

    assert verdict.verdict is Outcome.REFUTED
    assert [s.event for s in verdict.out_of_range[0].stem] == ["again"] * 3


def test_a_counter_without_end_that_matters_is_undetermined() -> None:
    again = Transition("call", "call", "again", "n < 5 or n > 7", "n += 1")
    stop = Transition("call", "done", "again", "otherwise")
    machine = loop(again, stop, ASK, END, BACK, OUT, memory=(Counter("n", "cap"),))

    verdict = check_table(compile_table(machine, limits={"cap": UNLIMITED}))

    assert verdict.verdict is Outcome.UNDETERMINED
    assert "n has no greatest value" in verdict.notes[-1]


def test_a_search_that_needs_too_much_memory_says_how_far_it_got() -> None:
    again = Transition("call", "call", "again", "n < cap", "n += 1")
    stop = Transition("call", "done", "again", "otherwise")
    machine = loop(again, stop, ASK, END, BACK, OUT, memory=(Counter("n", "cap"),))
    table = compile_table(machine, limits={"cap": 1_000_000})

    verdict = check_table(table, memory=1_000)

    assert verdict.verdict is Outcome.UNDETERMINED
    assert "bytes" in verdict.notes[-1]


def test_ctrl_c_in_a_search_ends_it_with_what_was_found() -> None:
    def interrupt(states: int, waiting: int) -> None:
        del states, waiting
        raise KeyboardInterrupt

    again = Transition("call", "call", "again", "n < cap", "n += 1")
    stop = Transition("call", "done", "again", "otherwise")
    machine = loop(again, stop, ASK, END, BACK, OUT, memory=(Counter("n", "cap"),))

    verdict = check(machine, progress=interrupt)

    assert verdict.interrupted
    assert verdict.verdict is Outcome.UNDETERMINED


def test_ctrl_c_among_the_laws_keeps_the_verdict_and_leaves_the_rest_open() -> None:
    calls = 0

    def interrupt(states: int, waiting: int) -> None:
        nonlocal calls
        del states, waiting
        calls += 1
        if calls > 8:
            raise KeyboardInterrupt

    again = Transition("call", "call", "again", "n < cap", "n += 1", reason="again")
    stop = Transition("call", "done", "again", "otherwise")
    back = Transition("think", "done", "back")
    machine = loop(again, stop, ASK, END, back, OUT, memory=(Counter("n", "cap"),))
    few = Law("few", "bounded", "reason == 'again'", at_most="cap")
    laws = [attrs.evolve(few, name=f"few{i}") for i in range(9)]

    verdict = check(attrs.evolve(machine, laws=laws), progress=interrupt)

    assert verdict.interrupted
    assert verdict.verdict is Outcome.PROVED
    assert [law.verdict for law in verdict.laws][-1] is Outcome.UNDETERMINED
    assert verdict.notes[-1].startswith("interrupted after ")


def test_a_chain_that_is_walked_one_by_one_is_cut_and_not_endless() -> None:
    again = Transition("call", "call", "again", "n < cap", "n += 1")
    stop = Transition("call", "done", "again", "otherwise")
    back = Transition("think", "done", "back")
    machine = loop(again, stop, ASK, END, back, OUT, memory=(Counter("n", "cap"),))

    verdict = check_table(compile_table(machine, limits={"cap": 10**9}))

    assert verdict.verdict is Outcome.UNDETERMINED
    assert "50,000 rounds" in verdict.notes[-1]


def test_a_machine_with_findings_that_forbid_it_is_refused_with_all_of_them() -> None:
    machine = attrs.evolve(loop(ASK, END, BACK, OUT), initial="nowhere")
    worse = machine.amend("call:end", guard="capp > 1")

    with pytest.raises(InvalidMachine, match="nowhere") as caught:
        check(worse)

    assert "did you mean 'cap'" in str(caught.value)


def test_readings_are_checked_alone_and_in_pairs() -> None:
    again = Transition("call", "call", "again", "n < cap", "n += 1")
    stop = Transition("call", "done", "again", "otherwise")
    back = Transition("think", "done", "back")
    machine = loop(again, stop, ASK, END, back, OUT, memory=(Counter("n", "cap"),))

    found = check_readings(machine)

    assert [dict(each.changes) for each in found] == [{}, {"cap": 4}]
    bounds = [each.verdict.bounds for each in found]
    assert [b.model_calls_per_run for b in bounds if b is not None] == [4, 5]


@pytest.mark.parametrize("record", [True, False])
def test_counting_and_recording_find_the_same(*, record: bool) -> None:
    again = Transition("call", "call", "again", "n < cap", "n += 1")
    stop = Transition("call", "done", "again", "otherwise")
    machine = loop(again, stop, ASK, END, BACK, OUT, memory=(Counter("n", "cap"),))

    found = explore(system_of(compile_table(machine)), record=record)

    assert (found.states, found.transitions) == (4 * 2 + 1, 4 * 5)
