"""A journal on the disk: written a whole line at a time, read back strictly.

What is on the disk is always the beginning of what happened: a line goes there with one
call of the system, and after a line that could not be written no other is.
"""

import errno
import fcntl
import os
import stat
from types import TracebackType
from typing import Self

from unspiral.engine.errors import FileProblem, JournalError
from unspiral.engine.faults.journal import Record
from unspiral.engine.faults.journal_text import (
    Reading,
    journal_from_text,
    record_line,
)
from unspiral.engine.toml.disk import read_text, reason

__all__ = ["MOST_BYTES", "FileJournal", "read_journal"]

MOST_BYTES = 64 * 1024 * 1024  #: of a journal that is read: seconds, not minutes

_PIPE = "it is a pipe"  # whoever reads it slowly would hold up the server


class FileJournal:
    """A journal that writes each record to a file as soon as it is known.

    The ground truth of an experiment is not overwritten by mistake: a file that holds
    something is refused, unless it is to be replaced; and that is done when the first
    record comes, so that a server which cannot even begin destroys nothing. The file is
    locked as long as it is open: lines of two servers would make no journal.

    Args:
        path: the file; it is made if it is not there.
        replace: drop what it holds.

    Raises:
        FileProblem: it holds something, another server writes it, it is a pipe, or it
            cannot be opened.
    """

    def __init__(self, path: str | os.PathLike[str], *, replace: bool = False) -> None:
        self.path = os.fspath(path)
        self._problem = ""  # why nothing more is written
        self._file = self._opened()
        try:
            self._old = self._holds(replace=replace)
        except BaseException:
            os.close(self._file)
            raise

    def _opened(self) -> int:
        # A pipe that nobody reads must not hold us: it is opened, then refused.
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            return os.open(self.path, flags, 0o644)
        except (OSError, ValueError) as error:
            pipe = isinstance(error, OSError) and error.errno == errno.ENXIO
            problem = _PIPE if pipe else reason(error)
            raise FileProblem(self.path, "written", problem) from None

    def _holds(self, *, replace: bool) -> bool:
        """Take the file for us; return whether it holds something that is dropped."""
        mode = os.fstat(self._file).st_mode
        if stat.S_ISFIFO(mode):
            raise FileProblem(self.path, "written", _PIPE)
        os.set_blocking(self._file, True)
        if not stat.S_ISREG(mode):
            return False
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            problem = "another server writes its journal there"
            raise FileProblem(self.path, "written", problem) from None
        except OSError as error:
            raise FileProblem(self.path, "written", reason(error)) from None
        old = os.fstat(self._file).st_size > 0
        if old and not replace:
            problem = (
                "it exists already and is not overwritten, unless with --replace (in "
                "Python: replace=True)"
            )
            raise FileProblem(self.path, "written", problem)
        return old

    def write(self, record: Record) -> None:
        """Write a record as one line.

        Raises:
            FileProblem: the line, or one before it, cannot be written, or the journal
                is closed.
        """
        if self._problem:
            raise FileProblem(self.path, "written", self._problem)
        line = record_line(record).encode("ascii")
        try:
            if self._old:
                os.ftruncate(self._file, 0)
                self._old = False
            written = os.write(self._file, line)
            if written != len(line):
                self._problem = "no space is left for a whole line"
                self._take_back(written)
        except OSError as error:
            self._problem = self._problem or reason(error)
        if self._problem:
            raise FileProblem(self.path, "written", self._problem)

    def _take_back(self, written: int) -> None:
        size = os.fstat(self._file).st_size
        os.ftruncate(self._file, size - written)

    def close(self) -> None:
        """Close the file; once more does nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
            self._problem = self._problem or "it is closed"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def read_journal(path: str | os.PathLike[str]) -> Reading:
    """Read a journal from a file.

    Raises:
        JournalError: it cannot be read, is no journal, or something in it was not
            written by us.
    """
    name = os.fspath(path)
    text = read_text(
        path, MOST_BYTES, lambda problem, line: JournalError(name, line, problem)
    )
    return journal_from_text(text, name)
