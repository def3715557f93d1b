"""Records of a journal as lines of JSON, and back. It touches no file.

A line is one object in ASCII: its `kind`, and the fields of the record that are not at
their defaults. Reading is strict: what we did not write is refused, with its line. Only
the last line may be cut off, as a process that was killed leaves it, and not the first.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn, cast, get_args

import attrs

from unspiral.engine.errors import JournalError, suggestion
from unspiral.engine.faults.acts import Usage
from unspiral.engine.faults.cut_line import is_cut
from unspiral.engine.faults.journal import (
    VERSION,
    Answered,
    Asked,
    Began,
    Ended,
    Exchange,
    Left,
    Noise,
    Outaged,
    Record,
    pair,
)
from unspiral.engine.faults.pairing import Fault, Pairing
from unspiral.engine.faults.request import Endpoint

__all__ = ["MOST_LINES", "Reading", "journal_from_text", "record_line"]

MOST_LINES = 1_000_000  #: of a journal that is read
_LARGEST = 2**63  # a number beyond is cut when it is written, and refused when read
_DIGITS = 6  # of a second: microseconds

_KINDS: dict[str, type[Record]] = {
    "begin": Began,
    "request": Asked,
    "answer": Answered,
    "outage": Outaged,
    "noise": Noise,
    "end": Ended,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}
_ALWAYS: dict[type[Any], tuple[str, ...]] = {
    kind: ("version",) if kind is Began else () for kind in _NAMES
}  # fields that stand in the line whatever they are


@attrs.frozen
class Reading:
    """A journal as it was read.

    Attributes:
        records: in the order of the lines.
        torn: the last line is cut off; it is left out.
    """

    records: tuple[Record, ...]
    torn: bool = False

    @property
    def whole(self) -> bool:
        """It was ended in good order."""
        return any(isinstance(each, Ended) for each in self.records)

    @property
    def exchanges(self) -> list[Exchange]:
        """Every request with its answer, in the order of the requests."""
        return pair(self.records)


def record_line(record: Record) -> str:
    """Return a record as a line, with its line break."""
    fields: dict[str, object] = {"kind": _NAMES[type(record)]}
    for field in attrs.fields(type(record)):
        value: object = getattr(record, field.name)
        if value != field.default or field.name in _ALWAYS[type(record)]:
            fields[field.name] = _plain(value)
    return json.dumps(fields, separators=(",", ":"), allow_nan=False) + "\n"


def _plain(value: object) -> object:
    match value:
        case bool() | str() | None:
            return value
        case int():
            return max(-_LARGEST, min(value, _LARGEST))
        case float():
            return round(value, _DIGITS)
        case tuple():
            return [_plain(each) for each in cast("tuple[object, ...]", value)]
        case _:
            fields = attrs.asdict(cast("Any", value), recurse=False)
            return {name: _plain(each) for name, each in fields.items()}


def journal_from_text(text: str, path: str = "journal") -> Reading:
    """Read a journal.

    Args:
        text: of the whole file.
        path: what the errors name it.

    Raises:
        JournalError: it is no journal, or something in it was not written by us.
    """
    reader = _Reader(path)
    if text.count("\n") >= MOST_LINES:
        reader.fail(f"it has more than {MOST_LINES:,} lines")
    *lines, rest = text.split("\n")
    for line in lines:
        reader.read(line)
    torn = bool(lines) and bool(rest) and is_cut(rest)
    if not torn and (rest or not lines):
        reader.read(rest)
    return Reading(tuple(reader.records), torn)


class _Wrong(ValueError):
    """A part of a line is not what it must be."""


class _Reader:
    """Reads the lines of a journal, and whether they belong together."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.line = 0
        self.records: list[Record] = []
        self.asked: set[int] = set()
        self.answered: set[int] = set()
        self.ended = False

    def fail(self, problem: str) -> NoReturn:
        """Refuse the journal."""
        raise JournalError(self.path, self.line, problem) from None

    def read(self, line: str) -> None:
        """Take the next line."""
        self.line += 1
        try:
            record = _record(line)
        except _Wrong as error:
            self.fail(str(error))
        self._fit(record)
        self.records.append(record)

    def _fit(self, record: Record) -> None:
        """Refuse a record that does not belong after those before it."""
        if self.ended:
            self.fail("there is nothing after the end")
        if isinstance(record, Began) != (not self.records):
            self.fail("a journal has one line of the kind 'begin', the first")
        match record:
            case Began(version) if version != VERSION:
                self.fail(f"version {version} is not known here; {VERSION} is")
            case Asked(n):
                self._once(n, self.asked, "asked")
            case Answered(n):
                if n not in self.asked:
                    self.fail(f"request {n} is answered and was not asked")
                self._once(n, self.answered, "answered")
            case Ended(_, requests):
                self._end(requests)
            case _:
                pass

    def _once(self, n: int, seen: set[int], what: str) -> None:
        if n in seen:
            self.fail(f"request {n} is {what} twice")
        seen.add(n)

    def _end(self, requests: int) -> None:
        here = len(self.asked)
        if requests != here:
            self.fail(f"it counts {requests:,} requests and holds {here:,}")
        self.ended = True


def _record(line: str) -> Record:
    fields = _object(_json(line), "a line")
    kind = fields.pop("kind", None)
    if not isinstance(kind, str) or kind not in _KINDS:
        wanted = suggestion(kind, tuple(_KINDS)) if isinstance(kind, str) else ""
        raise _Wrong(f"no kind {_shown(kind)}{wanted}")
    record: Record = _build(_KINDS[kind], fields, kind)
    return record


def _json(line: str) -> object:
    try:
        return json.loads(line, parse_constant=_refused, object_pairs_hook=_once)
    except _Wrong:
        raise
    except RecursionError:
        raise _Wrong("it is nested too deeply") from None
    except ValueError:
        raise _Wrong("it is no JSON") from None


def _refused(name: str) -> NoReturn:
    raise _Wrong(f"{name} is no number here")


def _once(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    fields: dict[str, object] = {}
    for name, value in pairs:
        if name in fields:
            raise _Wrong(f"{_shown(name)} is there twice")
        fields[name] = value
    return fields


def _build(kind: type[Any], fields: Mapping[str, object], place: str) -> Any:  # noqa: ANN401 - one of the classes above
    known = {field.name: field for field in attrs.fields(kind)}
    for name in fields:
        if name not in known:
            raise _Wrong(f"{place}: no field {_shown(name)}{suggestion(name, known)}")
    values: dict[str, object] = {}
    for name, field in known.items():
        if name in fields:
            read = _FIELDS.get(name) or _READERS[field.type]
            values[name] = read(fields[name], f"{place}.{name}")
        elif field.default is attrs.NOTHING or name in _ALWAYS.get(kind, ()):
            raise _Wrong(f"{place}: field {name!r} is missing")
    return kind(**values)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 100 else text[:100] + "..."  # noqa: PLR2004 - a line


def _must(place: str, allowed: str, value: object) -> NoReturn:
    raise _Wrong(f"{place} cannot be {_shown(value)}: it must be {allowed}")


def _bool(value: object, place: str) -> bool:
    return value if isinstance(value, bool) else _must(place, "true or false", value)


def _whole(least: int, most: int = _LARGEST) -> Callable[[object, str], int]:
    wide = most == _LARGEST and least in (0, -_LARGEST)
    allowed = "a whole number" if wide else f"a whole number from {least:,}"
    allowed += " of 64 bits" if most == _LARGEST else f" to {most:,}"
    allowed += ", 0 or more" if wide and not least else ""

    def read(value: object, place: str) -> int:
        if type(value) is int and least <= value <= most:
            return value
        _must(place, allowed, value)

    return read


_count = _whole(0)


def _or_none(
    read: Callable[[object, str], object],
) -> Callable[[object, str], object]:
    return lambda value, place: None if value is None else read(value, place)


def _float(value: object, place: str) -> float:
    if type(value) in (int, float):
        number = cast("float", value)
        if 0 <= number <= _LARGEST and math.isfinite(number):
            return float(number)
    _must(place, "a number of seconds, 0 or more", value)


def _text(value: object, place: str) -> str:
    return value if isinstance(value, str) else _must(place, "a text", value)


def _list(value: object, place: str) -> list[object]:
    if isinstance(value, list):
        return cast("list[object]", value)
    _must(place, "a list", value)


def _object(value: object, place: str) -> dict[str, object]:
    if isinstance(value, dict):
        return cast("dict[str, object]", value)
    _must(place, "an object", value)


def _one_of(literal: object) -> Callable[[object, str], object]:
    allowed = get_args(literal)

    def read(value: object, place: str) -> object:
        known = isinstance(value, str) and value in allowed
        return value if known else _must(place, f"one of {', '.join(allowed)}", value)

    return read


#: how a field is read, by its type
_READERS: Mapping[object, Callable[[object, str], object]] = {
    bool: _bool,
    int: _count,
    float: _float,
    str: _text,
    int | None: _or_none(_count),
    Left: _one_of(Left),
    Fault: _one_of(Fault),
    Usage: lambda value, place: _build(Usage, _object(value, place), place),
    tuple[str, ...]: lambda value, place: tuple(
        _text(each, place) for each in _list(value, place)
    ),
    tuple[Pairing, ...]: lambda value, place: tuple(
        _build(Pairing, _object(each, place), place) for each in _list(value, place)
    ),
}

#: how a field is read, by its name, where its type does not say all
_FIELDS: Mapping[str, Callable[[object, str], object]] = {
    "n": _whole(1),
    "count": _whole(1),
    "seed": _whole(-_LARGEST),
    "status": _or_none(_whole(100, 599)),
    "same_as": _or_none(_whole(1)),
    "max_tokens": _or_none(_whole(-_LARGEST)),  # as the client has it
    "endpoint": _one_of(Endpoint),
}
