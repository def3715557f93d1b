"""Every entry of the catalogue, as acts; what the SDK makes of them is elsewhere."""

import json
from collections.abc import Iterator
from typing import cast

import pytest

from tests.faults.asking import Played, body_of, incoming
from unspiral.engine.errors import UnknownName
from unspiral.engine.faults.acts import Close, End, Forever, Garbage, Head, Reset
from unspiral.engine.faults.catalogue import CATALOGUE, find_fault
from unspiral.engine.faults.fault import GROUPS
from unspiral.engine.faults.plans import Outage
from unspiral.engine.faults.schedule import fail

ANSWERS = [
    name for name, each in CATALOGUE.items() if not isinstance(each.plan, Outage)
]
NAMED = {
    "end_turn",
    "max_tokens",
    "stop_sequence",
    "tool_use",
    "pause_turn",
    "refusal",
    "model_context_window_exceeded",
    "compaction",
}


def event_data(body: bytes) -> Iterator[dict[str, object]]:
    """Yield the objects of a stream, of those that are objects."""
    for line in body.split(b"\n"):
        if line.startswith(b"data: "):
            data: dict[str, object] = json.loads(line[6:])
            yield data


def stop_of(body: bytes) -> object:
    for data in event_data(body):
        if data["type"] == "message_delta":
            return cast("dict[str, object]", data["delta"])["stop_reason"]
    return "none was sent"


@pytest.mark.parametrize("name", CATALOGUE)
def test_an_entry_says_what_it_is_what_it_tests_and_what_to_expect(name: str) -> None:
    entry = CATALOGUE[name]

    assert name == entry.name
    assert entry.group in GROUPS
    assert entry.description.endswith(".")
    assert entry.expect.endswith(".")
    assert entry.rule
    for parameter in entry.parameters.values():
        assert parameter.low <= parameter.default <= parameter.high
        assert parameter.doc


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_ends_once_and_at_its_end(name: str, stream: bool) -> None:
    acts = Played(fail(name)).ask(incoming(stream=stream)).answer.acts
    endings = (End, Close, Reset, Forever)

    assert isinstance(acts[-1], endings)
    assert not any(isinstance(act, endings) for act in acts[:-1])
    heads = [number for number, act in enumerate(acts) if isinstance(act, Head)]
    assert heads in ([0], [])
    assert isinstance(acts[0], Head | Garbage | Close | Reset | Forever)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("name", ANSWERS)
def test_a_body_that_ends_well_has_the_length_that_its_head_declares(
    name: str,
    stream: bool,
) -> None:
    performance = Played(fail(name)).ask(incoming(stream=stream))
    first, last = performance.answer.acts[0], performance.answer.acts[-1]

    if isinstance(last, End):
        assert isinstance(first, Head)
        assert first.length in (None, len(body_of(performance)))
        assert stream or first.length is not None
    else:
        assert isinstance(last, Close | Reset | Forever)


@pytest.mark.parametrize("name", ANSWERS)
def test_the_same_run_is_answered_with_the_same_bytes(name: str) -> None:
    one, two = Played(fail(name)), Played(fail(name))

    assert one.ask().answer == two.ask().answer


def test_different_faults_answer_differently() -> None:
    seen: dict[object, str] = {}
    for name in ANSWERS:
        answers = tuple(
            Played(fail(name)).ask(incoming(stream=stream)).answer.acts
            for stream in (True, False)
        )
        assert answers not in seen, (name, seen.get(answers))
        seen[answers] = name


def test_every_stop_reason_of_the_api_is_there_and_one_that_is_not_and_null() -> None:
    reasons = {stop_of(body_of(Played(fail(name)).ask())) for name in REPLIES}

    assert reasons >= NAMED | {"tea_time", None}


REPLIES = [name for name in ANSWERS if CATALOGUE[name].group == "reply"]


@pytest.mark.parametrize("name", REPLIES)
def test_a_reply_is_a_well_formed_stream(name: str) -> None:
    body = body_of(Played(fail(name)).ask())
    kinds = [str(data["type"]) for data in event_data(body)]
    opened = 0

    assert kinds[0] == "message_start"
    assert kinds[-2:] == ["message_delta", "message_stop"]
    for kind in kinds[1:-2]:
        opened += {"content_block_start": 1, "content_block_stop": -1}.get(kind, 0)
        assert opened in (0, 1)
        assert opened or kind == "content_block_stop"
    assert opened == 0


def test_a_parameter_is_heard() -> None:
    body = body_of(Played(fail("prompt_too_long", tokens=7, limit=5)).ask())

    assert b"prompt is too long: 7 tokens > 5 maximum" in body


def test_a_date_header_is_so_many_seconds_from_now() -> None:
    head = Played(fail("rate_limited_date", seconds=3_600)).ask().answer.acts[0]

    assert isinstance(head, Head)
    # 1,800,000,000 seconds after 1970, and an hour.
    assert dict(head.headers)["retry-after"] == "Fri, 15 Jan 2027 09:00:00 GMT"


def test_an_unknown_fault_is_told_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'overloaded'"):
        find_fault("overloded")
