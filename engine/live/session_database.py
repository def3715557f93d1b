"""The database of a session: SQLite, with a write-ahead log and full synchronisation.

A transaction is on the disk when it is committed, whole or not at all. Rows are never
changed or removed; the database itself refuses it. A file that others may have made is
looked at before it is used: its schema has to be ours to the letter, so that no trigger
or view of theirs is ever run. What the rows mean is not known here.
"""

import contextlib
import os
import sqlite3
import stat
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from unspiral.engine.core.plain import parse_object
from unspiral.engine.errors import FileProblem, SessionError, TraceError
from unspiral.engine.live.session_events import Event
from unspiral.engine.toml.disk import reason

__all__ = [
    "MOST_BYTES",
    "MOST_EVENT",
    "Row",
    "damage",
    "insert",
    "made",
    "require_file",
    "rows_of",
    "taken_up",
    "to_read",
]

MOST_BYTES = 1024 * 1024 * 1024  #: of a session
MOST_EVENT = 64 * 1024 * 1024  #: characters of an event

_OURS, _VERSION = 0x756E7370, 1  # "unsp"; of the format
_TABLE = (
    "CREATE TABLE events (n INTEGER PRIMARY KEY, t REAL NOT NULL, "
    "kind TEXT NOT NULL, value TEXT NOT NULL) STRICT"
)
_APPEND_ONLY = (
    "CREATE TRIGGER events_are_not_{} BEFORE {} ON events "
    "BEGIN SELECT RAISE(ABORT, 'append-only'); END"
)
_SCHEMA = (
    _TABLE,
    _APPEND_ONLY.format("changed", "UPDATE"),
    _APPEND_ONLY.format("removed", "DELETE"),
)
_INSERT = "INSERT INTO events (n, t, kind, value) VALUES (?, ?, ?, ?)"

_AT_ONCE = 50  # rows of one statement; SQLite takes 999 values in any version

#: number, time, kind, value as JSON
Row: TypeAlias = tuple[int, float, str, str]


def made(path: str, rows: Iterable[Row]) -> sqlite3.Connection:
    """Make a database that is not there yet, with its first rows.

    Raises:
        FileProblem: it is there, or cannot be made.
    """
    _make_file(path)
    try:
        return _filled(path, rows)
    except sqlite3.Error as error:
        with contextlib.suppress(OSError):
            os.unlink(path)  # noqa: PTH108 - paths are texts here
        raise FileProblem(path, "written", str(error)) from None


def taken_up(path: str) -> tuple[sqlite3.Connection, int]:
    """Open a database to go on with it; return it with the number of its last row.

    Raises:
        SessionError: it is damaged, of another version, or no session.
    """
    with damage(path):
        database = _opened(path, "rw")
        try:
            _set_up(database)
            return database, _last(path, database)
        except BaseException:
            database.close()
            raise


@contextlib.contextmanager
def to_read(path: str) -> Generator[sqlite3.Connection]:
    """Open a database to read it, also while another process writes to it.

    Raises:
        SessionError: it is damaged, of another version, or no session.
    """
    with damage(path), contextlib.closing(_opened(path, "ro")) as database:
        yield database


def require_file(path: str) -> None:
    """Refuse what is no file, or too long.

    Raises:
        FileProblem: there is none, or it is no regular file.
        SessionError: it is too long.
    """
    try:
        status = os.stat(path, follow_symlinks=False)  # noqa: PTH116 - as above
    except (OSError, ValueError) as error:
        raise FileProblem(path, "read", reason(error)) from None
    if not stat.S_ISREG(status.st_mode):
        raise FileProblem(path, "read", "it is no regular file")
    if status.st_size > MOST_BYTES:
        raise SessionError(path, f"it is longer than {MOST_BYTES:,} bytes")


def insert(database: sqlite3.Connection, rows: Sequence[Row]) -> None:
    """Write rows, all or none; they are on the disk on return.

    Raises:
        sqlite3.Error: they cannot be written.
    """
    if 0 < len(rows) <= _AT_ONCE:
        # A statement by itself is a transaction, and takes two thirds of the time.
        more = ", (?, ?, ?, ?)" * (len(rows) - 1)
        database.execute(_INSERT + more, [value for row in rows for value in row])
        return
    try:
        database.execute("BEGIN IMMEDIATE")
        database.executemany(_INSERT, rows)
        database.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            database.execute("ROLLBACK")
        raise


def rows_of(
    path: str, database: sqlite3.Connection, without: frozenset[str] = frozenset()
) -> Iterator[Event]:
    """Yield the events in their order, but for those of some kinds.

    Raises:
        SessionError: one is missing, or is none.
    """
    rows = database.execute("SELECT n, t, kind, value FROM events ORDER BY n")
    for number, (n, t, kind, value) in enumerate(rows, 1):
        if n != number:
            raise SessionError(path, f"event {number} is missing")
        if not isinstance(t, float) or not isinstance(kind, str):
            raise SessionError(path, "its time or kind is none", n)
        if kind in without:
            continue
        if not isinstance(value, str):
            raise SessionError(path, "it is no text", n)
        try:
            yield Event(n, t, kind, parse_object(value))
        except TraceError as error:
            raise SessionError(path, error.problem, n) from None


@contextlib.contextmanager
def damage(path: str) -> Generator[None]:
    """Say of what SQLite cannot read that it is damaged.

    Raises:
        SessionError: it cannot.
    """
    try:
        yield
    except (sqlite3.Error, UnicodeError) as error:  # its messages may be damaged too
        problem = "it is damaged or no session"
        if isinstance(error, sqlite3.Error):
            problem += f": {error}"
        raise SessionError(path, problem) from None


def _make_file(path: str) -> None:
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        os.close(os.open(path, flags, 0o600))
        folder = os.open(Path(path).parent, os.O_RDONLY | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise FileProblem(path, "written", reason(error)) from None
    try:
        os.fsync(folder)  # else a power cut could leave events without a name
    finally:
        os.close(folder)


def _connected(path: str, mode: str) -> sqlite3.Connection:
    address = f"{Path(path).absolute().as_uri()}?mode={mode}"
    database = sqlite3.connect(address, uri=True, isolation_level=None)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_EVENT)
    database.execute("PRAGMA trusted_schema=OFF")
    return database


def _set_up(database: sqlite3.Connection) -> None:
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=FULL")


def _filled(path: str, rows: Iterable[Row]) -> sqlite3.Connection:
    database = _connected(path, "rw")
    try:
        _set_up(database)
        database.execute("BEGIN IMMEDIATE")
        database.execute(f"PRAGMA application_id={_OURS}")
        database.execute(f"PRAGMA user_version={_VERSION}")
        for statement in _SCHEMA:
            database.execute(statement)
        database.executemany(_INSERT, rows)
        database.execute("COMMIT")
    except BaseException:
        database.close()
        raise
    return database


def _opened(path: str, mode: str) -> sqlite3.Connection:
    database = _connected(path, mode)
    try:
        _require_ours(path, database)
    except BaseException:
        database.close()
        raise
    return database


def _require_ours(path: str, database: sqlite3.Connection) -> None:
    (ours,) = database.execute("PRAGMA application_id").fetchone()
    (version,) = database.execute("PRAGMA user_version").fetchone()
    found = [sql for (sql,) in database.execute("SELECT sql FROM sqlite_master")]
    if not found:
        raise SessionError(path, "it is empty: its session never began")
    if ours != _OURS:
        raise SessionError(path, "it is no session")
    if version != _VERSION:
        problem = f"it is of version {version}; only version {_VERSION} can be read"
        raise SessionError(path, problem)
    if tuple(found) != _SCHEMA:
        raise SessionError(path, "its tables are not those of a session")


def _last(path: str, database: sqlite3.Connection) -> int:
    count, last = database.execute("SELECT count(*), max(n) FROM events").fetchone()
    if not count or count != last:
        raise SessionError(path, "events are missing")
    return int(last)
