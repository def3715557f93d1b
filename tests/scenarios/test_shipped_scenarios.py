"""The shipped scenarios, played with the real loop, tools and hooks."""

import pytest

from tests.scenarios.playing import MODEL, OTHER, Played, play
from unspiral.engine.scenarios.shipped import load


@pytest.fixture(scope="module")
def repair(tmp_path_factory: pytest.TempPathFactory) -> Played:
    return play(load("repair"), tmp_path_factory.mktemp("repair"))


def answers(played: Played) -> list[str]:
    return [each.answered.answer for each in played.journal.exchanges if each.answered]


def test_the_repair_ends_as_it_says(repair: Played) -> None:
    assert repair.wrong == ()
    assert repair.end == "completed"
    assert repair.reasons == [
        *["next_turn"] * 3,
        "reactive_compact_retry",
        *["next_turn"] * 2,
        "max_output_tokens_escalate",
        "stop_hook_blocking",
        "next_turn",
    ]


def test_in_the_repair_the_other_model_takes_over_after_three_overloads(
    repair: Played,
) -> None:
    first = [e.asked.model for e in repair.journal.exchanges if not e.asked.side][:6]

    assert answers(repair)[2:5] == ["overloaded"] * 3
    assert first == [*[MODEL] * 5, OTHER]


def test_in_the_repair_the_prompt_is_really_too_long(repair: Played) -> None:
    refused = [
        each
        for each in repair.journal.exchanges
        if each.answered and each.answered.answer == "refused"
    ]

    assert len(refused) == 1
    assert refused[0].asked.tokens > 7_000


def test_in_the_repair_the_test_fails_before_it_passes(repair: Played) -> None:
    runs = [error for name, error in repair.called if name == "bash"]

    assert runs == [True, False]
    assert [name for name, error in repair.called if error] == ["bash"]
