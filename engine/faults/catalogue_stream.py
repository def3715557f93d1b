"""The catalogue, group "stream": a response that arrives, and is not what it should be.

Each edit takes the events of a good stream and gives those that are sent.
"""

import functools
from collections.abc import Callable, Mapping, Sequence

from unspiral.engine.faults.fault import CALL, TALK, Fault, Parameter
from unspiral.engine.faults.plans import Edits, Number
from unspiral.engine.faults.wire import Event, as_json, error_body

__all__ = ["STREAM"]

Events = list[Event]
Pieces = Sequence[bytes]
Numbers = Mapping[str, Number]

_STRICT = "strict reading of the stream: order, completeness, JSON"
_TYPED = "any failure of reading becomes a typed outcome"
_REFUSED = "The answer is refused as malformed; asked again a bounded number of times."
_OVERLOADED = Event(
    "error", error_body("overloaded_error", "Overloaded", "req_01error")
)
_BROKEN_JSON = b'{"type":"content_block_delta","index":0,"delta":{"type":"text_del'


def _insert(at: int, event: Event) -> Callable[[Events, Numbers], Events]:
    def edit(events: Events, numbers: Numbers) -> Events:
        del numbers
        return [*events[:at], event, *events[at:]]

    return edit


def _cut_off(at: int, event: Event) -> Callable[[Events, Numbers], Events]:
    """Send this event instead of all from a place on."""

    def edit(events: Events, numbers: Numbers) -> Events:
        del numbers
        return [*events[:at], event]

    return edit


def _nothing(events: Events, numbers: Numbers) -> Events:
    del events, numbers
    return []


def _no_bytes(body: bytes, numbers: Numbers) -> Pieces:
    del body, numbers
    return ()


def _half(body: bytes, numbers: Numbers) -> Pieces:
    del numbers
    return (body[: len(body) // 2],)


def _bad_utf8(body: bytes, numbers: Numbers) -> Pieces:
    del numbers
    return (body.replace(b"file", b"\xff\xfe", 1),)


def _unnamed(events: Events, numbers: Numbers) -> Events:
    del numbers
    return [Event("", event.data) for event in events]


def _misordered(events: Events, numbers: Numbers) -> Events:
    """Send the first delta of the block before its start."""
    del numbers
    return [events[0], events[2], events[1], *events[3:]]


def _without_start(events: Events, numbers: Numbers) -> Events:
    del numbers
    return events[1:]


def _unknown_index(events: Events, numbers: Numbers) -> Events:
    del numbers
    delta = {"type": "text_delta", "text": "nowhere"}
    stray: dict[str, object] = {
        "type": "content_block_delta",
        "index": 7,
        "delta": delta,
    }
    return [*events[:2], Event("content_block_delta", stray), *events[2:]]


def _json_input(text: str) -> Callable[[Events, Numbers], Events]:
    """Replace the input of the call by a text."""

    def edit(events: Events, numbers: Numbers) -> Events:
        del numbers
        deltas = [
            number
            for number, event in enumerate(events)
            if b'"input_json_delta"' in event.to_bytes()
        ]
        if not deltas:
            return events
        index = _index(events[deltas[0]])
        delta = {"type": "input_json_delta", "partial_json": text}
        data = {"type": "content_block_delta", "index": index, "delta": delta}
        kept = [each for number, each in enumerate(events) if number not in deltas]
        kept.insert(deltas[0], Event("content_block_delta", data))
        return kept

    return edit


def _index(event: Event) -> object:
    return None if isinstance(event.data, bytes) else event.data["index"]


def _huge(events: Events, numbers: Numbers) -> list[Event | bytes]:
    return [*events[:2], _huge_event(int(numbers["bytes"])), *events[2:]]


# The clients that are given it share its bytes, however slowly they read.
@functools.lru_cache(maxsize=1)
def _huge_event(size: int) -> bytes:
    delta = {"type": "text_delta", "text": "x" * size}
    data = {"type": "content_block_delta", "index": 0, "delta": delta}
    return Event("content_block_delta", data).to_bytes()


def _huge_body(body: bytes, numbers: Numbers) -> Pieces:
    before, mark, after = body.partition(b'"text":"')
    if not mark:
        return (body,)
    return before + mark, _huge_text(int(numbers["bytes"])), after


@functools.lru_cache(maxsize=1)
def _huge_text(size: int) -> bytes:
    return b"x" * size


def _as_given(events: Events, numbers: Numbers) -> Events:
    del numbers
    return events


def _json_instead(events: Events, numbers: Numbers) -> Events:
    """Send a message as one JSON object, without the framing of events."""
    del numbers
    return [Event("", as_json(_start(events)))]


def _start(events: Events) -> object:
    data = events[0].data
    return {} if isinstance(data, bytes) else data["message"]


def _fault(  # noqa: PLR0913 - the columns of a table
    name: str,
    description: str,
    stream: Callable[[Events, Numbers], Sequence[Event | bytes]],
    *,
    body: Callable[[bytes, Numbers], Pieces] | None = None,
    rule: str = _STRICT,
    expect: str = _REFUSED,
    kind: str = "",
    declared: Callable[[int], int] | None = None,
    parameters: Mapping[str, Parameter] | None = None,
    call: bool = False,
) -> Fault:
    return Fault(
        name,
        "stream",
        description,
        rule,
        expect,
        Edits(stream, body, kind, declared),
        parameters or {},
        CALL if call else TALK,
    )


STREAM = (
    _fault(
        "error_event_first",
        "200, and then an `error` event (overloaded) before anything else.",
        _cut_off(0, _OVERLOADED),
        rule="bounded retry with back-off, although the status was 200",
        expect="Taken as the overload that it is, and retried.",
    ),
    _fault(
        "error_event_mid_stream",
        "An `error` event (overloaded) in the middle of a text.",
        _cut_off(3, _OVERLOADED),
        rule="discarding a partial answer, although the status was 200",
        expect="The partial answer is taken back; asked again within a bound.",
    ),
    _fault(
        "empty_stream",
        "200, and a body without a byte.",
        _nothing,
        body=_no_bytes,
        rule="an answer without content is no answer",
    ),
    _fault(
        "json_instead_of_stream",
        "A JSON object where a stream was asked for.",
        _json_instead,
        kind="application/json",
        rule=_TYPED,
    ),
    _fault(
        "unnamed_events",
        "All events come without their `event:` line.",
        _unnamed,
    ),
    _fault(
        "invalid_json_line",
        "The JSON of one event is cut off.",
        _insert(2, Event("content_block_delta", _BROKEN_JSON)),
        body=_half,
        rule=_TYPED,
    ),
    _fault(
        "bad_utf8",
        "Bytes within a text that are no UTF-8.",
        _insert(2, Event("content_block_delta", b'{"type":"\xff\xfe"}')),
        body=_bad_utf8,
        rule=_TYPED,
    ),
    _fault(
        "unknown_event",
        "An event of a kind that nobody knows yet.",
        _insert(2, Event("block_party", {"type": "block_party", "guests": 3})),
        rule="tolerance: the API may add events",
        expect="The event is passed over, the answer is taken.",
    ),
    _fault(
        "duplicate_message_start",
        "`message_start` comes twice.",
        lambda events, _: [events[0], *events],
    ),
    _fault(
        "missing_message_start",
        "The stream begins with a block.",
        _without_start,
    ),
    _fault(
        "misordered_events",
        "A delta comes before the start of its block.",
        _misordered,
    ),
    _fault(
        "delta_for_unknown_block",
        "A delta for a block that was never started.",
        _unknown_index,
    ),
    _fault(
        "malformed_tool_json",
        "The input of a tool call is no JSON; all else is in order.",
        _json_input('{"a": 1 "b": oops'),
        rule="strict reading of tool inputs",
        expect="The call is not run; its result is an error that says why.",
        call=True,
    ),
    _fault(
        "truncated_tool_json",
        "The input of a tool call ends early; all else is in order.",
        _json_input('{"path": "READ'),
        rule="strict reading of tool inputs",
        expect="The call is not run; its result is an error that says why.",
        call=True,
    ),
    _fault(
        "tool_json_is_no_object",
        "The input of a tool call is a list.",
        _json_input("[1, 2]"),
        rule="strict reading of tool inputs",
        expect="The call is not run; its result is an error that says why.",
        call=True,
    ),
    _fault(
        "huge_event",
        "One event of some megabytes.",
        _huge,
        body=_huge_body,
        rule="bounded memory",
        expect="The answer is taken, or refused with a reason.",
        parameters={
            "bytes": Parameter(
                4_194_304, 1, 64 * 2**20, "bytes of the text", whole=True
            )
        },
    ),
    _fault(
        "longer_than_declared",
        "The body is longer than its `content-length`.",
        _as_given,
        rule=_STRICT,
        declared=lambda size: size // 2,
    ),
    _fault(
        "shorter_than_declared",
        "The body is shorter than its `content-length`.",
        _as_given,
        rule=_STRICT,
        declared=lambda size: size + 100,
    ),
)
