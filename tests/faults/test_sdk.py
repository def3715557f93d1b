"""What the real anthropic client makes of every fault: over the socket and in process.

The table is tests/faults/sdk.toml, measured with the version that it names. Both ways
must agree with it, and so with each other, in what is raised or returned and in how
often the client asked.
"""

import asyncio
import tomllib
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest

from tests.faults.measuring import (
    STYLES,
    client_of,
    measure,
    over_transport,
    schedule_of,
    with_requests,
)
from unspiral.engine.faults.catalogue import CATALOGUE
from unspiral.engine.faults.clock import run_virtual
from unspiral.engine.faults.journal import MemoryJournal
from unspiral.engine.faults.schedule import (
    Schedule,
    call,
    say,
)
from unspiral.engine.faults.server import FaultServer
from unspiral.engine.faults.transport import FaultTransport

TABLE: dict[str, Any] = tomllib.loads(
    (Path(__file__).parent / "sdk.toml").read_text("utf-8")
)
CASES = [(name, style) for name in CATALOGUE for style in STYLES]
APART = 0.005  #: seconds between the beginnings of two calls over sockets


def test_the_table_was_measured_with_this_version() -> None:
    # Another version may differ: measure again, and read what has changed.
    assert anthropic.__version__ == TABLE["version"]


def test_the_table_has_every_entry_and_no_other() -> None:
    assert list(TABLE) == ["version", *CATALOGUE]


@pytest.mark.parametrize(("name", "style"), CASES)
def test_over_the_transport_the_sdk_does_what_the_table_says(
    name: str, style: str
) -> None:
    assert over_transport(name, style) == TABLE[name][style]


async def over_a_socket(http: httpx2.AsyncClient, name: str, style: str) -> str:
    journal = MemoryJournal()
    async with FaultServer(schedule_of(name), journal) as server:
        outcome = await measure(client_of(http, server.url), style)
    return with_requests(outcome, journal)


async def over_sockets() -> dict[tuple[str, str], str]:
    """Measure all cases at once, since much of it is waiting."""
    # One client: to make one takes so long that the time-outs of others would end.
    http = httpx2.AsyncClient(limits=httpx2.Limits(max_connections=None))

    async def later(number: int, name: str, style: str) -> str:
        await asyncio.sleep(number * APART)
        return await over_a_socket(http, name, style)

    async with http:
        found = await asyncio.gather(
            *(later(number, *case) for number, case in enumerate(CASES))
        )
    return dict(zip(CASES, found, strict=True))


@pytest.fixture(scope="module")
def sockets() -> dict[tuple[str, str], str]:
    return asyncio.run(over_sockets())


@pytest.mark.parametrize(("name", "style"), CASES)
def test_over_a_socket_the_sdk_does_the_same(
    sockets: dict[tuple[str, str], str], name: str, style: str
) -> None:
    assert sockets[name, style] == TABLE[name][style]


def test_the_runner_of_the_sdk_falls_back_from_threads() -> None:
    transport = FaultTransport(Schedule((call("read"), say("It says: all is well."))))
    asked: list[str] = []

    @anthropic.beta_async_tool
    async def read(path: str) -> str:
        """Read a file.

        Args:
            path: where it is.
        """
        asked.append(path)
        return "all is well"

    async def main() -> str:
        async with httpx2.AsyncClient(transport=transport) as http:
            runner = client_of(http).beta.messages.tool_runner(
                model="claude-sonnet-5-5",
                max_tokens=100,
                messages=[{"role": "user", "content": "What does it say?"}],
                tools=[read],
            )
            message = await runner.until_done()
        return "".join(each.text for each in message.content if each.type == "text")

    assert run_virtual(main()) == "It says: all is well."
    assert asked == ["README.md"]
    exchanges = transport.journal.exchanges
    answers = [each.answered.answer for each in exchanges if each.answered]
    assert "refused" in answers
    assert [each.asked.shape for each in exchanges][-1] == "u:t a:u u:r"
    assert not any(each.asked.broken for each in exchanges)
