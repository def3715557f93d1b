"""A bound on the bytes that are held at once."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator

__all__ = ["Room"]


class Room:
    """So many bytes, of which parts are taken and given back.

    A part is taken at once or waited for, never bit by bit: two that each hold half of
    what they need would wait for each other for ever.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._free = size
        self._changed = asyncio.Condition()

    @contextlib.asynccontextmanager
    async def taken(self, size: int) -> AsyncGenerator[None]:
        """Hold so many bytes, or all there are; wait until they are free."""
        size = min(size, self.size)
        async with self._changed:
            await self._changed.wait_for(lambda: size <= self._free)
            self._free -= size
        try:
            yield
        finally:
            self._free += size
            async with self._changed:
                self._changed.notify_all()
