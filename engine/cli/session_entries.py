"""What a list of sessions says of each, read from its file; a broken one says why."""

import itertools
import sqlite3

from unspiral.engine.cli.session_folder import SessionFolder
from unspiral.engine.errors import SessionError, UnspiralError
from unspiral.engine.live.restoring import restore
from unspiral.engine.live.session_database import require_file, rows_of, to_read
from unspiral.engine.live.session_events import DECISION
from unspiral.engine.live.session_lock import is_locked
from unspiral.engine.live.untyped import fields_of, text_at
from unspiral.engine.report.session_text import Entry

__all__ = ["entries_in", "entry_of"]

_STEPS = "SELECT count(*) FROM events WHERE kind = ?"


def entries_in(folder: SessionFolder) -> list[Entry]:
    """Return what is to be said of each session of a folder, the newest first.

    Raises:
        FileProblem: the folder cannot be read.
    """
    ids = reversed(folder.ids())
    return [entry_of(each, str(folder.path_of(each))) for each in ids]


def entry_of(id_: str, path: str) -> Entry:
    """Return what is to be said of a session."""
    try:
        require_file(path)
        with to_read(path) as database:
            return _read(id_, path, database)
    except UnspiralError as error:
        problem = error.problem if isinstance(error, SessionError) else str(error)
        return Entry(id_, path, problem=problem)


def _read(id_: str, path: str, database: sqlite3.Connection) -> Entry:
    """Read a session one event at a time; records are only counted."""
    events = rows_of(path, database, frozenset({DECISION}))
    first = next(events, None)
    begun = () if first is None else (first,)
    restored = restore(itertools.chain(begun, events), path)
    (steps,) = database.execute(_STEPS, (DECISION,)).fetchone()
    about, spent = restored.about, fields_of(restored.ledgers.get("spent"))
    cost = spent.get("micro_dollars")
    return Entry(
        id_,
        path,
        begun=0.0 if first is None else first.t,
        task=text_at(about, "task") or "",
        machine=text_at(about, "machine") or "",
        edition=text_at(about, "edition") or "",
        model=text_at(about, "model") or "",
        steps=int(steps),
        state="running" if is_locked(path) else restored.terminal or "interrupted",
        micro_dollars=cost if isinstance(cost, int) else 0,
    )
