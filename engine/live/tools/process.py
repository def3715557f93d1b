"""A program, run to its end or ended: in a process group of its own, output bounded.

When time is out, or whoever waits is cancelled, the whole group is killed; so is what
is left of it when the program has ended. A process that leaves its group on purpose
(`setsid`) is out of reach. What the program is for is not known here.
"""

import asyncio
import contextlib
import os
import signal
import tempfile
from collections.abc import AsyncGenerator, Coroutine, Mapping, Sequence
from typing import Any, BinaryIO

import attrs

from unspiral.engine.live.ports import Clock

__all__ = ["Program", "Ran", "run_program"]

_LINGER = 0.5  # seconds for output that is still on its way when a program has ended


@attrs.frozen
class Program:
    """What is to be run.

    Attributes:
        arguments: the program and its arguments; no shell reads them.
        folder: to run it in.
        environment: all of it.
        seconds: that it may take.
        most: bytes that are kept of its output: its first half and its last.
        given: its input.
        files: open files that it inherits.
        errors: whether its error stream counts as output; else it is dropped.
    """

    arguments: Sequence[str]
    folder: str
    environment: Mapping[str, str]
    seconds: float
    most: int
    given: bytes = b""
    files: Sequence[int] = ()
    errors: bool = True


@attrs.frozen
class Ran:
    """What came of it.

    Attributes:
        status: its exit status; negative: the signal that ended it; None: time was out.
        head: the first bytes of its output.
        tail: the last ones that are not in the head.
        left_out: bytes between them.
        lingered: something that it had started still held its output.
    """

    status: int | None
    head: bytes
    tail: bytes
    left_out: int
    lingered: bool


async def run_program(program: Program, clock: Clock) -> Ran:
    """Run a program.

    Raises:
        OSError: it cannot be started.
        ValueError: the same, for its arguments.
    """
    async with _sink(program.most) as sink:
        with tempfile.TemporaryFile() as given:
            given.write(program.given)
            given.seek(0)
            process = await _start(program, given, sink)
        sink.close_writer()
        try:
            ended = await _until(process.wait(), program.seconds, clock)
            lingered = ended and not await _until(sink.ended.wait(), _LINGER, clock)
        finally:
            # As long as a member is alive the number of the group is not used again.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            await asyncio.shield(process.wait())
        if not ended:  # what was written before is there to be read
            await _until(sink.ended.wait(), _LINGER, clock)
    status = process.returncode if ended else None
    return Ran(status, bytes(sink.head), sink.tail(), sink.left_out(), lingered)


async def _until(
    what: Coroutine[Any, Any, object], seconds: float, clock: Clock
) -> bool:
    """Wait for something, but not for ever; tell whether it came."""
    task = asyncio.ensure_future(what)
    timer = asyncio.ensure_future(clock.sleep(seconds))
    both: set[asyncio.Future[Any]] = {task, timer}
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        return task.done()
    finally:
        task.cancel()
        timer.cancel()


async def _start(
    program: Program, given: BinaryIO, sink: "_Sink"
) -> asyncio.subprocess.Process:
    errors = sink.writer if program.errors else asyncio.subprocess.DEVNULL
    return await asyncio.create_subprocess_exec(
        *program.arguments,
        stdin=given,
        stdout=sink.writer,
        stderr=errors,
        cwd=program.folder,
        env=dict(program.environment),
        pass_fds=program.files,
        start_new_session=True,
    )


class _Sink(asyncio.Protocol):
    """Keeps the two ends of what comes out of a pipe, and reads on.

    A pipe of our own: one of `asyncio.subprocess` stays open as long as a descendant
    that left the group holds it.
    """

    def __init__(self, most: int) -> None:
        self.head = bytearray()
        self.ended = asyncio.Event()
        self.reader, self.writer = os.pipe()
        self._most_head, self._most_tail = most - most // 2, most // 2
        self._end = bytearray()
        self._all = 0
        self._open = True

    def data_received(self, data: bytes) -> None:
        """Keep what there is room for."""
        self._all += len(data)
        room = self._most_head - len(self.head)
        self.head += data[:room]
        self._end += data[room:] if room > 0 else data
        if len(self._end) > 2 * self._most_tail + 65_536:  # not at each piece
            del self._end[: len(self._end) - self._most_tail]

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that nobody holds the other end any more."""
        del exc
        self.ended.set()

    def tail(self) -> bytes:
        """Return the last bytes that are not in the head."""
        return bytes(self._end[max(len(self._end) - self._most_tail, 0) :])

    def left_out(self) -> int:
        """Return how many bytes are in neither."""
        return self._all - len(self.head) - len(self.tail())

    def close_writer(self) -> None:
        """Close our own copy of the end that the program writes to."""
        if self._open:
            self._open = False
            os.close(self.writer)


@contextlib.asynccontextmanager
async def _sink(most: int) -> AsyncGenerator[_Sink]:
    sink = _Sink(most)
    loop = asyncio.get_running_loop()
    reader = os.fdopen(sink.reader, "rb")
    transport, _ = await loop.connect_read_pipe(lambda: sink, reader)
    try:
        yield sink
    finally:
        sink.close_writer()
        transport.close()
