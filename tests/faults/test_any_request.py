"""Whatever a request says, each entry of the catalogue has an answer, and soon."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspiral.engine.faults.catalogue import CATALOGUE
from unspiral.engine.faults.example import example
from unspiral.engine.faults.journal import Asked, MemoryJournal, Noise
from unspiral.engine.faults.player import Performance, Player
from unspiral.engine.faults.request import Incoming
from unspiral.engine.faults.schedule import Context, Schedule, fail, say

LEAVES = st.sampled_from(
    [{"type": "string"}, {"type": "integer"}, {"enum": [1, "a"]}, {}, {"type": "array"}]
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.builds(
        lambda fields, needed: {
            "type": "object",
            "properties": fields,
            "required": needed,
        },
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
        st.lists(st.sampled_from("abcd"), max_size=6),
    ),
    max_leaves=6,
)


def received(schedule: Schedule, body: Mapping[str, Any], key: str = "k") -> list[Any]:
    journal = MemoryJournal()
    player = Player(schedule, journal)
    data = json.dumps(body).encode()
    headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}
    incoming = Incoming("POST", "/v1/messages", headers, data, len(data))
    performance = player.receive(incoming, 0.0)
    assert isinstance(performance, Performance)
    return [performance, *journal.records]


def asked(**more: Any) -> dict[str, Any]:
    return {
        "model": "claude-sonnet-5-5",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "Hello"}],
        "tools": [{"name": "read", "input_schema": {"type": "object"}}],
        **more,
    }


@pytest.mark.parametrize("name", CATALOGUE)
@given(
    most=st.integers(1, 40),
    window=st.integers(60, 120) | st.none(),
    stream=st.booleans(),
    schema=SCHEMAS,
)
@settings(max_examples=15)
def test_every_entry_answers(
    name: str, most: int, window: int | None, stream: bool, schema: dict[str, Any]
) -> None:
    schedule = Schedule(
        (fail(name), say("Done.", times=None)), context=Context(window=window)
    )
    tools = [{"name": "read", "input_schema": schema}]
    _, *records = received(schedule, asked(max_tokens=most, stream=stream, tools=tools))

    assert not [each for each in records if isinstance(each, Noise)]


@pytest.mark.parametrize("depth", [7, 60])
def test_an_example_of_a_deep_schema_is_small(depth: int) -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}}
        schema["required"] = ["a", "b", "c", "d"] * 15
        schema["properties"] |= dict.fromkeys("bcd", schema["properties"]["a"])

    assert len(json.dumps(example(schema))) < 100_000


def test_a_cut_reply_keeps_what_a_fault_is_to_break() -> None:
    schedule = Schedule((fail("malformed_tool_json"),))
    performance, *_ = received(schedule, asked(max_tokens=2, stream=True))

    sent = b"".join(getattr(act, "data", b"") for act in performance.answer.acts)
    assert b"oops" in sent


def test_what_a_run_is_remembered_by_is_small() -> None:
    journal = MemoryJournal()
    player = Player(Schedule((say("Done.", times=None),), strict=False), journal)
    for number in range(3):
        block = {
            "type": "tool_result",
            "tool_use_id": f"{number}" * 1_000_000,
            "content": "x",
        }
        body = asked(messages=[{"role": "user", "content": [block]}])
        data = json.dumps(body).encode()
        player.receive(
            Incoming("POST", "/v1/messages", {"x-api-key": "k"}, data, len(data)), 0.0
        )
    (run,) = player._runs.values()  # noqa: SLF001 - what it holds is the matter
    assert sum(map(len, run.results)) < 1_000
    told = [each for each in journal.records if isinstance(each, Asked)]
    assert [each.results for each in told] == [1, 1, 1]
