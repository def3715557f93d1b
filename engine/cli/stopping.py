"""Ctrl-C during a run of an agent: it ends in good order; a second one, at once."""

import asyncio
import contextlib
import logging
import signal
from collections.abc import Coroutine, Generator
from typing import Any, TypeVar

from unspiral.engine.live.ports import Abort

__all__ = ["stoppable", "to_its_end"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_Result = TypeVar("_Result")


def to_its_end(running: Coroutine[Any, Any, _Result]) -> _Result:
    """Run something that is `stoppable`, and return its result.

    Raises:
        KeyboardInterrupt: it was ended at once.
    """
    try:
        return asyncio.run(running)
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


@contextlib.contextmanager
def stoppable(abort: Abort) -> Generator[None]:
    """Let a signal stop the current task in good order, and a second one at once."""
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()

    def stop() -> None:
        if abort.reason is None:
            abort.set("user")
        elif task is not None:
            # Children that are left over are nobody's business any more.
            logging.getLogger("asyncio").setLevel(logging.ERROR)
            task.cancel()

    for number in _SIGNALS:
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
