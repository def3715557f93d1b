"""What is sent for what is asked: nothing that the API refuses, the same each time."""

import copy
import itertools
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.live.histories import answer, call
from unspiral.engine.live.body import body_of
from unspiral.engine.live.message import (
    Block,
    Message,
    results_message,
    tool_result,
    user_text,
)
from unspiral.engine.live.ports import Ask, ToolSpec

READ = ToolSpec("read", "Read a file.", {"type": "object"})
LIST = ToolSpec("list", "List files.", {"type": "object"})
THOUGHT: Block = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
MARK = {"type": "ephemeral"}


def ask(*messages: Message, **more: Any) -> Ask:
    return Ask("a-model", messages, **more)


def test_a_request_has_what_was_asked() -> None:
    prompt = user_text("Go.")
    body = body_of(ask(prompt, system="Be brief.", tools=(READ,)), cached=False)

    assert body == {
        "model": "a-model",
        "max_tokens": 8_000,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Go."}]}],
        "system": [{"type": "text", "text": "Be brief."}],
        "tools": [
            {
                "name": "read",
                "description": "Read a file.",
                "input_schema": {"type": "object"},
            }
        ],
        "stream": True,
    }


def test_what_is_not_there_is_not_sent() -> None:
    body = body_of(ask(user_text("Go."), system=" ", stream=False), cached=False)

    assert set(body) == {"model", "max_tokens", "messages"}


def test_the_server_is_asked_to_keep_the_prompt_and_the_last_block() -> None:
    body: Any = body_of(ask(user_text("Go."), system="Be brief.", tools=(READ, LIST)))

    assert body["system"][-1]["cache_control"] == MARK
    assert body["cache_control"] == MARK
    assert "cache_control" not in json.dumps([body["tools"], body["messages"]])


def test_without_a_system_prompt_the_last_tool_is_kept() -> None:
    body: Any = body_of(ask(user_text("Go."), tools=(READ, LIST)))

    assert [tool.get("cache_control") for tool in body["tools"]] == [None, MARK]


def test_blank_texts_and_thinking_at_an_end_are_not_sent() -> None:
    history = (
        user_text("Go."),
        answer(THOUGHT, " \n ", call("c1"), ""),
        results_message([tool_result("c1", "x")]),
        user_text("  ", "note"),
        answer("Well,", THOUGHT),
        answer(THOUGHT),
        user_text("On."),
    )
    body: Any = body_of(ask(*history))

    assert [
        (each["role"], [block["type"] for block in each["content"]])
        for each in body["messages"]
    ] == [
        ("user", ["text"]),
        ("assistant", ["thinking", "tool_use"]),
        ("user", ["tool_result"]),
        ("assistant", ["text"]),
        ("user", ["text"]),
    ]


BLOCKS = st.sampled_from(
    [
        {"type": "text", "text": "Well."},
        {"type": "text", "text": " "},
        {"type": "text", "text": ""},
        {"type": "redacted_thinking", "data": "eA=="},
        dict(THOUGHT),
        dict(call("c1")),
    ]
)
MESSAGES = st.builds(
    Message,
    st.sampled_from(["user", "assistant"]),
    st.lists(BLOCKS, max_size=4).map(tuple),
    st.sampled_from(["prompt", "answer", "note"]),
)


@given(st.lists(MESSAGES, max_size=6))
def test_no_history_becomes_a_request_that_the_api_refuses_for_its_blocks(
    history: list[Message],
) -> None:
    before = copy.deepcopy(history)
    body: Any = body_of(ask(*history))
    longer: Any = body_of(ask(*history, user_text("On.")))
    roles = [each["role"] for each in body["messages"]]

    assert history == before
    assert all(one != other for one, other in itertools.pairwise(roles))
    for message in body["messages"]:
        assert message["content"]
        assert "thinking" not in message["content"][-1]["type"]
        assert all(block.get("text", "x").strip() for block in message["content"])
    # What was sent is sent again byte for byte: the cache of the server needs it.
    sent = json.dumps(body["messages"])[1:].rstrip("}]")
    assert json.dumps(longer["messages"])[1:].startswith(sent)
