"""A bound on the bytes that are held at once."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncGenerator

import attrs

__all__ = ["Room"]


@attrs.frozen(eq=False)
class _Turn:
    """Somebody who waits for so many bytes."""

    size: int
    come: asyncio.Future[None]


class Room:
    """So many bytes, of which parts are taken and given back.

    A part is taken at once or waited for, never bit by bit: two that each hold half of
    what they need would wait for each other for ever. First come, first served: many
    small parts do not keep a big one waiting.

    Args:
        size: how many there are.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.free = size  #: bytes that nobody holds
        self._turns: deque[_Turn] = deque()

    @contextlib.asynccontextmanager
    async def taken(self, size: int) -> AsyncGenerator[None]:
        """Hold so many bytes, or all there are; wait until they are free."""
        size = min(size, self.size)
        await self._take(size)
        try:
            yield
        finally:
            self._give(size)

    async def _take(self, size: int) -> None:
        turn = _Turn(size, asyncio.get_running_loop().create_future())
        self._turns.append(turn)
        self._serve()
        try:
            await turn.come
        except asyncio.CancelledError:
            if turn in self._turns:
                self._turns.remove(turn)
                self._serve()  # those behind may have waited for this one only
            else:  # it had come in the very moment
                self._give(size)
            raise

    def _give(self, size: int) -> None:
        self.free += size
        self._serve()

    def _serve(self) -> None:
        while self._turns and self._turns[0].size <= self.free:
            if self._turns[0].come.cancelled():
                return  # it is about to leave, and serves the next then
            turn = self._turns.popleft()
            self.free -= turn.size
            turn.come.set_result(None)
