"""The transport does what a socket would have done, to the real SDK, in no time."""

import asyncio
import contextlib
import json
import socket
import struct
from collections.abc import AsyncGenerator
from itertools import pairwise
from typing import Any

import anthropic
import attrs
import h11
import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.faults.asking import HEADERS, READ, body_of, incoming, user
from unspiral.engine.errors import NothingWillHappen
from unspiral.engine.faults.acts import (
    Body,
    Close,
    End,
    Garbage,
    Head,
    Reset,
    Wait,
)
from unspiral.engine.faults.clock import START, run_virtual
from unspiral.engine.faults.journal import MemoryJournal, Outaged
from unspiral.engine.faults.player import Player
from unspiral.engine.faults.request import MAX_BODY, Incoming
from unspiral.engine.faults.schedule import Schedule, Step, call, fail, say
from unspiral.engine.faults.transport import FaultTransport, nonsense

URL = "http://faults.invalid"
ASKED: dict[str, Any] = {
    "model": "claude-sonnet-5-5",
    "max_tokens": 1_000,
    "messages": [user()],
    "tools": [READ],
}


def now() -> float:
    return asyncio.get_running_loop().time() - START


class Faults:
    """A transport with its journal, and the real client over it."""

    def __init__(self, *steps: Step) -> None:
        self.journal = MemoryJournal()
        self.transport = FaultTransport(Schedule(steps), self.journal)

    @contextlib.asynccontextmanager
    async def client(self, **more: Any) -> AsyncGenerator[anthropic.AsyncAnthropic]:
        web = anthropic.DefaultAsyncHttpxClient(transport=self.transport)
        async with anthropic.AsyncAnthropic(
            api_key="k", base_url=URL, http_client=web, **more
        ) as client:
            yield client

    async def create(self, **more: Any) -> anthropic.types.Message:
        async with self.client(**more) as client:
            return await created(client)

    async def stream(self, **more: Any) -> anthropic.types.Message:
        async with (
            self.client(**more) as client,
            client.messages.stream(**ASKED) as events,
        ):
            return await events.get_final_message()

    @property
    def lefts(self) -> list[str | None]:
        answers = [each.answered for each in self.journal.exchanges]
        return [None if answer is None else answer.left for answer in answers]

    @property
    def times(self) -> list[float]:
        return [each.asked.t for each in self.journal.exchanges]


async def created(client: anthropic.AsyncAnthropic) -> anthropic.types.Message:
    return await client.messages.create(
        model="claude-sonnet-5-5",
        max_tokens=1_000,
        messages=[{"role": "user", "content": "Hello"}],
        tools=[{"name": "read", "input_schema": {"type": "object"}}],
    )


def text_of(message: anthropic.types.Message) -> list[str]:
    return [block.text for block in message.content if block.type == "text"]


@pytest.mark.parametrize("how", ["create", "stream"])
def test_a_good_reply_is_read_to_its_end(how: str) -> None:
    faults = Faults(say("Hello there."))

    message = run_virtual(getattr(faults, how)())

    assert text_of(message) == ["Hello there."]
    assert message.stop_reason == "end_turn"
    assert faults.lefts == ["kept"]


@pytest.mark.parametrize("how", ["create", "stream"])
def test_a_tool_call_arrives_with_its_input(how: str) -> None:
    message = run_virtual(getattr(Faults(call("read", {"path": "a"})), how)())

    (block,) = message.content
    assert block.type == "tool_use"
    assert block.input == {"path": "a"}


@pytest.mark.parametrize("how", ["create", "stream"])
def test_a_storm_is_waited_out_by_the_formula_of_the_sdk(how: str) -> None:
    faults = Faults(fail("overloaded", times=4), say("Hello."))

    message = run_virtual(getattr(faults, how)(max_retries=4))

    waits = [after - before for before, after in pairwise(faults.times)]
    assert text_of(message) == ["Hello."]
    for n, wait in enumerate(waits):
        assert 0.75 * 0.5 * 2**n - 1e-5 <= wait <= 0.5 * 2**n + 1e-5
    assert len(waits) == 4


def test_a_client_that_drops_a_refusal_unread_has_gone() -> None:
    faults = Faults(fail("overloaded"), say("Hello."))

    run_virtual(faults.stream())

    # The SDK reads no body of a stream that it is going to ask for again.
    assert faults.lefts == ["gone", "kept"]


def test_a_day_is_waited_in_virtual_time_if_the_server_asks_for_it() -> None:
    faults = Faults(fail("rate_limited", seconds=86_400), say("Hello."))

    assert text_of(run_virtual(faults.create())) == ["Hello."]
    assert faults.times == [0, pytest.approx(86_400, abs=1e-5)]


def test_a_stall_ends_with_the_read_time_out() -> None:
    faults = Faults(fail("stall"))

    async def main() -> float:
        with pytest.raises(httpx2.ReadTimeout):
            await faults.stream(timeout=30)
        return now()

    assert run_virtual(main()) == 30
    assert faults.lefts == ["gone"]


@pytest.mark.parametrize("fault", ["no_response", "stall"])
def test_silence_is_borne_anew_at_each_try(fault: str) -> None:
    faults = Faults(fail(fault, times=None))

    with pytest.raises(anthropic.APITimeoutError):
        run_virtual(faults.create(timeout=30, max_retries=1))

    assert faults.times[1] == pytest.approx(30.5, abs=0.13)
    assert faults.lefts == ["gone", "gone"]


@pytest.mark.parametrize("fault", ["no_response", "stall"])
def test_silence_without_a_time_out_is_found_out(fault: str) -> None:
    faults = Faults(fail(fault))

    with pytest.raises(NothingWillHappen):
        run_virtual(faults.stream(timeout=None))

    assert faults.lefts == ["gone"]


def test_pings_defeat_the_read_time_out() -> None:
    faults = Faults(fail("stall_with_pings", seconds=1))

    async def main() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5_000):
                await faults.stream(timeout=30)
        return now()

    assert run_virtual(main()) == 5_000
    assert faults.lefts == ["gone"]


def test_a_drip_slower_than_the_read_time_out_ends_with_it() -> None:
    faults = Faults(fail("slow_drip", seconds=31, bytes=64))

    with pytest.raises(httpx2.ReadTimeout):
        run_virtual(faults.stream(timeout=30))


def test_a_drip_within_the_read_time_out_takes_its_time() -> None:
    faults = Faults(fail("slow_drip", seconds=29, bytes=64))

    async def main() -> float:
        await faults.stream(timeout=30)
        return now()

    elapsed = run_virtual(main())
    assert elapsed > 300
    assert elapsed % 29 == pytest.approx(0, abs=1e-3)


def test_a_client_that_comes_late_finds_what_was_sent_meanwhile() -> None:
    faults = Faults(fail("slow_drip", seconds=10, bytes=1_000_000))

    async def main() -> float:
        async with (
            httpx2.AsyncClient(transport=faults.transport) as client,
            client.stream("POST", f"{URL}/v1/messages", **asked()) as response,
        ):
            await asyncio.sleep(25)
            await response.aread()
        return now()

    assert run_virtual(main()) == 25


def test_a_closed_port_refuses_until_it_is_open_again() -> None:
    faults = Faults(
        say("Hello.", times=2), fail("connection_refused", seconds=100), say("Back.")
    )

    async def main() -> list[str]:
        said = text_of(await faults.create()) + text_of(await faults.create())
        for _ in range(2):
            with pytest.raises(anthropic.APIConnectionError) as it:
                await faults.create(max_retries=0)
            assert isinstance(it.value.__cause__, httpx2.ConnectError)
            await asyncio.sleep(50)
        return said + text_of(await faults.create(max_retries=0))

    assert run_virtual(main()) == ["Hello.", "Hello.", "Back."]
    # The port is closed as soon as the answer before has ended.
    outages = [each for each in faults.journal.records if isinstance(each, Outaged)]
    assert outages == [Outaged(0, 100, "main")]


def test_a_port_may_be_closed_from_the_beginning() -> None:
    faults = Faults(fail("connection_refused", seconds=0.3), say("Hello."))

    assert text_of(run_virtual(faults.create())) == ["Hello."]
    assert faults.times == [pytest.approx(0.44, abs=0.07)]


@pytest.mark.parametrize("fault", ["no_response", "stall", "stall_with_pings"])
def test_a_task_that_is_cancelled_has_gone(fault: str) -> None:
    faults = Faults(fail(fault))

    async def main() -> None:
        task = asyncio.create_task(faults.stream())
        await asyncio.sleep(10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run_virtual(main())

    (exchange,) = faults.journal.exchanges
    assert exchange.answered is not None
    assert exchange.answered.left == "gone"
    assert exchange.answered.t == pytest.approx(10, abs=1e-5)


def asked(**more: Any) -> dict[str, Any]:
    body = ASKED | {"stream": True} | more
    return {"headers": dict(HEADERS), "content": json.dumps(body).encode()}


async def read(client: httpx2.AsyncClient, url: str, pieces: int) -> None:
    async with client.stream("POST", f"{url}/v1/messages", **asked()) as response:
        left = pieces
        chunks = response.aiter_raw()
        while left:
            await anext(chunks)
            left -= 1
        await chunks.aclose()


def test_only_who_takes_every_piece_has_not_gone() -> None:
    async def left_after(pieces: int) -> str | None:
        faults = Faults(say("Hello."))
        async with httpx2.AsyncClient(transport=faults.transport) as client:
            await read(client, URL, pieces)
        return faults.lefts[0]

    async def main() -> list[str | None]:
        return [await left_after(pieces) for pieces in range(8)]

    # message_start, block start, two deltas, block stop, delta, stop
    assert run_virtual(main()) == ["gone"] * 7 + ["kept"]


def test_each_request_is_finished_once_with_what_was_handed_over() -> None:
    faults = Faults(say("Hello."))

    async def main() -> bytes:
        async with httpx2.AsyncClient(transport=faults.transport) as client:
            response = await client.post(f"{URL}/v1/messages", **asked())
            await response.aclose()
            return response.content

    body = run_virtual(main())

    (exchange,) = faults.journal.exchanges
    assert exchange.answered is not None
    assert exchange.answered.sent == len(body)
    answers = [each for each in faults.journal.records if hasattr(each, "sent")]
    assert len(answers) == 1


def test_a_body_beyond_the_limit_is_refused_and_its_size_noted() -> None:
    faults = Faults(say("Hello."))

    async def main() -> int:
        async with httpx2.AsyncClient(transport=faults.transport) as client:
            content = b" " * (MAX_BODY + 1)
            response = await client.post(
                f"{URL}/v1/messages", headers=HEADERS, content=content
            )
            return response.status_code

    assert run_virtual(main()) == 413
    assert faults.journal.exchanges[0].asked.size == MAX_BODY + 1


def test_runs_are_told_apart_by_path_and_by_key() -> None:
    faults = Faults(say("One."), say("Two."))

    async def main() -> list[str]:
        web = httpx2.AsyncClient(transport=faults.transport)
        said: list[str] = []
        for url, key in ((f"{URL}/run/a", "k"), (URL, "run-b"), (URL, "run-a")):
            client = anthropic.AsyncAnthropic(
                api_key=key, base_url=url, http_client=web
            )
            said += text_of(await created(client))
        await web.aclose()
        return said

    assert run_virtual(main()) == ["One.", "One.", "Two."]


def test_another_loop_goes_on_where_the_one_before_ended() -> None:
    faults = Faults(say("Hello.", times=None))

    async def main() -> None:
        await faults.create()
        await asyncio.sleep(100)
        await faults.create()

    run_virtual(main())
    run_virtual(main())

    assert faults.times == [0, 100, 100, 200]


def test_the_journal_can_be_ended_in_good_order_outside_of_a_loop() -> None:
    faults = Faults(say("Hello."))
    run_virtual(faults.create())

    faults.transport.stop()

    assert attrs.asdict(faults.journal.records[-1]) == {"t": 0, "requests": 1}


def test_a_transport_that_is_given_no_journal_keeps_one() -> None:
    transport = FaultTransport(Schedule())

    run_virtual(outcome(httpx2.AsyncClient(transport=transport), URL))

    assert len(transport.journal.exchanges) == 1


# What a real socket does.


@attrs.frozen
class Outcome:
    """All that a client can tell of an answer."""

    status: int | None
    headers: list[tuple[str, str]]
    body: bytes
    error: type[BaseException] | None = None
    message: str = ""
    asked: bool = False


async def outcome(client: httpx2.AsyncClient, url: str, **more: Any) -> Outcome:
    status, headers, body = None, list[tuple[str, str]](), bytearray()
    try:
        async with client.stream(
            "POST", f"{url}/v1/messages", **asked(**more)
        ) as response:
            status, headers = response.status_code, response.headers.multi_items()
            async for chunk in response.aiter_raw():
                body += chunk
    except httpx2.TransportError as error:
        kind, said = type(error), str(error)
        return Outcome(status, headers, bytes(body), kind, said, bool(error.request))
    return Outcome(status, headers, bytes(body))


async def take(reader: asyncio.StreamReader) -> Incoming:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode().strip().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    body = await reader.readexactly(int(headers["content-length"]))
    method, target, _ = first.split(" ")
    return Incoming(method, target, headers, body, len(body))


def framed(head: Head) -> bytes:
    framing = (
        ("transfer-encoding", "chunked")
        if head.length is None
        else ("content-length", str(head.length))
    )
    lines = [f"{name}: {value}" for name, value in (*head.headers, framing)]
    return "\r\n".join([f"HTTP/1.1 {head.status} x", *lines, "", ""]).encode()


class Socket:
    """As small a server as can be: each connection is asked once."""

    def __init__(self, schedule: Schedule) -> None:
        self.player = Player(schedule, MemoryJournal())
        self.tasks: list[asyncio.Task[None]] = []

    def __call__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.tasks.append(asyncio.create_task(self._answer(reader, writer)))

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        chunked = False
        for act in self.player.receive(await take(reader), 0).answer.acts:
            match act:
                case Head():
                    chunked = act.length is None
                    writer.write(framed(act))
                case Body(data):
                    size = f"{len(data):x}\r\n".encode()
                    writer.write(size + data + b"\r\n" if chunked else data)
                case Garbage(data):
                    writer.write(data)
                case End():
                    writer.write(b"0\r\n\r\n" if chunked else b"")
                case Wait(seconds):
                    await asyncio.sleep(seconds)
                case Reset():
                    await asyncio.sleep(0.05)  # else what was sent may be lost
                    linger = struct.pack("ii", 1, 0)
                    sock = writer.get_extra_info("socket")
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                case Close():
                    pass
                case _:  # silence, until the client leaves
                    await reader.read()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def by_socket(schedule: Schedule, **more: Any) -> Outcome:
    answers = Socket(schedule)
    server = await asyncio.start_server(answers, "127.0.0.1", 0)
    async with server:
        async with httpx2.AsyncClient(timeout=0.2, trust_env=False) as client:
            port = server.sockets[0].getsockname()[1]
            found = await outcome(client, f"http://127.0.0.1:{port}", **more)
        await asyncio.gather(*answers.tasks)
    return found


async def by_transport(schedule: Schedule, **more: Any) -> Outcome:
    transport = FaultTransport(schedule)
    async with httpx2.AsyncClient(transport=transport, timeout=0.2) as client:
        return await outcome(client, URL, **more)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    "fault",
    [
        "reset_before_response",
        "closed_before_response",
        "garbage_response",
        "reset_after_headers",
        "reset_after_first_event",
        "reset_mid_stream",
        "closed_mid_stream",
        "ended_mid_stream",
        "empty_stream",
        "longer_than_declared",
        "shorter_than_declared",
        "no_response",
        "stall",
        "bad_gateway_html",
        "rate_limited",
        "end_turn",
    ],
)
def test_the_transport_and_a_socket_cannot_be_told_apart(
    fault: str, *, stream: bool
) -> None:
    schedule = Schedule((fail(fault),))

    real = asyncio.run(by_socket(schedule, stream=stream))
    ours = run_virtual(by_transport(schedule, stream=stream))

    assert ours == real


def test_a_closed_port_is_refused_as_a_real_one_is() -> None:
    async def real() -> Outcome:
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{closed.getsockname()[1]}"
            async with httpx2.AsyncClient(trust_env=False) as client:
                return await outcome(client, url)

    schedule = Schedule((fail("connection_refused"),))

    assert run_virtual(by_transport(schedule)) == asyncio.run(real())


def test_the_body_is_what_the_player_says() -> None:
    schedule = Schedule((call("read"),))
    player = Player(schedule, MemoryJournal())

    ours = run_virtual(by_transport(schedule))

    assert ours.body == body_of(player.receive(incoming(user()), 0))


BITS = st.sampled_from(
    [b"\r\n", b"\n", b"\r", b" ", b"HTTP/1.1", b"200", b"x: y", b"\x16\x03", b"\xff"]
)


@given(st.lists(BITS, min_size=1, max_size=8).map(b"".join))
def test_garbage_is_called_what_h11_calls_it(data: bytes) -> None:
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="GET", target="/", headers=[("host", "x")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(data)
    said = ""
    try:
        event = connection.next_event()
        if event is not h11.NEED_DATA:
            return  # it is a response after all
    except h11.RemoteProtocolError as error:
        said = str(error)
    if said.startswith("illegal header"):
        return  # so is this, but for a header

    assert nonsense(data) == said
