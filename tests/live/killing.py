"""Lets `unspiral run` tell a story, kills it, and has it go on, until the story ends.

Each run of the command is a process of its own, forked from one that has imported what
is needed, and killed by the system (SIGKILL), when it has said so many lines, and some
moments more. The server is in the parent, so that its journal tells what was sent.
"""

import contextlib
import json
import random
import signal
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from tests.live.forked import Command, Ran, command
from tests.live.kill_story import TASK, Story, prepare
from unspiral.engine.errors import FileProblem, SessionError
from unspiral.engine.faults.journal import Exchange
from unspiral.engine.faults.serving import ServerThread
from unspiral.engine.live.message import calls_of
from unspiral.engine.live.restoring import NOT_BEGUN, Restored, restore
from unspiral.engine.live.session import read_session
from unspiral.engine.live.session_events import Event

__all__ = ["Leg", "Moment", "Told", "leg_of", "told"]

_MOST_LINES, _MOST_SECONDS = 45, 0.6  # of a process, until it is killed
_MOST_KILLS = 5  # of one story


@attrs.frozen
class Moment:
    """When a process is killed.

    Attributes:
        lines: when it has said so many.
        seconds: so much later.
    """

    lines: int
    seconds: float

    @classmethod
    def drawn(cls, draw: random.Random) -> "Moment":
        """Draw one: anywhere from the start on, or close to something that was told."""
        if draw.random() < 0.3:
            return cls(0, draw.uniform(0, _MOST_SECONDS))
        later = draw.choice((0, draw.uniform(0, 0.05)))
        return cls(draw.randint(1, _MOST_LINES), later)


@attrs.frozen
class Leg:
    """What one process has come to.

    Attributes:
        code: its exit code; below 0: the signal that killed it.
        said: the events that it told, as objects.
        complaint: what it wrote to the error stream.
        events: those of the session afterwards.
        exchanges: its requests, as the server saw them.
    """

    code: int
    said: tuple[Mapping[str, Any], ...]
    complaint: str
    events: tuple[Event, ...]
    exchanges: tuple[Exchange, ...]

    @property
    def killed(self) -> bool:
        """Whether it was."""
        return self.code == -signal.SIGKILL

    @property
    def restored(self) -> Restored | None:
        """What its session has come to; None: it was not begun."""
        return restore(self.events) if self.events else None


@attrs.frozen
class Told:
    """A story that has come to its end.

    Attributes:
        folder: where tools have worked.
        legs: its processes.
    """

    folder: Path
    legs: tuple[Leg, ...]

    @property
    def kills(self) -> int:
        """How many of them were killed."""
        return sum(leg.killed for leg in self.legs)


def told(folder: Path, seed: int, kills: int = _MOST_KILLS) -> Told:
    """Tell a story with kills.

    Args:
        folder: an empty one.
        seed: of the moments at which processes are killed.
        kills: how many there are at most.
    """
    draw = random.Random(seed)  # noqa: S311 - no secret
    work = folder / "work"
    work.mkdir()
    prepare(work)
    options = ["--early-tools"] if draw.random() < 0.5 else []
    story, legs, id_ = Story(), list[Leg](), ""
    while True:
        moment = Moment.drawn(draw) if len(legs) < kills else None
        words = ["--resume", id_] if id_ else [TASK, "--workspace", str(work)]
        leg = leg_of(folder, story, [*words, *options], legs, moment)
        legs.append(leg)
        if leg.events:
            (id_,) = _ids(folder)
        else:
            _forget(folder)  # it was killed before anything was begun
        restored = leg.restored
        if not leg.killed or (restored is not None and restored.terminal):
            return Told(work, tuple(legs))
        if restored is not None:
            _call_again(story, restored)


def _call_again(story: Story, restored: Restored) -> None:
    """Let the model call again what it will be told was not begun."""
    answers = [each for each in restored.history if calls_of(each)]
    refused = [
        str(block.get("tool_use_id"))
        for message in restored.history
        for block in message.content
        if block.get("content") == NOT_BEGUN
    ]
    story.again(len(answers), refused)


def _ids(folder: Path) -> list[str]:
    return [path.stem for path in (folder / "sessions").glob("*.session")]


def _forget(folder: Path) -> None:
    for path in (folder / "sessions").glob("*"):
        path.unlink()


def leg_of(
    folder: Path,
    story: Story,
    words: Sequence[str],
    legs: Sequence[Leg] = (),
    moment: Moment | None = None,
) -> Leg:
    """Run the command once.

    Args:
        folder: where sessions are kept.
        story: what the model says.
        words: for the command.
        legs: its runs so far.
        moment: when it is killed; None: it is not.
    """
    had = {
        each.answered.answer for leg in legs for each in leg.exchanges if each.answered
    }
    sessions = folder / "sessions"
    line = ["run", *words, "--sessions", str(sessions), "--permission", "bypass"]
    complaints = folder / f"complaints-{len(legs)}.txt"
    with ServerThread(story.schedule(had)) as server:
        known = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "run-main"}
        begun = command([*line, "--json"], folder, complaints, environment=known)
        ran = _run(begun, moment)
        exchanges = tuple(server.journal.exchanges)
    found = [_events(sessions / f"{id_}.session") for id_ in _ids(folder)]
    events = next((each for each in found if each), ())
    return Leg(ran.code, _objects(ran.out), ran.complaint, events, exchanges)


def _events(path: Path) -> tuple[Event, ...]:
    with contextlib.suppress(FileProblem, SessionError):
        return tuple(read_session(path))
    return ()


def _objects(said: bytes) -> tuple[Mapping[str, Any], ...]:
    """Return what was said in whole lines; a kill may have cut the last one."""
    whole, _, _ = said.rpartition(b"\n")
    return tuple(json.loads(line) for line in whole.splitlines())


# -- one process -----------------------------------------------------------------------


def _run(command: Command, moment: Moment | None) -> Ran:
    """Let a command run until it ends, or is killed."""
    timers = list[threading.Timer]()
    going = True
    while going:
        if moment and not timers and command.out.count(b"\n") >= moment.lines:
            timers.append(threading.Timer(moment.seconds, command.process.kill))
            timers[0].start()
        going = command.read()
    ran = command.end()
    for timer in timers:
        timer.cancel()
        timer.join()
    return ran
