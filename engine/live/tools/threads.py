"""Plain functions, called so that the loop goes on: each in a thread of its own.

A pool would be exhausted by calls that hang, and would keep the program from ending; a
thread cannot be ended, but it can be left.
"""

import asyncio
import concurrent.futures
import contextvars
import threading
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

__all__ = ["in_thread"]

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function in a thread of its own.

    If it is cancelled the function is left to itself, and runs to its end.
    """
    context = contextvars.copy_context()

    def call() -> T:
        try:
            return context.run(function, *args, **kwargs)
        except StopIteration as error:  # no future of asyncio takes it: it would hang
            raise RuntimeError("StopIteration was raised") from error

    return await asyncio.get_running_loop().run_in_executor(_Threads(), call)


class _Threads(concurrent.futures.Executor):
    """A thread for each call."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - typeshed has it generic
        """Call something in a thread that does not keep the program from ending."""
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:  # noqa: BLE001 - told to whoever waits
                future.set_exception(error)

        threading.Thread(target=work, daemon=True).start()
        return future
