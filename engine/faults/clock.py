"""Virtual time for asyncio: a loop whose clock jumps to the next timer.

Whenever nothing is ready, the clock is set to the moment at which something will be:
back-off sleeps and time-outs take no real time, and take exactly what they say. It
knows nothing of faults, and is of use to anybody who tests code that sleeps.

What it can and cannot do:

* It is meant for work inside the process. Sockets work, but time jumps while bytes are
  on their way, so that a time-out around them comes at once.
* As long as a thread works (`run_in_executor`, `asyncio.to_thread`, and
  `anyio.to_thread`, in which frameworks run tools that are not async) or a process that
  asyncio started runs, nothing is jumped over: timers take their real time until it is
  done. Threads and processes that were started in other ways are not seen; they may
  still call `call_soon_threadsafe`.
* When nothing is ready, no timer is set, no thread works, no signal handler is
  installed and no socket is watched, a real loop would hang for ever. This one raises
  `NothingWillHappen`.
* Work that sets one timer after the other without end never ends here either, and is
  never idle: give it a time-out.
"""

import asyncio
import contextlib
import selectors
import threading
from collections.abc import Callable, Collection, Coroutine, Generator
from typing import Any, TypeVar, TypeVarTuple, Unpack, cast

from unspiral.engine.errors import NothingWillHappen

__all__ = ["START", "VirtualLoop", "run_virtual"]

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

#: seconds at which time begins: not 0, nor near any other clock, so that code which
#: compares two clocks fails at once
START = 1_000_000.0

# What asyncio adds to the time to find the timers that are due. Its own nanosecond is
# less than the distance of two floats after half a year: a timer would never be due.
# So timers of the same microsecond come together.
_RESOLUTION = 1e-6


class _Jump(selectors.DefaultSelector):
    """A selector that moves a clock forward instead of waiting.

    Args:
        now: the time of the clock.
    """

    def __init__(self, now: float) -> None:
        super().__init__()
        self.now = now
        self.threads = 0  #: that work for the loop, and will wake it
        self.signals = 0  #: whose handlers may wake it
        self.on_deadlock: Callable[[], None] = _pass
        self.others_work: Callable[[], bool] = bool  #: for the loop, and will wake it

    def select(
        self, timeout: float | None = None
    ) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready; if there is nothing, let the time pass."""
        if self.threads or self.others_work():
            ready = super().select(timeout)
            # Woken early, no time has passed: it would differ from run to run.
            self.now += 0 if ready else timeout or 0
            return ready
        ready = super().select(0)
        if ready:
            return ready
        if timeout is not None:
            self.now += max(0, timeout)
            return ready
        if not self._can_be_woken():
            self.on_deadlock()
        return super().select(None)

    def _can_be_woken(self) -> bool:
        # One file is the loop's own, by which threads and signals wake it.
        return self.signals > 0 or len(self.get_map()) > 1


def _pass() -> None:
    """Do nothing: the loop is still being made."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in virtual time.

    Args:
        start: the time at the beginning, in seconds.
    """

    def __init__(self, start: float = START) -> None:
        self._start = start
        self._jump = _Jump(start)
        super().__init__(self._jump)
        self._clock_resolution = _RESOLUTION
        self._jump.on_deadlock = self._deadlocked
        self._jump.others_work = self._others_work
        self._processes: list[asyncio.SubprocessTransport] = []

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self._jump.now

    def run_in_executor(
        self,
        executor: Any,  # noqa: ANN401 - typeshed has it so
        func: Callable[[Unpack[Ts]], T],
        *args: *Ts,
    ) -> asyncio.Future[T]:
        """Let a thread work; until it is done, time is not jumped over."""
        work = super().run_in_executor(executor, func, *args)
        self._jump.threads += 1
        work.add_done_callback(self._thread_done)
        return work

    async def subprocess_exec(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - as the library has it
        """Start a process; as long as it runs, time is not jumped over."""
        with self._thread():
            started = await super().subprocess_exec(*args, **options)
        self._processes.append(started[0])
        return started

    async def subprocess_shell(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - as the library has it
        """Start a shell; as long as it runs, time is not jumped over."""
        with self._thread():
            started = await super().subprocess_shell(*args, **options)
        self._processes.append(started[0])
        return started

    def _others_work(self) -> bool:
        """Tell whether a process runs, or a thread of anyio works for this loop."""
        if self._processes:
            running = [e for e in self._processes if e.get_returncode() is None]
            self._processes = running
        return bool(self._processes) or any(map(self._works, threading.enumerate()))

    def _works(self, thread: threading.Thread) -> bool:
        # anyio has no word for it; a worker that waits for work is in this collection.
        idle = getattr(thread, "idle_workers", None)
        ours = idle is not None and getattr(thread, "loop", None) is self
        return ours and thread not in cast("Collection[object]", idle)

    async def shutdown_default_executor(self, *timeout: float | None) -> None:
        """Wait for the threads. The wait itself is done by a thread."""
        with self._thread():
            await super().shutdown_default_executor(*timeout)

    def add_signal_handler(
        self,
        sig: int,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
    ) -> None:
        """Install a handler; a loop that has one may wait for a signal only."""
        self.remove_signal_handler(sig)
        super().add_signal_handler(sig, callback, *args)
        self._jump.signals += 1

    def remove_signal_handler(self, sig: int) -> bool:
        """Remove a handler, and tell whether there was one."""
        removed = super().remove_signal_handler(sig)
        self._jump.signals -= removed
        return removed

    def _thread_done(self, work: asyncio.Future[Any]) -> None:
        del work
        self._jump.threads -= 1

    @contextlib.contextmanager
    def _thread(self) -> Generator[None]:
        self._jump.threads += 1
        try:
            yield
        finally:
            self._jump.threads -= 1

    def _deadlocked(self) -> None:
        names = sorted(task.get_name() for task in asyncio.all_tasks(self))
        raise NothingWillHappen(self.time() - self._start, tuple(names))


def run_virtual(main: Coroutine[Any, Any, T], *, debug: bool | None = None) -> T:
    """Run a coroutine as `asyncio.run` does, in virtual time.

    Args:
        main: the coroutine.
        debug: asyncio's debug mode; None leaves it to the environment.

    Returns:
        What it returns.

    Raises:
        NothingWillHappen: everything waits, and nothing can end that.
    """
    with asyncio.Runner(debug=debug, loop_factory=VirtualLoop) as runner:
        return runner.run(main)
