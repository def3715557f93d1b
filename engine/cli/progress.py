"""A progress display on standard error, shown only to a person who waits.

It appears after half a second, and never in a pipe or a log.
"""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self

__all__ = ["Display", "Progress", "Spinner"]

_PATIENCE = 0.5  #: seconds before there is something to see
_PAUSE = 0.1  #: seconds between two refreshes


class Display(Protocol):
    """A text that stays in place and changes."""

    def update(self, text: str) -> None:
        """Show another text."""
        ...

    def stop(self) -> None:
        """Remove it."""
        ...


class Progress:
    """Shows how far a piece of work got; call it with what is done and what waits."""

    def __init__(
        self,
        *,
        shown: bool | None = None,
        clock: Callable[[], float] = time.monotonic,
        display: "Callable[[str], Display] | None" = None,
        what: str = "states explored",
    ) -> None:
        terminal = sys.stderr is not None and sys.stderr.isatty()
        self._shown = terminal if shown is None else shown
        self._clock = clock
        self._next = clock() + _PATIENCE
        self._what = what
        self._display = display or Spinner
        self._status: Display | None = None

    def __call__(self, done: int, waiting: int) -> None:
        """Show the numbers, now and then."""
        now = self._clock()
        if not self._shown or now < self._next:
            return
        self._next = now + _PAUSE
        text = f"{done:,} {self._what}, {waiting:,} waiting (ctrl-C ends it)"
        if self._status is None:
            self._status = self._display(text)
        self._status.update(text)

    def __enter__(self) -> Self:
        """Return the display; nothing is shown yet."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove the display."""
        if self._status is not None:
            self._status.stop()
            self._status = None


class Spinner:
    """A display on standard error, by rich."""

    def __init__(self, text: str) -> None:
        from rich.console import Console  # noqa: PLC0415 - only for who waits

        self._status = Console(stderr=True).status(text)
        self._status.start()

    def update(self, text: str) -> None:
        """Show another text."""
        self._status.update(text)

    def stop(self) -> None:
        """Remove it."""
        self._status.stop()
