"""From a reply as scheduled to the bytes sent: nothing is lost, limits hold."""

import json
from collections.abc import Mapping
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from tests.faults.asking import incoming
from unspiral.engine.faults.example import example, wrong_example
from unspiral.engine.faults.reply import Reply, Text, Thinking, ToolUse
from unspiral.engine.faults.request import read_request
from unspiral.engine.faults.speech import speak
from unspiral.engine.faults.wire import message_body, message_events

REQUEST = read_request(incoming(max_tokens=10**9))
TEXTS = st.text(max_size=60)
INPUTS = st.dictionaries(st.text(max_size=5), TEXTS | st.integers(), max_size=3)
BLOCKS = (
    st.builds(Text, TEXTS)
    | st.builds(Thinking, TEXTS)
    | st.builds(ToolUse, st.just("read"), INPUTS)
)
REPLIES = st.builds(
    Reply, st.lists(BLOCKS, max_size=4).map(tuple), pieces=st.integers(1, 7)
)
STRINGS = {"type": "string"}
KEYS = st.sampled_from(
    ["type", "anyOf", "enum", "properties", "required", "const", "p"]
)
KINDS = st.sampled_from(["object", "array", "string", "p"])


@given(REPLIES)
def test_a_stream_and_a_body_say_the_same(reply: Reply) -> None:
    said = speak(reply, REQUEST, 1, None)
    body = message_body(said)
    blocks: list[dict[str, object]] = []
    parts: list[str] = []

    for event in message_events(said):
        assert not isinstance(event.data, bytes)
        if event.name == "content_block_start":
            blocks.append(fields(event.data["content_block"]))
            parts = []
        elif event.name == "content_block_delta":
            take(blocks[-1], fields(event.data["delta"]), parts)
        elif event.name == "content_block_stop" and parts:
            blocks[-1]["input"] = json.loads("".join(parts))
        elif event.name == "message_delta":
            assert fields(event.data["delta"])["stop_reason"] == body["stop_reason"]
            tokens = fields(body["usage"])["output_tokens"]
            assert event.data["usage"] == {"output_tokens": tokens}

    assert blocks == body["content"]


def take(block: dict[str, object], delta: dict[str, object], parts: list[str]) -> None:
    for name, part in delta.items():
        if name == "partial_json":
            parts.append(str(part))
        elif name != "type":
            block[name] = str(block[name]) + str(part)


def fields(value: object) -> dict[str, object]:
    assert isinstance(value, dict)
    return cast("dict[str, object]", value)


@given(REPLIES, st.integers(1, 40))
def test_a_reply_is_never_longer_than_max_tokens(reply: Reply, most: int) -> None:
    request = read_request(incoming(max_tokens=most))

    said = speak(reply, request, 1, None)
    whole = speak(reply, REQUEST, 1, None)

    assert said.output_tokens <= most
    if whole.output_tokens <= most:
        assert said.reply == whole.reply
    else:
        assert said.reply.stop == "max_tokens"


def test_calls_without_a_name_go_round_the_tools_that_are_offered() -> None:
    tools = [{"name": name, "input_schema": {"type": "object"}} for name in "ab"]
    request = read_request(incoming(tools=tools))

    said = speak(Reply((ToolUse(), ToolUse(), ToolUse())), request, 1, None)

    names = [block.name for block in said.reply.blocks if isinstance(block, ToolUse)]
    assert names == ["a", "b", "a"]


def test_charged_tokens_can_be_set() -> None:
    reply = Reply((Text("x"),), input_tokens=7, output_tokens=0)

    said = speak(reply, REQUEST, 1, None)

    assert (said.input_tokens, said.output_tokens) == (7, 0)


def test_an_example_fits_the_schema_and_a_wrong_one_does_not() -> None:
    schema: Mapping[str, object] = {
        "type": "object",
        "properties": {
            "path": STRINGS,
            "lines": {"type": "array", "items": STRINGS},
            "how": {"enum": ["fast", "slow"]},
            "count": {"type": ["integer", "null"]},
            "either": {"anyOf": [{"type": "boolean"}, STRINGS]},
            "deep": {
                "type": "object",
                "properties": {"x": {"type": "number"}},
                "required": ["x"],
            },
            "left_out": STRINGS,
        },
        "required": ["path", "lines", "how", "count", "either", "deep"],
    }

    right = example(schema)
    wrong = wrong_example(schema)

    assert right == {
        "path": "README.md",
        "lines": [],
        "how": "fast",
        "count": 1,
        "either": True,
        "deep": {"x": 1.5},
    }
    assert wrong.keys() == right.keys()
    assert not any(type(wrong[name]) is type(right[name]) for name in right)


@given(
    st.dictionaries(
        KEYS,
        st.recursive(
            st.none() | st.text(max_size=4) | st.booleans() | KINDS,
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner),
        ),
    )
)
def test_no_schema_makes_an_example_fail(schema: dict[str, object]) -> None:
    assert isinstance(example(schema), dict)
    assert wrong_example(schema)


def test_a_schema_within_itself_ends() -> None:
    schema: dict[str, object] = {"type": "object", "required": ["again"]}
    schema["properties"] = {"again": schema}

    assert "again" in example(schema)
