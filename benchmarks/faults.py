"""How many calls of the real SDK a second: over our transport, our server, and a mock.

All ways answer the same words. They are taken in turn, several times in one process;
the median round of each counts. Read the ratios: the absolute numbers belong to the
machine on which they were measured.

    python benchmarks/faults.py [--calls N] [--rounds N] [--json]

`httpx2.MockTransport` answers with bytes that were made beforehand, and looks at no
request: no transport can be faster. What ours costs more is what it does: it reads the
request, keeps the journal, and makes the answer.
"""

import argparse
import asyncio
import contextlib
import json
import statistics
import sys
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

import anthropic
import attrs
import httpx2

from unspiral.engine.faults.schedule import Schedule, say
from unspiral.engine.faults.server import FaultServer
from unspiral.engine.faults.transport import FaultTransport

__all__ = ["CALLS", "WAYS", "Row", "main", "measure"]

Client = anthropic.AsyncAnthropic
Way = Callable[[], contextlib.AbstractAsyncContextManager[Client]]

SCHEDULE = Schedule(steps=(say("Done.", times=None),))
MODEL = "claude-sonnet-5-5"


@attrs.frozen
class Row:
    """A way of making one kind of calls.

    Attributes:
        call: its kind.
        way: what answers.
        rate: calls a second, in the median round.
        ratio: of that rate to the mock's.
    """

    call: str
    way: str
    rate: float
    ratio: float


async def create(client: Client) -> str:
    """Make a call that is answered at once."""
    message = await client.messages.create(
        model=MODEL,
        max_tokens=100,
        messages=[{"role": "user", "content": "Do it."}],
    )
    return _text(message)


async def stream(client: Client) -> str:
    """Make a call that is streamed."""
    async with client.messages.stream(
        model=MODEL,
        max_tokens=100,
        messages=[{"role": "user", "content": "Do it."}],
    ) as events:
        return _text(await events.get_final_message())


def _text(message: anthropic.types.Message) -> str:
    return "".join(each.text for each in message.content if each.type == "text")


CALLS = {"create": create, "stream": stream}


@contextlib.asynccontextmanager
async def by_mock() -> AsyncGenerator[Client]:
    """Answer with what our transport answers, made beforehand."""
    answers = {kind: await _recorded(kind) for kind in CALLS}

    def answer(request: httpx2.Request) -> httpx2.Response:
        kind = "stream" if b'"stream":true' in request.content else "create"
        headers, body = answers[kind]
        return httpx2.Response(200, headers=headers, content=body)

    async with _client(httpx2.MockTransport(answer)) as client:
        yield client


async def _recorded(kind: str) -> tuple[httpx2.Headers, bytes]:
    async with httpx2.AsyncClient(transport=FaultTransport(SCHEDULE)) as client:
        response = await client.post(
            "http://faults.invalid/v1/messages",
            headers={"x-api-key": "k", "anthropic-version": "2023-06-01"},
            json={
                "model": MODEL,
                "max_tokens": 100,
                "messages": [{"role": "user", "content": "Do it."}],
                "stream": kind == "stream",
            },
        )
    kept = ("content-type", "request-id")
    headers = {name: response.headers[name] for name in kept}
    return httpx2.Headers(headers), response.content


@contextlib.asynccontextmanager
async def by_transport() -> AsyncGenerator[Client]:
    """Answer inside the process."""
    async with _client(FaultTransport(SCHEDULE)) as client:
        yield client


@contextlib.asynccontextmanager
async def by_server() -> AsyncGenerator[Client]:
    """Answer over the loopback, from the same loop."""
    async with (
        FaultServer(SCHEDULE) as server,
        Client(api_key="k", base_url=server.url) as client,
    ):
        yield client


@contextlib.asynccontextmanager
async def _client(transport: httpx2.AsyncBaseTransport) -> AsyncGenerator[Client]:
    web = anthropic.DefaultAsyncHttpxClient(transport=transport)
    url = "http://faults.invalid"
    async with Client(api_key="k", base_url=url, http_client=web) as client:
        yield client


WAYS: dict[str, Way] = {
    "httpx2.MockTransport": by_mock,
    "FaultTransport": by_transport,
    "FaultServer (loopback)": by_server,
}


async def measure(calls: int, rounds: int) -> list[Row]:
    """Time every way with every kind of call.

    Args:
        calls: in a round.
        rounds: of each pair of way and kind.
    """
    seconds: dict[tuple[str, str], list[float]] = {
        (kind, way): [] for kind in CALLS for way in WAYS
    }
    async with contextlib.AsyncExitStack() as stack:
        clients = {
            name: await stack.enter_async_context(way()) for name, way in WAYS.items()
        }
        for kind in CALLS:  # what is imported or opened upon first use
            for client in clients.values():
                await _time(client, kind, 1)
        for _ in range(rounds):
            for (kind, way), taken in seconds.items():
                taken.append(await _time(clients[way], kind, calls))
    middle = {pair: statistics.median(each) for pair, each in seconds.items()}
    mock = next(iter(WAYS))
    return [
        Row(kind, way, calls / middle[kind, way], middle[kind, mock] / each)
        for (kind, way), each in middle.items()
    ]


async def _time(client: Client, kind: str, calls: int) -> float:
    call = CALLS[kind]
    start = time.perf_counter()
    for _ in range(calls):
        text = await call(client)
        if text != "Done.":
            raise SystemExit(f"{kind} was answered with {text!r}")
    return time.perf_counter() - start


def main(words: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="SDK calls a second, by way.")
    parser.add_argument("--calls", type=int, default=200, help="in a round")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true", help="print JSON")
    asked = parser.parse_args(words)
    rows = asyncio.run(measure(asked.calls, asked.rounds))
    if asked.json:
        print(json.dumps([attrs.asdict(row) for row in rows], indent=2))
        return
    print(f"{asked.calls:,} calls a round, median of {asked.rounds} rounds")
    for row in rows:
        print(f"  {row.call:<8}{row.way:<26}{row.rate:>8,.0f} calls/s{row.ratio:>7.2f}")


if __name__ == "__main__":
    main()
