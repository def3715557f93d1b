"""What one word of a machine means: a reason, limit, phase, terminal, event, ...

All of it is read from the declaration, so it is never out of date.
"""

from collections.abc import Mapping, Sequence

import attrs

from unspiral.engine.core.declare import Machine
from unspiral.engine.core.findings import FINDINGS
from unspiral.engine.core.nest import nested_phases
from unspiral.engine.report.lines import Line, clean
from unspiral.engine.report.meanings import MEANINGS

__all__ = [
    "Explanation",
    "explain_finding",
    "explain_word",
    "explanation_lines",
    "explanation_object",
    "words",
]


@attrs.frozen
class Explanation:
    """What a word means in one machine.

    Attributes:
        word: the word.
        kind: what it names: "reason", "limit", "phase", ...
        machine: the machine, or "" for a word of the checker itself.
        facts: what is to be said, by heading.
        rows: the rows that have it or read it, as text.
    """

    word: str
    kind: str
    machine: str = ""
    facts: Mapping[str, str] = attrs.field(factory=dict[str, str])
    rows: tuple[str, ...] = ()


def words(machine: Machine) -> dict[str, str]:
    """Return every word that can be explained, with its kind; a first one wins."""
    found: dict[str, str] = {}
    for each in _with_inner(machine):
        for kind, items in _words(each):
            for item in items:
                found.setdefault(item, kind)
    return found


def _words(machine: Machine) -> list[tuple[str, list[str]]]:
    events = [event.name for phase in machine.phases for event in phase.events]
    return [
        ("machine", [machine.name]),
        ("reason", list(machine.reasons)),
        ("limit", [each.name for each in machine.limits]),
        ("phase", [each.name for each in machine.phases]),
        ("terminal", [each.name for each in machine.terminals]),
        ("memory", [each.name for each in machine.memory]),
        ("event", events),
        ("edition", [each.name for each in machine.editions]),
        ("assumption", [each.name for each in machine.assumptions]),
        ("law", [each.name for each in machine.laws]),
        ("row", [each.name for each in machine.rows]),
    ]


def explain_word(machine: Machine, word: str) -> list[Explanation]:
    """Explain a word in a machine and in the machines that run its phases."""
    found: list[Explanation] = []
    for each in _with_inner(machine):
        found += [
            Explanation(word, kind, each.name, *MEANINGS[kind](each, word))
            for kind, items in _words(each)
            if word in items
        ]
    return found or _explain_inside(machine, word)


def _explain_inside(machine: Machine, word: str) -> list[Explanation]:
    """Explain `call_model.request`: a word of the machine that runs `call_model`."""
    outer, _, inner = word.partition(".")
    for phase in nested_phases(machine):
        if phase.name == outer and inner and phase.runs is not None:
            return explain_word(phase.runs, inner)
    return []


def _with_inner(machine: Machine) -> list[Machine]:
    found = {machine.name: machine}
    for phase in nested_phases(machine):
        if phase.runs is not None:
            for inner in _with_inner(phase.runs):
                found.setdefault(inner.name, inner)
    return list(found.values())


def explain_finding(code: str) -> Explanation:
    """Explain a code of `FINDINGS`."""
    kind = FINDINGS[code]
    forbids = " and the machine cannot be compiled" if kind.forbids else ""
    facts = {
        "meaning": kind.meaning,
        "severity": kind.severity + forbids,
        "fix": kind.remedy,
    }
    return Explanation(code, "finding", facts=facts)


def explanation_lines(explanations: Sequence[Explanation]) -> list[Line]:
    """Return explanations as a report."""
    lines: list[Line] = []
    for each in explanations:
        own = each.machine in {"", each.word}
        place = "" if own else f" of {clean(each.machine)}"
        lines += [Line()] if lines else []
        lines.append(Line(f"{clean(each.word)}: {each.kind}{place}", "head"))
        lines += [
            Line(f"{heading}: {clean(text)}", indent=2)
            for heading, text in each.facts.items()
            if text
        ]
        lines += [Line("rows:", indent=2)] if each.rows else []
        lines += [Line(clean(row), indent=4) for row in each.rows]
    return lines


def explanation_object(each: Explanation) -> dict[str, object]:
    """Return an explanation as an object of plain JSON values."""
    return {
        "word": each.word,
        "kind": each.kind,
        "machine": each.machine,
        "facts": {heading: text for heading, text in each.facts.items() if text},
        "rows": list(each.rows),
    }
