"""`unspiral show`: a machine as a table of rows, or as JSON."""

import click

from unspiral.diagrams import Graph, extract
from unspiral.diagrams.table import plain_text, rich_table
from unspiral.engine.cli.output import has_colour, say, say_json
from unspiral.engine.cli.subject import (
    MACHINE,
    edition_option,
    limits_from_texts,
    set_option,
)
from unspiral.engine.core.declare import Machine
from unspiral.engine.core.table import compile_table

__all__ = ["command"]


@click.command("show")
@click.argument("machine", type=MACHINE)
@edition_option
@set_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    machine: Machine,
    *,
    edition: str | None,
    settings: tuple[str, ...],
    as_json: bool,
) -> int:
    """Show a machine as a table of rows.

    With --edition or --set the limits are put into the guards, and phases run by other
    machines are spelled out.
    """
    limits = limits_from_texts(machine, settings)
    table = compile_table(machine, edition, limits)
    if as_json:
        from unspiral.engine.report.machine_object import machine_object  # noqa: PLC0415 - same

        say_json(machine_object(table))
        return 0
    _print(extract(table if edition is not None or limits else machine, "full"))
    return 0


def _print(graph: Graph) -> None:
    if has_colour():
        from rich.console import Console  # noqa: PLC0415 - only for terminals

        Console().print(rich_table(graph))
    else:
        say(plain_text(graph))
