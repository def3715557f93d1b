"""`unspiral draw`: a machine as a picture or as text of a drawing tool."""

from pathlib import Path

import click

from unspiral.engine.cli.output import say_bytes, write_whole
from unspiral.engine.cli.subject import (
    MACHINE,
    edition_option,
    limits_from_texts,
    set_option,
)
from unspiral.engine.core.declare import Machine
from unspiral.engine.core.table import Table, compile_table
from unspiral.engine.errors import BadValue

__all__ = ["command"]

SUFFIXES = {
    ".svg": "svg",
    ".png": "png",
    ".pdf": "pdf",
    ".dot": "dot",
    ".gv": "dot",
    ".mmd": "mermaid",
    ".mermaid": "mermaid",
    ".md": "markdown",
    ".txt": "text",
}  #: the format of a file


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
    type=click.Choice(sorted(set(SUFFIXES.values()))),
    help="The format, where no suffix says it.",
)
@click.option(
    "--level",
    type=click.Choice(["overview", "policy", "full"]),
    default="full",
    show_default=True,
    help="How much is told: reasons; guards and limits; everything.",
)
@click.option(
    "--theme",
    type=click.Choice(["light", "dark"]),
    default="light",
    show_default=True,
    help="The colours.",
)
@edition_option
@set_option
def command(  # noqa: PLR0913 - click passes one argument an option
    machine: Machine,
    *,
    output: str,
    form: str | None,
    level: str,
    theme: str,
    edition: str | None,
    settings: tuple[str, ...],
) -> int:
    """Draw a machine: SVG, PNG, PDF, DOT, Mermaid, Markdown, text.

    With --edition or --set the limits are put into the guards; without, the machine is
    drawn as it is declared.
    """
    from unspiral.diagrams import render  # noqa: PLC0415 - graphviz is heavy

    chosen = form or _format_of(output)
    subject: Machine | Table = machine
    limits = limits_from_texts(machine, settings)
    if edition is not None or limits:
        subject = compile_table(machine, edition, limits)
    drawn = render(subject, chosen, level=level, theme=theme)
    if output == "-":
        say_bytes(drawn)
    else:
        write_whole(Path(output), drawn)
    return 0


def _format_of(output: str) -> str:
    suffix = Path(output).suffix.lower()
    if suffix not in SUFFIXES:
        known = ", ".join(SUFFIXES)
        allowed = f"a file with one of the suffixes {known}, or given with --format"
        raise BadValue("-o", output, allowed)
    return SUFFIXES[suffix]
