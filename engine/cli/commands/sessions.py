"""`unspiral sessions`: the sessions that are kept, one taken out, one taken in."""

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import click

from unspiral.engine.cli.output import say, say_json, say_lines
from unspiral.engine.errors import BadValue
from unspiral.engine.report.lines import Line, clean

if TYPE_CHECKING:
    from unspiral.engine.cli.session_folder import SessionFolder

__all__ = ["command"]


@click.command("sessions")
@click.option(
    "--sessions",
    "given",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Look in this folder.",
)
@click.option("--export", "exported", metavar="ID", help="Write a session as JSONL.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Where to, with --export; a new file (standard output unless given).",
)
@click.option("--import", "imported", metavar="FILE", help="Take in such a file.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    given: Path | None,
    *,
    exported: str | None,
    output: str | None,
    imported: str | None,
    as_json: bool,
) -> int:
    """List the sessions of runs: what each was about, and how it ended.

    ID is the id of a session, the beginning of it, `last`, or a file.
    """
    from unspiral.engine.cli.session_folder import (  # noqa: PLC0415 - only to run it
        folder_of,
    )

    folder = folder_of(given, os.environ)
    if exported is not None and imported is not None:
        raise BadValue("--import", imported, "left out when --export is given")
    if output is not None and exported is None:
        raise BadValue("--output", output, "used with --export")
    if exported is not None:
        _export(folder, exported, output, as_json=as_json)
    elif imported is not None:
        _import(folder, imported, as_json=as_json)
    else:
        _list(folder, as_json=as_json)
    return 0


def _list(folder: "SessionFolder", *, as_json: bool) -> None:
    from unspiral.engine.cli.session_entries import (  # noqa: PLC0415 - only to run it
        entries_in,
    )
    from unspiral.engine.report.session_text import (  # noqa: PLC0415 - same
        entries_lines,
        entry_object,
    )

    entries = entries_in(folder)
    if as_json:
        say_json([entry_object(each) for each in entries])
    else:
        say_lines(entries_lines(entries, str(folder.path)))


def _export(
    folder: "SessionFolder", name: str, output: str | None, *, as_json: bool
) -> None:
    from unspiral.engine.cli.session_folder import located  # noqa: PLC0415 - if asked
    from unspiral.engine.live.secrets import Redaction  # noqa: PLC0415 - same
    from unspiral.engine.live.session import read_session  # noqa: PLC0415 - same
    from unspiral.engine.live.session_file import (  # noqa: PLC0415 - same
        export_session,
        session_lines,
    )

    events = read_session(located(folder, name))
    redaction = Redaction.of(os.environ)
    if output in (None, "-"):
        for line in session_lines(events, redaction):
            say(line)
        return
    export_session(events, output, redaction)
    if as_json:
        say_json({"path": output, "events": len(events)})
    else:
        say_lines([Line(f"written: {clean(output)} ({len(events):,} events)", "good")])


def _import(folder: "SessionFolder", path: str, *, as_json: bool) -> None:
    from unspiral.engine.cli.session_folder import new_id  # noqa: PLC0415 - if asked
    from unspiral.engine.live.secrets import Redaction  # noqa: PLC0415 - same
    from unspiral.engine.live.session import Session  # noqa: PLC0415 - same
    from unspiral.engine.live.session_file import read_export  # noqa: PLC0415 - same

    events = read_export(path)
    id_ = new_id(events[0].t, secrets.randbelow)
    folder.make()
    file = folder.path_of(id_)
    Session.imported(file, events, redaction=Redaction.of(os.environ)).close()
    if as_json:
        say_json({"id": id_, "path": str(file), "events": len(events)})
    else:
        say_lines([Line(f"taken in as {id_} ({len(events):,} events)", "good")])
