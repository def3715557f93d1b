"""The checker's answers on the reference loop are the published ones."""

import pytest

from benchmarks.reference_loop import Ablation, reference_loop
from unspiral.engine.check import Outcome, check


def test_full_exploration_counts_what_a_plain_search_counts() -> None:
    verdict = check(reference_loop(1, 2, 1), full=True)

    assert (verdict.states, verdict.transitions) == (97_119, 562_538)


@pytest.mark.parametrize("ablation", ["hook", "collapse"])
def test_without_one_guard_there_is_a_spiral_of_five_steps(ablation: Ablation) -> None:
    verdict = check(reference_loop(2, 3, 1, ablation), full=True)

    assert verdict.verdict is Outcome.REFUTED
    assert {(len(each.stem), len(each.loop)) for each in verdict.spirals} == {(5, 5)}


def test_a_reactive_flag_reset_by_capped_blocks_is_no_spiral() -> None:
    assert check(reference_loop(2, 3, 1, "react")).verdict is Outcome.PROVED


@pytest.mark.parametrize(
    ("turns", "window", "worst"), [(10, 4, 1739), (50, 10, 6179), (200, 20, 22_829)]
)
def test_the_worst_case_is_the_published_one(
    turns: int, window: int, worst: int
) -> None:
    bounds = check(reference_loop(turns, window, 3)).bounds

    assert bounds is not None
    assert bounds.model_calls_per_run == worst
    assert bounds.formula == "111 * max_turns + 629"
