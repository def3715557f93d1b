"""`unspiral mutate`: every small change of a machine, and what would notice it."""

import os

import click

from unspiral.engine.cli.output import say_json, say_lines
from unspiral.engine.cli.progress import Progress
from unspiral.engine.cli.subject import (
    MACHINE,
    edition_option,
    limits_from_texts,
    set_option,
)
from unspiral.engine.core.declare import Machine

__all__ = ["command"]


@click.command("mutate")
@click.argument("machine", type=MACHINE)
@edition_option
@set_option
@click.option(
    "--assume",
    "assumptions",
    multiple=True,
    metavar="NAME",
    help="Use an assumption on the environment; may be repeated.",
)
@click.option("--row", default="", metavar="NAME", help="Only mutants of this row.")
@click.option("--full", is_flag=True, help="At the limits as they are, not small ones.")
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=lambda: os.cpu_count() or 1,
    help="Processes (default: a core each).",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(  # noqa: PLR0913 - click passes one argument an option
    machine: Machine,
    *,
    edition: str | None,
    settings: tuple[str, ...],
    assumptions: tuple[str, ...],
    row: str,
    full: bool,
    jobs: int,
    as_json: bool,
) -> int:
    """Change a machine in every small way, and say what notices it.

    Of a mutant that nothing notices it is said why: it does the same (equivalent), the
    limits switch its row off, or no law speaks of what it does (unobserved).

    Exit code: 0 if every mutant that does something else is noticed, 1 if one is not.
    """
    from unspiral.engine.check.judging import judged, small_limits  # noqa: PLC0415 - numpy
    from unspiral.engine.check.mutants import mutants_of  # noqa: PLC0415 - same
    from unspiral.engine.check.mutate import Judge  # noqa: PLC0415 - same
    from unspiral.engine.report.mutant_text import (  # noqa: PLC0415 - with them
        mutant_lines,
        mutants_object,
    )

    limits = limits_from_texts(machine, settings)
    if not full:
        limits = small_limits(machine, edition, limits)
    judge = Judge(machine, edition, limits, assumptions)
    mutants = mutants_of(judge.flat, judge.table.limits)
    if row:
        judge.flat.row(row)  # or an error that names the nearest
        mutants = tuple(each for each in mutants if each.row == row)
    with Progress(what="mutants judged") as progress:
        found = tuple(judged(judge, mutants, jobs, progress))
    if as_json:
        say_json(mutants_object(judge, found))
    else:
        say_lines(mutant_lines(judge, found))
    return int(any(each.how in {"unobserved", "undetermined"} for each in found))
