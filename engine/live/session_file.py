"""A session as lines of JSON, and back: to be read, sent and compared by others.

The first line says what the file is and how many events follow, so that a file that was
cut or joined is refused; then one event a line. Nothing is lost on the way there and
back. Reading is strict: what we did not write is refused, with its line. Secrets were
taken out when the events were kept; they are looked for once more on the way out, since
who exports may know of more.
"""

import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from unspiral.engine.core.plain import as_object, parse_object, require_keys, same
from unspiral.engine.errors import BadValue, FileProblem, SessionError, TraceError
from unspiral.engine.live.restoring import restore
from unspiral.engine.live.secrets import Redaction
from unspiral.engine.live.session_database import MOST_EVENT
from unspiral.engine.live.session_events import Event
from unspiral.engine.toml.disk import read_text, reason

__all__ = [
    "MOST_BYTES",
    "events_from_text",
    "export_session",
    "read_export",
    "session_lines",
]

FORMAT, VERSION = "unspiral.session", 1
MOST_BYTES = 256 * 1024 * 1024  #: of a file that is read

_KIND = re.compile(r"[a-z][a-z_]{0,39}")
_SPARE = 200  # characters of a line besides the value


def session_lines(
    events: Sequence[Event], redaction: Redaction | None = None
) -> Iterator[str]:
    """Yield the lines of a session, each with its line break, all in ASCII.

    Raises:
        BadValue: an event holds what JSON does not.
    """
    redaction = redaction or Redaction()
    head = {"format": FORMAT, "version": VERSION, "events": len(events)}
    yield _line(head)
    for each in events:
        value = redaction.fields(each.value)
        yield _line({"n": each.n, "t": each.t, "kind": each.kind, "value": value})


def export_session(
    events: Sequence[Event],
    path: str | os.PathLike[str],
    redaction: Redaction | None = None,
) -> None:
    """Write a session to a file that is not there yet, for its owner only.

    Raises:
        FileProblem: it is there, or cannot be written.
    """
    name = os.fspath(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        opened = os.open(name, flags, 0o600)
    except (OSError, ValueError) as error:
        raise FileProblem(name, "written", reason(error)) from None
    try:
        with os.fdopen(opened, "w", encoding="ascii", newline="\n") as file:
            file.writelines(session_lines(events, redaction))
    except (OSError, BadValue) as error:
        Path(name).unlink(missing_ok=True)  # a part of a session is none
        problem = reason(error) if isinstance(error, OSError) else str(error)
        raise FileProblem(name, "written", problem) from None


def read_export(path: str | os.PathLike[str]) -> tuple[Event, ...]:
    """Read an exported session.

    Raises:
        SessionError: it cannot be read, or is none.
    """
    name = os.fspath(path)
    text = read_text(
        path, MOST_BYTES, lambda problem, line: SessionError(name, problem, 0, line)
    )
    return events_from_text(text, name)


def events_from_text(text: str, path: str = "") -> tuple[Event, ...]:
    """Read the lines of an exported session.

    Raises:
        SessionError: something in it was not written by us; the error names the line.
    """
    lines = text.split("\n")  # not splitlines: a text in JSON may hold other line ends
    if lines.pop():
        at = len(lines) + 1
        raise SessionError(path, "the last line has no end: it was cut", 0, at)
    if not lines:
        raise SessionError(path, "it is empty", 0, 1)
    _read_head(lines[0], len(lines) - 1, path)
    events = tuple(_event(line, n, path) for n, line in enumerate(lines[1:], 1))
    _require_sense(events, path)
    return events


def _line(value: Mapping[str, object]) -> str:
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False) + "\n"
    except (ValueError, RecursionError) as error:
        raise BadValue("an event", type(error).__name__, "plain JSON") from None


def _read_head(line: str, count: int, path: str) -> None:
    head = _object(line, 1, path, ("format", "version", "events"))
    if head["format"] != FORMAT:
        _refuse(path, f"it does not say format {FORMAT!r}", 1)
    if not same(head["version"], VERSION):
        _refuse(path, f"only version {VERSION} of the format can be read", 1)
    if not same(head["events"], count):
        problem = f"it was cut or joined: {count:,} events follow"
        _refuse(path, f"{problem}, not {str(head['events'])[:20]}", 1)


def _event(line: str, number: int, path: str) -> Event:
    at = number + 1
    if len(line) > MOST_EVENT + _SPARE:
        _refuse(path, f"{len(line):,} characters; at most {MOST_EVENT:,} are read", at)
    found = _object(line, at, path, ("n", "t", "kind", "value"))
    t, kind, value = found["t"], found["kind"], as_object(found["value"])
    if not same(found["n"], number):
        _refuse(path, f"n is not {number}", at)
    if not isinstance(t, float) or not math.isfinite(t):
        _refuse(path, "t is no number of seconds, such as 1.0", at)
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        _refuse(path, "kind is no word", at)
    if value is None:
        _refuse(path, "value is no object", at)
    return Event(number, t, kind, value)


def _object(line: str, at: int, path: str, keys: tuple[str, ...]) -> dict[str, object]:
    try:
        found = parse_object(line)
        require_keys(found, keys)
    except TraceError as error:
        _refuse(path, error.problem, at)
    return found


def _require_sense(events: Iterable[Event], path: str) -> None:
    """Refuse events of which no state of a session can be made."""
    try:
        restore(events, path)
    except SessionError as error:
        line = error.event + 1 if error.event else 0
        _refuse(path, error.problem, line)


def _refuse(path: str, problem: str, line: int) -> NoReturn:
    raise SessionError(path, problem, 0, line)
