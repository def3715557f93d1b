"""Whatever clients do, others are served, memory is bounded, and the journal is whole.

The storms run against a server in a process of its own where memory is looked at, so
that what the clients hold does not count.
"""

import asyncio
import contextlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
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
from unspiral.engine.faults.conversation import Bounds
from unspiral.engine.faults.journal_file import read_journal
from unspiral.engine.faults.request import MAX_BODY
from unspiral.engine.faults.schedule import Schedule, fail, say

DONE = Schedule((say("Done.", times=None),))
SLOW_CLIENTS = 1_000
CHUNKED = b"transfer-encoding: chunked"
LONG = 100 * 1024 * 1024
PIECE = b"x" * (1024 * 1024)
MOST_MEMORY = 400 * 1024 * 1024  # of a server: bodies held at once, and itself


@pytest.fixture
def many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8_192), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many_files")
def test_a_thousand_slow_clients_hold_nobody_up() -> None:
    server, journal = serving(DONE)

    async def main() -> None:
        async with server:
            slow = await asyncio.gather(*(connect(server) for _ in range(SLOW_CLIENTS)))
            data = good()
            for start in range(0, 60, 20):
                await asyncio.gather(
                    *(each.send(data[start : start + 20]) for each in slow)
                )
                assert await ask_once(server) == 200
            answers = await asyncio.gather(*(each.ask(data[60:]) for each in slow))
            assert answers == [200] * SLOW_CLIENTS
            await asyncio.gather(*(each.close() for each in slow))

    played(main)
    asked, answered = check(journal.records)
    assert len(asked) == SLOW_CLIENTS + 3
    assert {each.left for each in answered} == {"kept"}


@pytest.mark.usefixtures("many_files")
def test_beyond_the_bound_clients_are_turned_away_and_then_served_again() -> None:
    server, journal = serving(DONE, bounds=Bounds(connections=50))

    async def main() -> None:
        async with server:
            held = [await connect(server) for _ in range(50)]
            await until(lambda: server.open_connections == 50)
            assert await ask_once(server) == 503
            for each in held:
                await each.close()
            await until(lambda: server.open_connections == 0)
            assert await ask_once(server) == 200

    played(main)
    check(journal.records)


JUNK = st.one_of(
    st.binary(max_size=300),
    st.just(b"\r\n" * 50),
    st.binary(max_size=100).map(lambda data: good()[:-20] + data),
    st.binary(max_size=60).map(lambda data: head(b"transfer-encoding: chunked") + data),
    st.binary(max_size=60).map(lambda data: head(b"x: " + data.hex().encode())),
)


@given(st.lists(JUNK, min_size=1, max_size=5))
@settings(max_examples=25)
def test_garbage_harms_nobody(junk: list[bytes]) -> None:
    server, journal = serving(DONE)

    async def main() -> None:
        async with server:
            for data in junk:
                client = await connect(server)
                await client.send(data)
                client.writer.write_eof()
                await client.close()
            assert await ask_once(server) == 200

    played(main)
    check(journal.records)


@pytest.mark.parametrize(
    "flood",
    [
        head(*(b"a%d: b" % number for number in range(20_000))),
        head(b"a: " + b"b" * 100_000),
        b"GET /" + b"a" * 200_000,
        good(b"content-length: 3"),
        good(b"transfer-encoding: chunked"),
    ],
    ids=["many", "long", "target", "two lengths", "length and chunks"],
)
def test_a_flood_of_headers_is_refused_and_the_connection_ended(flood: bytes) -> None:
    server, journal = serving(DONE)

    async def main() -> None:
        async with server:
            client = await connect(server)
            client.writer.write(flood)
            told = await client.reader.read(20)
            assert told.split()[1] in (b"400", b"431")
            await client.close()
            assert await ask_once(server) == 200

    played(main)
    asked, _ = check(journal.records)
    assert len(asked) == 1


async def vanish(client: Client, how: str) -> None:
    match how:
        case "at once":
            pass
        case "in the head":
            await client.send(good()[:50])
        case "in the body":
            await client.send(good()[:-9])
        case "in the answer":
            await client.send(good())
            await client.reader.read(10)
        case _:
            await client.send(good() + good() + good()[:-5])
    client.reset()


WAYS = ("at once", "in the head", "in the body", "in the answer", "pipelined")


@pytest.mark.parametrize("seed", range(3))
def test_clients_that_vanish_leave_a_journal_that_fits(seed: int) -> None:
    steps = (fail("stall", 5), fail("slow_drip", 5), fail("reset_mid_stream", 5))
    server, journal = serving(Schedule((*steps, say("Done.", times=None))))
    draw = random.Random(seed)  # noqa: S311 - a storm, no secret

    async def main() -> None:
        async with server:
            storm = [draw.choice(WAYS) for _ in range(120)]
            clients = [await connect(server) for _ in storm]
            await asyncio.gather(*map(vanish, clients, storm))
            assert await ask_once(server, good(target=b"/run/last/v1/models")) in (
                404,
                405,
            )

    played(main)
    check(journal.records)


SERVER = """
import asyncio, sys
from unspiral.engine.faults.journal_file import FileJournal
from unspiral.engine.faults.schedule import Schedule, fail, say
from unspiral.engine.faults.server import FaultServer

async def main():
    schedule = Schedule((eval(sys.argv[2]),))
    with FileJournal(sys.argv[1]) as journal:
        async with FaultServer(schedule, journal) as server:
            print(server.url, flush=True)
            await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    # Not getrusage: its figure begins with that of the process that started us.
    status = open("/proc/self/status").read()
    print(int(status.split("VmHWM:")[1].split()[0]) * 1024, flush=True)

asyncio.run(main())
"""


def start(
    path: Path, step: str = 'say("Done.", times=None)'
) -> "subprocess.Popen[str]":
    return subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", SERVER, str(path), step],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )


async def upload(url: str, size: int) -> int:
    client = await opened(url)
    await client.send(head(b"content-length: %d" % size))
    for _ in range(size // len(PIECE)):
        await client.send(PIECE)
    status, _ = await client.answer()
    await client.close()
    return status


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is told by /proc")
def test_bodies_of_a_hundred_megabytes_are_refused_within_bounds(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.jsonl"
    with start(path) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()

        async def main() -> list[int]:
            sizes = [LONG] * 6 + [MAX_BODY - MAX_BODY % len(PIECE)] * 12
            return await asyncio.gather(*(upload(url, size) for size in sizes))

        statuses = asyncio.run(main())
        rest, _ = process.communicate("")

    assert statuses == [413] * 6 + [400] * 12  # the others are no JSON
    assert int(rest) < MOST_MEMORY
    assert read_journal(path).whole


async def opened(url: str) -> Client:
    host, port = url.removeprefix("http://").rsplit(":", 1)
    return Client(*await asyncio.open_connection(host, int(port)))


async def drained(client: Client) -> int:
    """Read an answer in chunks to its end; return its size."""
    size, tail = 0, b""
    while not tail.endswith(b"\r\n0\r\n\r\n"):
        data = await client.reader.read(2**20)
        if not data:
            return 0
        size += len(data)
        tail = (tail + data)[-7:]
    await client.close()
    return size


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is told by /proc")
def test_big_answers_that_nobody_reads_are_made_within_bounds(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with start(path, 'fail("huge_event", times=None)') as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()

        async def main() -> list[int]:
            clients = [await opened(url) for _ in range(80)]
            for each in clients:
                await each.send(good(body=BODY[:-1] + b', "stream": true}'))
            for _ in range(80):  # each of these is a round of the server at least
                other = await opened(url)
                await other.send(b"no request\r\n\r\n")
                await other.reader.read()
                await other.close()
            return await asyncio.gather(*map(drained, clients))

        sizes = asyncio.run(main())
        rest, _ = process.communicate("")

    assert min(sizes) > 4 * 2**20
    assert int(rest) < 250 * 2**20
    assert read_journal(path).whole


def test_after_a_kill_the_journal_is_readable_up_to_the_last_whole_line(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.jsonl"
    with start(path) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()

        async def main() -> None:
            client = await opened(url)
            for _ in range(100):
                assert await client.ask() == 200
            await client.send(good())
            os.kill(process.pid, signal.SIGKILL)
            await client.close()

        asyncio.run(main())
        process.communicate()

    reading = read_journal(path)
    assert not reading.whole
    ended = [each for each in reading.exchanges if each.answered is not None]
    # The last answer may have been seen by the client and not been noted yet.
    assert len(ended) >= 99
    assert json.loads(BODY)["model"] == reading.exchanges[0].asked.model


def test_an_answer_without_end_stops_with_the_server() -> None:
    server, journal = serving(Schedule((fail("stall_with_pings", times=None),)))

    async def main() -> None:
        async with server:
            clients = [await connect(server) for _ in range(20)]
            for each in clients:
                await each.send(good())
            await until(lambda: server.player.requests == 20)
        for each in clients:
            await each.close()

    played(main)
    _, answered = check(journal.records)
    assert [each.left for each in answered] == ["stopped"] * 20


@pytest.mark.parametrize("how", ["reset", "close"])
def test_a_client_that_vanishes_behind_what_it_sent_is_noticed(how: str) -> None:
    server, journal = serving(Schedule((fail("no_response", times=None),)))

    async def main() -> None:
        async with server:
            client = await connect(server)
            await client.send(good() + b"x" * 60_000)
            await until(lambda: server.player.requests)
            if how == "reset":
                client.reset()
            await client.close()
            await until(lambda: server.open_connections == 0)

    played(main)
    _, [answered] = check(journal.records)
    assert answered.left == "gone"


async def poured(client: Client) -> None:
    while True:
        await client.send(PIECE)


def test_a_client_that_sends_without_end_behind_a_request_is_cut_off() -> None:
    server, journal = serving(Schedule((fail("no_response", times=None),)))

    async def main() -> None:
        async with server:
            client = await connect(server)
            await client.send(good())
            with pytest.raises(ConnectionError):
                await poured(client)
            await client.close()

    played(main)
    _, [answered] = check(journal.records)
    assert answered.left == "gone"


@pytest.mark.parametrize("declared", [b"content-length: 30000000", CHUNKED])
def test_bodies_that_trickle_do_not_hold_up_a_big_one(declared: bytes) -> None:
    bounds = Bounds(bodies=3 * MAX_BODY)
    server, journal = serving(DONE, bounds=bounds)
    big = good(body=BODY + b" " * (MAX_BODY // 2))

    async def main() -> None:
        async with server:
            slow = [await connect(server) for _ in range(20)]
            for each in slow:
                await each.send(head(declared) + b"1\r\n{\r\n")
            assert await ask_once(server, big) == 200
            for each in slow:
                await each.close()

    played(main)
    check(journal.records)


def test_a_head_that_trickles_is_not_waited_for_without_end() -> None:
    server, journal = serving(DONE, bounds=Bounds(head=0.05))

    async def main() -> None:
        async with server:
            client = await connect(server)
            await client.send(b"POST / HTTP/1.1\r\n")
            told = asyncio.create_task(client.reader.read())
            while not told.done():
                with contextlib.suppress(OSError):
                    await client.send(b"a: b\r\n")
                await asyncio.sleep(0.005)
            assert b" 408 " in told.result()
            await client.close()

    played(main)
    assert noises(journal) == ["408: the request did not come"]


def test_a_client_that_takes_nothing_of_an_answer_is_cut_off() -> None:
    schedule = Schedule((fail("huge_event", times=None, bytes=2**25),))
    server, journal = serving(schedule, bounds=Bounds(sending=0.05))

    async def main() -> None:
        async with server:
            client = await connect(server)
            await client.send(good())
            await until(lambda: server.open_connections == 1)
            await until(lambda: server.open_connections == 0)
            await client.close()

    played(main)
    _, [answered] = check(journal.records)
    assert answered.left == "gone"


def test_a_client_that_ends_its_side_reads_a_slow_answer_to_its_end() -> None:
    drip = fail("slow_drip", seconds=0.001, bytes=64)
    server, journal = serving(Schedule((drip,)))

    async def main() -> None:
        async with server:
            client = await connect(server)
            client.writer.write(good(body=BODY[:-1] + b', "stream": true}'))
            client.writer.write_eof()
            assert (await client.reader.read()).endswith(b"\r\n0\r\n\r\n")
            await client.close()

    played(main)
    _, [answered] = check(journal.records)
    assert answered.left == "kept"


@pytest.mark.parametrize("fault", ["no_response", "stall", "stall_with_pings"])
def test_a_client_that_ends_its_side_has_left_what_never_ends(fault: str) -> None:
    server, journal = serving(Schedule((fail(fault),)))

    async def main() -> None:
        async with server:
            client = await connect(server)
            client.writer.write(good(body=BODY[:-1] + b', "stream": true}'))
            client.writer.write_eof()
            await client.reader.read()
            await client.close()

    played(main)
    _, [answered] = check(journal.records)
    assert answered.left == "gone"
