"""Histories that can be sent: whatever was kept, every call has one result."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.live.histories import THINKING, answer, call, histories, pairs, turn
from unspiral.engine.live.mending import mended
from unspiral.engine.live.message import (
    Block,
    History,
    Message,
    open_calls,
    results_message,
    tool_result,
    user_text,
    wire,
)


def lost(call_: str) -> Block:
    return tool_result(call_, "lost", error=True)


def sent_wrongly(history: History) -> list[str]:
    """Return what an API would refuse: roles, pairs, ids that come back."""
    sent = wire(history)
    roles = [each["role"] for each in sent]
    wrong = pairs(history)
    wrong += (
        ["roles"] if roles != (["user", "assistant"] * len(roles))[: len(roles)] else []
    )
    ids = [
        block["id"]
        for message in history
        for block in message.content
        if block.get("type") == "tool_use"
    ]
    return wrong + (["an id comes back"] if len(ids) != len(set(ids)) else [])


def text_block(text: str) -> Block:
    return {"type": "text", "text": text}


BLOCKS: st.SearchStrategy[Block] = st.one_of(
    st.builds(text_block, st.text(max_size=2)),
    st.builds(call, st.sampled_from("abc")),
    st.builds(tool_result, st.sampled_from("abcd"), st.text(max_size=2)),
    st.just(THINKING),
)
MESSAGES = st.builds(
    Message,
    st.sampled_from(["user", "assistant"]),
    st.lists(BLOCKS, max_size=4).map(tuple),
    st.sampled_from(["prompt", "results", "answer", "note", "summary", "error"]),
)


@given(st.lists(MESSAGES, max_size=8))
def test_whatever_was_kept_can_be_sent_when_it_is_mended(kept: list[Message]) -> None:
    whole = mended(kept, lost)

    assert sent_wrongly(whole) == []
    assert open_calls(whole) == ()
    assert mended(whole, lost) == whole


@given(histories())
def test_a_history_of_the_loop_is_left_as_it_is(history: History) -> None:
    assert mended(history, lost) == history


@given(histories(), st.data())
def test_a_history_that_is_cut_anywhere_keeps_all_it_had(
    history: History, data: st.DataObject
) -> None:
    cut = history[: data.draw(st.integers(0, len(history)))]

    whole = mended(cut, lost)

    assert sent_wrongly(whole) == []
    had = [block for message in cut for block in message.content]
    has = [block for message in whole for block in message.content]
    added = [block for block in has if block not in had]
    assert [block for block in has if block in had] == had
    assert all(block.get("content") == "lost" for block in added)


def test_missing_results_follow_those_that_came() -> None:
    prompt, calls = user_text("go"), answer(call("a"), call("b"), call("c"))
    came = results_message([tool_result("a", "1")])

    whole = mended([prompt, calls, came, user_text("more", "note")], lost)

    assert whole == (
        prompt,
        calls,
        results_message([tool_result("a", "1"), lost("b"), lost("c")]),
        user_text("more", "note"),
    )


def test_results_stand_before_what_was_said_after_the_calls() -> None:
    prompt, calls, note = user_text("go"), answer(call("a")), user_text("x", "note")

    assert mended([prompt, calls, note], lost) == (
        prompt,
        calls,
        results_message([lost("a")]),
        note,
    )


def test_an_id_that_comes_back_is_another_one_with_its_result() -> None:
    first, second = turn(1, "one"), turn(1, "two")

    whole = mended([user_text("go"), *first, *second], lost)

    assert whole[:3] == (user_text("go"), *first)
    assert [block["id"] for block in whole[3].content] == ["c1-2"]
    assert whole[4].content == (tool_result("c1-2", "two"),)


def test_two_calls_of_one_answer_with_one_id_keep_their_results_in_order() -> None:
    calls = answer(call("a"), call("a"))
    results = results_message([tool_result("a", "1"), tool_result("a", "2")])

    whole = mended([user_text("go"), calls, results], lost)

    assert [block["id"] for block in whole[1].content] == ["a", "a-2"]
    assert whole[2].content == (tool_result("a", "1"), tool_result("a-2", "2"))


@pytest.mark.parametrize("kind", ["error", "answer"])
def test_a_history_without_a_beginning_gets_one_if_it_is_needed(kind: str) -> None:
    said = Message("assistant", ({"type": "text", "text": "hi"},), kind)  # type: ignore[arg-type]

    whole = mended([said], lost)

    assert (len(whole) == 2) is (kind == "answer")
    assert whole[-1] == said
