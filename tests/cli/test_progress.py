"""Progress is shown to a person who waits, and to nobody else."""

import contextlib
import signal

import attrs
import pytest

from unspiral.engine.cli.interrupt import Interrupts
from unspiral.engine.cli.progress import Progress


@attrs.define
class Screen:
    """A display that keeps what it was told."""

    texts: list[str] = attrs.field(factory=list[str])
    stopped: bool = False

    def start(self, text: str) -> "Screen":
        del text
        return self

    def update(self, text: str) -> None:
        self.texts.append(text)

    def stop(self) -> None:
        self.stopped = True


@attrs.define
class Clock:
    """A clock that a test sets."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_short_check_shows_nothing() -> None:
    screen, clock = Screen(), Clock()

    with Progress(shown=True, clock=clock, display=screen.start) as progress:
        clock.now += 0.4
        progress(10, 1)

    assert screen == Screen()


def test_a_long_check_shows_how_far_it_got_and_cleans_up() -> None:
    screen, clock = Screen(), Clock()

    with Progress(shown=True, clock=clock, display=screen.start) as progress:
        clock.now += 0.6
        progress(1234, 56)

    assert screen.texts == ["1,234 states explored, 56 waiting (ctrl-C ends it)"]
    assert screen.stopped


def test_it_is_refreshed_now_and_then_only() -> None:
    screen, clock = Screen(), Clock()

    with Progress(shown=True, clock=clock, display=screen.start) as progress:
        for _ in range(100):
            clock.now += 0.01
            progress(1, 1)

    assert 3 <= len(screen.texts) <= 7


def test_nothing_is_shown_where_nobody_looks() -> None:
    screen, clock = Screen(), Clock()

    with Progress(shown=False, clock=clock, display=screen.start) as progress:
        clock.now += 10
        progress(1, 1)

    assert screen == Screen()


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_is_noted_and_raised() -> None:
    before = signal.getsignal(signal.SIGINT)
    interrupts = Interrupts()

    with pytest.raises(KeyboardInterrupt), interrupts:
        signal.raise_signal(signal.SIGINT)

    assert interrupts.pressed
    assert signal.getsignal(signal.SIGINT) == before


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_that_the_work_swallows_is_still_noted() -> None:
    with Interrupts() as interrupts, contextlib.suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)

    assert interrupts.pressed


def test_no_ctrl_c_is_no_interrupt() -> None:
    with Interrupts() as interrupts:
        pass

    assert not interrupts.pressed
