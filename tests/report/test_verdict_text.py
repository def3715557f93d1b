"""A verdict reads as a report: the answer first, then every story in full."""

from collections.abc import Callable

import attrs

from unspiral.engine.check.verdict import Bounds, Lasso, Outcome, Verdict
from unspiral.engine.core.declare import (
    Counter,
    Machine,
    Phase,
    Terminal,
    Transition,
)
from unspiral.engine.core.step import initial_snapshot, step
from unspiral.engine.core.table import Table, compile_table
from unspiral.engine.report.lines import plain
from unspiral.engine.report.verdict_text import headline, verdict_lines


def text_of(verdict: Verdict) -> str:
    return plain(verdict_lines(verdict))


def test_the_first_line_is_the_answer(refuted: Verdict) -> None:
    expected = (
        "REFUTED: blocked, edition published "
        "(exact search; 1,234 states, 5,678 transitions, 0.123 s)"
    )

    assert headline(refuted) == expected
    assert text_of(refuted).splitlines()[0] == expected


def test_a_refuted_machine_says_what_was_found(refuted: Verdict) -> None:
    assert "Found: 1 death spiral. 1 law REFUTED." in text_of(refuted)


def test_a_spiral_is_a_numbered_story_of_stem_and_loop(refuted: Verdict) -> None:
    text = text_of(refuted)

    head = "SPIRAL 1 of 1: through stop_hook_blocking; one round costs model_calls 1"
    assert head in text
    assert "1  shape: fits -> call" in text
    assert "LOOP, again and again" in text
    assert "33  shape: fits -> call" in text
    assert "36  decide -> shape   [continue stop_hook_blocking]" in text


def test_each_step_shows_memory_and_the_guard_that_let_it_pass(
    refuted: Verdict,
) -> None:
    text = text_of(refuted)

    assert "otherwise: not (blocks >= 1000)" in text
    assert "memory  blocks 0 -> 1, last none -> stop_hook_blocking" in text


def test_an_open_ended_cycle_is_told_apart_from_a_spiral(refuted: Verdict) -> None:
    text = text_of(refuted)

    assert "OPEN-ENDED 1 of 1: through next_turn" in text
    assert "[continue next_turn; progress]" in text


def test_every_law_has_a_line_and_a_broken_one_its_story(refuted: Verdict) -> None:
    text = text_of(refuted)

    assert "REFUTED  blocks_end  few" in text
    assert "PROVED   starts      never" in text
    assert "BROKEN LAW blocks_end" in text


def test_a_spiral_names_the_assumption_that_would_exclude_it(
    refuted: Verdict,
) -> None:
    assert "--assume hooks_accept" in text_of(refuted)


def test_used_assumptions_are_counted_and_told(
    refuted: Verdict, blocked: Machine
) -> None:
    table = compile_table(blocked, assumptions=("hooks_accept",))

    text = text_of(attrs.evolve(refuted, table=table))

    assert "Assumptions used: 1" in text
    assert "hook answers block never (hooks accept answers)" in text
    assert "--assume hooks_accept" not in text


def test_no_assumption_is_said_too(proved: Verdict) -> None:
    assert "Assumptions used: none" in text_of(proved)


def test_bounds_are_numbers_or_unbounded_and_a_formula(proved: Verdict) -> None:
    bounds = Bounds(9, 1800, {"next_turn": None}, formula="9 * max_turns")

    text = text_of(attrs.evolve(proved, bounds=bounds))

    assert "model calls between progress" in text
    assert "1,800 (= 9 * max_turns)" in text
    assert "continues by next_turn between progress  unbounded" in text


def test_the_run_that_attains_a_bound_is_told_in_short(
    proved: Verdict, refuted: Verdict
) -> None:
    bounds = Bounds(9, 9, {}, witness=refuted.spirals[0])

    text = text_of(attrs.evolve(proved, bounds=bounds))

    assert "attained by a run of 36 steps: 9 x stop_hook_blocking" in text


def test_limits_that_are_not_at_their_default_are_named(
    proved: Verdict, blocked: Machine
) -> None:
    table = compile_table(blocked, "short", {"max_turns": 3})

    text = text_of(attrs.evolve(proved, table=table))

    assert "limits: cap = 2, max_turns = 3" in text


def test_a_cut_search_is_called_no_pass(proved: Verdict) -> None:
    verdict = attrs.evolve(
        proved, verdict=Outcome.UNDETERMINED, notes=("cut at 10 states",), bounds=None
    )

    text = text_of(verdict)

    assert text.startswith("UNDETERMINED")
    assert "this is no pass" in text
    assert "- cut at 10 states" in text


def faulty(guard: str, action: str) -> Table:
    """Return a machine that counts to 3, and then goes wrong."""
    return compile_table(
        Machine(
            name="faulty",
            phases=(Phase("a", events=("go",)), Phase("b")),
            terminals=(Terminal("end"),),
            transitions=(
                Transition("a", "b", "go", action=action),
                Transition("b", "end", guard=guard),
            ),
            memory=(Counter("n", high=3),),
        )
    )


def test_a_deadlock_says_where_the_run_is_stuck(proved: Verdict) -> None:
    table = faulty("n > 2", "n = 1")
    lasso = Lasso((step(table, initial_snapshot(table), "go"),))

    text = text_of(attrs.evolve(proved, table=table, deadlocks=(lasso,)))

    assert "DEADLOCK 1 of 1: 1 step\n      1  a: go -> b" in text
    assert "then  faulty: no row of phase 'b' takes a decision with {'n': 1}" in text


def test_a_range_violation_at_the_start_says_which_row_it_is(
    proved: Verdict,
) -> None:
    table = faulty("n > 2", "n += 7")

    text = text_of(attrs.evolve(proved, table=table, out_of_range=(Lasso(()),)))

    assert "OUT OF RANGE 1 of 1: 0 steps" in text
    assert "row 'a:go' sets n to 7, outside 0..3" in text


def test_the_text_has_no_control_character_whatever_a_machine_says(
    refuted: Verdict, blocked_with: Callable[[str], Machine]
) -> None:
    machine = blocked_with("\x1b[2J\u202e\x07")
    table = compile_table(machine, assumptions=("hooks_accept",))
    notes = ("\x1b]0;title\x07",)

    text = text_of(attrs.evolve(refuted, table=table, notes=notes))

    assert all(char == "\n" or char.isprintable() for char in text)
    assert "\\x1b[2J" in text
