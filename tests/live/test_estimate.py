"""Sizes: what the API said is believed until the history is another."""

import json
import math
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.live.histories import IMAGE, THINKING, answer, call, histories, talk, turn
from unspiral.engine.errors import BadValue
from unspiral.engine.live.estimate import (
    MEDIA,
    Gauge,
    Grown,
    Tally,
    Window,
    plain,
    rough,
)
from unspiral.engine.live.message import History, Message, tool_result, user_text
from unspiral.engine.live.shaping import answers

# -- counting --------------------------------------------------------------------------


def test_a_text_has_a_token_in_four_characters() -> None:
    assert plain(user_text("x" * 400)) == 100


def test_json_has_a_token_in_two_characters() -> None:
    value = json.dumps({"k": "v" * 387})

    assert plain(user_text(value)) == len(value) / 2
    assert plain(user_text(" [" + value)) == math.ceil((len(value) + 2) / 2)
    assert plain(user_text("(" + value)) == math.ceil((len(value) + 1) / 4)
    assert plain(user_text("[3 rounds]" * 40)) == 100


def test_the_input_of_a_call_is_json() -> None:
    assert plain(answer(call("c", content="x" * 1000))) >= 500


@pytest.mark.parametrize("kind", ["image", "document"])
def test_media_are_two_thousand_tokens_whatever_they_hold(kind: str) -> None:
    block = {"type": kind, "source": {"data": "A" * 100_000}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": [block]}

    assert plain(Message("user", (block,), "prompt")) == MEDIA == 2_000
    assert plain(Message("user", (result,), "results")) == 2_000


def test_thinking_is_counted() -> None:
    assert plain(answer(THINKING)) == 2


def test_what_is_never_sent_has_no_size() -> None:
    assert plain(user_text("x" * 400, "error")) == 0


def test_a_rough_size_has_a_margin_of_a_third() -> None:
    assert rough([user_text("x" * 1200)]) == 400
    assert rough([user_text("x" * 1200), user_text("x")]) == 402


@pytest.mark.parametrize("content", [None, 7, [None], [[]], {"a": 1}, "", []])
def test_a_result_of_no_known_shape_is_counted_all_the_same(content: Any) -> None:
    block = {"type": "tool_result", "tool_use_id": "c", "content": content}

    assert plain(Message("user", (block,), "results")) >= 0


def test_an_input_that_is_nested_deep_is_counted() -> None:
    deep: object = "x"
    for _ in range(50_000):
        deep = [deep]

    assert plain(answer(call("c", deep=deep))) > 50_000


@given(st.lists(histories(), max_size=4))
def test_a_tally_counts_what_counting_anew_counts(
    all_: list[History],
) -> None:
    tally = Tally()
    views = [view for each in all_ for view in (each, each[:3], (*each, *all_[0]))]

    assert [tally(view) for view in views] == [rough(view) for view in views]


@given(st.lists(histories(), max_size=4))
def test_what_is_found_in_a_growing_history_is_what_looking_anew_finds(
    all_: list[History],
) -> None:
    grown = Grown(answers)
    views = [view for each in all_ for view in (each, each[:3], (*each, *all_[0]))]

    assert [grown(view) for view in views] == [
        sum(message.role == "assistant" for message in view) for view in views
    ]


# -- what the API said -----------------------------------------------------------------


def test_the_last_answer_with_a_usage_anchors_and_what_follows_is_added() -> None:
    history = (*talk(1), answer("x", tokens=70_000), user_text("x" * 1200))

    assert Gauge().seen(history).size(history).tokens == 70_400


def test_without_any_usage_everything_is_counted_and_the_floor_added() -> None:
    history = talk(5)

    gauge = Gauge(floor=9_000).seen(history)

    assert gauge.size(history).tokens == 9_000 + rough(history)


def test_results_between_answers_of_one_usage_are_counted_once() -> None:
    history = (user_text("x"), *turn(1, "y" * 3_000, tokens=5_000))

    assert Gauge().seen(history).size(history).tokens == 5_000 + rough(history[2:])


def test_what_is_taken_away_makes_it_smaller_but_never_smaller_than_its_share() -> None:
    history = (*talk(10, "x" * 4_000), answer("done", tokens=10_000))
    gauge = Gauge().seen(history)

    half = gauge.size((*history[:11], history[-1])).tokens

    assert 4_500 < half < 6_000
    assert gauge.size(history[-1:]).tokens > 0


def test_a_usage_speaks_of_what_was_sent_not_of_what_is_stored() -> None:
    stored = talk(10, "x" * 4_000)
    sent = stored[-4:]
    said = answer("done", tokens=5_000)

    gauge = Gauge().sending(sent).seen((*stored, said))

    assert gauge.size((*sent, said)).tokens == 5_000
    assert gauge.size((*stored, said)).tokens == 5_000 + rough(stored) - rough(sent)


def test_after_a_rewrite_what_the_api_said_is_void_and_the_epoch_another() -> None:
    history = (*talk(3), answer("x", id_="a", tokens=170_000))
    gauge = Gauge(floor=100).seen(history)
    shorter = history[-1:]

    after = gauge.rewritten(shorter).seen(shorter)

    assert after.size(shorter).tokens == 100 + rough(shorter)
    assert (gauge.size(history).epoch, after.size(shorter).epoch) == (0, 1)


def test_after_a_rewrite_the_next_answer_anchors_again() -> None:
    old = (answer("x", id_="a", tokens=170_000),)
    gauge = Gauge().rewritten(old).sending(old)
    new = (*old, user_text("go"), answer("y", id_="b", tokens=9_000))

    assert gauge.seen(new).size(new).tokens >= 9_000
    assert gauge.seen(new).said == 9_000


@given(histories(measured=True), histories(), st.integers(0, 30_000))
def test_a_size_is_never_negative_and_grows_with_the_view(
    history: History, other: History, floor: int
) -> None:
    gauge = Gauge(floor).seen(history)
    small, large = sorted([other, (*other, *history)], key=rough)

    assert 0 <= gauge.size(small).tokens <= gauge.size(large).tokens


# -- windows ---------------------------------------------------------------------------


def test_the_numbers_of_a_window_are_the_published_ones() -> None:
    window = Window()

    assert window.effective == 180_000
    assert window.threshold == 167_000
    assert window.blocking == 177_000
    assert window.target == 147_000
    assert (window.commit_at, window.block_at) == (162_000, 171_000)


def test_the_large_window_and_the_small_reserve_have_theirs() -> None:
    assert Window(size=1_000_000).threshold == 967_000
    assert Window.scaled(1_000_000) == Window(size=1_000_000)
    assert Window(reserve=8_000).threshold == 179_000


@given(st.integers(100, 300_000))
def test_a_scaled_window_keeps_the_order_of_its_numbers(size: int) -> None:
    window = Window.scaled(size)

    assert 0 < window.target <= window.threshold <= window.blocking
    assert window.blocking <= window.effective < window.size


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"size": 20_000}, "reserve"),
        ({"reserve": 200_000}, "reserve"),
        ({"size": -1}, "size"),
        ({"size": 1e6}, "size"),
        ({"size": True}, "size"),
        ({"size": float("nan")}, "size"),
        ({"autocompact_buffer": 170_000}, "buffers"),
        ({"warning_buffer": 167_000}, "buffers"),
        ({"blocking_buffer": 13_000}, "blocking_buffer"),
        ({"collapse_commit": 0.0}, "collapse_commit"),
        ({"collapse_commit": float("nan")}, "collapse_commit"),
        ({"collapse_commit": 0.96}, "collapse_commit"),
        ({"collapse_block": 1.01}, "collapse_block"),
        ({"least_gain": 0}, "least_gain"),
        ({"floor": -1}, "floor"),
    ],
)
def test_numbers_that_contradict_each_other_are_refused(
    change: dict[str, Any], named: str
) -> None:
    with pytest.raises(BadValue) as caught:
        attrs.evolve(Window(), **change)

    assert named in caught.value.what


def test_a_window_too_small_to_be_divided_is_refused() -> None:
    with pytest.raises(BadValue):
        Window.scaled(99)


def test_what_stays_and_does_not_fit_is_irreducible() -> None:
    window = Window(floor=150_000)

    assert not window.irreducible(30_000)
    assert window.irreducible(30_001)


def test_an_image_in_a_tuple_of_blocks_is_counted_too() -> None:
    result = {"type": "tool_result", "tool_use_id": "c", "content": (IMAGE, IMAGE)}

    assert plain(Message("user", (result,), "results")) == 4_000
    assert plain(Message("user", (tool_result("c", "x" * 8),), "results")) == 2
