"""Bounds on the bytes that are held at once: of what comes in, and of what goes out."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncGenerator, Callable, Collection, Generator

__all__ = ["Part", "Room", "Shelf"]


class _Gate:
    """Where coroutines wait, in their order, for something to be so."""

    def __init__(self) -> None:
        self._turns: deque[asyncio.Event] = deque()

    async def wait(self, true: Callable[[], bool]) -> None:
        """Return when it is so, and those that came before have had their turn."""
        if not self._turns and true():
            return
        turn = asyncio.Event()
        self._turns.append(turn)
        try:
            while self._turns[0] is not turn or not true():
                turn.clear()
                await turn.wait()
        finally:
            self._turns.remove(turn)
            self.look()

    def look(self) -> None:
        """Let the first one look again."""
        if self._turns:
            self._turns[0].set()


class Room:
    """So many bytes for bodies, each of which takes its part as it grows.

    Whoever has announced much and sends little holds little. Bodies that each hold half
    of what they need would wait for each other for ever; so some bytes are kept for one
    that comes to its end, then the next.

    Args:
        size: how many bytes there are.
        last: how many of them are kept for that one: the greatest body.
    """

    def __init__(self, size: int, last: int) -> None:
        self.free = size  #: bytes that nobody holds
        self.last = min(last, size)
        self._first: Part | None = None  # it may have what is kept
        self._gate = _Gate()

    @contextlib.contextmanager
    def part(self) -> Generator["Part"]:
        """Hold a part, of nothing yet; at the end it is given back."""
        part = Part(self)
        try:
            yield part
        finally:
            self.free += part.size
            if self._first is part:
                self._first = None
            self._gate.look()

    async def grow(self, part: "Part", size: int) -> None:
        """Let a part have so many bytes."""
        more = size - part.size
        if self._first is not part and self.free - more < self.last:
            await self._gate.wait(
                lambda: self._first is None or self.free - more >= self.last
            )
            if self.free - more < self.last:
                self._first = part
        part.size = size
        self.free -= more


class Part:
    """What one body holds.

    Attributes:
        size: bytes.
    """

    def __init__(self, room: Room) -> None:
        self.size = 0
        self._room = room

    async def hold(self, size: int) -> None:
        """Hold at least so many bytes; wait until they are free."""
        if size > self.size:
            await self._room.grow(self, size)


class Shelf:
    """Answers that are being sent, up to so many bytes; what several share counts once.

    How big an answer is shows when it is made. So it is made when there is room for one
    as big as the biggest so far.

    Args:
        size: how many bytes there are.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.held = 0  #: bytes of all pieces that are there
        self._biggest = 0
        self._pieces: dict[int, int] = {}  # by identity, how many answers have it
        self._gate = _Gate()

    @contextlib.asynccontextmanager
    async def place(self) -> AsyncGenerator[Callable[[Collection[bytes]], None]]:
        """Wait for room; what is put there with the function is there to the end."""
        there: list[bytes] = []

        def put(pieces: Collection[bytes]) -> None:
            before = self.held
            there.extend(pieces)
            for each in pieces:
                self._add(each, 1)
            self._biggest = max(self._biggest, self.held - before)

        await self._gate.wait(
            lambda: not self.held or self.held + self._biggest <= self.size
        )
        try:
            yield put
        finally:
            for each in there:
                self._add(each, -1)
            self._gate.look()

    def _add(self, piece: bytes, count: int) -> None:
        number = self._pieces.pop(id(piece), 0)
        if number + count:
            self._pieces[id(piece)] = number + count
        self.held += len(piece) * ((number + count > 0) - (number > 0))
