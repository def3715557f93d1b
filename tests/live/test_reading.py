"""Answers are read strictly: what is whole reads back exactly, all else is told."""

import copy
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspiral.engine.faults.reply import Reply, Text, Thinking, ToolUse
from unspiral.engine.faults.wire import Said, message_body, message_events
from unspiral.engine.live.inputs import DEEPEST, parse_input
from unspiral.engine.live.message import Block, calls_of
from unspiral.engine.live.ports import Delta, Ready
from unspiral.engine.live.reading import Answer, Reader, read_body

Event = dict[str, Any]


def said(reply: Reply, id_: str = "msg_1") -> Said:
    return Said(reply, id_, "claude-sonnet-5-5", 70, 9)


def events(reply: Reply) -> list[Event]:
    return [dict(each.data) for each in message_events(said(reply))]  # type: ignore[arg-type]


def read(stream: Sequence[object]) -> tuple[Answer | str, list[Delta]]:
    reader = Reader()
    told = [reader.feed(event) for event in stream]
    return reader.answer(), [each for each in told if isinstance(each, Delta)]


def ready(stream: Sequence[object]) -> list[Block]:
    """The calls that are complete before the answer is."""
    reader = Reader()
    told = [reader.feed(event) for event in stream]
    return [each.call for each in told if isinstance(each, Ready)]


def answer(stream: Sequence[object]) -> Answer:
    found, _ = read(stream)
    assert isinstance(found, Answer), found
    return found


def problem(stream: Sequence[object]) -> str:
    found, _ = read(stream)
    assert isinstance(found, str)
    return found


TALK = events(Reply((Text("All is well."),)))
CALL = events(Reply((Text("I look."), ToolUse("read", {"path": "a"}, "toolu_1"))))


def with_input(text: str) -> list[Event]:
    return events(Reply((ToolUse("read", {}, "toolu_1", raw=text),)))


# -- what is whole ---------------------------------------------------------------------

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner)
    ),
    max_leaves=6,
)
REPLIES = st.builds(
    Reply,
    st.lists(
        st.builds(Text, st.text(max_size=60))
        | st.builds(Thinking, st.text(max_size=60), st.text(max_size=20))
        | st.builds(
            ToolUse,
            st.text(min_size=1, max_size=9),
            st.dictionaries(st.text(max_size=9), VALUES, max_size=3),
            st.uuids().map(str),
        ),
        max_size=4,
    ).map(tuple),
    stop_reason=st.text(min_size=1, max_size=9),
    pieces=st.integers(1, 40),
)


def is_call(block: object) -> bool:
    return isinstance(block, ToolUse)


@given(REPLIES)
def test_a_well_formed_stream_reads_back_exactly(reply: Reply) -> None:
    body = message_body(said(reply))
    found, deltas = read(events(reply))

    assert isinstance(found, Answer)
    assert list(found.message.content) == body["content"]
    assert json.dumps(found.message.content) == json.dumps(body["content"])
    assert (found.message.id, found.message.tokens) == ("msg_1", 79)
    assert found.stop == body["stop_reason"]
    assert found.bad_calls == {}
    shown = "".join(each.text for each in deltas)
    assert shown == "".join(
        block.text for block in reply.blocks if not isinstance(block, ToolUse)
    )


@given(REPLIES)
def test_a_whole_body_reads_as_its_stream_does(reply: Reply) -> None:
    body = json.loads(json.dumps(message_body(said(reply))))

    assert read_body(body).answer() == answer(events(reply))


@given(REPLIES, st.data())
def test_pings_and_new_events_may_stand_anywhere(
    reply: Reply, data: st.DataObject
) -> None:
    stream = events(reply)
    wanted = answer(stream)
    for new in ({"type": "ping"}, {"type": "block_party", "index": 0}):
        stream.insert(data.draw(st.integers(0, len(stream))), new)

    assert answer(stream) == wanted


def test_what_was_read_is_not_changed_by_what_is_read_later() -> None:
    stream = copy.deepcopy(TALK)
    answer(stream)

    assert stream == TALK


def test_the_tokens_of_a_cache_are_told_apart_and_belong_to_the_input() -> None:
    stream = copy.deepcopy(TALK)
    stream[0]["message"]["usage"] |= {
        "cache_read_input_tokens": 1_000,
        "cache_creation_input_tokens": 200,
    }
    reader = Reader()
    for event in stream:
        reader.feed(event)
    found = reader.answer()

    assert reader.charge.input == 1_270
    assert (reader.charge.cached, reader.charge.written) == (1_000, 200)
    assert isinstance(found, Answer)
    assert found.message.tokens == 1_279


def test_a_later_word_on_tokens_is_a_total() -> None:
    stream = copy.deepcopy(TALK)
    stream[-2]["usage"] = {"input_tokens": 80, "output_tokens": 12}
    stream.insert(-1, {"type": "message_delta", "usage": {"output_tokens": 15}})

    assert answer(stream).message.tokens == 95


@pytest.mark.parametrize("usage", [None, 3, {"output_tokens": "9"}, {"x": -1}])
def test_usage_that_is_none_is_not_counted(usage: object) -> None:
    stream = copy.deepcopy(TALK)
    stream[-2]["usage"] = usage

    assert answer(stream).message.tokens == 71


def test_a_signature_and_citations_are_kept_as_sent() -> None:
    stream = events(Reply((Thinking("Hm.", "c2ln"), Text("So."))))
    cited = {
        "type": "content_block_delta",
        "index": 1,
        "delta": {"type": "citations_delta", "citation": {"cited_text": "So"}},
    }
    stream.insert(-3, cited)

    assert answer(stream).message.content == (
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "text", "text": "So.", "citations": [{"cited_text": "So"}]},
    )


def test_blocks_of_a_new_kind_are_kept_and_their_new_deltas_passed_over() -> None:
    stream = [
        TALK[0],
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "hologram", "url": "x"},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "hologram_delta", "light": 1},
        },
        {"type": "content_block_stop", "index": 0},
        *TALK[-2:],
    ]

    assert answer(stream).message.content == ({"type": "hologram", "url": "x"},)


def test_a_character_that_was_cut_in_two_is_whole_again() -> None:
    stream = copy.deepcopy(TALK)
    stream[2]["delta"]["text"] = "\ud83d"
    stream[3]["delta"]["text"] = "\ude00 \ud83d."

    assert answer(stream).message.content[0]["text"] == "\U0001f600 \ufffd."


# -- calls -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('{"a": 1 "b": oops', "no JSON"),
        ('{"path": "READ', "no JSON"),
        ("[1, 2]", "a list"),
        ('"read"', "a text"),
        ("null", "null"),
        ("true", "a truth value"),
        ("7", "a number"),
        ("{} {}", "no JSON"),
        ('{"a": NaN}', "no number of JSON"),
        ('{"a": 1e999}', "JSON cannot say"),
        ('{"a": "\\ud800"}', "half of a character"),
        ('{"a":' * 3_000 + "1" + "}" * 3_000, ""),
        ('{"a":' * (DEEPEST + 1) + "1" + "}" * (DEEPEST + 1), "nested deeper"),
        ('{"a": ' + "9" * 5_000 + "}", "no JSON"),
    ],
)
def test_a_call_with_a_bad_input_is_kept_without_it_and_told(
    text: str, word: str
) -> None:
    found = answer(with_input(text))

    assert calls_of(found.message)[0]["input"] == {}
    assert word in found.bad_calls["toolu_1"]
    assert len(found.bad_calls["toolu_1"]) < 300


def test_an_input_as_deep_as_is_allowed_is_taken() -> None:
    text = '{"a":' * DEEPEST + "1" + "}" * DEEPEST

    assert parse_input(text) == (json.loads(text), "")


def test_no_input_is_an_empty_one() -> None:
    found = answer(with_input(""))

    assert parse_input("") == ({}, "")
    assert calls_of(found.message)[0]["input"] == {}
    assert found.bad_calls == {}


@pytest.mark.parametrize("given_", [[1, 2], None, "x"])
def test_the_input_of_a_whole_body_must_be_an_object_too(given_: object) -> None:
    body = message_body(said(Reply((ToolUse("read", {}, "toolu_1"),))))
    block: Any = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": given_}
    found = read_body({**body, "content": [block]}).answer()

    assert isinstance(found, Answer)
    assert found.message.content[0]["input"] == {}
    assert "toolu_1" in found.bad_calls


@given(REPLIES)
def test_each_call_is_ready_as_soon_as_it_is_whole(reply: Reply) -> None:
    stream = events(reply)

    assert ready(stream) == list(calls_of(answer(stream).message))
    before = [each for each in stream if each["type"] != "message_stop"]
    assert ready(before) == ready(stream)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"path": 1} x'])
def test_a_call_that_may_not_be_whole_is_not_ready(text: str) -> None:
    assert ready(with_input(text)) == []
    assert ready(CALL[:-3]) == []


def test_of_calls_with_one_id_the_first_keeps_it_and_the_others_are_told() -> None:
    twice = ToolUse("read", {"path": "a"}, "toolu_1")
    found = answer(events(Reply((twice, ToolUse("read", {}, "toolu_1-2"), twice))))

    assert [call["id"] for call in calls_of(found.message)] == [
        "toolu_1",
        "toolu_1-2",
        "toolu_1-3",
    ]
    assert list(found.bad_calls) == ["toolu_1-3"]


@pytest.mark.parametrize("name", ["id", "name"])
def test_a_call_without_an_id_or_a_name_is_no_answer(name: str) -> None:
    stream = copy.deepcopy(CALL)
    start = next(each for each in stream if each.get("index") == 1)
    start["content_block"][name] = ""

    assert problem(stream) == "a call has no id or no name"


CUTS = ["max_tokens", "model_context_window_exceeded"]


@pytest.mark.parametrize("stop", CUTS)
def test_a_call_that_may_have_been_cut_off_is_told(stop: str) -> None:
    unread = ToolUse("read", {}, "toolu_1", raw="")
    reply = Reply((Text("I look."), unread), stop_reason=stop)

    assert list(answer(events(reply)).bad_calls) == ["toolu_1"]
    found = read_body(message_body(said(reply))).answer()
    assert isinstance(found, Answer)
    assert list(found.bad_calls) == ["toolu_1"]


@pytest.mark.parametrize("stop", CUTS)
def test_a_call_before_the_cut_is_whole(stop: str) -> None:
    read_it = ToolUse("read", {"path": "a"}, "toolu_1")
    ahead = Reply((ToolUse("list", {}, "toolu_0", raw=""), read_it), stop_reason=stop)

    assert answer(events(ahead)).bad_calls == {}


def test_the_kind_of_a_refusal_is_told() -> None:
    details = {"type": "refusal", "category": "cyber"}
    found = answer(events(Reply((), stop_reason="refusal", stop_details=details)))

    assert (found.stop, found.why) == ("refusal", "cyber")
    assert found.message.content == ()


# -- what is not whole -----------------------------------------------------------------


@pytest.mark.parametrize("count", range(len(CALL)))
def test_a_stream_that_ends_anywhere_before_its_end_is_no_answer(count: int) -> None:
    assert problem(CALL[:count])


@pytest.mark.parametrize("place", range(len(CALL)))
def test_without_any_event_but_a_delta_it_is_no_answer(place: int) -> None:
    stream = [*CALL[:place], *CALL[place + 1 :]]
    found, _ = read(stream)

    if CALL[place]["type"] == "content_block_delta":
        assert isinstance(found, Answer)  # nothing in a stream says how many there are
    else:
        assert isinstance(found, str)


@pytest.mark.parametrize("place", range(len(CALL)))
def test_an_event_that_comes_twice_is_no_answer_but_for_a_delta(place: int) -> None:
    found, _ = read([*CALL[: place + 1], *CALL[place:]])
    kind = CALL[place]["type"]

    assert isinstance(found, Answer) == (
        kind in {"content_block_delta", "message_delta"}
    )


@pytest.mark.parametrize("place", range(len(CALL) - 1))
def test_events_in_another_order_are_no_answer(place: int) -> None:
    first, second = CALL[place : place + 2]
    found, _ = read([*CALL[:place], second, first, *CALL[place + 2 :]])

    assert isinstance(found, Answer) == (first["type"] == second["type"])


@pytest.mark.parametrize(
    ("place", "change"),
    [
        (0, {"message": None}),
        (0, {"message": {"role": "user", "id": "msg_1"}}),
        (0, {"message": {"role": "assistant"}}),
        (1, {"index": 1}),
        (1, {"index": False}),
        (1, {"index": "0"}),
        (1, {"content_block": {}}),
        (1, {"content_block": {"type": "text"}}),
        (1, {"content_block": {"type": "text", "text": 3}}),
        (1, {"content_block": {"type": "tool_use", "id": "x", "name": "y"}}),
        (1, {"content_block": {"type": "text", "text": "", "x": "\ud800"}}),
        (2, {"index": 7}),
        (2, {"delta": {"type": "thinking_delta", "thinking": "x"}}),
        (2, {"delta": {"type": "signature_delta", "signature": "x"}}),
        (2, {"delta": {"type": "text_delta", "text": None}}),
        (2, {"delta": {}}),
        (2, {"type": None}),
        (4, {"index": 1}),
        (5, {"delta": {"stop_reason": None}}),
        (5, {"delta": {"stop_reason": 3}}),
    ],
)
def test_events_whose_parts_do_not_fit_are_no_answer(place: int, change: Event) -> None:
    stream = copy.deepcopy(TALK)
    stream[place] |= change

    assert problem(stream)


def test_an_end_inside_a_block_and_a_block_after_the_end_are_no_answer() -> None:
    assert problem([*TALK[:2], TALK[-1]]) == "message_stop came inside a block"
    late = {**TALK[1], "index": 1}
    assert problem([*TALK[:-1], late]) == "a block began after message_delta"


def test_nothing_that_comes_later_cures_a_stream() -> None:
    reader = Reader()
    for event in (TALK[1], *TALK):
        assert reader.feed(event) is None

    assert reader.answer() == "content_block_start came before message_start"
    assert not reader.complete


def test_an_answer_that_is_too_long_is_refused() -> None:
    reader = Reader(most=20)
    for event in TALK:
        reader.feed(event)
    assert isinstance(reader.answer(), Answer)

    shorter = Reader(most=12)
    for event in TALK:
        shorter.feed(event)
    assert shorter.answer() == "it has more than 12 characters"


@pytest.mark.parametrize(
    "body",
    [
        None,
        "<html>",
        [],
        {},
        {"type": "error", "error": {"type": "api_error"}},
        {"id": "msg_1", "role": "assistant", "stop_reason": "end_turn"},
        {"id": "msg_1", "role": "assistant", "content": [], "stop_reason": None},
        {
            "id": "msg_1",
            "role": "assistant",
            "content": [None],
            "stop_reason": "end_turn",
        },
    ],
)
def test_a_body_that_is_no_message_is_no_answer(body: object) -> None:
    assert isinstance(read_body(body).answer(), str)


# -- whatever comes --------------------------------------------------------------------

WORDS = st.sampled_from(
    [*{str(each["type"]) for each in CALL}, "ping", "error", "", None, 3]
)
KINDS = st.sampled_from(
    ["text", "thinking", "tool_use", "server_tool_use", "compaction", "x", None]
)
DELTAS = st.sampled_from(
    [
        "text_delta",
        "thinking_delta",
        "signature_delta",
        "input_json_delta",
        "citations_delta",
        "compaction_delta",
        "x",
        None,
    ]
)
ANY_TEXT = st.text(st.characters(), max_size=9) | st.sampled_from(["\ud83d", "{", "}"])
PARTS = st.fixed_dictionaries(
    {},
    optional={
        "text": ANY_TEXT | VALUES,
        "thinking": ANY_TEXT,
        "signature": ANY_TEXT,
        "partial_json": ANY_TEXT,
        "id": ANY_TEXT | st.just("a"),
        "name": ANY_TEXT,
        "input": VALUES,
        "role": st.just("assistant"),
        "stop_reason": ANY_TEXT | st.none(),
        "usage": VALUES | st.fixed_dictionaries({"input_tokens": SCALARS}),
        "citation": VALUES,
    },
)


def typed(kinds: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(kinds, PARTS).map(lambda two: {"type": two[0], **two[1]}) | VALUES


EVENTS = VALUES | st.fixed_dictionaries(
    {"type": WORDS},
    optional={
        "index": st.integers(0, 2) | SCALARS,
        "message": typed(st.just("message")),
        "content_block": typed(KINDS),
        "delta": typed(DELTAS),
        "usage": VALUES,
    },
)


@settings(max_examples=300)
@given(st.lists(EVENTS | st.sampled_from(CALL), max_size=12), st.booleans())
def test_no_sequence_of_events_makes_the_reader_raise(
    stream: list[object],
    begins: bool,
) -> None:
    found, deltas = read([*CALL[:1], *stream] if begins else stream)

    assert isinstance(found, str | Answer)
    for delta in deltas:
        delta.text.encode()
    if isinstance(found, Answer):
        sent = [dict(block) for block in found.message.content]
        json.dumps(sent, ensure_ascii=False, allow_nan=False).encode()


@given(VALUES | PARTS.map(lambda part: {"content": [part], **part}))
def test_no_body_makes_the_reader_raise(body: object) -> None:
    assert isinstance(read_body(body).answer(), str | Answer)
