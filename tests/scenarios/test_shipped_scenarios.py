"""The shipped scenarios, played with the real loop, tools and hooks."""

from pathlib import Path

import pytest

from tests.scenarios.playing import MODEL, OTHER, Played, play
from unspiral.engine.errors import UnknownName
from unspiral.engine.live.events import Shown
from unspiral.engine.scenarios.shipped import load, names


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


def test_in_the_repair_the_hook_accepts_what_it_first_refused(repair: Played) -> None:
    written = repair.called[-1]

    assert written == ("write", False)
    assert repair.reasons.count("stop_hook_blocking") == 1


@pytest.mark.parametrize("name", names())
def test_a_shipped_scenario_comes_as_it_says(name: str, tmp_path: Path) -> None:
    assert play(load(name), tmp_path).wrong == ()


@pytest.mark.parametrize("name", names())
def test_a_shipped_scenario_uses_up_its_steps(name: str, tmp_path: Path) -> None:
    scenario = load(name)
    played = play(scenario, tmp_path)

    last = played.journal.exchanges[-1].answered
    assert last is not None
    assert last.why == f"step {len(scenario.schedule.steps)}"


def test_the_refactoring_takes_five_turns(tmp_path: Path) -> None:
    played = play(load("refactoring"), tmp_path)

    assert played.reasons == ["next_turn"] * 4
    assert [name for name, _ in played.called if name not in {"read", "glob"}] == [
        "grep",
        "edit",
        "bash",
    ]
    assert len(played.called) == 5
    assert answers(played) == ["reply"] * 5


def test_the_overflow_is_mended_by_folding_alone(tmp_path: Path) -> None:
    played = play(load("overflow"), tmp_path)

    assert answers(played).count("request_too_large") == 1
    assert [each for each in played.reasons if each != "next_turn"] == [
        "collapse_drain_retry"
    ]
    at = answers(played).index("request_too_large")
    refused, again = played.journal.exchanges[at : at + 2]
    assert again.asked.tokens < refused.asked.tokens - 2_000
    assert [each.asked.side for each in played.journal.exchanges].count(True) == 0


def test_nothing_that_was_recovered_from_is_shown(tmp_path: Path) -> None:
    for name in names():
        folder = tmp_path / name
        folder.mkdir()
        assert not any(isinstance(e, Shown) for e in play(load(name), folder).events)


def test_each_shipped_scenario_is_called_as_its_file_is() -> None:
    assert {name: load(name).name for name in names()} == {n: n for n in names()}
    assert {"repair", "overflow", "refactoring"} <= set(names())


def test_each_shipped_scenario_says_what_it_shows() -> None:
    assert [name for name in names() if not load(name).about] == []


def test_a_scenario_that_is_not_there_is_told_with_the_nearest_name() -> None:
    with pytest.raises(UnknownName, match="did you mean 'repair'"):
        load("repare")


@pytest.mark.parametrize("name", ["", "../repair", "shipped/repair", "repair.TOML"])
def test_a_name_leads_to_nothing_but_what_is_shipped(name: str) -> None:
    with pytest.raises(UnknownName):
        load(name)


def test_a_path_that_ends_in_toml_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text('name = "own"\ntask = "Do it."\n', encoding="utf-8")

    assert load(str(path)).name == "own"
