"""The server and the transport: what a client and the journal see of both is alike."""

import asyncio
import json
from typing import Any

import attrs
import httpx2

from tests.faults.asking import HEADERS, READ, user
from unspiral.engine.faults.catalogue import CATALOGUE
from unspiral.engine.faults.journal import MemoryJournal
from unspiral.engine.faults.plans import Outage
from unspiral.engine.faults.schedule import Schedule, Step, fail
from unspiral.engine.faults.server import FaultServer
from unspiral.engine.faults.transport import FaultTransport

ENDLESS = ("no_response", "stall", "stall_with_pings")
NUMBERS: dict[str, dict[str, float]] = {
    "huge_event": {"bytes": 1_000},
    "slow_drip": {"seconds": 0.0005, "bytes": 50},
}
STEPS = tuple(
    fail(name, times=2, **NUMBERS.get(name, {}))
    for name, fault in CATALOGUE.items()
    if not isinstance(fault.plan, Outage) and name not in ENDLESS
)


def body(*, stream: bool) -> bytes:
    fields = {"model": "m", "max_tokens": 99, "messages": [user()], "tools": [READ]}
    return json.dumps(fields | {"stream": stream}).encode()


async def seen(client: httpx2.AsyncClient, *request: Any, **more: Any) -> list[Any]:
    """Return all that a client can tell of an answer."""
    found: list[Any] = []
    data = bytearray()
    try:
        async with client.stream(*request, **more) as response:
            found += [response.status_code, response.reason_phrase]
            found += [response.http_version, response.headers.multi_items()]
            async for piece in response.aiter_raw():
                data += piece
    except httpx2.TransportError as error:
        found += [type(error), str(error)]
    return [*found, bytes(data)]


async def asked(client: httpx2.AsyncClient, count: int) -> list[list[Any]]:
    messages: list[list[Any]] = []
    for _ in range(count):
        for stream in (False, True):
            content = body(stream=stream)
            args = ("POST", "/v1/messages")
            found = await seen(client, *args, headers=HEADERS, content=content)
            messages.append(found)
    others: list[tuple[str, str, dict[str, str], bytes]] = [
        ("HEAD", "/v1/models", {}, b""),
        ("GET", "/v1/models", {}, b""),
        ("DELETE", "/x", {}, b""),
        ("POST", "/v1/messages", {"connection": "close"}, body(stream=True)),
        ("POST", "/v1/messages", {}, b" " * (33 * 2**20)),
    ]
    for method, path, fields, content in others:
        headers = {**HEADERS, **fields}
        messages.append(
            await seen(client, method, path, headers=headers, content=content)
        )
    return messages


def kept(journal: MemoryJournal) -> list[dict[str, Any]]:
    pairs = [(each.asked, each.answered) for each in journal.exchanges]
    found = [attrs.asdict(each) for pair in pairs for each in pair if each is not None]
    return [{name: e[name] for name in e if name != "t"} for e in found]


async def both(steps: tuple[Step, ...]) -> tuple[Any, Any, Any, Any]:
    schedule = Schedule(steps)
    journal, transport = MemoryJournal(), FaultTransport(schedule)
    server = FaultServer(schedule, journal)
    server.player.wall = transport.player.wall = lambda: 1_800_000_000  # for one header
    async with (
        server,
        httpx2.AsyncClient(base_url=server.url) as client,
    ):
        url = server.url
        over_socket = await asked(client, len(steps))
    async with httpx2.AsyncClient(transport=transport, base_url=url) as client:
        in_process = await asked(client, len(steps))
    return over_socket, in_process, kept(journal), kept(transport.journal)


def test_every_entry_is_the_same_to_the_client_and_in_the_journal() -> None:
    over_socket, in_process, socket_journal, journal = asyncio.run(both(STEPS))

    assert len(STEPS) > 70
    assert over_socket == in_process
    assert socket_journal == journal
