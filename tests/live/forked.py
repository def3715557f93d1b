"""The command line as processes that begin at once: forked from one with all imports.

Each is a process of its own, with its own output, environment and folder, which can be
killed or stopped at any moment.
"""

import contextlib
import multiprocessing as mp
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import attrs

__all__ = ["Command", "Ran", "command"]

_PRELOADED = [
    "unspiral.engine.cli.commands.run",
    "unspiral.engine.cli.playing",
    "unspiral.engine.cli.rehearsing",
    "unspiral.machines.agent_loop",
]
_OURS = ("ANTHROPIC_", "UNSPIRAL_", "XDG_")  # variables that a command reads


@attrs.frozen
class Ran:
    """A command that has ended.

    Attributes:
        code: its exit code; below 0: the signal that killed it.
        out: what it wrote to its output.
        complaint: what it wrote to the error stream.
    """

    code: int
    out: bytes
    complaint: str


@attrs.frozen
class _Place:
    """Where and how a command runs.

    Attributes:
        folder: in which it is called.
        environment: what is added to it.
        complaints: the file of its error stream.
        output: a file for its output; "": whoever started it reads that.
        limit: bytes that a file may have, as on a disk that is full; 0: any.
    """

    folder: str
    environment: Mapping[str, str]
    complaints: str
    output: str = ""
    limit: int = 0


@attrs.define
class Command:
    """A command that runs.

    Attributes:
        process: it.
        out: what was read of its output so far.
    """

    process: BaseProcess
    _pipe: Connection
    _complaints: Path
    out: bytes = b""

    def read(self) -> bool:
        """Wait for more output; return whether there is any."""
        piece = os.read(self._pipe.fileno(), 65_536)
        self.out += piece
        return bool(piece)

    def until(self, word: str) -> None:
        """Wait until it has written something."""
        while word.encode() not in self.out:
            assert self.read(), f"it ended: {self.out!r}"

    def close(self) -> None:
        """Read no more of its output, as `head` does."""
        self._pipe.close()

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    def end(self) -> Ran:
        """Wait for its end."""
        while not self._pipe.closed and self.read():
            pass
        self.process.join()
        self._pipe.close()
        code = self.process.exitcode
        assert code is not None
        return Ran(code, self.out, self._complaints.read_text("utf-8", "replace"))


def command(  # noqa: PLR0913 - each is of another kind
    words: Sequence[str],
    folder: Path,
    complaints: Path,
    *,
    environment: Mapping[str, str] | None = None,
    output: str = "",
    limit: int = 0,
) -> Command:
    """Start `unspiral` with some words.

    Args:
        words: the command line.
        folder: in which it is called.
        complaints: a file for its error stream.
        environment: what is added to that of this process, less what is ours.
        output: a file for its output; "": it is read by `Command`.
        limit: bytes that a file may have; 0: any.
    """
    complaints.touch()
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    ours, theirs = context.Pipe(duplex=False)
    place = _Place(str(folder), environment or {}, str(complaints), output, limit)
    process = context.Process(target=_be, args=(list(words), place, theirs))
    process.start()
    theirs.close()
    return Command(process, ours, complaints)


def _be(words: list[str], place: _Place, pipe: Connection) -> None:
    """Be the command."""
    from unspiral.engine.cli import app  # noqa: PLC0415 - it is imported here already

    for number in (signal.SIGINT, signal.SIGTERM):  # however we were started
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.dup2(_opened(place.output) if place.output else pipe.fileno(), 1)
    os.dup2(_opened(place.complaints), 2)
    pipe.close()
    streams: Any = [os.fdopen(n, "w", errors="backslashreplace") for n in (1, 2)]
    sys.stdout, sys.stderr = streams
    for name in [each for each in os.environ if each.startswith(_OURS)]:
        del os.environ[name]
    os.environ.update({"HOME": place.folder, **place.environment})
    os.chdir(place.folder)
    if place.limit:
        import resource  # noqa: PLC0415 - not everywhere

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (place.limit, place.limit))
    try:
        app(words)
    finally:  # as an interpreter does it that ends
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        os.dup2(_opened(os.devnull), 1)


def _opened(path: str) -> int:
    return os.open(path, os.O_WRONLY)
