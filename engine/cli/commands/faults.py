"""`unspiral faults`: the catalogue of faults, or one of them in full."""

from typing import TYPE_CHECKING

import click

from unspiral.engine.cli.output import say_json, say_lines
from unspiral.engine.report.lines import Line, columns

if TYPE_CHECKING:
    from unspiral.engine.faults.fault import Fault, Parameter

__all__ = ["command"]


@click.command("faults")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(name: str | None, *, as_json: bool) -> int:
    """List what the fault server can do to a client, or tell all about one fault.

    The names are those of schedules (`unspiral serve`) and of journals.
    """
    from unspiral.engine.faults.catalogue import (  # noqa: PLC0415 - only to run it
        CATALOGUE,
        find_fault,
    )

    if name is not None:
        fault = find_fault(name)
        if as_json:
            say_json(_object(fault))
        else:
            say_lines(_full(fault))
    elif as_json:
        say_json([_object(each) for each in CATALOGUE.values()])
    else:
        say_lines(_table(list(CATALOGUE.values())))
    return 0


def _table(faults: list["Fault"]) -> list[Line]:
    from unspiral.engine.faults.fault import GROUPS  # noqa: PLC0415 - as above

    texts = columns((each.name, each.description) for each in faults)
    hang = max(len(each.name) for each in faults) + 2
    lines: list[Line] = []
    for group, about in GROUPS.items():
        lines += [Line()] if lines else []
        lines.append(Line(f"{group}: {about}", "head"))
        lines += [
            Line(text, indent=2, hang=hang)
            for text, each in zip(texts, faults, strict=True)
            if each.group == group
        ]
    more = "One in full: unspiral faults NAME. Played: unspiral serve --fault NAME."
    return [*lines, Line(), Line(more, "dim")]


def _full(fault: "Fault") -> list[Line]:
    rows = [
        ("group", fault.group),
        ("what happens", fault.description),
        ("rule it tests", fault.rule),
        ("to be expected", fault.expect),
        ("reply", _reply(fault)),
        *(
            (f"{name} = {each.default}", f"{each.doc} ({_range(each)})")
            for name, each in fault.parameters.items()
        ),
    ]
    hang = max(len(label) for label, _ in rows) + 2
    return [
        Line(fault.name, "head"),
        *(Line(text, indent=2, hang=hang) for text in columns(rows)),
        Line(),
        Line("in a schedule:", "dim"),
        *(Line(text, indent=2, whole=True) for text in _example(fault)),
    ]


def _range(parameter: "Parameter") -> str:
    return f"{parameter.low:,} to {parameter.high:,}"


def _reply(fault: "Fault") -> str:
    if fault.speaks:
        return "none can be named in a schedule: it brings its own, or there is none"
    if fault.calls:
        return "breaks the one that the schedule names; it must call a tool"
    return "breaks the one that the schedule names, or a short one of its own"


def _example(fault: "Fault") -> list[str]:
    lines = ["[[step]]", f'fault = "{fault.name}"']
    lines += [f"{name} = {each.default}" for name, each in fault.parameters.items()]
    if not fault.speaks:
        call = 'reply = ["I will look.", { tool = "read" }]'
        lines.append(call if fault.calls else 'reply = "The text that is broken."')
    return lines


def _object(fault: "Fault") -> dict[str, object]:
    return {
        "name": fault.name,
        "group": fault.group,
        "description": fault.description,
        "rule": fault.rule,
        "expect": fault.expect,
        "takes_reply": not fault.speaks,
        "parameters": {
            name: {
                "default": each.default,
                "low": each.low,
                "high": each.high,
                "doc": each.doc,
            }
            for name, each in fault.parameters.items()
        },
    }
