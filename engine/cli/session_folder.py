"""The folder of sessions: where it is, what a session is called, and how one is found.

A name that somebody gives is compared with the names that are there, and no path is
made of it; so none leads out of the folder. What a session holds is read elsewhere.
"""

import datetime as dt
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import attrs

from unspiral.engine.errors import BadValue, FileProblem, UnknownName
from unspiral.engine.toml.disk import reason

__all__ = ["LAST", "SessionFolder", "folder_of", "located", "new_id"]

_SECOND = len("20261201-120000")  # of an id: when the session was begun
LAST = "last"  #: stands for the session that was begun last
SUFFIX, EXPORTED = ".session", ".jsonl"
_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,99}")
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # none that is taken for another
_RANDOM = 4  # letters
_SHOWN = 5  # ids that a message names


def folder_of(given: Path | None, environment: Mapping[str, str]) -> "SessionFolder":
    """Return the folder of sessions; it need not be there yet.

    Args:
        given: on the command line, or None.
        environment: of the process.
    """
    if given is not None:
        return SessionFolder(given)
    if own := environment.get("UNSPIRAL_SESSIONS"):
        return SessionFolder(Path(own))
    state = Path(environment.get("XDG_STATE_HOME", ""))
    if not state.is_absolute():  # as its specification has it
        state = _home(environment) / ".local" / "state"
    return SessionFolder(state / "unspiral" / "sessions")


def new_id(now: float, random: Callable[[int], int]) -> str:
    """Return a name for a session, such as `20261201-053012-k3f9`; names sort by time.

    Args:
        now: the time, in seconds since 1970.
        random: returns a number below another one.

    Raises:
        BadValue: no calendar knows the time.
    """
    try:
        begun = dt.datetime.fromtimestamp(now, dt.UTC)
    except (OverflowError, OSError, ValueError):
        raise BadValue("the time of a session", repr(now), "of this era") from None
    letters = "".join(_LETTERS[random(len(_LETTERS))] for _ in range(_RANDOM))
    return f"{begun:%Y%m%d-%H%M%S}-{letters}"


@attrs.frozen
class SessionFolder:
    """A folder with sessions, a file each.

    Attributes:
        path: of the folder.
    """

    path: Path

    def make(self) -> None:
        """Make the folder, for its owner only, if it is not there.

        Raises:
            FileProblem: it cannot be made.
        """
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            raise FileProblem(str(self.path), "written", reason(error)) from None

    def ids(self) -> list[str]:
        """Return the ids of the sessions, the oldest first.

        Raises:
            FileProblem: the folder is there and cannot be read.
        """
        try:
            names = [each.name for each in self.path.iterdir()]
        except FileNotFoundError:
            return []
        except (OSError, ValueError) as error:
            raise FileProblem(str(self.path), "read", reason(error)) from None
        ids = (name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX))
        return sorted(each for each in ids if _NAME.fullmatch(each))

    def path_of(self, id_: str) -> Path:
        """Return the file of a session, which need not be there.

        Raises:
            BadValue: it is no id.
        """
        if not _NAME.fullmatch(id_):
            raise BadValue("the id of a session", id_, "letters, digits, '-', '_', '.'")
        return self.path / f"{id_}{SUFFIX}"

    def find(self, id_: str) -> Path:
        """Return the file of a session that is there.

        Args:
            id_: its id, the beginning of it if there is only one such, or `last`.

        Raises:
            UnknownName: there is none; the message has the nearest one.
            BadValue: there are several.
            FileProblem: the folder cannot be read.
        """
        ids = self.ids()
        if id_ == LAST and ids:
            return max(map(self.path_of, _of_one_second(ids)), key=_written)
        found = [each for each in ids if each == id_] or [
            each for each in ids if id_ and each.startswith(id_)
        ]
        if not found:
            known = tuple(reversed(ids))
            raise UnknownName("session", id_, known, str(self.path))
        if len(found) > 1:
            named = ", ".join(found[-_SHOWN:])
            more = ", ..." if len(found) > _SHOWN else ""
            allowed = f"the beginning of one id, not of {len(found):,} ({named}{more})"
            raise BadValue("a session", id_, allowed)
        return self.path_of(found[0])


def _of_one_second(ids: list[str]) -> list[str]:
    """Return those that were begun in the same second as the last one."""
    return [each for each in ids if each[:_SECOND] == ids[-1][:_SECOND]]


def _written(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0


def _home(environment: Mapping[str, str]) -> Path:
    if home := environment.get("HOME"):
        return Path(home)
    try:
        return Path.home()
    except (RuntimeError, KeyError):
        allowed = "a folder: set it, or UNSPIRAL_SESSIONS, or pass --sessions"
        raise BadValue("HOME", "", allowed) from None


def located(folder: SessionFolder, name: str) -> Path:
    """Return the file that a person means: a path, or a session of the folder.

    What holds a slash, or ends as a file of sessions does, is a path.

    Raises:
        UnknownName: the folder has no such session.
        BadValue: it has several.
        FileProblem: the folder cannot be read.
    """
    if "/" in name or name.endswith((SUFFIX, EXPORTED)):
        return Path(name)
    return folder.find(name)
