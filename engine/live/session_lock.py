"""One process per session: a lock that dies with its process.

It is a lock of the system on a file beside the session, so that none is left by a
process that was killed, and no clock or process table has to be believed. The file says
who has it, for the message; it is never removed, since another process could by then
have locked what is removed.
"""

import contextlib
import fcntl
import os

from unspiral.engine.errors import FileProblem, SessionBusy
from unspiral.engine.toml.disk import reason

__all__ = ["Lock", "is_locked"]

_LONGEST = 20  # characters of a process id


class Lock:
    """A lock that is held until it is released, or the process ends.

    Args:
        path: of the session.

    Raises:
        SessionBusy: another process holds it, or this one does already.
        FileProblem: it cannot be had at all.
    """

    def __init__(self, path: str) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        name = f"{path}.lock"
        try:
            self._file = os.open(name, flags | os.O_NONBLOCK, 0o600)
        except (OSError, ValueError) as error:
            raise FileProblem(name, "written", reason(error)) from None
        try:
            self._take(path)
        except BaseException:
            self.release()
            raise

    def _take(self, path: str) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SessionBusy(path, self._owner()) from None
        except OSError as error:
            raise FileProblem(f"{path}.lock", "locked", reason(error)) from None
        with contextlib.suppress(OSError):  # it is held, whether or not it says so
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, str(os.getpid()).encode("ascii"), 0)

    def _owner(self) -> int:
        with contextlib.suppress(OSError):
            said = os.pread(self._file, _LONGEST, 0)
            return int(said) if said.isdigit() else 0
        return 0

    def release(self) -> None:
        """Give it up; once more does nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def is_locked(path: str) -> bool:
    """Tell whether a process has a session open; if in doubt, none has.

    To ask, the lock is shared for a moment. Whoever wants the session in just that
    moment is refused, so this is for lists and people, not for programs that wait.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        file = os.open(f"{path}.lock", flags)
    except (OSError, ValueError):
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(file)
    return False
