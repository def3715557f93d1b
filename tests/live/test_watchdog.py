"""The watchdog ends work of which nothing comes, and leaves nothing behind."""

import asyncio

import pytest

from unspiral.engine.faults.clock import START, run_virtual
from unspiral.engine.live.ports import LoopClock
from unspiral.engine.live.watchdog import Patience, Watchdog, guarded


def now() -> float:
    return asyncio.get_running_loop().time() - START


def test_work_that_ends_in_time_returns_what_it_has() -> None:
    async def work() -> int:
        await asyncio.sleep(3)
        return 7

    async def main() -> tuple[int | str, float, int]:
        found = await guarded(work(), Watchdog(LoopClock(), 10, 100))
        return found, now(), len(asyncio.all_tasks())

    assert run_virtual(main()) == (7, 3, 1)


def test_work_that_is_silent_is_cancelled_after_the_idle_time() -> None:
    ended: list[float] = []

    async def work() -> None:
        try:
            await asyncio.sleep(1_000)
        finally:
            ended.append(now())

    async def main() -> tuple[object, int]:
        why = await guarded(work(), Watchdog(LoopClock(), 12, 100))
        return why, len(asyncio.all_tasks())

    assert run_virtual(main()) == ("Nothing came for 12 seconds.", 1)
    assert ended == [12]


def test_work_that_is_fed_for_ever_is_cancelled_at_its_deadline() -> None:
    async def main() -> tuple[object, float]:
        dog = Watchdog(LoopClock(), 12, 100)

        async def work() -> None:
            while True:
                await asyncio.sleep(7)
                dog.feed()

        return await guarded(work(), dog), now()

    why, at = run_virtual(main())
    assert why == "There was no whole answer within 100 seconds."
    assert at == 100


@pytest.mark.parametrize(("idle", "borne"), [(90, 5), (2, 2)])
def test_at_the_very_end_it_bears_less(idle: float, borne: float) -> None:
    async def main() -> float:
        dog = Watchdog(LoopClock(), idle, 1_000)

        async def work() -> None:
            dog.feed()
            dog.nearly = True
            await asyncio.sleep(1_000)

        await guarded(work(), dog)
        return now()

    assert run_virtual(main()) <= 2 * borne


def test_whoever_is_cancelled_waits_for_the_end_of_the_work() -> None:
    ended: list[float] = []

    async def work() -> None:
        try:
            await asyncio.sleep(1_000)
        finally:
            await asyncio.sleep(2)
            ended.append(now())

    async def main() -> int:
        task = asyncio.ensure_future(guarded(work(), Watchdog(LoopClock(), 90, 900)))
        await asyncio.sleep(4)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return len(asyncio.all_tasks())

    assert run_virtual(main()) == 1
    assert ended == [6]


def test_what_the_work_raises_is_raised() -> None:
    async def work() -> None:
        raise KeyError("x")

    async def main() -> None:
        await guarded(work(), Watchdog(LoopClock(), 90, 900))

    with pytest.raises(KeyError):
        run_virtual(main())


def test_a_stream_and_a_whole_answer_have_their_own_times() -> None:
    patience = Patience(idle=1, total=2, whole=3)

    assert patience.longest(streamed=True) == 2
    assert patience.longest(streamed=False) == 3
