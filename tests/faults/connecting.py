"""Plain clients for tests of the server: bytes over sockets, well-behaved or not."""

import asyncio
import contextlib
import gc
import json
import socket
import struct
import sys
from collections.abc import Awaitable, Callable

from unspiral.engine.faults.journal import (
    Answered,
    Asked,
    Ended,
    MemoryJournal,
    Noise,
    Record,
)
from unspiral.engine.faults.schedule import Schedule
from unspiral.engine.faults.server import FaultServer

FIELDS = b"host: x\r\nx-api-key: k\r\nanthropic-version: 2023-06-01\r\n"
BODY = json.dumps(
    {
        "model": "claude-sonnet-5-5",
        "max_tokens": 1_000,
        "messages": [{"role": "user", "content": "Hello"}],
        "tools": [{"name": "read", "input_schema": {"type": "object"}}],
    }
).encode()


def head(
    *lines: bytes,
    method: bytes = b"POST",
    version: bytes = b"1.1",
    target: bytes = b"/v1/messages",
) -> bytes:
    first = b"%b %b HTTP/%b\r\n" % (method, target, version)
    return first + FIELDS + b"".join(line + b"\r\n" for line in lines) + b"\r\n"


def good(
    *lines: bytes, version: bytes = b"1.1", body: bytes = BODY, **more: bytes
) -> bytes:
    length = b"content-length: %d" % len(body)
    return head(length, *lines, version=version, **more) + body


class Client:
    """A connection."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self) -> tuple[int, bytes]:
        """Read one answer with a length or in chunks: its status and its body."""
        told = await self.reader.readuntil(b"\r\n\r\n")
        status = int(told.split()[1])
        fields = dict(
            line.lower().split(b": ", 1) for line in told.split(b"\r\n")[1:-2]
        )
        if b"content-length" in fields:
            return status, await self.reader.readexactly(int(fields[b"content-length"]))
        body = b""
        while size := int(await self.reader.readline(), 16):
            body += (await self.reader.readexactly(size + 2))[:-2]
        await self.reader.readexactly(2)
        return status, body

    async def ask(self, data: bytes | None = None) -> int:
        await self.send(data or good())
        return (await self.answer())[0]

    def reset(self) -> None:
        line: socket.socket = self.writer.get_extra_info("socket")
        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def close(self) -> None:
        self.writer.close()
        with contextlib.suppress(OSError):  # the server was quicker
            await self.writer.wait_closed()


async def connect(server: FaultServer) -> Client:
    host, port = server.url.removeprefix("http://").rsplit(":", 1)
    opened = await asyncio.open_connection(host.strip("[]"), int(port))
    return Client(*opened)


async def ask_once(server: FaultServer, data: bytes | None = None) -> int:
    client = await connect(server)
    try:
        return await client.ask(data)
    finally:
        await client.close()


async def until(true: Callable[[], object]) -> None:
    """Wait until something is so."""
    while not true():  # noqa: ASYNC110 - what happens has no event of its own
        await asyncio.sleep(0.002)


def played(main: Callable[[], Awaitable[None]], *, debug: bool = False) -> None:
    """Run, and fail if anything is left behind or was swallowed by the loop.

    What was there before is not collected: it is not ours, and there is much of it.
    """
    told: list[object] = []
    hook, sys.unraisablehook = sys.unraisablehook, told.append
    gc.freeze()

    async def watched() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: told.append(context))
        before = asyncio.all_tasks()
        await main()
        gc.collect()
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == before

    try:
        asyncio.run(watched(), debug=debug)
        gc.collect()
    finally:
        sys.unraisablehook = hook
        gc.unfreeze()
    assert told == []


def check(records: list[Record]) -> tuple[list[Asked], list[Answered]]:
    """Check what holds of every journal that was ended in good order."""
    asked = [each for each in records if isinstance(each, Asked)]
    answered = [each for each in records if isinstance(each, Answered)]
    assert [each.n for each in asked] == list(range(1, len(asked) + 1))
    assert sorted(each.n for each in answered) == [each.n for each in asked]
    assert isinstance(records[-1], Ended)
    assert records[-1].requests == len(asked)
    return asked, answered


def noises(journal: MemoryJournal) -> list[str]:
    return [each.what for each in journal.records if isinstance(each, Noise)]


def serving(schedule: Schedule, **more: object) -> tuple[FaultServer, MemoryJournal]:
    journal = MemoryJournal()
    return FaultServer(schedule, journal, **more), journal  # type: ignore[arg-type]
