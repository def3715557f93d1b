"""A run as lines for a pipe or a log: what was said, done, decided, and how it ended.

It is told events one by one and prints nothing itself. What the model said is told when
the answer is kept, whole; a withdrawn one leaves one line. Texts of the model and of
tools are hostile: they are cleaned, secrets are taken out, and they stand indented, so
that none of them can pass for a line of ours.
"""

import json
from collections.abc import Callable, Mapping

import attrs

from unspiral.engine.live.events import (
    Answered,
    Called,
    Calling,
    Continued,
    Decided,
    Ended,
    LiveEvent,
    Refused,
    Said,
    Shown,
    Status,
    Tombstone,
    ToolsRan,
    Waiting,
    Warned,
)
from unspiral.engine.live.message import text_of
from unspiral.engine.live.secrets import Redaction
from unspiral.engine.report.lines import Line, Role, clean, clean_lines

__all__ = ["LiveLines", "digest", "dollars", "number", "spent_text"]

_INDENT = 2
_LONGEST = 2_000  # characters of a line; what is longer goes on in the next one
_DIGEST = 96  # characters of a call
_LOOKED_AT = 4_000  # characters of a value, of which the first are shown
_VALUE = 64  # characters of a value that are shown
_RESULT = 160  # characters of a result that are shown
_TAB = 4
_SMALL = 1_000_000  # micro-dollars: less than this is told to a hundredth of a cent

Facts = Mapping[str, int | str]

#: what is told of each budget at the end, in this order
_SPENT: Mapping[str, Callable[[float], str]] = {
    "turns": lambda n: f"{n:,.0f} turn{'' if n == 1 else 's'}",
    "model_calls": lambda n: f"{n:,.0f} model call{'' if n == 1 else 's'}",
    "tool_calls": lambda n: f"{n:,.0f} tool call{'' if n == 1 else 's'}",
    "tokens": lambda n: f"{n:,.0f} tokens",
    "micro_dollars": lambda n: dollars(int(n)),
    "seconds": lambda n: f"{n:,.1f} s",
}


@attrs.define
class LiveLines:
    """Tells a run.

    Attributes:
        redaction: what is taken out of texts.
    """

    redaction: Redaction = attrs.field(factory=Redaction)
    _said: list[str] = attrs.field(factory=list[str], init=False)
    _calls: dict[str, str] = attrs.field(factory=dict[str, str], init=False)
    _shown: str = attrs.field(default="", init=False)
    _doing: str = attrs.field(default="", init=False)
    _facts: Facts = attrs.field(factory=dict[str, int | str], init=False)

    @property
    def said(self) -> str:
        """What is being said just now; it may be withdrawn."""
        return "".join(self._said)

    def see(self, event: LiveEvent) -> list[Line]:
        """Return what is to be told of an event: often nothing."""
        match event:
            case Said() | Answered() | Tombstone():
                return self._about_answer(event)
            case Calling() | Called() | ToolsRan():
                return self._about_tools(event)
            case Decided():
                self._facts = event.facts or self._facts
                return []
            case Continued():
                self._doing = ""
                return [
                    *self._withdrawn(),
                    self._line(f"goes on: {event.reason}", "open"),
                ]
            case Ended():
                return self._about_end(event)
            case _:
                return self._about_run(event)

    # -- kinds of events ---------------------------------------------------------------

    def _about_answer(self, event: Said | Answered | Tombstone) -> list[Line]:
        match event:
            case Said(kind="text"):
                self._said.append(event.text)
                return []
            case Said():
                return []
            case Tombstone():
                return self._withdrawn()
            case Answered():
                self._said.clear()
                return self.texts(text_of(event.message))

    def _about_tools(self, event: Calling | Called | ToolsRan) -> list[Line]:
        match event:
            case Calling():
                call = digest(event.name, event.given, self.redaction)
                self._calls[event.id] = call
                return [self._line(f"calls {call}")]
            case Called():
                return [self._called(event)]
            case ToolsRan():
                self._calls.clear()
                return []

    def _called(self, event: Called) -> Line:
        call = self._calls.pop(event.id, "") or digest(event.name, {}, self.redaction)
        told = f"{call}: {self._result(event.text)}"
        if event.error:
            return self._line(f"failed: {told}", "bad")
        return self._line(f"done: {told}")

    def _about_run(
        self, event: Waiting | Status | Warned | Shown | Refused
    ) -> list[Line]:
        match event:
            case Waiting():
                return [self._line(f"waits {event.seconds:,.1f} s: {event.why}", "dim")]
            case Status():
                again = event.word is None or event.word == self._doing
                self._doing = event.word or self._doing
                return [] if again else [self._line(f"{event.word} ...", "dim")]
            case Warned():
                return [self._line(f"warning: {event.text}", "open")]
            case Refused():
                word = "stopped" if event.stopped else "refused"
                return [self._line(f"{word}: {event.why}", "bad")]
            case Shown():
                again, self._shown = event.text == self._shown, event.text
                return [] if again else [self._line(f"error: {event.text}", "bad")]

    def _about_end(self, event: Ended) -> list[Line]:
        cut = self.texts(self.said)
        if cut:
            cut.insert(0, self._line("not finished, and not kept:", "open"))
        self._said.clear()
        spent = spent_text(self._facts)
        told = f"ended: {event.terminal}" + (f"; {spent}" if spent else "")
        good = event.terminal == "completed"
        return [*cut, self._line(told, "good" if good else "bad")]

    # -- parts -------------------------------------------------------------------------

    def texts(self, text: str) -> list[Line]:
        """Return the lines of a hostile text, indented; long ones are cut in pieces."""
        lines = self.redaction.text(text).expandtabs(_TAB).strip("\n").split("\n")
        if lines == [""]:
            return []
        return [_piece(line, start) for line in lines for start in _starts(line)]

    def _withdrawn(self) -> list[Line]:
        size = len(self.said.strip())
        self._said.clear()
        told = f"withdrawn: {size:,} characters of an answer"
        return [self._line(told, "dim")] if size else []

    def _line(self, text: str, role: Role = "") -> Line:
        return Line(clean(self.redaction.text(text)), role, whole=True)

    def _result(self, text: str) -> str:
        lines = text.count("\n") + (not text.endswith("\n"))
        first = clean(self.redaction.text(text[:_LOOKED_AT]), _RESULT)
        return first if lines == 1 else f"{lines:,} lines: {first}"


def _starts(line: str) -> range:
    return range(0, max(len(line), 1), _LONGEST)


def _piece(line: str, start: int) -> Line:
    piece = clean_lines(line[start : start + _LONGEST])
    return Line(piece, "", _INDENT, whole=True) if piece.strip() else Line()


def digest(
    name: str, given: Mapping[str, object], redaction: Redaction | None = None
) -> str:
    """Return a call on one line that is safe to print: the tool and its input, cut."""
    redaction = redaction or Redaction()
    parts = [clean(redaction.text(name[:_LOOKED_AT]), _VALUE)]
    for field, value in given.items():
        shown = clean(redaction.text(_text(value)), _VALUE)
        parts.append(f"{clean(redaction.text(field[:_LOOKED_AT]), _VALUE)}={shown}")
        if sum(map(len, parts)) > _DIGEST:
            break
    return clean(" ".join(parts), _DIGEST)


def dollars(micro: int) -> str:
    """Return money, given in millionths of a dollar."""
    digits = 4 if 0 < abs(micro) < _SMALL else 2
    return f"${micro / 1_000_000:,.{digits}f}"


def number(facts: Mapping[str, object], name: str) -> float | None:
    """Return a number among facts; None if there is none."""
    value = facts.get(name)
    if isinstance(value, bool):
        return None
    try:
        found = float(value) if isinstance(value, int | float | str) else None
    except (ValueError, OverflowError):
        return None
    return found if found is not None and abs(found) < float("inf") else None


def spent_text(facts: Mapping[str, object]) -> str:
    """Say what is spent, as facts named `spent.BUDGET` have it."""
    found = ((number(facts, f"spent.{name}"), told) for name, told in _SPENT.items())
    return ", ".join(told(value) for value, told in found if value is not None)


def _text(value: object) -> str:
    if isinstance(value, str):
        return value[:_LOOKED_AT]
    try:
        return json.dumps(value)[:_LOOKED_AT]
    except (TypeError, ValueError, RecursionError):
        return f"({type(value).__name__})"
