"""What the real SDK makes of each fault: measured, in one line of text a case.

`python -m tests.faults.measuring` prints the table that tests/faults/sdk.toml holds:
measured over the transport, where time is virtual. The tests measure over both.
"""

import asyncio
import json
import warnings
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import anthropic
import httpx2

from unspiral.engine.faults.catalogue import CATALOGUE
from unspiral.engine.faults.clock import run_virtual
from unspiral.engine.faults.journal import MemoryJournal
from unspiral.engine.faults.schedule import Schedule, fail
from unspiral.engine.faults.transport import FaultTransport

READ_TIMEOUT = 2.0  #: seconds without a byte, after which the client gives up
DEADLINE = 10.0  #: seconds after which a call that has not ended is cut off

ASKED: dict[str, Any] = {
    "model": "claude-sonnet-5-5",
    "max_tokens": 10_000,
    "messages": [{"role": "user", "content": "What does the file say?"}],
    "tools": [
        {
            "name": "read",
            "description": "Read a file.",
            "input_schema": {
                "type": "object",
                "properties": {"path": {"type": "string"}},
                "required": ["path"],
            },
        }
    ],
}


async def create(client: anthropic.AsyncAnthropic) -> str:
    ask: Any = client.messages.create  # its overloads know no mapping of arguments
    return told(await ask(**ASKED))


async def raw(client: anthropic.AsyncAnthropic) -> str:
    count, last = 0, "none"
    try:
        stream = await client.messages.create(**ASKED, stream=True)
        async for event in stream:
            count, last = count + 1, event.type
    except Exception as error:
        if not count:
            raise
        return f"{count} events, then {raised(error)}"
    return f"{count} events, the last: {last}"


async def stream(client: anthropic.AsyncAnthropic) -> str:
    async with client.messages.stream(**ASKED) as streamed:
        return told(await streamed.get_final_message())


STYLES: dict[str, Callable[[anthropic.AsyncAnthropic], Awaitable[str]]] = {
    "create": create,
    "raw": raw,
    "stream": stream,
}


def told(message: object) -> str:
    """Tell a message in a line."""
    if not isinstance(message, anthropic.types.Message):
        return f"returned {type(message).__name__} {str(message)[:40]!r}"
    blocks = ", ".join(
        f"{block.type} {json.dumps(block.input)}"
        if block.type == "tool_use"
        else str(block.type)
        for block in message.content or ()
    )
    tokens = message.usage.output_tokens
    return f"message [{blocks}], stop {message.stop_reason}, {tokens} tokens"


def raised(error: BaseException) -> str:
    """Tell an exception in a line: its class, status, type, and cause."""
    module = type(error).__module__.partition(".")[0]
    name = type(error).__name__
    words = [name if module in ("anthropic", "builtins") else f"{module}.{name}"]
    if isinstance(error, anthropic.APIStatusError):
        words += [str(error.status_code), str(error.type)]
    elif isinstance(error, anthropic.APIConnectionError):
        cause = error.__cause__
        words += ["from", type(cause).__name__] if cause else []
    return " ".join(words)


async def measure(client: anthropic.AsyncAnthropic, style: str) -> str:
    """Call once, with the retries of the SDK, and tell what came of it."""
    try:
        async with asyncio.timeout(DEADLINE):
            return await STYLES[style](client)
    except TimeoutError:
        return f"no end within {DEADLINE:.0f} s"
    except Exception as error:  # noqa: BLE001 - whatever it is, is the result
        return raised(error)


def client_of(
    http: httpx2.AsyncClient, base_url: str = "http://faults.invalid"
) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(
        api_key="a key",
        base_url=base_url,
        http_client=http,
        timeout=httpx2.Timeout(READ_TIMEOUT),
    )


def schedule_of(name: str) -> Schedule:
    """Play a fault for ever; a closed port for longer than any client tries."""
    if name == "connection_refused":
        return Schedule((fail(name, seconds=60),))
    return Schedule((fail(name, times=None),))


def with_requests(outcome: str, journal: MemoryJournal) -> str:
    """Add how often the SDK asked, if that was not once."""
    count = len(journal.exchanges)
    return outcome if count == 1 else f"{outcome}; {count} requests"


def over_transport(name: str, style: str) -> str:
    """Measure one case in virtual time."""
    transport = FaultTransport(schedule_of(name))

    async def main() -> str:
        async with httpx2.AsyncClient(transport=transport) as http:
            return await measure(client_of(http), style)

    return with_requests(run_virtual(main()), transport.journal)


def table(names: Iterable[str] = CATALOGUE) -> str:
    """Return the table as TOML."""
    lines = [
        f"# What anthropic {anthropic.__version__} makes of each fault, with its two",
        f"# retries, a read time-out of {READ_TIMEOUT:.0f} s, and a deadline of",
        f"# {DEADLINE:.0f} s around it all.",
        "# Written by `python -m tests.faults.measuring`.",
        "",
        f'version = "{anthropic.__version__}"',
    ]
    for name in names:
        lines += ["", f"[{name}]"]
        lines += [
            f"{style} = {json.dumps(over_transport(name, style))}" for style in STYLES
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    warnings.simplefilter("error")
    print(table(), end="")  # noqa: T201 - a script
