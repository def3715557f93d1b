"""A fault server in a thread of its own, for programs and tests that are not async."""

import asyncio
import contextlib
import threading
from types import TracebackType
from typing import Any, Self

from unspiral.engine.faults.journal import MemoryJournal
from unspiral.engine.faults.schedule import Schedule
from unspiral.engine.faults.server import FaultServer

__all__ = ["ServerThread"]

_GLANCE = 0.1  # seconds between two looks at whether the server still runs
# Of the loop, until the record of an answer follows its last bytes: we may have been
# put in its queue between the two, which is one round, and it may have to be woken.
_ROUNDS = 3


def _after(
    rounds: int, loop: asyncio.AbstractEventLoop, caught_up: threading.Event
) -> None:
    """Tell, when the loop has had so many rounds."""
    if rounds:
        loop.call_soon(_after, rounds - 1, loop, caught_up)
    else:
        caught_up.set()


class ServerThread:
    """A server that runs beside the caller, to be used as a context manager.

    So it is used::

        with ServerThread(schedule) as server:
            run_my_agent(base_url=server.url)
        print(server.journal.exchanges)

    Args:
        schedule: what is played.
        journal: where records go; None: a new one.
        options: those of `FaultServer`.
    """

    def __init__(
        self,
        schedule: Schedule,
        journal: MemoryJournal | None = None,
        **options: Any,  # noqa: ANN401 - those of FaultServer
    ) -> None:
        self._journal = MemoryJournal() if journal is None else journal
        self._server = FaultServer(schedule, self._journal, **options)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ending: asyncio.Event | None = None
        self._error: BaseException | None = None

    @property
    def url(self) -> str:
        """The base URL, without a slash at its end."""
        return self._server.url

    def url_of(self, run: str) -> str:
        """Return the base URL of a run."""
        return self._server.url_of(run)

    @property
    def journal(self) -> MemoryJournal:
        """The journal; an answer whose end a client has seen is in it."""
        loop, caught_up = self._loop, threading.Event()
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(_after, _ROUNDS, loop, caught_up)
                while self._thread.is_alive() and not caught_up.wait(_GLANCE):
                    pass
        return self._journal

    def start(self) -> None:
        """Start, and wait until clients can connect.

        Raises:
            CannotListen: the port cannot be had.
        """
        self._thread.start()
        self._ready.wait()
        self._raise()

    def stop(self) -> None:
        """Stop, and wait for the end of the journal. A second time does nothing.

        Raises:
            UnspiralError: what ended the server before.
        """
        if self._loop is not None and self._ending is not None:
            with contextlib.suppress(RuntimeError):  # it has ended by itself
                self._loop.call_soon_threadsafe(self._ending.set)
            self._loop = None
        if self._thread.is_alive():
            self._thread.join()
        self._raise()

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop."""
        self.stop()

    def _raise(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # noqa: BLE001 - it is raised by start or stop
            self._error = error
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        ending = asyncio.Event()
        async with self._server:
            self._ending, self._loop = ending, asyncio.get_running_loop()
            self._ready.set()
            stopping = asyncio.create_task(ending.wait())
            failing = asyncio.create_task(self._server.failed())
            await asyncio.wait((stopping, failing), return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            if not failing.done():
                failing.cancel()
        if failing.done() and not failing.cancelled():
            failing.result()
