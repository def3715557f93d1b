"""Virtual time: exact, without end, and never past what is at work."""

import asyncio
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import anyio.to_thread
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspiral.engine.errors import NothingWillHappen
from unspiral.engine.faults.clock import START, VirtualLoop, run_virtual

SECONDS = st.floats(0, 1e6, allow_nan=False)


def now() -> float:
    return asyncio.get_running_loop().time() - START


async def sleep_on(seconds: float) -> None:
    while True:  # noqa: ASYNC110 - there is no event to wait for
        await asyncio.sleep(seconds)


async def slept(*seconds: float) -> float:
    for each in seconds:
        await asyncio.sleep(each)
    return now()


def test_a_sleep_takes_exactly_what_it_says() -> None:
    assert run_virtual(slept(0.375, 3600)) == 3600.375


@pytest.mark.parametrize("seconds", [1e7, 1e9, 86_400.0 * 365 * 100])
def test_a_sleep_of_years_ends(seconds: float) -> None:
    assert run_virtual(slept(seconds)) == seconds


def test_timers_that_are_due_at_once_are_run_though_the_clock_is_coarse() -> None:
    async def main() -> float:
        await asyncio.sleep(1e9)
        await asyncio.sleep(1e-9)
        loop = asyncio.get_running_loop()
        called = asyncio.Event()
        loop.call_at(loop.time(), called.set)
        await called.wait()
        return now()

    assert run_virtual(main()) == pytest.approx(1e9)


def test_time_does_not_begin_at_zero_nor_at_the_time_of_another_clock() -> None:
    async def main() -> float:
        return asyncio.get_running_loop().time()

    began = run_virtual(main())

    assert began == START
    assert abs(began - time.time()) > 1e6


@given(st.lists(SECONDS, max_size=20))
def test_sleepers_wake_in_the_order_of_their_times(seconds: list[float]) -> None:
    woken: list[float] = []

    async def sleep(duration: float) -> None:
        await anyio.sleep(duration)
        woken.append(duration)
        assert now() == pytest.approx(duration, abs=1e-5)

    async def main() -> None:
        await asyncio.gather(*map(sleep, seconds))

    run_virtual(main())

    # Two that are a microsecond apart wake together.
    assert woken == pytest.approx(sorted(seconds), abs=1e-5)


def test_time_stands_still_while_there_is_work() -> None:
    async def main() -> float:
        for _ in range(1000):
            await asyncio.sleep(0)
        return now()

    assert run_virtual(main()) == 0


def test_a_time_out_cuts_an_endless_chain_of_sleeps() -> None:
    async def main() -> float:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(sleep_on(1), 1000)
        return now()

    assert run_virtual(main()) == 1000


def test_what_can_never_end_is_an_error_that_names_the_task() -> None:
    async def main() -> None:
        await asyncio.sleep(5)
        await asyncio.Event().wait()

    with pytest.raises(NothingWillHappen, match=r"after 5\.0 .* waiting: Task-") as it:
        run_virtual(main())

    assert it.value.seconds == 5
    assert len(it.value.tasks) == 1


def test_many_tasks_that_wait_are_counted() -> None:
    error = NothingWillHappen(1, tuple("abcdefg"))

    assert "a, b, c, d, e and 2 more (" in str(error)


def test_work_can_clean_up_when_nothing_will_happen() -> None:
    cleaned: list[float] = []

    async def main() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(60)
            cleaned.append(now())

    with pytest.raises(NothingWillHappen):
        run_virtual(main())

    assert cleaned == [60]


def test_no_timer_is_jumped_to_while_a_thread_works() -> None:
    async def main() -> float:
        go = threading.Event()
        # The timer lets the thread go: it must come, and in real time.
        asyncio.get_running_loop().call_later(0.01, go.set)
        async with asyncio.timeout(3600):
            await asyncio.to_thread(go.wait)
        return now()

    assert run_virtual(main()) == pytest.approx(0.01)


def test_a_thread_that_works_is_waited_for_without_any_timer() -> None:
    def work() -> int:
        time.sleep(0.01)
        return 7

    async def main() -> int:
        return await asyncio.to_thread(work)

    assert run_virtual(main()) == 7


def test_a_thread_that_wakes_the_loop_makes_no_time_pass() -> None:
    async def main() -> float:
        async with asyncio.timeout(3600):
            await asyncio.to_thread(time.sleep, 0.01)
        return now()

    assert run_virtual(main()) == 0


def test_time_jumps_again_when_the_thread_is_done_or_has_failed() -> None:
    def fail() -> None:
        raise ValueError("as planned")

    async def main() -> float:
        with pytest.raises(ValueError, match="as planned"):
            await asyncio.to_thread(fail)
        await asyncio.sleep(1e6)
        return now()

    assert run_virtual(main()) == 1e6


def test_a_thread_can_run_work_in_the_loop() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()

        def work() -> float:
            return asyncio.run_coroutine_threadsafe(slept(0.01), loop).result()

        return await asyncio.to_thread(work)

    assert run_virtual(main()) == pytest.approx(0.01)


async def by_anyio() -> None:
    await anyio.to_thread.run_sync(time.sleep, 0.02)


async def by_its_own_limiter() -> None:
    limiter = anyio.CapacityLimiter(1)
    await anyio.to_thread.run_sync(time.sleep, 0.02, limiter=limiter)


async def by_a_process() -> None:
    process = await asyncio.create_subprocess_exec("sleep", "0.02")
    assert await process.wait() == 0


async def by_a_shell() -> None:
    process = await asyncio.create_subprocess_shell("sleep 0.02; exit 3")
    assert await process.wait() == 3


@pytest.mark.parametrize(
    "work", [by_anyio, by_its_own_limiter, by_a_process, by_a_shell]
)
def test_threads_of_anyio_and_processes_are_waited_for_and_then_time_jumps(
    work: Callable[[], Coroutine[Any, Any, None]],
) -> None:
    async def main() -> float:
        await work()
        async with asyncio.timeout(30):
            await work()
        assert now() < 30
        before = now()
        await asyncio.sleep(100_000)
        return now() - before

    assert run_virtual(main()) == pytest.approx(100_000, abs=1e-3)


def test_a_host_name_is_looked_up() -> None:
    async def main() -> int:
        loop = asyncio.get_running_loop()
        return len(await loop.getaddrinfo("127.0.0.1", 80, type=socket.SOCK_STREAM))

    assert run_virtual(main()) == 1


def test_sockets_are_served() -> None:
    served = asyncio.Event()

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readline())
        await writer.drain()
        writer.close()
        await writer.wait_closed()
        served.set()

    async def main() -> bytes:
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"hello\n")
            line = await reader.readline()
            writer.close()
            await writer.wait_closed()
            await served.wait()
            return line

    assert run_virtual(main()) == b"hello\n"


def test_a_signal_may_be_waited_for() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        came = asyncio.Event()
        for _ in range(2):  # the second takes the place of the first
            loop.add_signal_handler(signal.SIGUSR1, came.set)
        timer = threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGUSR1))
        timer.start()
        await came.wait()
        timer.join()
        assert loop.remove_signal_handler(signal.SIGUSR1)
        assert not loop.remove_signal_handler(signal.SIGUSR1)
        await asyncio.Event().wait()
        return now()

    with pytest.raises(NothingWillHappen):
        run_virtual(main())


@pytest.mark.parametrize("seconds", [0.001, 1e12])
def test_ctrl_c_ends_a_loop_that_sleeps_for_ever(seconds: float) -> None:
    async def main() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        await sleep_on(seconds)

    with pytest.raises(KeyboardInterrupt):
        run_virtual(main())


@pytest.mark.parametrize("debug", [True, False])
def test_debug_mode_is_as_asked_for(*, debug: bool) -> None:
    async def main() -> tuple[bool, float]:
        return asyncio.get_running_loop().get_debug(), await slept(1000)

    assert run_virtual(main(), debug=debug) == (debug, 1000)


def test_errors_and_results_come_through() -> None:
    async def fail() -> None:
        await asyncio.sleep(10)
        raise ValueError("as planned")

    with pytest.raises(ValueError, match="as planned"):
        run_virtual(fail())


def test_a_loop_may_begin_at_another_time() -> None:
    async def main() -> float:
        await asyncio.sleep(1)
        return asyncio.get_running_loop().time()

    with asyncio.Runner(loop_factory=lambda: VirtualLoop(5)) as runner:
        assert runner.run(main()) == 6
