"""`unspiral fuzz`: many runs at random, judged, and what of a machine they cover."""

from typing import TYPE_CHECKING

import attrs
import click

from unspiral.engine.cli.interrupt import Interrupts
from unspiral.engine.cli.output import say_json, say_lines
from unspiral.engine.cli.progress import Progress
from unspiral.engine.cli.subject import (
    NAMED_MACHINE,
    Named,
    edition_option,
    limits_from_texts,
    set_option,
)
from unspiral.engine.core.table import Table, compile_table
from unspiral.engine.errors import BadValue

if TYPE_CHECKING:
    from unspiral.engine.fuzz.campaign import Campaign
    from unspiral.engine.report.fuzz_again import Origin

__all__ = ["command"]

INTERRUPTED = 130


@attrs.frozen
class Request:
    """How much is to be done."""

    examples: int
    seed: int
    seconds: float | None
    paths: bool
    first: bool


@click.command("fuzz")
@click.argument("machine", type=NAMED_MACHINE)
@edition_option
@set_option
@click.option(
    "--assume",
    "assumptions",
    multiple=True,
    metavar="NAME",
    help="Use an assumption on the environment; may be repeated.",
)
@click.option("--examples", metavar="N", default=1_000, help="Runs to make (1000).")
@click.option("--seed", metavar="S", default=0, help="Of the draws (0).")
@click.option(
    "--time", "seconds", metavar="T", type=float, help="End after so many seconds."
)
@click.option(
    "--no-paths",
    is_flag=True,
    help="Begin no run with a shortest path of the explorer.",
)
@click.option(
    "-x", "--exitfirst", "first", is_flag=True, help="End soon after the first failure."
)
@click.option(
    "--replay",
    metavar="EVENTS",
    help="Play one run instead: its events, with commas between them.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(  # noqa: PLR0913 - click passes one argument an option
    machine: Named,
    *,
    edition: str | None,
    settings: tuple[str, ...],
    assumptions: tuple[str, ...],
    examples: int,
    seed: int,
    seconds: float | None,
    no_paths: bool,
    first: bool,
    replay: str | None,
    as_json: bool,
) -> int:
    """Run a machine at random, deep, and judge every run.

    Each run is watched for broken laws, rows that are missing, counters that leave
    their domain, death spirals, and steps that the two interpreters take differently.
    What it covers is counted as verdicts of guards, of those that can be reached.

    Exit code: 0 if nothing was found, 1 if a failure was.
    """
    from unspiral.engine.report.fuzz_again import Origin  # noqa: PLC0415 - slow

    limits = limits_from_texts(machine.machine, settings)
    table = compile_table(machine.machine, edition, limits, assumptions)
    pairs = tuple(limits.items())
    origin = Origin(machine.text, edition, settings, pairs, assumptions)
    if replay is not None:
        return _replay(table, origin, replay, as_json=as_json)
    request = Request(examples, seed, seconds, not no_paths, first)
    with Interrupts() as interrupts:
        campaign = _campaign(table, request)
    _say(campaign, origin, as_json=as_json)
    if interrupts.pressed:
        return INTERRUPTED
    return 1 if campaign.findings else 0


def _campaign(table: Table, request: Request) -> "Campaign":
    from unspiral.engine.check.coverage import reach  # noqa: PLC0415 - numpy is heavy
    from unspiral.engine.fuzz.campaign import fuzz  # noqa: PLC0415 - so is hypothesis

    with Progress() as progress:
        found = reach(table, progress=progress)
    with Progress(what="runs made") as progress:
        return fuzz(
            table,
            found,
            examples=request.examples,
            seed=request.seed,
            seconds=request.seconds,
            paths=request.paths,
            first=request.first,
            told=progress,
        )


def _say(campaign: "Campaign", origin: "Origin", *, as_json: bool) -> None:
    from unspiral.engine.report.fuzz_text import (  # noqa: PLC0415 - slow
        campaign_lines,
        campaign_object,
    )

    if as_json:
        say_json(campaign_object(campaign, origin))
    else:
        say_lines(campaign_lines(campaign, origin))


def _replay(table: Table, origin: "Origin", text: str, *, as_json: bool) -> int:
    from unspiral.engine.fuzz.finding import Finding  # noqa: PLC0415 - slow
    from unspiral.engine.fuzz.judge import failures  # noqa: PLC0415 - same
    from unspiral.engine.fuzz.rules import Rules  # noqa: PLC0415 - same
    from unspiral.engine.fuzz.walk import Walk  # noqa: PLC0415 - same
    from unspiral.engine.report.fuzz_text import (  # noqa: PLC0415 - same
        failure_object,
        replay_lines,
    )

    walk = Walk(table)
    for number, event in enumerate(filter(None, text.replace(",", " ").split()), 1):
        if event not in walk.options:
            allowed = ", ".join(walk.options) or "left out: the run is over"
            raise BadValue(f"event {number} of --replay", event, allowed)
        walk.answer(event)
    found = [Finding(each, tuple(walk.events)) for each in failures(Rules(table), walk)]
    if as_json:
        told = [failure_object(table, origin, each) for each in found]
        say_json({"format": 1, "ends": walk.here.phase, "failures": told})
    else:
        say_lines(replay_lines(table, origin, found, walk))
    return 1 if found else 0
