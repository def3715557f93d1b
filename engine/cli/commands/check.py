"""`unspiral check`: the verdict on a machine, its pictures and its certificate."""

from collections.abc import Callable, Iterable
from pathlib import Path

import attrs
import click

from unspiral.engine.check.verdict import Outcome, Verdict
from unspiral.engine.cli.interrupt import Interrupts
from unspiral.engine.cli.output import say_json, say_lines, write_whole
from unspiral.engine.cli.progress import Progress
from unspiral.engine.cli.subject import (
    MACHINE,
    edition_option,
    limits_from_texts,
    set_option,
)
from unspiral.engine.core.declare import LimitValue, Machine
from unspiral.engine.errors import BadValue

__all__ = ["command", "exit_code"]

INTERRUPTED = 130


@attrs.frozen
class Request:
    """What is to be checked."""

    machine: Machine
    edition: str | None
    limits: dict[str, LimitValue]
    assumptions: tuple[str, ...]
    full: bool
    laws: bool


@click.command("check")
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
@click.option("--readings", is_flag=True, help="Compare all readings of the sources.")
@click.option("--full", is_flag=True, help="Explore every state, nothing reduced.")
@click.option("--no-laws", is_flag=True, help="Leave the laws out.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--draw",
    "folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Draw the machine and each counterexample there, as SVG.",
)
@click.option(
    "--certificate",
    "certificate",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the certificate, for `unspiral recheck`.",
)
def command(  # noqa: PLR0913 - click passes one argument an option
    machine: Machine,
    *,
    edition: str | None,
    settings: tuple[str, ...],
    assumptions: tuple[str, ...],
    readings: bool,
    full: bool,
    no_laws: bool,
    as_json: bool,
    folder: Path | None,
    certificate: Path | None,
) -> int:
    """Prove that a machine cannot spiral, or show how it does.

    Exit code: 0 if the machine and every law is PROVED, 1 if one is REFUTED, 3 if one
    is UNDETERMINED.
    """
    limits = limits_from_texts(machine, settings)
    request = Request(machine, edition, limits, assumptions, full, not no_laws)
    if readings:
        for option, given in (
            ("--draw", folder is not None),
            ("--certificate", certificate is not None),
            ("--full", full),
        ):
            if given:
                raise BadValue("--readings", option, "used without it")
        return _check_readings(request, as_json=as_json)
    return _check_one(request, folder, certificate, as_json=as_json)


def exit_code(verdicts: Iterable[Verdict]) -> int:
    """Return the exit code of verdicts: the worst counts."""
    outcomes = {
        outcome
        for verdict in verdicts
        for outcome in (verdict.verdict, *(law.verdict for law in verdict.laws))
    }
    if Outcome.REFUTED in outcomes:
        return 1
    return 3 if Outcome.UNDETERMINED in outcomes else 0


def _check_one(
    request: Request, folder: Path | None, certificate: Path | None, *, as_json: bool
) -> int:
    with Interrupts() as interrupts, Progress() as progress:
        verdict = _verdict(request, progress)
    if as_json:
        from unspiral.engine.report.objects import verdict_object  # noqa: PLC0415 - if asked

        say_json(verdict_object(verdict))
    else:
        from unspiral.engine.report.verdict_text import verdict_lines  # noqa: PLC0415 - same

        say_lines(verdict_lines(verdict))
    if certificate is not None:
        _write_certificate(verdict, certificate)
    if folder is not None:
        from unspiral.engine.cli.pictures import draw_verdict  # noqa: PLC0415 - if asked

        for path in draw_verdict(verdict, folder):
            click.echo(f"drawn: {path}", err=True)
    stopped = interrupts.pressed or verdict.interrupted
    return INTERRUPTED if stopped else exit_code([verdict])


def _verdict(request: Request, progress: Callable[[int, int], None]) -> Verdict:
    from unspiral.engine.check import check  # noqa: PLC0415 - numpy is heavy

    return check(
        request.machine,
        edition=request.edition,
        limits=request.limits,
        assumptions=request.assumptions,
        full=request.full,
        laws=request.laws,
        progress=progress,
    )


def _check_readings(request: Request, *, as_json: bool) -> int:
    from unspiral.engine.check import check_readings  # noqa: PLC0415 - numpy is heavy
    from unspiral.engine.report.readings import (  # noqa: PLC0415 - with it
        readings_lines,
        readings_object,
    )

    with Interrupts() as interrupts, Progress(what="readings checked") as progress:
        results = check_readings(
            request.machine,
            request.edition,
            request.limits,
            request.assumptions,
            progress,
        )
    if as_json:
        say_json(readings_object(results))
    else:
        say_lines(readings_lines(results))
    if interrupts.pressed or any(each.verdict.interrupted for each in results):
        return INTERRUPTED
    return exit_code(each.verdict for each in results)


def _write_certificate(verdict: Verdict, path: Path) -> None:
    if verdict.certificate is None:
        click.echo(f"no certificate was found; {path} is not written", err=True)
        return
    write_whole(path, verdict.certificate.to_json().encode())
