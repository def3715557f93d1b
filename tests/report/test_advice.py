"""Advice names the option that would tell more about this very verdict."""

import attrs

from unspiral.engine.check.verdict import Lasso, Outcome, Verdict
from unspiral.engine.core.declare import Counter, Machine
from unspiral.engine.core.table import compile_table
from unspiral.engine.report.advice import advice


def test_a_spiral_is_met_with_a_budget_and_the_assumption_it_needs(
    refuted: Verdict,
) -> None:
    tips = advice(refuted)

    assert tips[0].startswith("spend a counter on stop_hook_blocking")
    assert tips[1].startswith("--assume hooks_accept")


def test_an_unlimited_counter_that_the_loop_raises_is_named(
    refuted: Verdict, blocked: Machine
) -> None:
    memory = (Counter("blocks", high="max_turns"), *blocked.memory[1:])
    table = compile_table(attrs.evolve(blocked, memory=memory))
    (spiral,) = refuted.spirals
    rising = Lasso(spiral.stem[:4], spiral.stem[4:8])

    tips = advice(attrs.evolve(refuted, table=table, spirals=(rising,)))

    assert "--set max_turns=N: does the spiral end there?" in tips


def test_a_counter_that_the_loop_leaves_alone_is_not_named(refuted: Verdict) -> None:
    assert [tip for tip in advice(refuted) if "max_turns" in tip] == []


def test_readings_are_offered_where_there_are_some(refuted: Verdict) -> None:
    assert any(tip.startswith("--readings") for tip in advice(refuted))


def test_a_cut_search_is_told_how_to_become_smaller(proved: Verdict) -> None:
    cut = attrs.evolve(proved, verdict=Outcome.UNDETERMINED, bounds=None)

    assert any("lower the largest limits" in tip for tip in advice(cut))


def test_a_proved_machine_is_not_told_to_draw_counterexamples(
    proved: Verdict,
) -> None:
    assert [tip for tip in advice(proved) if "--draw" in tip] == []
