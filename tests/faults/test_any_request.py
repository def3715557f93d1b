"""Whatever a request says, each entry of the catalogue has an answer, and soon."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspiral.engine.faults.acts import Answer, Body
from unspiral.engine.faults.catalogue import CATALOGUE
from unspiral.engine.faults.example import example
from unspiral.engine.faults.journal import Asked, MemoryJournal, Noise, Outaged
from unspiral.engine.faults.player import Performance, Player
from unspiral.engine.faults.request import (
    MAX_VALUES,
    Incoming,
    Request,
    read_request,
)
from unspiral.engine.faults.runs import Run
from unspiral.engine.faults.schedule import Context, Schedule, fail, say

LEAVES: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{"type": "string"}, {"type": "integer"}, {"enum": [1, "a"]}, {}, {"type": "array"}]
)


def an_object(fields: dict[str, Any], needed: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": needed}


SCHEMAS: st.SearchStrategy[dict[str, Any]] = st.recursive(
    LEAVES,
    lambda inner: st.builds(
        an_object,
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
        st.lists(st.sampled_from("abcd"), max_size=6),
    ),
    max_leaves=6,
)


def incoming(body: Mapping[str, Any]) -> Incoming:
    data = json.dumps(body).encode()
    headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
    return Incoming("POST", "/v1/messages", headers, data, len(data))


def received(schedule: Schedule, body: Mapping[str, Any]) -> list[Any]:
    journal = MemoryJournal()
    player = Player(schedule, journal)
    performance = player.receive(incoming(body), 0.0)
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
    run = Run("main", Schedule())
    told: list[Asked] = []
    for number in range(3):
        block = {
            "type": "tool_result",
            "tool_use_id": f"{number}" * 1_000_000,
            "content": "x",
        }
        body = asked(messages=[{"role": "user", "content": [block]}])
        told.append(run.note(read_request(incoming(body)), number, 0.0))

    assert [each.results for each in told] == [1, 1, 1]
    assert sum(map(len, run.results)) < 1_000


class Broken(Player):
    """A player with a defect."""

    def _answer(self, run: Run, asked: Asked, request: Request) -> tuple[Answer, str]:
        raise KeyError(run, asked, request)


def test_a_defect_is_told_and_ends_nothing() -> None:
    journal = MemoryJournal()
    player = Broken(Schedule((say("Done.", times=None),)), journal)

    performance = player.receive(incoming(asked()), 0.0)

    assert performance.answer.status == 500
    noise = [each.what for each in journal.records if isinstance(each, Noise)]
    assert noise == ["a defect of the fault server: KeyError"]


@pytest.mark.parametrize(
    ("name", "stream", "good"),
    [
        ("misordered_events", False, True),
        ("misordered_events", True, False),
        ("error_event_first", False, True),
        ("slow_drip", False, True),
        ("slow_drip", True, True),
        ("overloaded", True, False),
        ("max_tokens_in_text", True, True),
        ("ended_without_message_stop", True, False),
    ],
)
def test_an_answer_says_whether_it_was_good(
    name: str, stream: bool, good: bool
) -> None:
    performance, *_ = received(Schedule((fail(name),)), asked(stream=stream))

    assert performance.answer.good is good


@pytest.mark.parametrize("size", [1, 4, 16, 40, 1_000])
def test_what_is_charged_does_not_depend_on_where_an_answer_is_cut(size: int) -> None:
    for stream in (False, True):
        schedule = Schedule((fail("slow_drip", bytes=size),))
        performance, *_ = received(schedule, asked(stream=stream))
        assert performance.answer.usage.output > 0


@pytest.mark.parametrize("side", [None, "Done."])
def test_progress_is_counted_for_requests_without_tools_if_none_is_on_the_side(
    side: str | None,
) -> None:
    apart = None if side is None else say(side).play
    schedule = Schedule((say("Done.", times=None),), side=apart)
    journal = MemoryJournal()
    player = Player(schedule, journal)
    for _ in range(3):
        player.receive(incoming(asked(tools=[])), 0.0)
    told = [each for each in journal.records if isinstance(each, Asked)]

    assert [each.side for each in told] == [side is not None] * 3
    counted = [1, 2, 3] if side is None else [1, 1, 1]
    assert [each.since_progress for each in told] == counted


def test_more_messages_than_the_api_takes_are_refused_before_they_are_looked_at() -> (
    None
):
    _, *records = received(
        Schedule((say("Done.", times=None),)), asked(messages=[[]] * 100_001)
    )

    told = [each for each in records if isinstance(each, Asked)]
    assert told[0].messages == 0


LISTED: Mapping[str, Callable[[list[Any]], dict[str, Any]]] = {
    "messages": lambda values: {"messages": values},
    "content": lambda values: {"messages": [{"role": "user", "content": values}]},
    "tools": lambda values: {"tools": values},
}


@pytest.mark.parametrize("where", LISTED)
@pytest.mark.parametrize("value", [[], {}, 1, ""])
def test_a_body_of_too_many_values_is_refused_before_it_is_parsed(
    where: str, value: object
) -> None:
    performance, *_ = received(
        Schedule((say("Done.", times=None),)),
        asked(**LISTED[where]([value] * (MAX_VALUES + 1))),
    )

    assert performance.answer.status == 400
    assert "500,000 values" in performance.answer.detail


@pytest.mark.parametrize("text", [",", "[", '\\",{', '",'])
def test_what_stands_in_a_text_is_no_value(text: str) -> None:
    said = [{"role": "user", "content": text * MAX_VALUES}]
    schedule = Schedule((say("Done.", times=None),), context=Context(window=None))

    performance, *_ = received(schedule, asked(messages=said))

    assert performance.answer.status == 200


@pytest.mark.parametrize("body", [b'"' * 10**6, b'\\"' * 10**6, b'"' + b"\\" * 10**6])
def test_a_text_without_end_takes_linear_time(body: bytes) -> None:
    body += b"," * MAX_VALUES + b'"\\'
    headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
    whole = Incoming("POST", "/v1/messages", headers, body, len(body))

    answer = Player(Schedule(), MemoryJournal()).receive(whole, 0.0).answer

    assert answer.status == 400


def test_a_request_that_cannot_be_read_at_all_is_told_and_ends_nothing() -> None:
    journal = MemoryJournal()
    player = Player(Schedule((say("Done.", times=None),)), journal)
    headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
    no_bytes: Any = 5  # stands for a defect of the reading

    unread = Incoming("POST", "/v1/messages", headers, no_bytes, 7)
    performance = player.receive(unread, 0.0)
    again = player.receive(incoming(asked()), 1.0)

    assert performance.answer.status == 500
    assert again.answer.status == 200
    asked_ = [each for each in journal.records if isinstance(each, Asked)]
    assert [(each.n, each.size > 0) for each in asked_] == [(1, True), (2, True)]


@pytest.mark.parametrize("stream", [False, True])
def test_the_clients_of_a_huge_event_share_its_bytes(stream: bool) -> None:
    player = Player(Schedule((fail("huge_event", times=None),)), MemoryJournal())
    biggest = [
        max((act.data for act in each.answer.acts if isinstance(act, Body)), key=len)
        for each in [
            player.receive(incoming(asked(stream=stream)), 0.0) for _ in range(2)
        ]
    ]

    assert len(biggest[0]) > 4_000_000
    assert biggest[0] is biggest[1]


def test_a_body_is_the_same_only_at_the_same_endpoint() -> None:
    journal = MemoryJournal()
    player = Player(Schedule((say("Done.", times=None),)), journal)
    count = attrs.evolve(incoming(asked()), target="/v1/messages/count_tokens")
    for each in (count, incoming(asked()), count, incoming(asked())):
        player.receive(each, 0.0)

    told = [each for each in journal.records if isinstance(each, Asked)]
    assert [each.same_as for each in told] == [None, None, 1, 2]


def test_closings_that_a_request_has_come_before_are_one() -> None:
    steps = (
        fail("connection_refused", times=10**9, seconds=2),
        fail("connection_refused", seconds=5),
        say("Done."),
    )
    journal = MemoryJournal()
    player = Player(Schedule(steps), journal)

    player.receive(incoming(asked()), 1.0)

    told = [each for each in journal.records if isinstance(each, Outaged)]
    assert [each.seconds for each in told] == [2e9 + 5]


def test_a_request_that_comes_before_a_closed_port_is_answered_and_closes_it() -> None:
    steps = (fail("connection_refused", seconds=5), fail("overloaded"), say("Done."))
    journal = MemoryJournal()
    player = Player(Schedule(steps), journal)

    performance = player.receive(incoming(asked()), 1.0)

    assert performance.answer.name == "overloaded"
    assert player.closed_for(2.0) == 4.0
    assert [e.t for e in journal.records if isinstance(e, Outaged)] == [1.0]
