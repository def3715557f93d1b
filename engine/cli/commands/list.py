"""`unspiral list`: the machines that come with unspiral."""

import click

from unspiral.engine.cli.output import say_json, say_lines
from unspiral.engine.core.declare import Machine
from unspiral.engine.report.lines import Line, clean, columns

__all__ = ["command"]


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list.")
def command(*, as_json: bool) -> int:
    """List the machines that come with unspiral."""
    from unspiral import machines  # noqa: PLC0415 - the declarations are read here

    loaded = [
        (machines.load(name), machines.SHIPPED.subject(name))
        for name in machines.names()
    ]
    if as_json:
        say_json([_object(*each) for each in loaded])
    else:
        say_lines(_lines(loaded))
    return 0


def _lines(loaded: list[tuple[Machine, str]]) -> list[Line]:
    cells = [
        (
            machine.name,
            str(len(machine.rows)),
            ", ".join(edition.name for edition in machine.editions) or "-",
            clean(subject),
        )
        for machine, subject in loaded
    ]
    texts = columns([("machine", "rows", "editions", "what it is"), *cells])
    hang = texts[0].index("what it is")
    head = Line(texts[0], "dim", hang=hang)
    return [head, *(Line(text, hang=hang) for text in texts[1:])]


def _object(machine: Machine, subject: str) -> dict[str, object]:
    return {
        "name": machine.name,
        "subject": subject,
        "doc": machine.doc,
        "source": machine.source,
        "rows": len(machine.rows),
        "editions": [edition.name for edition in machine.editions],
    }
