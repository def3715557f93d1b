"""How the Messages API writes things down: JSON bodies, error bodies, event streams.

The grammar of a stream (SPEC M): message_start, then for each block
content_block_start, content_block_delta ..., content_block_stop, then message_delta
with the stop reason and the output tokens, then message_stop. Ids are made of what they
are told, so that the same run is answered with the same bytes everywhere.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping

import attrs

from unspiral.engine.faults.reply import (
    Block,
    Compaction,
    Reply,
    Text,
    Thinking,
    ToolUse,
)

__all__ = [
    "Event",
    "Said",
    "as_json",
    "error_body",
    "make_id",
    "message_body",
    "message_events",
]

_encode = json.JSONEncoder(separators=(",", ":")).encode


@attrs.frozen
class Event:
    """One event of a stream, before it is written.

    Attributes:
        name: of the event; "" leaves the `event:` line out.
        data: a JSON object, or the very bytes of the `data:` line.
    """

    name: str
    data: Mapping[str, object] | bytes

    def to_bytes(self) -> bytes:
        """Return the event as it is sent."""
        data = self.data if isinstance(self.data, bytes) else as_json(self.data)
        named = b"event: " + self.name.encode() + b"\n" if self.name else b""
        return named + b"data: " + data + b"\n\n"


@attrs.frozen
class Said:
    """A reply with everything that is on the wire beside it.

    Attributes:
        reply: what the model says; its calls have names and inputs.
        id: of the message.
        model: that answered.
        input_tokens: charged.
        output_tokens: charged.
    """

    reply: Reply
    id: str
    model: str
    input_tokens: int
    output_tokens: int


def as_json(value: object) -> bytes:
    """Write JSON without blanks, in ASCII."""
    return _encode(value).encode()


def make_id(prefix: str, *of: object) -> str:
    """Make an id that looks like one of the API, out of what it stands for."""
    text = "/".join(map(str, of))
    return f"{prefix}_01{hashlib.sha256(text.encode()).hexdigest()[:22]}"


def error_body(
    kind: str,
    message: str,
    request_id: str,
    details: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """Return the body of an error."""
    error: dict[str, object] = {"type": kind, "message": message}
    if details is not None:
        error["details"] = dict(details)
    return {"type": "error", "error": error, "request_id": request_id}


def message_body(said: Said) -> dict[str, object]:
    """Return the body of an answer that is not streamed."""
    reply = said.reply
    return _message(
        said,
        [_whole(block) for block in reply.blocks],
        reply.stop,
        _stops(reply),
        said.output_tokens,
    )


def message_events(said: Said) -> list[Event]:
    """Return the events of an answer that is streamed."""
    reply = said.reply
    # The API counts a first token before the first event.
    start = _message(said, [], None, {}, min(1, said.output_tokens))
    events = [Event("message_start", {"type": "message_start", "message": start})]
    for index, block in enumerate(reply.blocks):
        events += _block_events(index, block, reply.pieces)
    ending = {
        "type": "message_delta",
        "delta": {"stop_reason": reply.stop, "stop_sequence": None, **_stops(reply)},
        "usage": {"output_tokens": said.output_tokens},
    }
    return [
        *events,
        Event("message_delta", ending),
        Event("message_stop", {"type": "message_stop"}),
    ]


def _message(
    said: Said,
    content: list[dict[str, object]],
    stop: str | None,
    stops: Mapping[str, object],
    output_tokens: int,
) -> dict[str, object]:
    return {
        "id": said.id,
        "type": "message",
        "role": "assistant",
        "model": said.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        **stops,
        "usage": {
            "input_tokens": said.input_tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": output_tokens,
        },
    }


def _stops(reply: Reply) -> dict[str, object]:
    found: dict[str, object] = {}
    if reply.stop_sequence is not None:
        found["stop_sequence"] = reply.stop_sequence
    if reply.stop_details is not None:
        found["stop_details"] = dict(reply.stop_details)
    return found


def _whole(block: Block) -> dict[str, object]:
    match block:
        case Text(text):
            return {"type": "text", "text": text}
        case Thinking(text, signature):
            return {"type": "thinking", "thinking": text, "signature": signature}
        case Compaction(text):
            return {"type": "compaction", "content": text}
        case ToolUse(name, given, called):
            # A body holds a parsed input: what is no JSON cannot be told there.
            return {
                "type": "tool_use",
                "id": called,
                "name": name,
                "input": dict(given or {}),
            }


def _block_events(index: int, block: Block, pieces: int) -> Iterator[Event]:
    start = {"type": "content_block_start", "index": index}
    yield Event("content_block_start", {**start, "content_block": _empty(block)})
    for delta in _deltas(block, pieces):
        data = {"type": "content_block_delta", "index": index, "delta": delta}
        yield Event("content_block_delta", data)
    stop = {"type": "content_block_stop", "index": index}
    yield Event("content_block_stop", stop)


def _empty(block: Block) -> dict[str, object]:
    match block:
        case Text():
            return {"type": "text", "text": ""}
        case Thinking():
            return {"type": "thinking", "thinking": "", "signature": ""}
        case Compaction():
            return {"type": "compaction", "content": None}
        case ToolUse(name, _, called):
            return {"type": "tool_use", "id": called, "name": name, "input": {}}


def _deltas(block: Block, pieces: int) -> Iterable[dict[str, object]]:
    match block:
        case Text(text):
            for part in _cut(text, pieces):
                yield {"type": "text_delta", "text": part}
        case Thinking(text, signature):
            for part in _cut(text, pieces):
                yield {"type": "thinking_delta", "thinking": part}
            yield {"type": "signature_delta", "signature": signature}
        case Compaction(text):  # one delta: a summary is not streamed
            yield {"type": "compaction_delta", "content": text}
        case ToolUse(_, given, _, raw):
            text = as_json(given or {}).decode() if raw is None else raw
            yield {"type": "input_json_delta", "partial_json": ""}  # as the API does
            for part in _cut(text, pieces):
                yield {"type": "input_json_delta", "partial_json": part}


def _cut(text: str, pieces: int) -> Iterator[str]:
    """Cut a text into so many parts of about the same length; fewer if it is short."""
    size = max(1, -(-len(text) // max(1, pieces)))
    return (text[start : start + size] for start in range(0, len(text), size))
