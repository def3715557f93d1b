"""Every fault of the catalogue, at every request of a conversation, through the SDK.

The table tests/live/fault_matrix.toml says what comes of each at the second request,
beside what the catalogue expects of a correct client. Whatever comes of a fault: the
machine takes the same rows, one end comes, histories stay well formed, no call runs
twice, and what was shown is kept or withdrawn. The long campaign is
`python -m tests.live.campaign`.
"""

import itertools
import tomllib
from pathlib import Path
from typing import Any

import attrs
import pytest

from tests.live.campaign import (
    CLASSES,
    alone,
    aside,
    endless,
    entry_of,
    main,
    pair,
    ways_of,
    wrong_in,
)
from tests.live.faulty import KEY, LAST, Played, broken, conversation, fault, play
from tests.live.histories import answer, call
from unspiral.engine.faults.catalogue import CATALOGUE
from unspiral.engine.live.events import Called, Calling, Tombstone, Waiting
from unspiral.engine.live.message import Message, calls_of, user_text

TABLE: dict[str, Any] = tomllib.loads(
    (Path(__file__).parent / "fault_matrix.toml").read_text("utf-8")
)
ENTRIES = pytest.mark.parametrize("name", CATALOGUE)
WAYS = pytest.mark.parametrize("stream", [True, False])
TOO_LONG = [name for name in TABLE if TABLE[name]["class"] == "prompt_too_long"]
IMAGE = {"type": "image", "source": {"type": "base64", "data": "aGk="}}


# -- the table -------------------------------------------------------------------------


def test_the_table_has_every_entry_with_what_the_catalogue_expects() -> None:
    # Another text of the catalogue is a reason to read the table anew.
    expected = {name: each.expect for name, each in CATALOGUE.items()}

    assert {name: each["expect"] for name, each in TABLE.items()} == expected


def test_every_class_of_faults_has_a_representative_and_no_other_is_there() -> None:
    assert {each["class"] for each in TABLE.values()} == set(CLASSES)
    assert {TABLE[name]["class"]: name for name in CLASSES.values()} == CLASSES


@ENTRIES
def test_each_fault_comes_to_what_the_table_says_and_the_session_goes_on(
    name: str,
) -> None:
    ways = ways_of(name)

    assert [found for each in ways for found in wrong_in(each)] == []
    assert entry_of(name, *ways) == TABLE[name]
    ends = [each.again.end for each in ways if each.again is not None]
    assert ends == ["completed", "completed"]


# -- what holds whatever comes ---------------------------------------------------------


@ENTRIES
def test_a_fault_at_any_request_breaks_nothing(name: str) -> None:
    found = {
        (position, stream): wrong_in(alone(name, position, stream=stream))
        for position in range(1, LAST + 1)
        for stream in (True, False)
        if position != 2  # is in the table
    }

    assert {case: each for case, each in found.items() if each} == {}


@ENTRIES
def test_what_is_told_is_the_same_if_tools_begin_while_an_answer_is_streamed(
    name: str,
) -> None:
    late, early = (alone(name, 2, stream=True, early=each) for each in (False, True))

    assert wrong_in(early) == []
    assert (early.ran.end, early.ran.reasons) == (late.ran.end, late.ran.reasons)
    assert early.ran.history == late.ran.history


@pytest.mark.parametrize("first", CLASSES)
def test_a_fault_of_any_class_right_after_another_breaks_nothing(first: str) -> None:
    found = {
        second: wrong_in(pair(CLASSES[first], CLASSES[second], stream=True))
        for second in CLASSES
    }

    assert {second: each for second, each in found.items() if each} == {}


@pytest.mark.parametrize("kind", CLASSES)
def test_a_fault_of_the_request_for_a_summary_breaks_nothing(kind: str) -> None:
    played = aside(CLASSES[kind], stream=True)

    assert wrong_in(played) == []
    # Without a summary what was refused is no shorter, and is not sent again.
    reasons = ["next_turn", "next_turn", "reactive_compact_retry", "next_turn"]
    whole = played.ran.end == "completed"
    assert played.ran.reasons == (reasons if whole else reasons[:2])
    assert whole or played.ran.end == "prompt_too_long"


@pytest.mark.parametrize("kind", CLASSES)
def test_a_fault_for_ever_of_all_but_summaries_ends_within_the_proved_bound(
    kind: str,
) -> None:
    # With those, and streamed, it is in the table.
    assert wrong_in(endless(CLASSES[kind], stream=False, side=False)) == []


# -- what the catalogue expects, where a line of the table does not show it ------------


def repeated(played: Played) -> list[int]:
    """The requests that are the same as an earlier one."""
    asked = [each.asked for each in played.exchanges]
    return [each.n for each in asked if each.same_as is not None]


def sent_after(played: Played, request: int) -> tuple[Message, ...]:
    return played.ran.model.asks[request].messages


@WAYS
@pytest.mark.parametrize("name", TOO_LONG)
def test_what_was_too_long_is_never_sent_twice(name: str, *, stream: bool) -> None:
    for played in (alone(name, 3, stream=stream), endless(name, stream=stream)):
        assert wrong_in(played) == []
        assert repeated(played) == []


@WAYS
def test_what_was_cut_in_thinking_is_not_sent_again_unchanged(*, stream: bool) -> None:
    for played in (
        alone("max_tokens_in_thinking", 2, stream=stream),
        endless("max_tokens_in_thinking", stream=stream),
    ):
        limits = [each.max_tokens for each in played.ran.model.asks]
        assert wrong_in(played) == []
        assert repeated(played) == []
        assert limits[1:3] == [8_000, 64_000]


def test_ids_that_come_again_are_replaced_by_others() -> None:
    played = endless("duplicate_tool_ids", stream=True)
    ids = [each.id for each in played.told(Called)]

    assert wrong_in(played) == []
    assert len(ids) == len(set(ids)) > 2


def test_an_output_that_is_over_the_window_is_asked_for_with_what_fits() -> None:
    numbers: dict[str, Any] = {"tokens": 199_000, "asked": 8_000, "limit": 200_000}
    played = play(conversation({2: (fault("output_over_window", **numbers),)}))

    assert broken(played) == []
    assert [each.asked.max_tokens for each in played.exchanges][:4] == [
        *(8_000, 8_000),
        *(1_000, 8_000),
    ]


def test_an_absurd_wait_is_capped_and_told() -> None:
    played = alone("rate_limited_absurd", 2, stream=True)
    left = [each.seconds for each in played.told(Waiting)]

    assert left[0] == 6 * 3_600
    assert {one - two for one, two in itertools.pairwise(left)} == {30}


@pytest.mark.parametrize("name", ["bad_key", "token_revoked"])
def test_a_key_that_can_be_renewed_is_renewed_once(name: str) -> None:
    for times, end in ((1, "completed"), (None, "api_error")):
        keys = iter([KEY, f"{KEY}-2", f"{KEY}-2", f"{KEY}-2"])
        schedule = conversation({2: (fault(name, times=times),)})
        played = play(schedule, key=lambda keys=keys: next(keys))  # type: ignore[misc]

        assert broken(played) == []
        assert played.ran.end == end
        assert played.ran.facts("call_model.refresh")[0] == "refreshed"


def test_an_image_that_was_refused_is_not_sent_again() -> None:
    shown = attrs.evolve(user_text("Look at this."), content=(IMAGE,))
    history = (shown, answer("I see.", id_="msg_0"))
    played = play(
        conversation({2: (fault("image_too_large"),)}), history=history, again=True
    )
    shapes = [each.asked.shape for each in played.exchanges]

    assert broken(played) == []
    assert played.ran.end == "completed"
    assert [each.startswith("u:i ") for each in shapes[:3]] == [True, True, False]
    assert not any("i" in each for each in shapes[2:])


@WAYS
def test_thinking_is_sent_back_unchanged_before_its_call(*, stream: bool) -> None:
    played = alone("thinking_then_tool_use", 2, stream=stream)
    thinking, called = sent_after(played, 2)[-2].content

    assert thinking["thinking"] == "I must read the file."
    assert thinking["signature"] == "c2lnbmVkIGJ5IG5vYm9keQ=="
    assert called["type"] == "tool_use"


def test_the_results_of_parallel_calls_are_one_message_in_their_order() -> None:
    played = alone("parallel_tool_use", 2, stream=True)
    called, results = sent_after(played, 2)[-2:]
    ids = [each["id"] for each in calls_of(called)]

    assert [each["tool_use_id"] for each in results.content] == ids
    assert len(ids) == 3


@pytest.mark.parametrize("name", ["empty_answer", "whitespace_answer"])
def test_an_answer_of_nothing_is_not_sent_back(name: str) -> None:
    played = alone(name, 2, stream=True, again=True)

    assert played.exchanges[2].asked.shape == "u:t a:tu u:rt"


@pytest.mark.parametrize("name", ["max_tokens_in_text", "max_tokens_in_tool_json"])
def test_an_answer_that_stays_cut_off_is_shown_as_that(name: str) -> None:
    played = endless(name, stream=True)

    assert played.ran.shown == ["The answer was cut off before its end (max_tokens)."]


def test_a_window_that_is_full_is_no_matter_of_the_output_limit() -> None:
    played = endless("context_window_exceeded", stream=True)

    assert played.ran.end == "prompt_too_long"
    assert {each.max_tokens for each in played.ran.model.main} == {8_000}
    assert played.ran.shown == [
        "The answer was cut off at the end of the context window."
    ]


@pytest.mark.parametrize("name", ["pause_turn", "server_compaction"])
def test_what_the_server_has_paused_is_sent_back_as_it_is(name: str) -> None:
    played = alone(name, 2, stream=True)
    reply = CATALOGUE[name].reply.blocks[0]

    assert sent_after(played, 2)[-1].content[0]["type"] == type(reply).__name__.lower()


def test_a_server_that_pauses_for_ever_is_asked_as_often_as_a_recovery_is_left() -> (
    None
):
    played = endless("pause_turn", stream=True)

    assert played.ran.end == "recovery_exhausted"
    assert played.ran.shown == [
        "The server has paused its answer too often (pause_turn)."
    ]
    assert set(played.ran.reasons[1:]) == {"server_pause"}
    assert played.exchanges[3].asked.shape == "u:t a:tu u:r a:tt"


# -- that all this can fail ------------------------------------------------------------


def test_a_call_that_runs_twice_is_found() -> None:
    played = alone("server_error", 2, stream=True)
    played.ran.events.insert(-1, played.told(Calling)[0])
    played.read.append("turn-1")

    assert any("ran 2 times" in each for each in broken(played))


def test_a_call_of_an_answer_that_was_withdrawn_is_found() -> None:
    played = alone("reset_mid_stream", 2, stream=True)
    ran = attrs.evolve(played.told(Calling)[0], id="toolu_withdrawn")
    played.ran.events.insert(-1, ran)

    assert any("is in no answer" in each for each in broken(played))


def test_what_was_said_and_is_not_withdrawn_is_found() -> None:
    played = alone("reset_mid_stream", 2, stream=True)
    kept = [each for each in played.ran.events if not isinstance(each, Tombstone)]
    played.ran.events[:] = kept

    assert any("not answered" in each for each in broken(played))


def test_a_history_that_the_api_refuses_is_found() -> None:
    history = (user_text("Look."), answer(call("t1", "read"), id_="msg_0"))
    played = play(conversation({}), history=history)

    assert any("call without result" in each for each in broken(played))


def test_a_request_that_no_row_counts_is_found() -> None:
    played = alone("server_error", 2, stream=True)
    played.ran.model.asks.append(played.ran.model.asks[-1])

    assert any("of which rows count" in each for each in broken(played))


def test_the_campaign_plays_what_it_is_told_and_finds_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--pairs", "classes", "--part", "7/400"]) == 0
    assert capsys.readouterr().out == "6 runs, 0 things that no run may do\n"
