"""One client's connection: requests are read, and the acts of their answers performed.

It knows HTTP and the bounds; what is answered, the player knows, and how bytes travel,
the line.
"""

import contextlib
import math
from collections.abc import Callable, Iterable

import attrs

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
from unspiral.engine.faults.http import (
    CONTINUE,
    LAST_CHUNK,
    Bad,
    Complete,
    Opened,
    Piece,
    Reader,
    chunk,
    head_bytes,
)
from unspiral.engine.faults.journal import Left
from unspiral.engine.faults.line import Line
from unspiral.engine.faults.player import Performance, Player
from unspiral.engine.faults.request import MAX_BODY, Incoming
from unspiral.engine.faults.room import Part, Room, Shelf
from unspiral.engine.faults.wire import as_json, error_body

__all__ = ["Bounds", "Conversation"]

_STEP = 64 * 1024  # bytes by which a body takes room
_SWALLOWED = 32 * MAX_BODY  # bytes that are read and dropped, so that a 413 arrives


@attrs.frozen
class Bounds:
    """What a server bears.

    Attributes:
        connections: at once.
        bodies: bytes of bodies that are held at once.
        answers: bytes of answers that are being sent; one more may be made.
        request: seconds without a byte within a request.
        head: seconds for a whole head.
        body: seconds for a whole body.
        idle: seconds between two requests of a connection.
        sending: seconds for which a client may take nothing of an answer.
    """

    connections: int = 2_000
    bodies: int = 256 * 1024 * 1024
    answers: int = 64 * 1024 * 1024
    request: float = 30
    head: float = 60
    body: float = 300
    idle: float = 300
    sending: float = 300


class Conversation:
    """A connection, from its first request to its end.

    Args:
        line: the connection.
        player: knows the answers.
        room: for the bodies of all connections.
        shelf: for their answers.
        bounds: what is borne.
        now: seconds since the server was started.
        answered: is called with the name of the run when an answer has ended, and
            returns whether connections are kept: while the port is closed they are not.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - each is of another kind
        self,
        line: Line,
        player: Player,
        room: Room,
        shelf: Shelf,
        bounds: Bounds,
        now: Callable[[], float],
        answered: Callable[[str], bool],
    ) -> None:
        self.line = line
        self.idle = False  #: between two requests, so that it may be closed
        self._reader = Reader()
        self._player = player
        self._room = room
        self._shelf = shelf
        self._bounds = bounds
        self._now = now
        self._answered = answered

    async def run(self) -> None:
        """Answer request after request, until the client or an answer ends it.

        Raises:
            FileProblem: the journal cannot be written.
        """
        keeps = True
        while keeps:
            opened = await self._opened()
            keeps = opened is not None and await self._exchange(opened)
        await self.line.close()

    async def turn_away(self) -> None:
        """Say that there are too many connections.

        Raises:
            FileProblem: the journal cannot be written.
        """
        await self._refuse(Bad(503, "too many connections"))
        await self.line.close()

    async def _opened(self) -> Opened | None:
        """Wait for the head of a request."""
        self.idle = not self._reader.begun
        until = self._now() + self._bounds.head if self._reader.begun else math.inf
        while True:
            event = self._reader.next()
            match event:
                case Opened():
                    self.idle = False
                    return event
                case Bad():
                    await self._refuse(event)
                    return None
                case _ if not await self._more(until):
                    return None
                case _:
                    until = min(until, self._now() + self._bounds.head)

    async def _more(self, until: float) -> bool:
        """Read on, until that time; return whether there was anything."""
        begun = self._reader.begun
        patience = self._bounds.request if begun else self._bounds.idle
        try:
            data = await self.line.receive(min(patience, until - self._now()))
        except TimeoutError:
            if begun:
                await self._refuse(Bad(408, "the request did not come"))
            return False
        self.idle = False
        self._reader.feed(data)
        if not data and begun:
            self._player.hear("the client left within a request", self._now())
        return bool(data)

    async def _refuse(self, bad: Bad) -> None:
        """Answer what is no request."""
        self._player.hear(f"{bad.status}: {bad.problem}", self._now())
        body = as_json(error_body("invalid_request_error", bad.problem, ""))
        head = Head(bad.status, (("content-type", "application/json"),), len(body))
        await self.line.send(head_bytes(head, chunks=False, keeps=False) + body)

    async def _exchange(self, opened: Opened) -> bool:
        """Read the rest of a request and answer it; return whether to go on."""
        async with contextlib.AsyncExitStack() as held:
            with self._room.part() as part:
                if opened.waits and not await self.line.send(CONTINUE):
                    return False
                body = await self._body(opened, part)
                if body is None:
                    return False
                data, size = body
                incoming = Incoming(
                    opened.method, opened.target, opened.headers, data, size
                )
                put = await held.enter_async_context(self._shelf.place())
                performance = self._player.receive(incoming, self._now())
                put(_pieces(performance.answer.acts))
                del incoming, data, body
            return await self._perform(performance, opened)

    async def _body(
        self, opened: Opened, part: Part
    ) -> tuple[bytearray | None, int] | None:
        """Return the body, or None for it if it is too long, and its size."""
        # One array that grows: thousands of pieces would leave the memory in holes.
        body = bytearray()
        size = 0
        fits = opened.length is None or opened.length <= MAX_BODY
        deadline = self._now() + self._bounds.body
        while size <= _SWALLOWED and self._now() < deadline:
            event = self._reader.next()
            match event:
                case Piece(data):
                    size += len(data)
                    fits = fits and size <= MAX_BODY
                    if fits:
                        if size > part.size:
                            await part.hold(size + _STEP)
                        body += data
                    else:
                        body.clear()
                case Complete():
                    return (body if fits else None), size
                case Bad():
                    await self._refuse(event)
                    return None
                case _ if not await self._more(deadline):
                    return None
                case _:
                    pass
        endless = size > _SWALLOWED
        await self._refuse(Bad(413 if endless else 408, "a body without end"))
        return None

    async def _perform(self, performance: Performance, opened: Opened) -> bool:
        """Do what the answer says; return whether the connection is kept."""
        stage = _Stage(self.line, opened)
        left: Left = "stopped"  # if we are cancelled
        try:
            with self.line.watched():
                left = await stage.play(performance.answer.acts)
        finally:
            self._player.finish(performance, self._now(), stage.sent, left)
        kept = self._answered(performance.asked.run)
        return left == "kept" and stage.keeps and kept


def _pieces(acts: Iterable[Act]) -> list[bytes]:
    """Return what is held of an answer while it is sent; small pieces do not count."""
    found = [act.data for act in acts if isinstance(act, Body)]
    return found if sum(map(len, found)) > _STEP else []


class _Stage:
    """Performs acts on a line."""

    def __init__(self, line: Line, opened: Opened) -> None:
        self.sent = 0  #: bytes of the body
        self.keeps = opened.keeps  #: whether the framing allows to keep the connection
        self._line = line
        self._opened = opened
        self._bodiless = opened.method == "HEAD"
        self._chunks = False
        self._declared = math.inf

    async def play(self, acts: Iterable[Act]) -> Left:
        """Perform acts; return how the client left."""
        for act in acts:
            match act:
                case End():
                    ended = not self._chunks or await self._line.send(LAST_CHUNK)
                    return "kept" if ended else "gone"
                case Close():
                    self._line.end()
                    return "broken"
                case Reset():
                    await self._line.reset()
                    return "broken"
                case Forever(repeated):
                    while await self._go_on(repeated, for_ever=True):
                        pass
                    return "gone"
                case _ if not await self._go_on((act,)):
                    return "gone"
                case _:
                    pass
        return "broken"

    async def _go_on(self, acts: Iterable[Act], *, for_ever: bool = False) -> bool:
        """Perform acts that end nothing; return whether the client is still there."""
        for act in acts:
            match act:
                case Wait(seconds):
                    here = not await self._line.wait(seconds, for_ever=for_ever)
                case Head():
                    here = await self._line.send(self._head(act))
                case Garbage(data):
                    here = await self._line.send(data)
                case Body(data):
                    here = await self._send(data)
                case _:
                    here = True
            if not here:
                return False
        return True

    def _head(self, head: Head) -> bytes:
        self._declared = math.inf if head.length is None else head.length
        self._chunks = head.length is None and self._opened.chunks
        # An answer without any framing ends where the connection ends.
        self.keeps = self.keeps and (self._chunks or head.length is not None)
        data = head_bytes(head, chunks=self._chunks, keeps=self.keeps)
        self._chunks = self._chunks and not self._bodiless
        return data

    async def _send(self, data: bytes) -> bool:
        if self._bodiless:
            return True
        pieces = chunk(data) if self._chunks else (data,)
        for piece in pieces:
            # A client that has all that was declared may go: more is not for it.
            if not await self._line.send(piece) and self.sent < self._declared:
                return False
        self.sent += len(data)
        return True
