"""`unspiral why`: why a session went on or stopped each time, and why not otherwise."""

import os
from pathlib import Path

import click

from unspiral.engine.cli.output import say_json, say_lines

__all__ = ["command"]


@click.command("why")
@click.argument("session")
@click.argument("step", type=click.IntRange(1), required=False)
@click.option(
    "--sessions",
    "given",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Look in this folder.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    session: str, step: int | None, given: Path | None, *, as_json: bool
) -> int:
    """Say why a session went on and stopped, and why not otherwise.

    SESSION is the id of a session, the beginning of it, `last`, or a file (an exported
    one too). STEP is the number of one step.
    """
    from unspiral.engine.cli.session_folder import (  # noqa: PLC0415 - only to run it
        EXPORTED,
        folder_of,
        located,
    )
    from unspiral.engine.live.record import records_in  # noqa: PLC0415 - same
    from unspiral.engine.live.session import read_session  # noqa: PLC0415 - same
    from unspiral.engine.live.session_file import read_export  # noqa: PLC0415 - same
    from unspiral.engine.live.untyped import text_at  # noqa: PLC0415 - same
    from unspiral.engine.report.session_text import (  # noqa: PLC0415 - same
        why_lines,
        why_object,
    )

    path = located(folder_of(given, os.environ), session)
    events = read_export(path) if path.suffix == EXPORTED else read_session(path)
    records = records_in(events, str(path))
    task = (text_at(events[0].value, "task") or "") if events else ""
    if as_json:
        say_json(why_object(records, path.stem, task, step))
    else:
        say_lines(why_lines(records, path.stem, task, step))
    return 0
