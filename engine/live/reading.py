"""Reads an answer of the Messages API strictly: its order, its end, every input.

It is fed the events of a stream as plain objects, one by one, or a whole body. What
comes is of others: a wrong order, a missing end, an input that is no JSON are told, and
nothing raises. Events that the API may have added are passed over. It knows no library
and no clock.
"""

from collections.abc import Iterator, Mapping
from typing import cast

import attrs

from unspiral.engine.live.blocks import CALLS, Growing, whole
from unspiral.engine.live.message import Block, Message
from unspiral.engine.live.ports import Delta, Piece, Ready
from unspiral.engine.live.untyped import fields_of, items_of, text_at

__all__ = ["MOST", "Answer", "Charge", "Reader", "is_payload", "read_body"]

MOST = 32 * 2**20  #: characters that an answer may have
#: the events that answers are made of
PAYLOAD = frozenset(
    {
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    }
)
_MOST_BLOCKS = 10_000
_TWICE = "another call of this answer has the same id"
_CUT = "the answer was cut off before the input of the call was whole"
_CUTS = frozenset({"max_tokens", "model_context_window_exceeded"})


@attrs.frozen
class Charge:
    """Tokens that an answer has cost so far.

    Attributes:
        plain: of the input, neither read from a cache nor written to one.
        cached: of the input, read from a cache.
        written: of the input, written to a cache.
        output: of the answer.
    """

    plain: int = 0
    cached: int = 0
    written: int = 0
    output: int = 0

    @property
    def input(self) -> int:
        """Of the whole input."""
        return self.plain + self.cached + self.written

    def updated(self, usage: object) -> "Charge":
        """Return what it is after another word on it: totals, where they are told."""
        told = fields_of(usage)
        return Charge(
            _count(told.get("input_tokens"), self.plain),
            _count(told.get("cache_read_input_tokens"), self.cached),
            _count(told.get("cache_creation_input_tokens"), self.written),
            _count(told.get("output_tokens"), self.output),
        )


def _count(value: object, otherwise: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return otherwise
    return value


@attrs.frozen
class Answer:
    """An answer that is whole.

    Attributes:
        message: as it was sent, but for calls: one whose input is no JSON object has an
            empty one, and one with the id of a call before it has another id.
        stop: its stop reason.
        bad_calls: by the id of a call that cannot be run, what is wrong.
        why: what kind of a refusal it is, or "".
    """

    message: Message
    stop: str
    bad_calls: Mapping[str, str]
    why: str = ""


@attrs.define
class Reader:
    """Reads one stream.

    Attributes:
        most: characters that the answer may have.
        problem: what is wrong with it so far, or "". Nothing that comes later cures it.
        begun: whether a message has begun.
        charge: what it has cost so far.
    """

    most: int = MOST
    problem: str = attrs.field(default="", init=False)
    begun: bool = attrs.field(default=False, init=False)
    charge: Charge = attrs.field(factory=Charge, init=False)
    _id: str = attrs.field(default="", init=False)
    _blocks: list[Block] = attrs.field(factory=list[Block], init=False)
    _open: Growing | None = attrs.field(default=None, init=False)
    _calls: set[str] = attrs.field(factory=set[str], init=False)
    _bad: dict[str, str] = attrs.field(factory=dict[str, str], init=False)
    _size: int = attrs.field(default=0, init=False)
    _closing: bool = attrs.field(default=False, init=False)  # message_delta has come
    _ended: bool = attrs.field(default=False, init=False)
    _stop: str = attrs.field(default="", init=False)
    _why: str = attrs.field(default="", init=False)
    _unsure: str = attrs.field(default="", init=False)  # see `_call`

    @property
    def complete(self) -> bool:
        """Whether the whole answer has come, and nothing is wrong with it."""
        return self._ended and not self.problem

    def feed(self, event: object) -> Piece | None:
        """Take an event; return the text that it adds, or the call that it ends."""
        kind = text_at(event, "type")
        if self.problem or (kind is not None and kind not in PAYLOAD):
            return None
        if kind is None:
            self.problem = "an event has no type"
        elif self._ended:
            self.problem = f"{kind} came after message_stop"
        elif not self.begun and kind != "message_start":
            self.problem = f"{kind} came before message_start"
        else:
            return self._take(kind, fields_of(event))
        return None

    def answer(self) -> Answer | str:
        """Return the answer, or what is wrong if nothing more comes."""
        if self.problem:
            return self.problem
        if not self._ended:
            where = "inside a block" if self._open else "before message_stop"
            return f"it ended {where}" if self.begun else "no message came"
        tokens = self.charge.input + self.charge.output
        content = tuple(self._blocks)
        message = Message("assistant", content, "answer", self._id, tokens)
        bad = dict(self._bad)
        if self._unsure and self._stop in _CUTS:
            bad.setdefault(self._unsure, _CUT)
        return Answer(message, self._stop, bad, self._why)

    # -- events ------------------------------------------------------------------------

    def _take(self, kind: str, event: Mapping[str, object]) -> Piece | None:
        match kind:
            case "message_start":
                self._message_start(event)
            case "content_block_start":
                self._block_start(event)
            case "content_block_delta":
                return self._block_delta(event)
            case "content_block_stop":
                return self._block_stop(event)
            case "message_delta":
                self._message_delta(event)
            case _:
                self._message_stop()
        return None

    def _message_start(self, event: Mapping[str, object]) -> None:
        message = fields_of(event.get("message"))
        if self.begun:
            self.problem = "message_start came twice"
        elif message.get("role") != "assistant" or not text_at(message, "id"):
            self.problem = "what began is no message of an assistant"
        else:
            self.begun, self._id = True, str(message["id"])
            self.charge = self.charge.updated(message.get("usage"))

    def _block_start(self, event: Mapping[str, object]) -> None:
        block = fields_of(event.get("content_block"))
        if self._open is not None:
            self.problem = "a block began inside another"
        elif self._closing:
            self.problem = "a block began after message_delta"
        elif not self._is_next(event) or len(self._blocks) >= _MOST_BLOCKS:
            self.problem = "a block has not the index that is next"
        elif not text_at(block, "type"):
            self.problem = "a block has no type"
        else:
            self._open = Growing(dict(block))

    def _block_delta(self, event: Mapping[str, object]) -> Delta | None:
        growing = self._open
        if growing is None or not self._is_next(event):
            self.problem = "a delta is for a block that is not open"
            return None
        text = growing.grow(fields_of(event.get("delta")))
        if text is None:
            self.problem = f"a delta does not fit its block of {growing.kind}"
            return None
        self._size += len(text) + 1
        if self._size > self.most:
            self.problem = f"it has more than {self.most:,} characters"
            return None
        return _shown(growing.kind, text)

    def _block_stop(self, event: Mapping[str, object]) -> Ready | None:
        growing = self._open
        if growing is None or not self._is_next(event):
            self.problem = "a block ended that was not open"
            return None
        self._open, self._unsure = None, ""
        block, wrong = growing.finished()
        if growing.kind in CALLS:
            self._call(block, wrong, told=any(growing.pieces))
            sure = not (wrong or self._unsure or self.problem)
            return Ready(block) if sure and growing.kind == "tool_use" else None
        self.problem = wrong
        self._blocks.append(block)
        return None

    def _message_delta(self, event: Mapping[str, object]) -> None:
        if self._open is not None:
            self.problem = "message_delta came inside a block"
            return
        self._closing = True
        delta = event.get("delta")
        self._stop = text_at(delta, "stop_reason") or self._stop
        details = fields_of(delta).get("stop_details")
        self._why = text_at(details, "category") or self._why
        self.charge = self.charge.updated(event.get("usage"))

    def _message_stop(self) -> None:
        self._ended = True
        if self._open is not None:
            self.problem = "message_stop came inside a block"
        elif not self._stop:
            self.problem = "there is no stop reason"

    # -- what they need ----------------------------------------------------------------

    def _is_next(self, event: Mapping[str, object]) -> bool:
        index = event.get("index")
        return type(index) is int and index == len(self._blocks)

    def _call(self, block: dict[str, object], wrong: str, *, told: bool) -> None:
        """Keep a call. The next request must not have two of one id.

        If the text of its input was not told, and the answer is cut off behind it,
        nobody knows whether it is whole.
        """
        id_ = text_at(block, "id")
        if not id_ or not text_at(block, "name"):
            self.problem = "a call has no id or no name"
            return
        number, unused = 1, id_
        while unused in self._calls:
            number, wrong = number + 1, _TWICE
            unused = f"{id_}-{number}"
        self._calls.add(unused)
        self._blocks.append({**block, "id": unused} if unused != id_ else block)
        self._unsure = "" if told else unused
        if wrong:
            self._bad[unused] = wrong


def _shown(kind: str, text: str) -> Delta | None:
    if not text or kind in CALLS:
        return None
    return Delta("thinking" if kind == "thinking" else "text", whole(text))


def is_payload(event: object) -> bool:
    """Tell whether an event is one that answers are made of: no ping, nothing new."""
    return text_at(event, "type") in PAYLOAD


def read_body(body: object) -> Reader:
    """Read an answer that was not streamed, by the same checks."""
    reader = Reader()
    for event in _events_of(fields_of(body)):
        reader.feed(event)
    return reader


def _events_of(body: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """Tell a body as the stream that it could have been."""
    yield {"type": "message_start", "message": body}
    content = body.get("content")
    if not isinstance(content, list):
        return
    for index, block in enumerate(items_of(cast("object", content))):
        at = {"index": index}
        yield {"type": "content_block_start", **at, "content_block": block}
        yield {"type": "content_block_stop", **at}
    yield {"type": "message_delta", "delta": body}
    yield {"type": "message_stop"}
