"""`unspiral recheck`: a certificate judged again, without the code that found it."""

import click

from unspiral.engine.cli.output import say_lines
from unspiral.engine.cli.subject import MACHINE, find_machine, read_text
from unspiral.engine.core.declare import Machine
from unspiral.engine.report.lines import Line, clean

__all__ = ["command"]

_LONGEST = 16_000_000


@click.command("recheck")
@click.argument("file")
@click.argument("machine", type=MACHINE, required=False)
def command(file: str, machine: Machine | None) -> int:
    """Check a certificate again, row by row.

    FILE was written by `check --certificate`. MACHINE is the machine it is about; the
    shipped machine of the name in the certificate unless given.
    """
    from unspiral.engine.check.certificate import Certificate  # noqa: PLC0415 - heavy
    from unspiral.engine.check.recheck import recheck  # noqa: PLC0415 - heavy

    certificate = Certificate.from_json(read_text(file, _LONGEST))
    judged = machine or find_machine(certificate.machine)
    recheck(certificate, judged)
    edition = f", edition {clean(certificate.edition)}" if certificate.edition else ""
    used = ", ".join(clean(name) for name in certificate.assumptions) or "none"
    said = (
        f"The certificate holds: {clean(judged.name)}{edition} cannot spend without "
        f"end and without progress ({len(certificate.rows)} rows)."
    )
    say_lines([Line(said, "good"), Line(f"Assumptions used: {used}", indent=2)])
    return 0
