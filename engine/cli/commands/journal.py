"""`unspiral journal`: a journal of the fault server, drawn."""

import click

from unspiral.engine.cli.output import say_json, say_lines
from unspiral.engine.errors import UnknownName

__all__ = ["command"]


@click.command("journal")
@click.argument("path", metavar="FILE")
@click.option("--run", metavar="NAME", help="Show this run alone.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(path: str, *, run: str | None, as_json: bool) -> int:
    """Draw what a fault server saw: each request, its answer, the waits, the cost."""
    from unspiral.engine.faults.journal_file import read_journal  # noqa: PLC0415 - if run
    from unspiral.engine.report.journal import (  # noqa: PLC0415 - same
        journal_lines,
        journal_object,
    )

    reading = read_journal(path)
    runs = tuple(dict.fromkeys(each.asked.run for each in reading.exchanges))
    if run is not None and run not in runs:
        raise UnknownName("run", run, runs, path)
    if as_json:
        say_json(journal_object(reading.records, run=run, torn=reading.torn))
    else:
        say_lines(journal_lines(reading.records, path, run=run, torn=reading.torn))
    return 0
