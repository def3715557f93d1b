"""Secrets are taken out of whatever is written: sessions, records, exports, logs; pure.

Where it applies. Every store passes each event through a `Redaction` before it is
written, ids and names of fields included, so that there is one door and no way past it.
What is sent to the model is left alone: in this process the history stays byte for byte
what it was.

How a resume copes. The history that is kept is the one with marks such as
`[redacted: github token]`, and after a resume that one is sent, byte for byte, from
then on: what is redacted already does not change when it is redacted again. A prompt
cache misses once, and only if there was a secret. Ids are replaced by other ids, the
same each time, so that calls and results still pair. Thinking is signed: a block in
which something would have to be changed is left out whole. Whoever wants no difference
at all passes the output of tools through `Redaction.text` as it enters the history.

What is found: values of the environment whose names speak of secrets (also as JSON and
URLs write them, and in base64), and texts that look like keys whatever they are for. A
secret that is cut in two, or disguised otherwise, is not found. Time is linear in the
text, whatever the text: a pattern either has a bounded length, or takes what it has
looked at.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias, cast
from urllib.parse import quote, quote_plus, urlsplit

import attrs

from unspiral.engine.errors import BadValue
from unspiral.engine.live.fixed import Based, Fixed
from unspiral.engine.live.secret_forms import Span, forms_in

__all__ = ["Redaction", "is_secret_name"]

SHORTEST = 8  #: characters of a secret; hiding a shorter one would tear every text
_SHORTEST_LINE = 20  # of a secret with several lines, to be hidden by itself
_SHORTEST_BASE64 = 12
_LONGEST_WORD = 12
_WORDS = 200  # characters of a text that is worth to be remembered
_MOST_WORDS = 4_000
_MOST_TEXTS = 20  # longer ones that are remembered
_PASSES = 4  # what is left of a text may look like a secret only now

_NAME = re.compile(
    r"ANTHROPIC_|.*(?:KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|COOKIE|PRIVATE)|"
    r".*_(?:PAT|PWD|DSN)\Z",
    re.IGNORECASE,
)
_PLACE = re.compile(r".*_(?:SOCK|FILE|PATH|DIR)\Z|XAUTHORITY\Z", re.IGNORECASE)
_MARK = re.compile(r"(\[redacted: [a-z ]{1,20}\])")
_IDS = ("id", "tool_use_id")
_NUMBERS = frozenset({int, float, bool, type(None)})
_SIGNED = ("thinking", "redacted_thinking")

Plain: TypeAlias = "dict[str, object] | list[object] | str | int | float | bool | None"


def is_secret_name(name: str) -> bool:
    """Tell whether a variable of the environment is a secret by its name."""
    return bool(_NAME.match(name))


@attrs.frozen
class Redaction:
    """What is to be taken out, besides what looks like a secret anyway.

    Attributes:
        values: secrets in all the ways they may be written, the longest first. Not
            shown by `repr`.
    """

    values: tuple[str, ...] = attrs.field(default=(), repr=False)
    _looked_at: dict[str, str] = attrs.field(
        factory=dict[str, str], init=False, repr=False, eq=False
    )
    _texts: dict[str, str] = attrs.field(
        factory=dict[str, str], init=False, repr=False, eq=False
    )
    _fixed: dict[Fixed, dict[str, object]] = attrs.field(
        factory=dict[Fixed, "dict[str, object]"], init=False, repr=False, eq=False
    )

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Redaction":
        """Take the secrets of an environment.

        Values that are too short or a plain word are none: without them, any text
        would do as well.
        """
        return cls.of_values(_secrets(environment))

    @classmethod
    def of_values(cls, secrets: Iterable[str]) -> "Redaction":
        """Take secrets that somebody names."""
        written = {way for each in secrets if _hides(each) for way in _ways(each)}
        return cls(tuple(sorted(written, key=lambda way: (-len(way), way))))

    def text(self, text: str) -> str:
        """Return a text with marks in place of its secrets."""
        if len(text) < SHORTEST:
            return text
        # Names of rows and phases are written again and again; what a tool said, twice.
        long = len(text) > _WORDS
        looked_at = self._texts if long else self._looked_at
        known = looked_at.get(text)
        if known is None:
            if len(looked_at) >= (_MOST_TEXTS if long else _MOST_WORDS):
                looked_at.clear()
            known = looked_at[text] = self._redacted(text)
        return known

    def _redacted(self, text: str) -> str:
        for _ in range(_PASSES):
            redacted = self._once(text)
            if redacted == text:
                break
            text = redacted
        return text

    def value(self, value: object) -> Plain:
        """Return a copy of a plain value with marks in place of its secrets.

        Raises:
            BadValue: it holds what JSON does not, or is nested too deeply.
        """
        try:
            return self._value(value)
        except RecursionError:
            raise _too_deep() from None

    def fields(self, value: Mapping[str, object]) -> dict[str, object]:
        """Do the same for an object.

        Raises:
            BadValue: it holds what JSON does not, or is nested too deeply.
        """
        try:
            return self._object(value)
        except RecursionError:
            raise _too_deep() from None

    # -- texts -------------------------------------------------------------------------

    def _once(self, text: str) -> str:
        if "[redacted: " not in text:
            return self._piece(text)
        # What stands in a mark was ours, and is part of no secret.
        pieces = _MARK.split(text)
        pieces[::2] = [self._piece(piece) for piece in pieces[::2]]
        return "".join(pieces)

    def _piece(self, text: str) -> str:
        if len(text) < SHORTEST:
            return text
        spans = [*forms_in(text), *self._known(text)]
        if not spans:
            return text
        parts: list[str] = []
        end = 0
        for span in _merged(spans):
            parts += [text[end : span.start], f"[redacted: {span.kind}]"]
            end = span.end
        return "".join([*parts, text[end:]])

    def _known(self, text: str) -> Iterator[Span]:
        for value in self.values:
            start = text.find(value)
            while start >= 0:
                end = start + len(value)
                yield Span(start, end, "environment")
                start = text.find(value, end)

    # -- values ------------------------------------------------------------------------

    def _value(self, value: object) -> Plain:
        if isinstance(value, str):
            return self.text(value)
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, dict | Mapping):  # nearly always the first
            return self._object(cast("Mapping[Any, object]", value))
        if isinstance(value, list | tuple):
            items = cast("Iterable[object]", value)
            return [kept for each in items for kept in self._item(each)]
        what = type(value).__name__
        raise BadValue("a value that is kept", what, "what JSON can hold")

    def _object(self, fields: Mapping[Any, object]) -> dict[str, object]:
        if isinstance(fields, Based):
            kept = dict(self.fixed(fields.base))
            fields = fields.rest
        else:
            kept = {}
        for name, value in fields.items():
            if not isinstance(name, str):
                raise BadValue("the name of a field", repr(name), "a text")
            redacted = name if len(name) < SHORTEST else self.text(name)
            if redacted in kept:
                redacted = self._unused(redacted, kept)
            if type(value) in _NUMBERS:
                kept[redacted] = value
            elif name in _IDS and isinstance(value, str):
                kept[redacted] = self._id(value)
            else:
                kept[redacted] = self._value(value)
        return kept

    def fixed(self, base: Fixed) -> Mapping[str, object]:
        """Return fixed fields with marks in place of their secrets; always the same."""
        known = self._fixed.get(base)
        if known is None:
            if len(self._fixed) >= _MOST_WORDS:
                self._fixed.clear()
            known = self._fixed[base] = self._object(base.fields)
        return known

    @staticmethod
    def _unused(redacted: str, kept: Mapping[str, object]) -> str:
        """Return a name that is no other's: none is to get lost."""
        unused, number = redacted, 1
        while unused in kept:
            number += 1
            unused = f"{redacted} {number}"
        return unused

    def _item(self, value: object) -> tuple[Plain, ...]:
        kept = self._value(value)
        signed = isinstance(kept, dict) and kept.get("type") in _SIGNED
        return () if signed and kept != value else (kept,)

    def _id(self, text: str) -> str:
        if self.text(text) == text:
            return text
        # It has to stay another one than other ids, and the same in call and result.
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return f"redacted_{digest[:16]}"


def _too_deep() -> BadValue:
    return BadValue("a value that is kept", "nested too deeply", "shallower")


def _merged(spans: list[Span]) -> Iterator[Span]:
    """Yield the spans in their order, those that overlap as one."""
    spans.sort(key=lambda span: (span.start, -span.end))
    last = spans[0]
    for span in spans[1:]:
        if span.start < last.end:
            last = Span(last.start, max(last.end, span.end), last.kind)
        else:
            yield last
            last = span
    yield last


# -- the environment -------------------------------------------------------------------


def _secrets(environment: Mapping[str, str]) -> Iterator[str]:
    for name, value in environment.items():
        if is_secret_name(name) and not _PLACE.match(name):
            yield value.strip()
            lines = value.splitlines()
            for line in map(str.strip, lines if len(lines) > 1 else ()):
                if len(line) >= _SHORTEST_LINE and not line.startswith("-----"):
                    yield line
        if "://" in value:
            yield _password(value)


def _password(url: str) -> str:
    try:
        return urlsplit(url).password or ""
    except ValueError:
        return ""


def _hides(secret: str) -> bool:
    word = secret.isalpha() and secret.islower() and len(secret) < _LONGEST_WORD
    return len(secret) >= SHORTEST and not word


def _ways(secret: str) -> Iterator[str]:
    """Yield the ways in which a secret may be written."""
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    data = secret.encode("utf-8", "surrogateescape")
    yield quote(data, safe="")
    yield quote_plus(data)
    if len(data) >= _SHORTEST_BASE64:  # whole groups: what follows changes no letter
        yield base64.b64encode(data[: len(data) // 3 * 3]).decode("ascii")
