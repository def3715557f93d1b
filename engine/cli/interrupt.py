"""Ctrl-C during a long piece of work: it is noted, and then raised as usual."""

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self, TypeAlias

__all__ = ["Interrupts"]

Handler: TypeAlias = Callable[[int, FrameType | None], Any] | int | None


class Interrupts:
    """Notes whether ctrl-C was pressed, also when the work ends in good order."""

    def __init__(self) -> None:
        self.pressed = False
        self._before: Handler = None

    def __enter__(self) -> Self:
        """Begin to listen, unless whoever started us ignores ctrl-C."""
        self._before = signal.getsignal(signal.SIGINT)
        if self._listens():
            signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End to listen."""
        if self._listens():
            signal.signal(signal.SIGINT, self._before)

    def _listens(self) -> bool:
        main = threading.current_thread() is threading.main_thread()
        return main and callable(self._before)

    def _press(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.pressed = True
        raise KeyboardInterrupt
