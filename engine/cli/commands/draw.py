"""`unspiral draw`: a machine as a picture or as text of a drawing tool."""

from pathlib import Path

import click

from unspiral.diagrams import FORMATS, LEVELS, THEMES, Format, Level, format_of, render
from unspiral.engine.cli.output import say_bytes, write_whole
from unspiral.engine.cli.subject import (
    MACHINE,
    edition_option,
    limits_from_texts,
    set_option,
)
from unspiral.engine.core.declare import Machine
from unspiral.engine.core.table import Table, compile_table

__all__ = ["command"]


@click.command("draw")
@click.argument("machine", type=MACHINE)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="The file; its suffix says the format. - is standard output.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="The format, where no suffix says it.",
)
@click.option(
    "--level",
    type=click.Choice(LEVELS),
    default="policy",
    show_default=True,
    help="How much is told: reasons; guards and limits; everything.",
)
@click.option(
    "--theme",
    type=click.Choice(sorted(THEMES)),
    default="light",
    show_default=True,
    help="The colours.",
)
@click.option("--system-dot", is_flag=True, help="Use the `dot` of the system.")
@edition_option
@set_option
def command(  # noqa: PLR0913 - click passes one argument an option
    machine: Machine,
    *,
    output: str,
    form: Format | None,
    level: Level,
    theme: str,
    system_dot: bool,
    edition: str | None,
    settings: tuple[str, ...],
) -> int:
    """Draw a machine: SVG, PNG, PDF, DOT, Mermaid, Markdown, text.

    With --edition or --set the limits are put into the guards; without, the machine is
    drawn as it is declared.
    """
    chosen = form or format_of(output)
    subject: Machine | Table = machine
    limits = limits_from_texts(machine, settings)
    if edition is not None or limits:
        subject = compile_table(machine, edition, limits)
    drawn = render(subject, chosen, level, theme, system_dot=system_dot)
    if output == "-":
        say_bytes(drawn)
    else:
        write_whole(Path(output), drawn)
    return 0
