"""Plays a schedule inside the process, as a transport of `httpx2`.

The acts that the server performs on a socket become a response here: the same status,
headers and body, byte for byte, and the very exceptions that `httpx2` raises when a
socket is refused, reset, closed too early or silent. It is the one module of the faults
that knows `httpx2`.

All times are those of the running loop. In virtual time (`engine.faults.clock`) waits
cost nothing.
"""

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Generator, Iterable, Iterator
from typing import cast

import httpx2

from unspiral.engine.faults.acts import (
    Act,
    Body,
    Close,
    End,
    Forever,
    Garbage,
    Head,
    Reset,
    Wait,
)
from unspiral.engine.faults.journal import Left, MemoryJournal
from unspiral.engine.faults.phrase import phrase
from unspiral.engine.faults.player import Performance, Player
from unspiral.engine.faults.request import MAIN, MAX_BODY, Incoming
from unspiral.engine.faults.schedule import Schedule

__all__ = ["FaultTransport"]

_BLANK_LINES = (b"\n\n", b"\n\r\n")  # where HTTP takes a head to end
_FIRST_PRINTABLE = 0x21
_BREATH = 1e-6  # seconds of a round that has no waits: the loop must get its turn


class FaultTransport(httpx2.AsyncBaseTransport):
    """A transport that answers requests as a schedule says.

    It belongs to one thread. Several clients may share it; it may outlive a loop.

    Args:
        schedule: what is played.
        journal: where records go; None: a new one. It is kept in memory, so that a
            test can ask for `transport.journal.exchanges`.
    """

    def __init__(
        self, schedule: Schedule, journal: MemoryJournal | None = None
    ) -> None:
        self.journal = MemoryJournal() if journal is None else journal
        self.player = Player(schedule, self.journal)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._origin = 0.0
        self._now = 0.0
        self._run = MAIN  # the run that was answered last

    @property
    def now(self) -> float:
        """Seconds since the first request. Another loop goes on where one ended."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._origin = loop, loop.time() - self._now
        self._now = loop.time() - self._origin
        return self._now

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request.

        Raises:
            httpx2.TransportError: as it would be raised if a server did the same.
            FileProblem: the journal cannot be written.
        """
        incoming = _incoming(request, await request.aread())
        now = self.now
        if self.player.closed_for(now, self._run):
            raise httpx2.ConnectError("All connection attempts failed")
        performance = self.player.receive(incoming, now)
        bodiless = request.method == "HEAD"
        stream = _Stream(self, performance, _patience(request), bodiless=bodiless)
        head = await stream.begin()
        closes = "close" in incoming.headers.get("connection", "").lower()
        return httpx2.Response(
            head.status,
            headers=_headers(head, closes=closes),
            stream=stream,
            extensions={"reason_phrase": phrase(head.status).encode("ascii")},
        )

    def finish(self, performance: Performance, sent: int, left: Left) -> None:
        """Note how an answer ended; only the first word counts.

        Raises:
            FileProblem: the journal cannot be written.
        """
        if performance.ended:
            return
        now = self.now
        self.player.finish(performance, now, sent, left)
        self._run = performance.asked.run
        self.player.closed_for(now, self._run)  # an outage begins here, if one is due

    def stop(self) -> None:
        """End the journal in good order.

        Raises:
            FileProblem: it cannot be written.
        """
        self.player.stop(self._now)


class _Stream(httpx2.AsyncByteStream):
    """An answer that is being performed.

    The acts have a time line of their own, as on a server: a client that comes late for
    a piece finds it waiting.
    """

    def __init__(
        self,
        transport: FaultTransport,
        performance: Performance,
        patience: float,
        *,
        bodiless: bool = False,
    ) -> None:
        self._transport = transport
        self._performance = performance
        self._patience = patience
        acts = performance.answer.acts
        self._bodiless = bodiless
        self._acts = _timed(
            act for act in acts if not (bodiless and isinstance(act, Body))
        )
        self._due = asyncio.get_running_loop().time()
        self._length: int | None = None
        self._sent = 0
        self._taken = 0

    async def begin(self) -> Head:
        """Perform what comes before the body."""
        noise = b""
        with self._watched():
            for delay, act in self._acts:
                if delay:
                    await self._wait(delay)
                if isinstance(act, Head):
                    self._length = 0 if self._bodiless else act.length
                    return act
                noise += act.data if isinstance(act, Garbage) else b""
                if problem := nonsense(noise):
                    raise self._broken(problem)
                if isinstance(act, Reset):
                    raise self._reset()
                if isinstance(act, Close):
                    break
            raise self._broken("Server disconnected without sending a response.")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Perform the body."""
        if self._length == 0:
            self._complete()
            return
        length = math.inf if self._length is None else self._length
        with self._watched():
            for delay, act in self._acts:
                if delay:
                    await self._wait(delay)
                if isinstance(act, Body):
                    self._sent += len(act.data)
                    data = self._fitting(act.data)
                    self._taken += len(data)
                    yield data
                    if self._taken >= length:
                        self._complete()
                        return
                elif isinstance(act, End) and self._length is None:
                    self._leave("kept")
                    return
                elif isinstance(act, Reset):
                    raise self._reset()
                else:
                    raise self._short()

    async def aclose(self) -> None:
        """Let the client leave."""
        self._part()

    @contextlib.contextmanager
    def _watched(self) -> Generator[None]:
        """Note that the client has left, however it does: the first word counts."""
        try:
            yield
        except GeneratorExit:  # between two pieces
            self._part()
            raise
        except BaseException:
            self._leave("gone")
            raise

    def _part(self) -> None:
        if not self._performance.ended:
            # Whoever took every piece need not have waited for the ending.
            delay, act = next(self._acts, (0, Close()))
            self._leave("gone" if delay else _ENDINGS.get(type(act), "gone"))

    async def _wait(self, delay: float) -> None:
        self._due += delay
        silence = self._due - asyncio.get_running_loop().time()
        if silence > self._patience:
            await asyncio.sleep(self._patience)
            raise httpx2.ReadTimeout("")
        if silence == math.inf:  # no timer: a virtual clock would jump for ever
            await asyncio.get_running_loop().create_future()
        await asyncio.sleep(max(0, silence))

    def _fitting(self, data: bytes) -> bytes:
        """Return what a client takes of a piece: no more than was declared."""
        return data if self._length is None else data[: self._length - self._taken]

    def _complete(self) -> None:
        """The declared length is reached: a client does not look at what follows."""
        for delay, act in self._acts:
            if delay or not isinstance(act, Body):
                kept = isinstance(act, End) and self._sent == self._length
                self._leave("kept" if kept else "broken")
                return
            self._sent += len(act.data)

    def _short(self) -> httpx2.RemoteProtocolError:
        how = (
            "incomplete chunked read"
            if self._length is None
            else f"received {self._taken} bytes, expected {self._length}"
        )
        return self._broken(
            f"peer closed connection without sending complete message body ({how})"
        )

    def _broken(self, problem: str) -> httpx2.RemoteProtocolError:
        self._leave("broken")
        return httpx2.RemoteProtocolError(problem)

    def _reset(self) -> httpx2.ReadError:
        self._leave("broken")
        return httpx2.ReadError("")

    def _leave(self, left: Left) -> None:
        self._transport.finish(self._performance, self._sent, left)


_ENDINGS: dict[type[Act], Left] = {End: "kept", Close: "broken", Reset: "broken"}


def _timed(acts: Iterable[Act]) -> Iterator[tuple[float, Act]]:
    """Yield the acts that a client notices, with the seconds after the one before."""
    delay = 0.0
    for act in acts:
        if isinstance(act, Wait):
            delay += act.seconds
        elif isinstance(act, Forever):
            yield from _repeated(delay, act)
        else:
            yield delay, act
            delay = 0.0


def _repeated(delay: float, forever: Forever) -> Iterator[tuple[float, Act]]:
    if not any(isinstance(act, Body) for act in forever.acts):
        yield math.inf, End()
        return
    while True:
        delay += 0 if any(isinstance(a, Wait) for a in forever.acts) else _BREATH
        for act in forever.acts:
            if isinstance(act, Wait):
                delay += act.seconds
            else:
                yield delay, act
                delay = 0.0


def _incoming(request: httpx2.Request, body: bytes) -> Incoming:
    return Incoming(
        request.method,
        request.url.raw_path.decode("ascii"),
        {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in request.headers.raw
        },
        body if len(body) <= MAX_BODY else None,
        len(body),
    )


def _patience(request: httpx2.Request) -> float:
    """Return for how many seconds the client bears silence."""
    timeouts = cast("dict[str, float | None]", request.extensions.get("timeout", {}))
    read = timeouts.get("read")
    return math.inf if read is None else read


def _headers(head: Head, *, closes: bool) -> list[tuple[str, str]]:
    framing = (
        ("transfer-encoding", "chunked")
        if head.length is None
        else ("content-length", str(head.length))
    )
    ending = [("connection", "close")] if closes else []
    return [*head.headers, framing, *ending]


def nonsense(data: bytes) -> str:
    """Return what `h11` says of bytes that are no response, or "" if it awaits more.

    Those of a well-formed status line are not looked for.
    """
    if not data:
        return ""
    if data.startswith((b"\n", b"\r\n")):
        return "no response line received"
    if any(blank in data for blank in _BLANK_LINES):
        line = data.split(b"\n", 1)[0].removesuffix(b"\r")
        return f"illegal status line: {bytearray(line)!r}"
    return "illegal request line" if data[0] < _FIRST_PRINTABLE else ""
