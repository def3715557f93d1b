"""A watchdog over one answer: fed by what an answer is made of, and by nothing else.

Pings do not feed it, and a stream that never ends tires it in any case. It waits by the
clock that it is given.
"""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

import attrs

from unspiral.engine.live.ports import Clock

__all__ = ["Patience", "Watchdog", "guarded"]

T = TypeVar("T")

_LOOK = 5.0  # seconds after which it looks up at the latest


@attrs.frozen
class Patience:
    """For how long an answer is waited for, in seconds.

    Attributes:
        idle: without an event of a stream that an answer is made of (SPEC D.5).
        total: for a stream, from the request to its end.
        whole: for an answer that is not streamed.
    """

    idle: float = 90.0
    total: float = 1_800.0
    whole: float = 600.0

    def longest(self, *, streamed: bool) -> float:
        """Return the seconds after which an answer must be there."""
        return self.total if streamed else self.whole


@attrs.define
class Watchdog:
    """Watches one answer.

    Attributes:
        clock: time.
        idle: seconds that it bears without being fed.
        longest: seconds that it watches in all.
        nearly: nothing is missing but the end of the connection: it bears less.
    """

    clock: Clock
    idle: float
    longest: float
    nearly: bool = attrs.field(default=False, init=False)
    _began: float = attrs.field(init=False)
    _fed: float = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._began = self._fed = self.clock.now()

    def feed(self) -> None:
        """Something useful has come."""
        self._fed = self.clock.now()

    async def watch(self) -> str:
        """Wait until too much time has passed; return why it is too much."""
        while True:
            now = self.clock.now()
            idle = min(self.idle, _LOOK) if self.nearly else self.idle
            if now >= self._began + self.longest:
                return f"There was no whole answer within {self.longest:g} seconds."
            if now >= self._fed + idle:
                return f"Nothing came for {idle:g} seconds."
            due = min(self._began + self.longest, self._fed + idle)
            await self.clock.sleep(min(due - now, _LOOK))


async def guarded(work: Coroutine[object, object, T], dog: Watchdog) -> T | str:
    """Do some work until the watchdog has had enough; then it is cancelled.

    Returns:
        What the work returned, or why it was cancelled.

    Raises:
        asyncio.CancelledError: the caller was cancelled; the work has ended before.
    """
    working = asyncio.ensure_future(work)
    watching = asyncio.ensure_future(dog.watch())
    try:
        await asyncio.wait((working, watching), return_when=asyncio.FIRST_COMPLETED)
    finally:
        working.cancel()
        watching.cancel()
        await asyncio.gather(working, watching, return_exceptions=True)
    if not working.cancelled():
        return working.result()
    return (
        "It was cancelled from within." if watching.cancelled() else watching.result()
    )
