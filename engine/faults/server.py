"""A loopback server that plays a schedule to whoever connects.

Resets, closed ports and silence are real. Bounds hold whatever clients do: on
connections, on the bytes of a head, on those of all bodies held at once, on silence.
Reading a body of many megabytes takes the loop a moment.

It knows the clock of its loop, and who is connected; what is said, it does not know.
"""

import asyncio
from types import TracebackType
from typing import Self

from unspiral.engine.faults.conversation import Bounds, Conversation
from unspiral.engine.faults.journal import Journal, MemoryJournal
from unspiral.engine.faults.line import Line
from unspiral.engine.faults.player import Player
from unspiral.engine.faults.port import Port
from unspiral.engine.faults.request import MAIN, MAX_BODY
from unspiral.engine.faults.room import Room, Shelf
from unspiral.engine.faults.schedule import Schedule

__all__ = ["FaultServer"]

_TURNED_AWAY = 100  # connections that are told at once that there are too many
_ROUNDS = 4  # of the loop, from a connection that is accepted to its end


class FaultServer:
    """A server for one schedule, to be used as an async context manager.

    Args:
        schedule: what is played; each run plays it from its beginning.
        journal: where records go; None: a `MemoryJournal`.
        host: the address to listen at.
        port: the port; 0 for one that is free.
        remote: whether other machines may reach the host.
        started: when, as an ISO date, for the journal.
        bounds: what the server bears.

    Raises:
        BadValue: other machines can reach the host, and `remote` is not set.
        CannotListen: there is no such host.
    """

    def __init__(  # noqa: PLR0913 - settings, and named
        self,
        schedule: Schedule,
        journal: Journal | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        remote: bool = False,
        started: str = "",
        bounds: Bounds | None = None,
    ) -> None:
        self.journal: Journal = MemoryJournal() if journal is None else journal
        self.bounds = bounds or Bounds()
        self._port = Port(host, port, remote=remote)
        self.player = Player(schedule, self.journal, started=started)
        self._room = Room(self.bounds.bodies, 2 * MAX_BODY)
        self._shelf = Shelf(self.bounds.answers)
        self._talks: dict[Conversation, asyncio.Task[None]] = {}
        self._turned_away: dict[Conversation, asyncio.Task[None]] = {}
        self._outage: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()
        self._failure: Exception | None = None
        self._told = False  # whether somebody has been told of the failure
        self._origin = 0.0

    @property
    def url(self) -> str:
        """The base URL, without a slash at its end."""
        return self._port.url

    def url_of(self, run: str) -> str:
        """Return the base URL of a run."""
        return f"{self.url}/run/{run}"

    @property
    def now(self) -> float:
        """Seconds since the server was started."""
        return asyncio.get_running_loop().time() - self._origin

    @property
    def open_connections(self) -> int:
        """How many clients are connected."""
        return len(self._talks)

    async def __aenter__(self) -> Self:
        """Start to listen.

        Raises:
            CannotListen: the port cannot be had.
            FileProblem: the journal cannot be written.
        """
        self._origin = asyncio.get_running_loop().time()
        self._port.take()
        try:
            self.player.begin()
            self._mind_the_port(MAIN)
            if self._outage is None:
                self._port.listen(self._line)
        except BaseException:
            self._port.release()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop."""
        await self.stop()

    async def failed(self) -> None:
        """Wait until the server cannot go on, or is stopped.

        Raises:
            FileProblem: the journal cannot be written.
            CannotListen: the port was lost during an outage.
            Exception: a defect of ours, which must not look like a quiet server.
        """
        await self._ended.wait()
        if self._failure is not None:
            self._told = True
            raise self._failure

    async def stop(self) -> None:
        """Stop listening, cut off what is being answered, end the journal.

        Raises:
            FileProblem: the journal cannot be written.
            Exception: whatever else ended the server, if nobody asked `failed`.
        """
        if self._ended.is_set() and self._failure is None:
            return
        self._ended.set()
        self._port.release()
        await self._port.settle()
        talks = self._talks | self._turned_away
        tasks = [*talks.values(), *([self._outage] if self._outage else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for talk in talks:  # a task that had not begun has abandoned nothing
            talk.line.abandon()
        for _ in range(_ROUNDS):
            await asyncio.sleep(0)
        if self._failure is None:
            self.player.stop(self.now)
        elif not self._told:
            self._told = True
            raise self._failure

    def _line(self) -> Line:
        return Line(self._connected, self.bounds.sending)

    def _connected(self, line: Line) -> None:
        talk = Conversation(
            line,
            self.player,
            self._room,
            self._shelf,
            self.bounds,
            lambda: self.now,
            self._answered,
        )
        many = len(self._talks) >= self.bounds.connections
        if self._ended.is_set() or (many and len(self._turned_away) >= _TURNED_AWAY):
            line.abandon()
            return
        talks = self._turned_away if many else self._talks
        work = self._watched(talk, talks)
        talks[talk] = asyncio.get_running_loop().create_task(work)

    async def _watched(
        self, talk: Conversation, talks: dict[Conversation, asyncio.Task[None]]
    ) -> None:
        """Let nothing that happens on one connection harm another."""
        try:
            await (talk.run() if talks is self._talks else talk.turn_away())
        except Exception as error:  # noqa: BLE001 - `failed` or `stop` raises it
            self._fail(error)
        finally:
            talk.line.abandon()
            talks.pop(talk, None)

    def _answered(self, run: str) -> bool:
        """Return whether the port is still open, so that connections are kept."""
        self._mind_the_port(run)
        return self._outage is None and not self._ended.is_set()

    def _mind_the_port(self, run: str) -> None:
        """Close the port, if the run has come to a step that says so."""
        if self._outage is not None or self._ended.is_set():
            return
        if self.player.closed_for(self.now, run):
            closing = self._closed(run)
            self._outage = asyncio.get_running_loop().create_task(closing)
            self._port.shut()
            for talk in self._talks:
                if talk.idle:
                    talk.line.abandon()

    async def _closed(self, run: str) -> None:
        try:
            seconds = self.player.closed_for(self.now, run)
            while seconds:  # one outage may follow another
                await asyncio.sleep(seconds)
                seconds = self.player.closed_for(self.now, run)
            if not self._ended.is_set():
                self._port.listen(self._line)
        except Exception as error:  # noqa: BLE001 - `failed` or `stop` raises it
            self._fail(error)
        self._outage = None

    def _fail(self, error: Exception) -> None:
        self._failure = self._failure or error
        self._port.release()
        self._ended.set()
