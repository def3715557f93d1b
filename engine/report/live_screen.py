"""When a picture is drawn, and where: at most ten times a second, driven by events.

The first event is drawn at once, those that follow too soon together a moment later; so
the last state is always seen, though nothing happens for minutes. There is no thread
and no timer of its own: whoever calls lends both the clock and the timer.
"""

import contextlib
import functools
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from typing import Protocol, TypeAlias

from rich.console import Console, RenderableType
from rich.live import Live

from unspiral.engine.live.events import Ended, LiveEvent, Refused
from unspiral.engine.report.live_view import LiveView

__all__ = ["PAUSE", "Later", "Paused", "Screen", "Timer", "on_terminal"]

PAUSE = 0.1  #: seconds between two pictures, at the least


class Timer(Protocol):
    """Something that will happen, unless it is cancelled."""

    def cancel(self) -> None:
        """Let it not happen."""
        ...


class Later(Protocol):
    """Has something happen later; `call_later` of an event loop does."""

    def __call__(self, delay: float, callback: Callable[[], None], /) -> Timer:
        """Return the timer that calls back after some seconds."""
        ...


Paused: TypeAlias = Callable[[], AbstractContextManager[object]]


class Screen:
    """Shows a view whenever it has changed, but not more often than can be seen.

    Args:
        view: takes the events.
        show: draws a picture.
        now: the time, in seconds; the clock of `later`.
        later: sets a timer.
        paused: leaves the terminal to somebody else for a while.
    """

    def __init__(
        self,
        view: LiveView,
        show: Callable[[RenderableType], None],
        now: Callable[[], float],
        later: Later,
        paused: Paused = contextlib.nullcontext,
    ) -> None:
        self._view, self._show = view, show
        self.paused = paused
        self._now, self._later = now, later
        self._next = now()
        self._timer: Timer | None = None

    def see(self, event: LiveEvent) -> None:
        """Take an event; the end of a run is drawn at once."""
        self._view.see(event)
        rest = self._next - self._now()
        if rest <= 0 or isinstance(event, Ended | Refused):
            self._draw()
        elif self._timer is None:
            self._timer = self._later(rest, self._draw)

    def close(self) -> None:
        """Draw what is not drawn yet, and no more after that."""
        if self._timer is not None:
            self._draw()

    def _draw(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._next = self._now() + PAUSE
        self._show(self._view.render())


@contextlib.contextmanager
def on_terminal(
    view: LiveView,
    now: Callable[[], float],
    later: Later,
    console: Console | None = None,
) -> Generator[Screen]:
    """Show a view in place on a terminal; the last picture stays there.

    Args:
        view: takes the events.
        now: the time, in seconds; the clock of `later`.
        later: sets a timer.
        console: of the terminal; None: standard output. It knows NO_COLOR.
    """
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:
        draw = functools.partial(live.update, refresh=True)
        screen = Screen(view, draw, now, later, functools.partial(_paused, live))
        try:
            yield screen
        finally:
            screen.close()


@contextlib.contextmanager
def _paused(live: Live) -> Generator[None]:
    live.stop()
    try:
        yield
    finally:
        live.start()
