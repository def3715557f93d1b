"""`unspiral explain`: what a word of a machine, or of a finding, means."""

from collections.abc import Mapping

import click

from unspiral.engine.cli.output import say_json, say_lines
from unspiral.engine.cli.subject import MACHINE
from unspiral.engine.core.declare import Machine
from unspiral.engine.core.findings import FINDINGS
from unspiral.engine.errors import UnknownName
from unspiral.engine.report.explain import (
    Explanation,
    explain_finding,
    explain_word,
    explanation_lines,
    explanation_object,
    words,
)

__all__ = ["command"]


@click.command("explain")
@click.argument("word")
@click.option(
    "--machine",
    type=MACHINE,
    metavar="MACHINE",
    help="Look only in this machine (in every shipped one unless given).",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list.")
def command(word: str, machine: Machine | None, *, as_json: bool) -> int:
    """Explain a reason, limit, phase, terminal, event, law or finding.

    WORD is any name of a machine, or the code of a finding.
    """
    from unspiral import machines  # noqa: PLC0415 - the declarations are read here

    looked = [machine] if machine else [machines.load(n) for n in machines.names()]
    found = _explanations(word, looked)
    if word in FINDINGS and machine is None:
        found.append(explain_finding(word))
    if not found:
        known = {name for each in looked for name in words(each)}
        known |= set() if machine else set(FINDINGS)
        within = f"machine {machine.name}" if machine else "the shipped machines"
        raise UnknownName("word", word, tuple(known), within)
    if as_json:
        say_json([explanation_object(each) for each in found])
    else:
        say_lines(explanation_lines(found))
    return 0


def _explanations(word: str, looked: list[Machine]) -> list[Explanation]:
    """Return what every machine says of the word, a nested machine's words once."""
    found: Mapping[tuple[str, str], Explanation] = {
        (each.machine, each.kind): each
        for machine in looked
        for each in explain_word(machine, word)
    }
    return list(found.values())
