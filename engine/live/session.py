"""A session on the disk: an append-only table of events that survives the process.

An event is on the disk when `append` returns, whole or not at all, whatever happens to
the process or the machine. Secrets are taken out of each event before it is written.
One process at a time writes. What the events mean is not known here; see
`session_events` and `restoring`.
"""

import contextlib
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Self

import attrs

from unspiral.engine.errors import BadValue, FileProblem, SessionError
from unspiral.engine.live.restoring import Restored, restore
from unspiral.engine.live.secrets import Redaction
from unspiral.engine.live.session_database import (
    MOST_BYTES,
    MOST_EVENT,
    Row,
    damage,
    insert,
    made,
    require_file,
    rows_of,
    taken_up,
    to_read,
)
from unspiral.engine.live.session_events import BEGIN, DECISION, Event
from unspiral.engine.live.session_lock import Lock

__all__ = ["MOST_BYTES", "MemoryStore", "Session", "read_session"]


@attrs.define
class MemoryStore:
    """A store that keeps its events in memory, as they would be written.

    Attributes:
        about: what the session is about.
        redaction: what is taken out of events.
        now: the time, in seconds since 1970.
    """

    about: Mapping[str, object] = attrs.field(factory=dict[str, object])
    redaction: Redaction = attrs.field(factory=Redaction)
    now: Callable[[], float] = time.time
    _events: list[Event] = attrs.field(factory=list[Event], init=False)

    def __attrs_post_init__(self) -> None:
        self.append(BEGIN, self.about)

    def append(self, kind: str, value: Mapping[str, object]) -> None:
        """Keep an event.

        Raises:
            FileProblem: it holds what JSON does not.
        """
        plain = _plain("memory", kind, value, self.redaction)
        number = len(self._events) + 1
        self._events.append(Event(number, float(self.now()), kind, plain))

    note = append

    def events(self) -> list[Event]:
        """Return all events."""
        return list(self._events)

    def restored(self) -> Restored:
        """Return what the session has come to."""
        return restore(self._events)


class Session:
    """A session that this process writes to; made by `create` or `resume`.

    Attributes:
        path: its file.
        last: the number of its last event.
    """

    def __init__(  # noqa: PLR0913 - made by the two class methods only
        self,
        path: str,
        *,
        lock: Lock,
        database: sqlite3.Connection,
        last: int,
        redaction: Redaction,
        now: Callable[[], float],
    ) -> None:
        self.path = path
        self.last = last
        self._lock = lock
        self._database = database
        self._redaction = redaction
        self._now = now
        self._noted: list[Row] = []
        self._problem = ""  # why nothing more is written

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        about: Mapping[str, object] | None = None,
        *,
        redaction: Redaction | None = None,
        now: Callable[[], float] = time.time,
    ) -> Self:
        """Begin a session.

        Args:
            path: its file, which must not be there yet.
            about: what the session is about, for whoever resumes it.
            redaction: what is taken out of events.
            now: the time, in seconds since 1970.

        Raises:
            FileProblem: it is there already, or cannot be made.
            SessionBusy: another process is making it.
        """
        redaction = redaction or Redaction()
        row = (1, now(), BEGIN, _text(os.fspath(path), BEGIN, about or {}, redaction))
        return cls._made(os.fspath(path), [row], redaction, now)

    @classmethod
    def imported(
        cls,
        path: str | os.PathLike[str],
        events: Iterable[Event],
        *,
        redaction: Redaction | None = None,
        now: Callable[[], float] = time.time,
    ) -> Self:
        """Begin a session with events that another one had.

        Args:
            path: its file, which must not be there yet.
            events: all of them.
            redaction: what is taken out of events, these included.
            now: the time, in seconds since 1970.

        Raises:
            SessionError: they are not the events of a session.
            FileProblem: it is there already, or cannot be made.
            SessionBusy: another process is making it.
        """
        redaction, name = redaction or Redaction(), os.fspath(path)
        kept = list(events)
        for number, event in enumerate(kept, 1):
            if event.n != number:
                raise SessionError(name, f"its number is not {number}", event.n)
        restore(kept, name)
        rows = [
            (e.n, e.t, e.kind, _text(name, e.kind, e.value, redaction)) for e in kept
        ]
        return cls._made(name, rows, redaction, now)

    @classmethod
    def _made(
        cls,
        path: str,
        rows: list[Row],
        redaction: Redaction,
        now: Callable[[], float],
    ) -> Self:
        lock = Lock(path)
        try:
            database = made(path, rows)
        except BaseException:
            lock.release()
            raise
        return cls(
            path,
            lock=lock,
            database=database,
            last=len(rows),
            redaction=redaction,
            now=now,
        )

    @classmethod
    def resume(
        cls,
        path: str | os.PathLike[str],
        *,
        redaction: Redaction | None = None,
        now: Callable[[], float] = time.time,
    ) -> Self:
        """Take up a session.

        Raises:
            FileProblem: there is none, or it cannot be opened.
            SessionBusy: another process has it open.
            SessionError: it is damaged, of another version, or no session.
        """
        name = os.fspath(path)
        require_file(name)
        lock = Lock(name)
        try:
            database, last = taken_up(name)
        except BaseException:
            lock.release()
            raise
        return cls(
            name,
            lock=lock,
            database=database,
            last=last,
            redaction=redaction or Redaction(),
            now=now,
        )

    def append(self, kind: str, value: Mapping[str, object]) -> None:
        """Keep an event, and those that were noted; they are durable on return.

        Raises:
            FileProblem: it, or one before it, cannot be kept.
        """
        self.note(kind, value)
        self._write()

    def note(self, kind: str, value: Mapping[str, object]) -> None:
        """Keep an event together with the next one that is appended.

        Raises:
            FileProblem: it, or one before it, cannot be kept.
        """
        self._require_whole()
        try:
            text = _text(self.path, kind, value, self._redaction)
        except FileProblem as error:
            self._problem = error.problem
            raise
        self.last += 1
        self._noted.append((self.last, self._now(), kind, text))

    def events(self) -> list[Event]:
        """Return all events that are on the disk.

        Raises:
            SessionError: the session is damaged.
        """
        with damage(self.path):
            return list(rows_of(self.path, self._database))

    def restored(self) -> Restored:
        """Return what the session has come to.

        Raises:
            SessionError: the session is damaged.
        """
        with damage(self.path):
            events = rows_of(self.path, self._database, frozenset({DECISION}))
            return restore(events, self.path)

    def close(self) -> None:
        """Write what was noted, and give the session up; once more does nothing.

        Raises:
            FileProblem: what was noted cannot be kept.
        """
        try:
            if self._noted and not self._problem:
                self._write()
        finally:
            self._problem = self._problem or "it is closed"
            with contextlib.suppress(sqlite3.Error):  # all is written: see `append`
                self._database.close()
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _require_whole(self) -> None:
        if self._problem:
            raise FileProblem(self.path, "written", self._problem)

    def _write(self) -> None:
        """Write all that is noted, at once.

        What is on the disk is always the beginning of what happened: after an event
        that could not be written no other is.
        """
        try:
            insert(self._database, self._noted)
        except sqlite3.Error as error:
            self._problem = str(error)
            raise FileProblem(self.path, "written", self._problem) from None
        except BaseException:
            self._problem = "a write was interrupted"
            raise
        self._noted.clear()


def read_session(path: str | os.PathLike[str]) -> list[Event]:
    """Return the events of a session, also while another process writes to it.

    Raises:
        FileProblem: there is none.
        SessionError: it is damaged, of another version, or no session.
    """
    name = os.fspath(path)
    require_file(name)
    with to_read(name) as database:
        return list(rows_of(name, database))


# -- events as JSON --------------------------------------------------------------------

_encoded = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def _plain(
    path: str, kind: str, value: Mapping[str, object], redaction: Redaction
) -> dict[str, object]:
    try:
        return redaction.fields(value)
    except BadValue as error:
        raise FileProblem(path, "written", f"event {kind!r}: {error}") from None


def _text(
    path: str, kind: str, value: Mapping[str, object], redaction: Redaction
) -> str:
    plain = _plain(path, kind, value, redaction)
    if not kind.isascii():
        raise FileProblem(path, "written", f"{kind!r} is no kind of event")
    try:
        text = _encoded(plain)
    except (ValueError, RecursionError) as error:
        problem = f"event {kind!r} is no JSON: {error}"
        raise FileProblem(path, "written", problem) from None
    if len(text) > MOST_EVENT:
        problem = f"event {kind!r} has {len(text):,} characters, more than can be read"
        raise FileProblem(path, "written", problem)
    return text
