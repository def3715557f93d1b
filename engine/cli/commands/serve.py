"""`unspiral serve`: a schedule played as a Messages API, until it is told to end.

The schedule is checked and printed before anything listens. What a program needs (the
URL) goes to standard output at once; a line for each request only to a terminal.
"""

import asyncio
import contextlib
import datetime as dt
import signal
import sys
from collections.abc import Coroutine, Generator
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import click

from unspiral.engine.cli.output import say, say_json_line, say_lines
from unspiral.engine.errors import BadValue, UnspiralError
from unspiral.engine.report.lines import Line, clean_lines

if TYPE_CHECKING:
    from unspiral.engine.cli.tally import Tally
    from unspiral.engine.faults.journal_file import FileJournal
    from unspiral.engine.faults.schedule import Schedule, Step
    from unspiral.engine.faults.server import FaultServer

__all__ = ["command"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@attrs.frozen
class Place:
    """Where it listens, and what it writes.

    Attributes:
        host: the address.
        port: the port; 0 for a free one.
        remote: whether it may listen to other machines.
        journal: the file, or None.
        replace: whether a journal that is there is replaced.
        as_json: whether a program reads what is printed.
    """

    host: str
    port: int
    remote: bool
    journal: Path | None
    replace: bool
    as_json: bool


@click.command(
    "serve",
    epilog="It runs until ctrl-C or SIGTERM, which are its orderly end: the journal is "
    "completed, and the exit code is 0. Exit code 2: it could not begin, or could not "
    "write the journal.",
)
@click.option("--schedule", "path", metavar="FILE", help="Play this schedule file.")
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="NAME[:TIMES][,...]",
    help="Play this entry of the catalogue, without a file; may be repeated. TIMES is "
    "a number or `forever`.",
)
@click.option("--check", is_flag=True, help="Print the schedule, and play nothing.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=0,
    help="Listen there (on a free port unless given).",
)
@click.option(
    "--journal",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write what happens there, for `unspiral journal`.",
)
@click.option("--replace", is_flag=True, help="Replace a journal that is there.")
@click.option("--host", default="127.0.0.1", help="Listen on this address.")
@click.option(
    "--allow-remote",
    "remote",
    is_flag=True,
    help="Let --host be open to other machines.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, an object a line.")
def command(  # noqa: PLR0913 - click passes one argument an option
    path: str | None,
    *,
    faults: tuple[str, ...],
    check: bool,
    port: int,
    journal: Path | None,
    replace: bool,
    host: str,
    remote: bool,
    as_json: bool,
) -> int:
    """Play a schedule of faults as a Messages API on this machine.

    Point a client at the URL that is printed. Without a schedule every request is
    answered "Done.".
    """
    schedule = _schedule(path, faults)
    place = Place(host, port, remote, journal, replace, as_json)
    _print_schedule(schedule, as_json=as_json)
    if not check:
        asyncio.run(_serve(schedule, place))
    return 0


# -- the schedule ----------------------------------------------------------------------


def _schedule(path: str | None, faults: tuple[str, ...]) -> "Schedule":
    from unspiral.engine.faults.schedule import Schedule  # noqa: PLC0415 - only to run it
    from unspiral.engine.faults.schedule_file import load_schedule  # noqa: PLC0415 - same

    if path is None:
        steps = tuple(_step(each) for text in faults for each in text.split(","))
        return Schedule(steps, name=", ".join(faults) or "schedule")
    if faults:
        raise BadValue("--fault", faults[0], "left out when --schedule is given")
    return load_schedule(path)


def _step(text: str) -> "Step":
    from unspiral.engine.faults.schedule import fail  # noqa: PLC0415 - only to run it

    name, colon, times = text.strip().partition(":")
    if not name:
        raise BadValue("--fault", text, "NAME, NAME:TIMES or NAME:forever")
    if times == "forever":
        return fail(name, times=None)
    if colon and not (times.isascii() and times.isdigit() and 0 < len(times) < 10):  # noqa: PLR2004 - as a schedule has it
        raise BadValue("--fault", text, "NAME, NAME:TIMES or NAME:forever")
    return fail(name, times=int(times or 1))


def _print_schedule(schedule: "Schedule", *, as_json: bool) -> None:
    from unspiral.engine.faults.schedule_text import (  # noqa: PLC0415 - only to run it
        schedule_lines,
    )

    lines = [clean_lines(line) for line in schedule_lines(schedule)]
    if as_json:
        say_json_line({"schedule": schedule.name, "lines": lines})
    else:
        say_lines(
            [Line(lines[0], "head"), *(Line(line, whole=True) for line in lines[1:])]
        )


# -- serving ---------------------------------------------------------------------------


async def _serve(schedule: "Schedule", place: Place) -> None:
    """Listen until a signal comes, or the server cannot go on."""
    from unspiral.engine.cli.tally import Tally  # noqa: PLC0415 - only to serve

    ended = asyncio.Event()
    new = place.journal is not None and not place.journal.exists()
    with _open_journal(place) as journal, _signals(ended):
        tally = Tally(journal, _tell if _talks(place) else None)
        try:
            server = await _begin(schedule, place, tally)
        except UnspiralError:
            if new and place.journal is not None:  # nothing happened: nothing is kept
                place.journal.unlink(missing_ok=True)
            raise
        try:
            _greet(server.url, as_json=place.as_json)
            await _first(ended.wait(), server.failed())
        finally:
            await server.stop()
    _summarise(tally, place)


async def _begin(schedule: "Schedule", place: Place, tally: "Tally") -> "FaultServer":
    from unspiral.engine.faults.server import FaultServer  # noqa: PLC0415 - only to serve

    server = FaultServer(
        schedule,
        tally,
        host=place.host,
        port=place.port,
        remote=place.remote,
        started=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
    )
    return await server.__aenter__()


async def _first(*waits: Coroutine[object, object, object]) -> None:
    """Wait for the first of these; what it raises is raised."""
    tasks = [asyncio.ensure_future(each) for each in waits]
    done, rest = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)
    for task in done:
        task.result()


@contextlib.contextmanager
def _open_journal(place: Place) -> Generator["FileJournal | None", None, None]:
    if place.journal is None:
        yield None
        return
    from unspiral.engine.faults.journal_file import FileJournal  # noqa: PLC0415 - if asked

    journal = FileJournal(place.journal, replace=place.replace)
    try:
        yield journal
    finally:
        journal.close()


@contextlib.contextmanager
def _signals(ended: asyncio.Event) -> Generator[None, None, None]:
    """End at the first signal in good order; a second one interrupts as usual."""
    loop = asyncio.get_running_loop()
    heard: list[signal.Signals] = []

    def forget() -> None:
        while heard:
            loop.remove_signal_handler(heard.pop())

    def end() -> None:
        ended.set()
        forget()

    for each in _SIGNALS:
        # Whoever starts us in the background may have us ignore ctrl-C.
        if signal.getsignal(each) is not signal.SIG_IGN:
            loop.add_signal_handler(each, end)
            heard.append(each)
    try:
        yield
    finally:
        forget()


# -- what is said ----------------------------------------------------------------------


def _talks(place: Place) -> bool:
    return not place.as_json and sys.stdout is not None and sys.stdout.isatty()


def _tell(line: str) -> None:
    say(f"{line}\n")


def _greet(url: str, *, as_json: bool) -> None:
    variables = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "run-main"}
    if as_json:
        say_json_line({"url": url, "environment": variables})
        return
    export = " ".join(f"{name}={value}" for name, value in variables.items())
    say_lines(
        [
            Line(),
            Line(f"listening: {url}", "good", whole=True),
            Line(f"export {export}", whole=True),
            Line(
                f"another run: {url}/run/NAME, or the key run-NAME", "dim", whole=True
            ),
        ]
    )


def _summarise(tally: "Tally", place: Place) -> None:
    if place.as_json:
        path = None if place.journal is None else str(place.journal)
        counts = {"requests": tally.requests, "faults": tally.faults}
        say_json_line({**counts, "journal": path})
        return
    said = (
        f"{_plural(tally.requests, 'request')}, {_plural(tally.faults, 'fault')} played"
    )
    if place.journal is not None:
        said += (
            f"; read the journal: unspiral journal {clean_lines(str(place.journal))}"
        )
    say_lines([Line(), Line(said, whole=True)])


def _plural(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
