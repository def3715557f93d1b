"""The loopback server: what it does on a socket, and how it ends."""

import asyncio
import contextlib
import socket
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.faults.connecting import (
    BODY,
    Client,
    ask_once,
    check,
    connect,
    good,
    head,
    noises,
    played,
    serving,
    until,
)
from unspiral.engine.errors import BadValue, CannotListen, FileProblem
from unspiral.engine.faults.conversation import Bounds
from unspiral.engine.faults.journal import (
    Answered,
    Asked,
    MemoryJournal,
    Outaged,
    Record,
)
from unspiral.engine.faults.room import Room, Shelf
from unspiral.engine.faults.schedule import Pattern, Play, Rule, Schedule, fail, say
from unspiral.engine.faults.server import FaultServer
from unspiral.engine.faults.serving import ServerThread

DONE = Schedule()
SILENT = Schedule((fail("no_response", None),))


def left(journal: MemoryJournal) -> list[str]:
    return [each.left for each in check(journal.records)[1]]


# -- connections -----------------------------------------------------------------------


def test_a_connection_is_kept_and_requests_may_come_at_once() -> None:
    server, journal = serving(DONE)

    async def main() -> None:
        async with server:
            client = await connect(server)
            assert [await client.ask(), await client.ask()] == [200, 200]
            await client.send(good() * 3)
            assert [(await client.answer())[0] for _ in range(3)] == [200] * 3
            await client.close()

    played(main)
    assert left(journal) == ["kept"] * 5


def test_a_client_that_has_sent_its_end_is_answered() -> None:
    server, journal = serving(DONE)

    async def main() -> None:
        async with server:
            client = await connect(server)
            client.writer.write(good())
            client.writer.write_eof()
            assert (await client.answer())[0] == 200
            assert await client.reader.read() == b""
            await client.close()

    played(main)
    assert left(journal) == ["kept"]


@pytest.mark.parametrize("stream", [b"false", b"true"])
def test_an_old_client_gets_no_chunks_and_the_end_of_the_connection(
    stream: bytes,
) -> None:
    server, _ = serving(DONE)
    body = BODY[:-1] + b', "stream": ' + stream + b"}"

    async def main() -> None:
        async with server:
            client = await connect(server)
            await client.send(
                good(b"connection: keep-alive", version=b"1.0", body=body)
            )
            told = (await client.reader.read()).lower()
            assert b"connection: close" in told
            assert b"chunked" not in told
            assert b"end_turn" in told
            await client.close()

    played(main)


def test_an_answer_to_head_has_no_body() -> None:
    server, journal = serving(DONE)

    async def main() -> None:
        async with server:
            client = await connect(server)
            await client.send(head(method=b"HEAD"))
            told = await client.reader.readuntil(b"\r\n\r\n")
            assert b"content-length" in told
            assert await client.ask() == 200
            await client.close()

    played(main)
    assert check(journal.records)[1][0].sent == 0


def test_a_client_that_waits_for_a_word_gets_it() -> None:
    server, _ = serving(DONE)

    async def main() -> None:
        async with server:
            client = await connect(server)
            length = b"content-length: %d" % len(BODY)
            await client.send(head(length, b"expect: 100-continue"))
            assert await client.reader.readuntil(b"\r\n\r\n") == (
                b"HTTP/1.1 100 Continue\r\n\r\n"
            )
            assert await client.ask(BODY) == 200
            await client.close()

    played(main)


@pytest.mark.parametrize(
    ("fault", "reset"),
    [
        ("reset_before_response", True),
        ("reset_mid_stream", True),
        ("closed_before_response", False),
        ("closed_mid_stream", False),
    ],
)
def test_resets_and_ends_are_real(fault: str, reset: bool) -> None:
    server, journal = serving(Schedule((fail(fault),)))

    async def main() -> None:
        async with server:
            client = await connect(server)
            await client.send(good(body=BODY[:-1] + b', "stream": true}'))
            if reset:
                with pytest.raises(ConnectionResetError):
                    await client.reader.read()
            else:
                assert not (await client.reader.read()).endswith(b"0\r\n\r\n")
            await client.close()

    played(main)
    assert left(journal) == ["broken"]


@pytest.mark.parametrize("fault", ["no_response", "stall_with_pings", "stall"])
@pytest.mark.parametrize("how", ["reset", "close"])
def test_silence_ends_when_the_client_leaves(fault: str, how: str) -> None:
    server, journal = serving(Schedule((fail(fault, None),)))

    async def main() -> None:
        async with server:
            client = await connect(server)
            await client.send(good(body=BODY[:-1] + b', "stream": true}'))
            await until(lambda: any(isinstance(e, Asked) for e in journal.records))
            if how == "reset":
                client.reset()
            await client.close()
            await until(lambda: any(isinstance(e, Answered) for e in journal.records))

    played(main)
    assert left(journal) == ["gone"]


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (good()[:60], 408),
        (good()[:-1], 408),
        (b"nonsense\r\n\r\n", 400),
        (head(b"a: " + b"x" * 70_000), 431),
    ],
)
def test_what_is_no_request_is_answered_noted_and_closed(
    sent: bytes, status: int
) -> None:
    server, journal = serving(DONE, bounds=Bounds(request=0.02))

    async def main() -> None:
        async with server:
            client = await connect(server)
            assert await client.ask(sent) == status
            assert await client.reader.read() == b""
            await client.close()

    played(main)
    assert [each[:3] for each in noises(journal)] == [str(status)]


def test_a_body_that_drips_for_ever_is_cut_off() -> None:
    server, journal = serving(DONE, bounds=Bounds(body=0.05))

    async def main() -> None:
        async with server:
            client = await connect(server)
            await client.send(good()[: -len(BODY)])
            while not noises(journal):
                await client.send(b" ")
                await asyncio.sleep(0.01)
            assert (await client.answer())[0] == 408
            await client.close()

    played(main)


def test_a_connection_without_requests_is_closed() -> None:
    server, journal = serving(DONE, bounds=Bounds(idle=0.01))

    async def main() -> None:
        async with server:
            client = await connect(server)
            assert await client.reader.read() == b""
            await client.close()

    played(main)
    assert noises(journal) == []


def test_a_client_that_is_one_too_many_is_told_so() -> None:
    server, journal = serving(SILENT, bounds=Bounds(connections=2))

    async def main() -> None:
        async with server:
            clients = [await connect(server) for _ in range(2)]
            for client in clients:
                await client.send(good())
            await until(lambda: server.player.requests == 2)
            assert await asyncio.gather(*(ask_once(server) for _ in range(9))) == (
                [503] * 9
            )
            for client in clients:
                await client.close()

    played(main)
    assert noises(journal) == ["503: too many connections"] * 9


# -- ends ------------------------------------------------------------------------------


@pytest.mark.parametrize("debug", [False, True])
def test_what_is_being_answered_is_noted_before_the_end(debug: bool) -> None:
    server, journal = serving(SILENT)

    async def main() -> None:
        async with server:
            clients = [await connect(server) for _ in range(20)]
            for client in clients:
                await client.send(good())
            await until(lambda: server.player.requests == 20)
        await server.stop()
        for client in clients:
            await client.close()

    played(main, debug=debug)
    assert left(journal) == ["stopped"] * 20


@pytest.mark.parametrize("rounds", range(6))
def test_clients_that_connect_in_the_moment_of_the_stop_leave_nothing_behind(
    rounds: int,
) -> None:
    server, journal = serving(DONE)

    async def main() -> None:
        host, port = "127.0.0.1", int(server.url.rsplit(":", 1)[1])
        lines: list[socket.socket] = []
        for _ in range(10):
            line = socket.create_connection((host, port))
            line.sendall(good())
            lines.append(line)
        for _ in range(rounds):
            await asyncio.sleep(0)
        await server.stop()
        for line in lines:
            line.close()

    async def all_of_it() -> None:
        await server.__aenter__()
        await main()

    played(all_of_it)
    check(journal.records)


class Full:
    """A journal that takes so many records."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.records: list[Record] = []

    def write(self, record: Record) -> None:
        if len(self.records) == self.most:
            raise FileProblem("journal.jsonl", "written", "no space left")
        self.records.append(record)


@pytest.mark.parametrize("most", [1, 2, 3, 4])
@pytest.mark.parametrize("asked", [True, False])
def test_a_journal_that_cannot_be_written_ends_the_server_and_is_told_once(
    most: int, asked: bool
) -> None:
    journal = Full(most)

    async def main() -> None:
        server = FaultServer(DONE, journal)
        await server.__aenter__()
        client = await connect(server)
        await client.send(good() * 3)
        await client.reader.read()
        if asked:
            with pytest.raises(FileProblem):
                await server.failed()
        with pytest.raises(ConnectionRefusedError):
            await connect(server)
        if not asked:
            with pytest.raises(FileProblem):
                await server.stop()
        await server.stop()
        await client.close()

    played(main)
    assert len(journal.records) == most


class Defect(Exception):
    """A mistake of ours."""


def test_a_defect_is_not_a_quiet_server() -> None:
    class Defective(MemoryJournal):
        def write(self, record: Record) -> None:
            if isinstance(record, Asked):
                raise Defect
            super().write(record)

    async def main() -> None:
        async with FaultServer(DONE, Defective()) as server:
            client = await connect(server)
            await client.send(good())
            with pytest.raises(Defect):
                await server.failed()
            await client.close()

    played(main)


# -- outages ---------------------------------------------------------------------------


def outage(seconds: float = 0.05) -> object:
    return fail("connection_refused", seconds=seconds)


async def refused(server: FaultServer) -> None:
    with pytest.raises(ConnectionRefusedError):
        await connect(server)


async def connected(server: FaultServer) -> Client:
    """Connect as soon as the port is open."""
    while True:
        try:
            return await connect(server)
        except ConnectionRefusedError:
            await asyncio.sleep(0.005)


def outages(journal: MemoryJournal) -> int:
    return sum(isinstance(each, Outaged) for each in journal.records)


@pytest.mark.parametrize("count", [1, 2])
def test_the_port_is_closed_at_the_start_and_opened_again(count: int) -> None:
    server, journal = serving(Schedule(tuple(outage() for _ in range(count))))  # type: ignore[misc]

    async def main() -> None:
        async with server:
            await refused(server)
            client = await connected(server)
            assert await client.ask() == 200
            await client.close()

    played(main)
    assert outages(journal) == count


def test_the_port_is_closed_after_an_answer_and_kept_connections_with_it() -> None:
    server, journal = serving(Schedule((say("one"), outage(), say("two"))))  # type: ignore[arg-type]

    async def main() -> None:
        async with server:
            idle = await connect(server)
            assert await idle.ask(good(target=b"/run/a/v1/messages?x")) == 200
            client = await connected(server)
            assert await client.ask() == 200
            assert await client.reader.read() == b""
            await refused(server)
            again = await connected(server)
            assert await again.ask() == 200
            for each in (idle, client, again):
                await each.close()

    played(main)
    assert outages(journal) == 2


def test_an_outage_leaves_the_answers_of_other_runs_alone() -> None:
    slow = Rule(Pattern(text="slow"), Play("slow_drip", None, {"seconds": 0.03}))
    server, journal = serving(Schedule((say("one"), outage(0.02)), rules=(slow,)))  # type: ignore[arg-type]
    body = BODY.replace(b"Hello", b"slow")[:-1] + b', "stream": true}'

    async def main() -> None:
        async with server:
            other = await connect(server)
            await other.send(good(target=b"/run/other/v1/messages", body=body))
            await until(lambda: server.player.requests == 1)
            assert await ask_once(server) == 200
            await refused(server)
            status, text = await other.answer()
            assert status == 200
            assert b"message_stop" in text
            await other.close()

    played(main)
    assert left(journal) == ["kept", "kept"]


def test_a_server_can_be_stopped_during_an_outage() -> None:
    server, journal = serving(Schedule((outage(3_600),)))  # type: ignore[arg-type]

    async def main() -> None:
        async with server:
            await refused(server)
        await refused(server)

    played(main)
    assert left(journal) == []


def test_a_port_that_somebody_else_takes_meanwhile_is_told() -> None:
    server, _ = serving(Schedule((outage(),)))  # type: ignore[arg-type]

    async def main() -> None:
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            async with server:
                other.bind(("127.0.0.1", int(server.url.rsplit(":", 1)[1])))
                other.listen()
                with pytest.raises(CannotListen):
                    await server.failed()

    played(main)


# -- addresses -------------------------------------------------------------------------


def has_six() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as line:
            line.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        pytest.param(
            "::1", marks=pytest.mark.skipif(not has_six(), reason="there is no IPv6")
        ),
    ],
)
def test_every_loopback_address_will_do(host: str) -> None:
    server, _ = serving(DONE, host=host)

    async def main() -> None:
        async with server:
            assert await ask_once(server) == 200

    played(main)


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])  # noqa: S104 - to be refused
def test_other_machines_are_let_in_only_if_that_is_said(host: str) -> None:
    with pytest.raises(BadValue):
        FaultServer(DONE, host=host)
    FaultServer(DONE, host="0.0.0.0", remote=True)  # noqa: S104 - as said


def test_a_port_that_is_taken_is_told() -> None:
    async def main() -> None:
        async with FaultServer(DONE) as first:
            port = int(first.url.rsplit(":", 1)[1])
            with pytest.raises(CannotListen):
                await FaultServer(DONE, port=port).__aenter__()
            assert await ask_once(first) == 200

    played(main)


# -- in a thread -----------------------------------------------------------------------


def ask_plainly(url: str) -> bytes:
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as line:
        line.sendall(good(b"connection: close"))
        return b"".join(iter(lambda: line.recv(65_536), b""))


def test_a_server_in_a_thread_answers_and_stops_twice() -> None:
    server = ServerThread(DONE)
    server.start()
    assert ask_plainly(server.url).startswith(b"HTTP/1.1 200 OK")
    server.stop()
    server.stop()
    assert left(server.journal) == ["kept"]


def test_what_ended_a_server_in_a_thread_is_told_by_stop() -> None:
    class Short(MemoryJournal):
        def write(self, record: Record) -> None:
            if len(self.records) == 2:
                raise FileProblem("journal.jsonl", "written", "no space left")
            super().write(record)

    server = ServerThread(DONE, Short())
    server.start()
    ask_plainly(server.url)
    with pytest.raises(FileProblem):
        server.stop()
    server.stop()


@pytest.fixture
def hasty_threads() -> Iterator[None]:
    """Let threads interrupt each other as often as can be."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hasty_threads")
def test_an_answer_whose_end_a_client_has_seen_is_in_the_journal() -> None:
    with ServerThread(Schedule((say("x", times=None),))) as server:
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as line:
            for number in range(1, 301):
                line.sendall(good())
                told = b""
                while not told.endswith(b"}}"):
                    told += line.recv(65_536)
                last = server.journal.records[-1]
                assert isinstance(last, Answered)
                assert last.n == number


# -- room ------------------------------------------------------------------------------


@given(
    st.integers(10, 40),
    st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=4), max_size=12),
    st.integers(0, 12),
)
def test_bodies_that_grow_together_all_come_to_their_end_within_the_room(
    size: int, bodies: list[list[int]], cancelled: int
) -> None:
    most = 0

    async def grow(room: Room, steps: list[int]) -> None:
        nonlocal most
        with room.part() as part:
            for step in steps:
                await part.hold(part.size + step)
                most = max(most, size - room.free)
                await asyncio.sleep(0)

    async def main() -> None:
        room = Room(size, 16)
        tasks = [asyncio.create_task(grow(room, each)) for each in bodies]
        await asyncio.sleep(0)
        for task in tasks[:cancelled:2]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert room.free == size

    asyncio.run(main())
    assert most <= max(size, 16)


def test_a_body_that_only_trickles_holds_no_more_than_has_come() -> None:
    async def main() -> None:
        room = Room(40, 16)
        with contextlib.ExitStack() as held:
            for _ in range(8):
                await held.enter_context(room.part()).hold(1)
            with room.part() as big:
                await big.hold(16)
                assert room.free == 16

    asyncio.run(main())


@given(st.lists(st.integers(1, 9), max_size=12), st.integers(0, 12))
def test_answers_wait_for_those_before_and_what_they_share_counts_once(
    sizes: list[int], cancelled: int
) -> None:
    shared = b"s" * 5
    most = 0

    async def answer(shelf: Shelf, size: int) -> None:
        nonlocal most
        async with shelf.place() as put:
            put([shared, bytes(size)])
            most = max(most, shelf.held)
            await asyncio.sleep(0)

    async def main() -> None:
        shelf = Shelf(20)
        tasks = [asyncio.create_task(answer(shelf, each)) for each in sizes]
        await asyncio.sleep(0)
        for task in tasks[:cancelled:2]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert shelf.held == 0

    asyncio.run(main())
    assert most <= 20 + 14  # what is there, and one that turned out bigger
