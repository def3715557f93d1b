"""One run of an agent on the command line: its session, its model, what is shown of it.

Ctrl-C asks the run to stop, which ends it in its own terminal with every call settled;
a second one stops the program.
"""

import asyncio
import contextlib
import json
import os
import secrets
import sys
import time
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import attrs
import click

from unspiral.engine.cli.asking import asker
from unspiral.engine.cli.hiding import hide_environment
from unspiral.engine.cli.launch import Order, assemble, model_of, table_of
from unspiral.engine.cli.output import has_colour, say_json_line, say_lines
from unspiral.engine.cli.session_folder import folder_of, located, new_id
from unspiral.engine.cli.stopping import stoppable, to_its_end
from unspiral.engine.core.settings import limit_from_text
from unspiral.engine.core.table import Table
from unspiral.engine.errors import BadValue, FileProblem
from unspiral.engine.live.client import AnthropicModel
from unspiral.engine.live.events import Ended, LiveEvent, Refused, Said
from unspiral.engine.live.permission import Asker
from unspiral.engine.live.ports import Abort, Clock, LoopClock, Model
from unspiral.engine.live.secrets import Redaction
from unspiral.engine.live.session import Session
from unspiral.engine.live.session_events import DECISION, Notes
from unspiral.engine.live.untyped import fields_of
from unspiral.engine.report.live_lines import LiveLines
from unspiral.engine.report.live_objects import event_to_plain

if TYPE_CHECKING:
    from unspiral.engine.live.restoring import Restored

__all__ = ["Begun", "Showing", "begin", "code_of", "go_on", "play", "start"]

_COMPLETED, _STOPPED = "completed", 130


@attrs.frozen
class Showing:
    """How a run is shown and kept.

    Attributes:
        as_json: an event a line.
        sessions: the folder of sessions; None: the usual one.
        trace: a file for the record of each decision, or None.
        seed: of the jitter of waits, or None.
    """

    as_json: bool = False
    sessions: Path | None = None
    trace: Path | None = None
    seed: int | None = None


@attrs.frozen
class Begun:
    """A session that is open for a run.

    Attributes:
        order: what is to be run.
        table: of the run.
        session: where it is written down.
        restored: what it had come to; None: it is new.
        redaction: takes secrets out of whatever is told.
    """

    order: Order
    table: Table
    session: Session
    redaction: Redaction
    restored: "Restored | None" = None

    @property
    def id(self) -> str:
        """Its name."""
        return Path(self.session.path).stem


def start(order: Order, task: str, showing: Showing) -> int:
    """Begin a session with the real model; return the exit code.

    Raises:
        UnspiralError: there is no credential, or anything else is not as it must be.
    """
    model = model_of(order)  # without a key there is no session
    begun = begin(order, task, "", showing.sessions)
    with begun.session:
        return to_its_end(_real(model, begun, task, showing))


def go_on(order: Order, name: str, task: str | None, showing: Showing) -> int:
    """Go on with a session; return the exit code.

    Args:
        order: what the command line says.
        name: of the session.
        task: a new prompt; None: go on with what was interrupted.
        showing: how it is shown.

    Raises:
        UnspiralError: there is nothing to go on with, or anything else is not as it
            must be.
    """
    begun = take_up(order, name, showing.sessions)
    with begun.session:
        restored = begun.restored
        prompt = task or (restored.unbegun if restored else None)
        if prompt is None and (restored is None or restored.machine is None):
            raise BadValue("TASK", "", "what is to be done: the last run has ended")
        return to_its_end(_real(model_of(order), begun, prompt, showing))


async def _real(
    model: AnthropicModel, begun: Begun, prompt: str | None, showing: Showing
) -> int:
    async with contextlib.aclosing(model):
        return code_of(await play(begun, prompt, model, LoopClock(), showing))


async def play(
    begun: Begun, prompt: str | None, model: Model, waits: Clock, showing: Showing
) -> Ended | Refused | None:
    """Run an agent and show it; return how it ended.

    Args:
        begun: its session.
        prompt: of the user; None: go on.
        model: whoever answers.
        waits: the clock of the waits between attempts.
        showing: how it is shown.
    """
    hide_environment()
    abort = Abort()
    with (
        traced(begun, showing.trace) as store,
        _shown(begun, as_json=showing.as_json) as show,
        stoppable(abort),
    ):
        agent = assemble(
            begun.order,
            begun.table,
            model,
            store,
            abort=abort,
            ask=show.asker,
            waits=waits,
            name=begun.id,
            restored=begun.restored,
            seed=showing.seed,
        )
        async with contextlib.aclosing(agent.run(prompt)) as events:
            async for each in events:
                show(each)
    _tell_name(begun)
    return show.ended


def _tell_name(begun: Begun) -> None:
    """Say on the error stream how to look at the session: it is no result."""
    if sys.stderr is not None and sys.stderr.isatty():
        click.echo(f"Session {begun.id}: unspiral why last", err=True)


def begin(order: Order, task: str, scenario: str, sessions: Path | None) -> Begun:
    """Begin a session.

    Args:
        order: what is to be run.
        task: the prompt.
        scenario: its name, or "".
        sessions: the folder of sessions; None: the usual one.

    Raises:
        UnspiralError: the machine cannot be compiled, or no session be made.
    """
    table = table_of(order)
    redaction = Redaction.of(os.environ)
    folder = folder_of(sessions, os.environ)
    folder.make()
    id_ = new_id(time.time(), secrets.randbelow)
    about = {
        "task": task,
        "machine": order.machine.name,
        "edition": table.edition,
        "set": {name: str(value) for name, value in order.limits.items()},
        "model": order.model,
        "fallback": order.fallback,
        "workspace": str(order.workspace.absolute()),
        "scenario": scenario,
    }
    session = Session.create(folder.path_of(id_), about, redaction=redaction)
    return Begun(order, table, session, redaction)


def take_up(order: Order, name: str, sessions: Path | None) -> Begun:
    """Take up a session with the loop, model and folder that it was begun with.

    Args:
        order: what the command line says; it holds what a session does not.
        name: of the session.
        sessions: the folder of sessions; None: the usual one.

    Raises:
        UnspiralError: there is no such session, it is in use, damaged, or of another
            machine.
    """
    redaction = Redaction.of(os.environ)
    path = located(folder_of(sessions, os.environ), name)
    session = Session.resume(path, redaction=redaction)
    try:
        restored = session.restored()
        order = _as_begun(order, restored.about)
        return Begun(order, table_of(order), session, redaction, restored)
    except BaseException:
        session.close()
        raise


def _as_begun(order: Order, about: Mapping[str, object]) -> Order:
    if about.get("machine") != order.machine.name:
        allowed = f"{order.machine.name}: pass --machine"
        raise BadValue("the machine of the session", str(about.get("machine")), allowed)
    workspace = Path(str(about.get("workspace", "")))
    if not workspace.is_dir():
        allowed = "a folder that is there"
        raise BadValue("the workspace of the session", str(workspace), allowed)
    declared = {limit.name: limit for limit in order.machine.all_limits}
    kept = about.get("set")
    limits = {
        name: limit_from_text(declared[name], str(value))
        for name, value in fields_of(kept).items()
        if name in declared
    }
    return attrs.evolve(
        order,
        edition=str(about.get("edition", "")),
        limits={**limits, **order.limits},
        model=order.model or str(about.get("model", "")),
        fallback=order.fallback or str(about.get("fallback", "")),
        workspace=workspace,
    )


# -- what is shown ---------------------------------------------------------------------


@attrs.define
class Show:
    """Shows events, and remembers how the run ended.

    Attributes:
        see: takes an event.
        asker: asks a person; None: nobody is there.
        ended: the last event, when it is there.
    """

    see: Callable[[LiveEvent], None]
    asker: Asker | None = None
    ended: Ended | Refused | None = None

    def __call__(self, event: LiveEvent) -> None:
        """Take an event."""
        if isinstance(event, Ended | Refused):
            self.ended = event
        self.see(event)


@contextlib.contextmanager
def _shown(begun: Begun, *, as_json: bool) -> Generator[Show]:
    if as_json:
        yield Show(lambda e: _say_object(e, begun.redaction))
        return
    lines = LiveLines(begun.redaction)
    if not has_colour():
        ask = asker(contextlib.nullcontext, begun.redaction)
        yield Show(lambda e: say_lines(lines.see(e)), ask)
        return
    from unspiral.engine.report.live_screen import on_terminal  # noqa: PLC0415 - rich
    from unspiral.engine.report.live_view import LiveView  # noqa: PLC0415 - the same

    loop = asyncio.get_running_loop()
    view = LiveView(begun.table, lines)
    with on_terminal(view, loop.time, loop.call_later) as screen:
        yield Show(screen.see, asker(screen.paused, begun.redaction))


def _say_object(event: LiveEvent, redaction: Redaction) -> None:
    if not isinstance(event, Said):  # a secret in two pieces would not be found
        say_json_line(event_to_plain(event, redaction))


@attrs.define
class Traced:
    """A session of which the records are copied to a file, a line each.

    Attributes:
        session: it.
        file: the copy.
        redaction: takes secrets out.
    """

    session: Session
    file: TextIO
    redaction: Redaction

    @property
    def path(self) -> str:
        """The file of the session."""
        return self.session.path

    def append(self, kind: str, value: Mapping[str, object]) -> None:
        """Keep an event.

        Raises:
            FileProblem: it cannot be kept, or copied.
        """
        self.session.append(kind, value)
        self._copy(kind, value)

    def note(self, kind: str, value: Mapping[str, object]) -> None:
        """Keep an event together with the next one that is appended.

        Raises:
            FileProblem: it cannot be kept, or copied.
        """
        self.session.note(kind, value)
        self._copy(kind, value)

    def _copy(self, kind: str, value: Mapping[str, object]) -> None:
        if kind != DECISION:
            return
        try:
            self.file.write(json.dumps(self.redaction.fields(value)) + "\n")
            self.file.flush()
        except OSError as error:
            problem = (error.strerror or "unknown").lower()
            raise FileProblem(self.file.name, "written", problem) from None


@contextlib.contextmanager
def traced(begun: Begun, path: Path | None) -> Generator[Notes]:
    """Copy the records of decisions to a file, as they are made.

    Raises:
        FileProblem: it cannot be written.
    """
    if path is None:
        yield begun.session
        return
    try:
        file = path.open("w", encoding="utf-8")
    except OSError as error:
        problem = (error.strerror or "unknown").lower()
        raise FileProblem(str(path), "written", problem) from None
    try:
        yield Traced(begun.session, file, begun.redaction)
    finally:
        with contextlib.suppress(OSError):  # all is written, or was told: see `_copy`
            file.close()


def code_of(ended: Ended | Refused | None) -> int:
    """Return the exit code of a run."""
    if not isinstance(ended, Ended):
        return _STOPPED if ended is not None and ended.stopped else 1
    if ended.terminal == _COMPLETED:
        return 0
    return _STOPPED if ended.terminal.startswith("aborted") else 1
