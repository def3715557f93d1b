"""How big a conversation is, and where its window is full. Never asks the API.

What the API said of the last answer is believed; what came since, or was taken away
since, is counted roughly: characters, with a margin. A size belongs to one history:
once that is rewritten, what was said of the old one is void (its epoch is over). Two
sizes of different epochs are never compared.

No I/O, and no knowledge of who rewrites a history, or why.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import attrs

from unspiral.engine.errors import BadValue
from unspiral.engine.live.message import History, Message
from unspiral.engine.live.untyped import fields_of, items_of

__all__ = [
    "MEDIA",
    "Gauge",
    "Grown",
    "Size",
    "Sizing",
    "Tally",
    "Window",
    "plain",
    "rough",
]

MEDIA = 2_000  #: tokens of an image or a document, whatever it holds
_TEXT, _JSON = 4, 2  # characters a token
_LOOKS_LIKE_JSON = re.compile(r"\s*[{\[]\s*[\"{\[]")
_MOST_SIZES = 4_000  # messages that are remembered with their size
_LEAST = 100  # tokens of a window that can be divided
_MEDIA_TYPES = frozenset({"image", "document"})

Sizing: TypeAlias = Callable[[History], int]  #: measures a history, in tokens


def plain(message: Message) -> int:
    """Return the tokens of a message, counted by its characters; 0 if never sent."""
    if message.kind == "error":
        return 0
    return math.ceil(sum(_block(block) for block in message.content))


def rough(messages: Iterable[Message], /) -> int:
    """Return the tokens of messages with a margin of a third; a sum, a message each."""
    return sum(_rough(message) for message in messages)


def _rough(message: Message) -> int:
    return -(-plain(message) * 4 // 3)


def _block(block: Mapping[str, object]) -> float:
    match block.get("type"):
        case "text":
            return _text(block.get("text"))
        case "thinking":
            return _text(block.get("thinking")) + _text(block.get("signature"))
        case "tool_result":
            return _result(block.get("content"))
        case kind if kind in _MEDIA_TYPES:
            return MEDIA
        case _:
            return _length(block) / _JSON


def _result(content: object) -> float:
    if isinstance(content, str):
        return _text(content)
    return sum(_block(fields_of(each)) for each in items_of(content))


def _text(value: object) -> float:
    if not isinstance(value, str):
        return _length(value) / _JSON
    return len(value) / (_JSON if _LOOKS_LIKE_JSON.match(value) else _TEXT)


def _length(value: object) -> int:
    """Return about how long a value is as JSON. A hostile one may be nested deep."""
    try:
        return len(json.dumps(value, ensure_ascii=False))
    except (RecursionError, TypeError):
        return _walked(value)


def _walked(value: object) -> int:
    length, waiting = 0, [value]
    while waiting:
        value = waiting.pop()
        fields, items = fields_of(value), items_of(value)
        if fields or items:
            length += 2 + 2 * len(fields) + len(items)
            waiting += [*fields, *fields.values(), *items]
        else:
            length += len(str(value)) + 2
    return length


@attrs.define
class Tally:
    """Counts roughly, and counts again only what has changed since the last time.

    Of messages that were counted lately the size is remembered: where views take turns,
    they are the same messages.
    """

    _last: History = ()
    _sums: list[int] = attrs.field(factory=lambda: [0])
    _sizes: dict[int, tuple[Message, int]] = attrs.field(
        factory=dict[int, tuple[Message, int]]
    )

    def __call__(self, history: History) -> int:
        """Return what `rough` returns."""
        if history is self._last:
            return self._sums[-1]
        same = self._same(history)
        self._last, sums = (), self._sums  # nothing is known if this is interrupted
        del sums[same + 1 :]
        for message in history[same:]:
            sums.append(sums[-1] + self._size(message))
        self._last = history
        return sums[-1]

    def _size(self, message: Message) -> int:
        found = self._sizes.get(id(message))
        if found is None:  # whoever is remembered is kept, so that no other has its id
            if len(self._sizes) >= _MOST_SIZES:
                self._sizes.clear()
            found = self._sizes[id(message)] = message, _rough(message)
        return found[1]

    def _same(self, history: History) -> int:
        """Return how many messages at the beginning are the same."""
        last = self._last
        common = min(len(last), len(history))
        if last[:common] == history[:common]:  # in C; no object is looked into twice
            return common
        pairs = zip(last, history, strict=False)
        return next(n for n, (a, b) in enumerate(pairs) if a is not b)


@attrs.define
class Grown:
    """Something that is found in a history, and not looked for again while it grows.

    Attributes:
        step: from what was found so far, the place of a message, and the message, to
            what is found now. At first 0 is found.
    """

    step: Callable[[int, int, Message], int]
    _last: History = ()
    _found: int = 0

    def __call__(self, history: History) -> int:
        """Return what is found."""
        if history is not self._last:
            known, found = len(self._last), self._found
            if history[:known] != self._last:
                known, found = 0, 0
            for at in range(known, len(history)):
                found = self.step(found, at, history[at])
            self._last, self._found = history, found
        return self._found


@attrs.frozen
class Size:
    """A size.

    Attributes:
        tokens: how many.
        epoch: of the history that was measured.
    """

    tokens: int
    epoch: int


@attrs.frozen
class Gauge:
    """What the API said of a view of the history; others are measured against it.

    Attributes:
        floor: tokens that every request has besides the messages: system and tools.
        said: the tokens of that view; the floor if nothing was said.
        counted: how big that view is, counted roughly.
        epoch: how often the history was rewritten.
        anchor: the answer that the API said it with, or one that is void.
        sent: how big the view is that was sent last, counted roughly; None: unknown.
    """

    floor: int = 0
    said: int = attrs.field(default=attrs.Factory(lambda g: g.floor, takes_self=True))
    counted: int = 0
    epoch: int = 0
    anchor: Message | None = None
    sent: int | None = None

    def sending(self, view: History, count: Sizing = rough) -> "Gauge":
        """Return a gauge that knows what is sent; the next answer speaks of it."""
        return self._heard(self.said, self.counted, self.anchor, count(view))

    def seen(self, view: History, count: Sizing = rough) -> "Gauge":
        """Return a gauge that has heard what the API said last.

        Without knowing what was sent, it was the messages up to the answer.
        """
        at = _last_anchor(view)
        if at is None or view[at] is self.anchor:
            return self
        of = count(view[: at + 1]) if self.sent is None else self.sent
        of += 0 if self.sent is None else rough(view[at : at + 1])
        return self._heard(view[at].tokens, of, view[at], None)

    def _heard(
        self, said: int, counted: int, anchor: Message | None, sent: int | None
    ) -> "Gauge":
        return Gauge(self.floor, said, counted, self.epoch, anchor, sent)

    def rewritten(self, history: History) -> "Gauge":
        """Return the gauge of the next epoch: what was said so far is void."""
        at = _last_anchor(history)
        anchor = None if at is None else history[at]
        return Gauge(self.floor, epoch=self.epoch + 1, anchor=anchor)

    def size(self, view: History, count: Sizing = rough) -> Size:
        """Return the size of a view of the same epoch.

        What was taken away is not counted with a margin: a margin on it would make
        the rest look smaller than it is.
        """
        change = count(view) - self.counted
        tokens = self.said + change
        if change < 0:
            above = max(self.said - self.floor, 0)
            share = -(-above * (self.counted + change) // self.counted)
            tokens = max(tokens, self.said - above + share)
        return Size(tokens, self.epoch)


def _last_anchor(view: History) -> int | None:
    at = range(len(view) - 1, -1, -1)
    return next((n for n in at if view[n].tokens > 0), None)


def _tokens(_: object, field: "attrs.Attribute[Any]", value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        what = f"a window's {field.name!r}"
        raise BadValue(what, repr(value), "a whole number of tokens, 0 or more")


def _share(_: object, field: "attrs.Attribute[Any]", value: object) -> None:
    if not isinstance(value, int | float) or not 0 < value <= 1:
        raise BadValue(f"a window's {field.name!r}", repr(value), "above 0, at most 1")


@attrs.frozen
class Window:
    """What the model can take in, and where what happens. All in tokens.

    Attributes:
        size: of the window.
        reserve: kept free for an answer or a summary.
        autocompact_buffer: so far below the effective window it is compacted.
        blocking_buffer: so far below it nothing is sent any more.
        warning_buffer: so far below its threshold a compaction has to bring it.
        collapse_commit: the share of the effective window from which folds are
            committed.
        collapse_block: the share from which nothing but folding helps.
        least_gain: the share of a size that a compaction has to free.
        floor: what every request has besides the messages: system and tools.

    Raises:
        BadValue: a number is none, or they contradict each other.
    """

    size: int = attrs.field(default=200_000, validator=_tokens)
    reserve: int = attrs.field(default=20_000, validator=_tokens)
    autocompact_buffer: int = attrs.field(default=13_000, validator=_tokens)
    blocking_buffer: int = attrs.field(default=3_000, validator=_tokens)
    warning_buffer: int = attrs.field(default=20_000, validator=_tokens)
    collapse_commit: float = attrs.field(default=0.90, validator=_share)
    collapse_block: float = attrs.field(default=0.95, validator=_share)
    least_gain: float = attrs.field(default=0.10, validator=_share)
    floor: int = attrs.field(default=0, validator=_tokens)

    def __attrs_post_init__(self) -> None:
        if self.effective <= 0:
            raise BadValue("a window's 'reserve'", str(self.reserve), "below its size")
        if self.target <= 0:
            least = f"below {self.effective} together"
            given = f"{self.autocompact_buffer} and {self.warning_buffer}"
            raise BadValue("a window's buffers", given, least)
        if self.blocking_buffer >= self.autocompact_buffer:
            what, most = "a window's 'blocking_buffer'", "below the autocompact buffer"
            raise BadValue(what, str(self.blocking_buffer), most)
        if self.collapse_commit > self.collapse_block:
            what, most = "a window's 'collapse_commit'", "at most its 'collapse_block'"
            raise BadValue(what, str(self.collapse_commit), most)

    @classmethod
    def scaled(cls, size: int, floor: int = 0) -> "Window":
        """Return a window of another size with its numbers in proportion.

        Above 200,000 only the size grows: summaries do not get longer.

        Raises:
            BadValue: too small to be divided.
        """
        whole = cls(floor=floor)
        if size < _LEAST:
            raise BadValue("a window's 'size'", repr(size), f"{_LEAST} or more")
        names = ("reserve", "autocompact_buffer", "blocking_buffer", "warning_buffer")
        share = min(size / whole.size, 1.0)
        parts = {name: int(getattr(whole, name) * share) for name in names}
        return attrs.evolve(whole, size=size, **parts)

    @property
    def effective(self) -> int:
        """What is left for a request."""
        return self.size - self.reserve

    @property
    def threshold(self) -> int:
        """From here on the history is compacted."""
        return self.effective - self.autocompact_buffer

    @property
    def blocking(self) -> int:
        """From here on nothing is sent."""
        return self.effective - self.blocking_buffer

    @property
    def target(self) -> int:
        """Below this a compaction has helped: well under what sets off the next one."""
        return self.threshold - self.warning_buffer

    @property
    def commit_at(self) -> int:
        """From here on folds are committed."""
        return math.floor(self.effective * self.collapse_commit)

    @property
    def block_at(self) -> int:
        """From here on nothing but folding helps."""
        return math.floor(self.effective * self.collapse_block)

    def irreducible(self, kept: int) -> bool:
        """Tell whether no compaction can help: what stays does not fit by itself.

        Args:
            kept: tokens of the messages that a compaction keeps as they are.
        """
        return self.floor + kept + self.reserve > self.size
