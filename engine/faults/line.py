"""One connection of a client: bytes in, bytes out, and the ways to end it.

It knows sockets and nothing of HTTP. A reset and a close are real: RST and FIN.
"""

import asyncio
import contextlib
import socket
import struct
from collections.abc import Callable, Generator
from typing import cast

__all__ = ["Line"]

_READ = 16 * 1024  # bytes that are read at once
_MOST = 16 * 1024  # bytes that are held before the client is told to wait
_SURPLUS = 128 * 1024  # bytes that may come while an answer is being sent
_SLICE = 64 * 1024  # bytes that are sent at once: asyncio copies what must wait
_SETTLE = 0.02  # seconds for what was sent to arrive before a reset overtakes it
_LINGER = 2.0  # seconds in which a client may read the last answer and close


class Line(asyncio.BufferedProtocol):
    """A connection that coroutines read from and write to.

    Args:
        opened: is called with the line when the client has connected.
        patience: seconds for which a client may take nothing of what is sent.
    """

    def __init__(self, opened: Callable[["Line"], None], patience: float) -> None:
        self._opened = opened
        self._patience = patience
        self._watching = False
        self._transport: asyncio.Transport | None = None
        self._space = bytearray(_READ)  # thousands may send: so much of each, no more
        self._buffer = bytearray()
        self._eof = False
        self._lost = False
        self._arrived = asyncio.Event()  # bytes, or the end
        self._writable = asyncio.Event()
        self._writable.set()
        self._left = asyncio.Event()  # the client sends no more, or is lost
        self._gone = asyncio.Event()  # it is lost

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport of asyncio."""
        self._transport = cast("asyncio.Transport", transport)  # as of every stream
        # What is sent has been given to the system.
        self._transport.set_write_buffer_limits(high=0)
        self._opened(self)

    def get_buffer(self, sizehint: int) -> bytearray:
        """Say where bytes are to be put."""
        del sizehint
        return self._space

    def buffer_updated(self, nbytes: int) -> None:
        """Take the bytes that were put there."""
        self._buffer += memoryview(self._space)[:nbytes]
        self._arrived.set()
        if len(self._buffer) <= _MOST or self._transport is None:
            return
        if not self._watching:
            self._transport.pause_reading()
        elif len(self._buffer) > _SURPLUS:
            self.abandon()

    def eof_received(self) -> bool:
        """Take the client's end; we may still answer."""
        self._eof = True
        self._arrived.set()
        self._left.set()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """Take the end of the connection."""
        del exc
        self._eof = True
        self._lost = True
        self._transport = None
        self._arrived.set()
        self._writable.set()
        self._left.set()
        self._gone.set()

    def pause_writing(self) -> None:
        """Take that the system takes no more."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Take that it does again."""
        self._writable.set()

    async def receive(self, seconds: float | None) -> bytes:
        """Return the bytes that have come; b"" if no more will.

        Raises:
            TimeoutError: nothing comes for so many seconds.
        """
        async with asyncio.timeout(seconds):
            await self._arrived.wait()
        data = bytes(self._buffer)
        self._buffer.clear()
        if not self._eof:
            self._arrived.clear()
            if self._transport is not None:
                self._transport.resume_reading()
        return data

    async def send(self, data: bytes) -> bool:
        """Send bytes; return whether the system took them all."""
        view = memoryview(data)
        for start in range(0, len(view), _SLICE):
            if self._transport is None or self._transport.is_closing():
                return False
            self._transport.write(view[start : start + _SLICE])
            # Others have their turn, however fast this client reads.
            await asyncio.sleep(0)
            if not self._writable.is_set() and not await self._taken():
                return False
        return not self._lost

    async def _taken(self) -> bool:
        """Wait until the client takes what was sent; end it if it does not."""
        try:
            async with asyncio.timeout(self._patience):
                await self._writable.wait()
        except TimeoutError:
            self.abandon()
            return False
        return True

    async def wait(self, seconds: float, *, for_ever: bool = False) -> bool:
        """Wait; return at once, and whether it did, when the client leaves.

        Args:
            seconds: how long.
            for_ever: nothing that it would wait for comes after it. Then a client that
                has sent its end has left; else it may be one that goes on to read.
        """
        leaving = self._left if for_ever else self._gone
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await leaving.wait()
        return leaving.is_set()

    @contextlib.contextmanager
    def watched(self) -> Generator[None]:
        """Read on meanwhile, so that the end of a client is seen behind what it sends.

        A client that sends much more than it was to send is cut off.
        """
        self._watching = True
        if self._transport is not None and not self._eof:
            self._transport.resume_reading()
        try:
            yield
        finally:
            self._watching = False

    def end(self) -> None:
        """Say that no more comes (FIN)."""
        if self._transport is not None:
            with contextlib.suppress(OSError, RuntimeError):
                self._transport.write_eof()

    async def close(self) -> None:
        """Close (FIN). The client may read what was sent, however long it took."""
        self.end()
        # Closed with bytes unread, the system would reset and lose the answer.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LINGER):
                while await self.receive(None):
                    pass
        self.abandon()

    async def reset(self) -> None:
        """Reset (RST)."""
        await asyncio.sleep(_SETTLE)
        if self._transport is None:
            return
        line: socket.socket = self._transport.get_extra_info("socket")
        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

    def abandon(self) -> None:
        """End the connection without waiting for anything."""
        if self._transport is not None:
            self._transport.abort()
