"""The meaning of each kind of word of a machine, read from its declaration.

Each function returns what is to be said, by heading, and the rows that belong to it.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from unspiral.engine.core.declare import (
    Choice,
    Counter,
    Machine,
    Memory,
    Transition,
    limit_text,
)
from unspiral.engine.core.language import (
    OTHERWISE,
    names,
    names_of_action,
    parse_action,
    parse_guard,
)
from unspiral.engine.errors import DeclarationError

__all__ = ["MEANINGS", "Told", "row_text"]

Told: TypeAlias = tuple[dict[str, str], tuple[str, ...]]


def row_text(row: Transition) -> str:
    """Return a row as one line of text."""
    event = f": {row.event}" if row.event else ""
    guard = f" when {row.guard}" if row.guard else ""
    guard = " otherwise" if row.guard.strip() == OTHERWISE else guard
    action = f" / {row.action}" if row.action else ""
    reason = f" [{row.reason}]" if row.reason else ""
    cite = f" ({row.cite})" if row.cite else ""
    return f"{row.source}{event}{guard} -> {row.target}{action}{reason}{cite}"


def _rows(rows: Iterable[Transition]) -> tuple[str, ...]:
    return tuple(row_text(row) for row in rows)


def _reading(machine: Machine, name: str) -> tuple[str, ...]:
    """Return the rows that read or write a name."""
    return _rows(row for row in machine.rows if name in _names(row))


def _names(row: Transition) -> frozenset[str]:
    try:
        action = parse_action(row.action)
        read = names(parse_guard(row.guard)) | names_of_action(action)
    except DeclarationError:  # the finding about the text says it better
        return frozenset()
    return read | {assign.name for assign in action} | set(row.raises)


def _reason(machine: Machine, word: str) -> Told:
    rows = [row for row in machine.rows if row.reason == word]
    facts = {
        "what": "a continue: the loop goes on at "
        f"{machine.start_phase}, for this reason",
        "progress": "yes" if any(row.progress for row in rows) else "no",
        "layer": ", ".join(dict.fromkeys(row.layer for row in rows if row.layer)),
        "note": " ".join(dict.fromkeys(row.doc for row in rows if row.doc)),
        "source": ", ".join(dict.fromkeys(row.cite for row in rows if row.cite)),
    }
    return facts, _rows(rows)


def _limit(machine: Machine, word: str) -> Told:
    limit = next(each for each in machine.limits if each.name == word)
    editions = {
        edition.name: limit_text(edition.limits.get(word, limit.default))
        for edition in machine.editions
    }
    facts = {
        "what": limit.doc,
        "default": limit_text(limit.default),
        "unit": limit.unit,
        "values": ", ".join(limit_text(value) for value in limit.alternatives),
        "editions": ", ".join(f"{name} {value}" for name, value in editions.items()),
        "reading": limit.reading,
        "bounds": ", ".join(
            memory.name
            for memory in machine.memory
            if isinstance(memory, Counter) and word in memory.high
        ),
        "source": limit.source,
    }
    return facts, _reading(machine, word)


def _phase(machine: Machine, word: str) -> Told:
    phase = machine.phase(word)
    kinds = {
        "acting": "an acting phase: the environment answers it with an event",
        "deciding": "a deciding phase: its guards are asked in order",
        "nested": f"a phase run by the machine {phase.runs.name if phase.runs else ''}",
    }
    facts = {
        "what": kinds[phase.kind],
        "meaning": phase.doc,
        "events": ", ".join(event.name for event in phase.events),
        "cost": ", ".join(f"{name} {n}" for name, n in phase.cost.items()),
        "group": phase.group,
        "source": phase.source,
    }
    return facts, _rows(row for row in machine.rows if word in {row.source, row.target})


def _terminal(machine: Machine, word: str) -> Told:
    terminal = next(each for each in machine.terminals if each.name == word)
    facts = {
        "what": f"a terminal: the run ends for this reason ({terminal.kind})",
        "meaning": terminal.doc,
        "source": terminal.source,
    }
    return facts, _rows(row for row in machine.rows if row.target == word)


def _memory(machine: Machine, word: str) -> Told:
    memory = next(each for each in machine.variables if each.name == word)
    facts = {
        "what": _domain(memory),
        "meaning": memory.doc,
        "initial": limit_text(memory.initial),
        "shared": "with the machine that runs it" if memory.shared else "",
        "source": memory.source,
    }
    return facts, _reading(machine, word)


def _domain(memory: Memory) -> str:
    if isinstance(memory, Counter):
        return f"a counter, {memory.low} to {memory.high} {memory.unit}".rstrip()
    if isinstance(memory, Choice):
        return "a choice of " + ", ".join(memory.values)
    return "a flag"


def _event(machine: Machine, word: str) -> Told:
    phases = {
        phase.name: event
        for phase in machine.phases
        for event in phase.events
        if event.name == word
    }
    docs = dict.fromkeys(event.doc for event in phases.values() if event.doc)
    facts = {
        "what": "an answer of the environment in " + ", ".join(phases),
        "meaning": " ".join(docs),
        "available": "; ".join(
            f"in {name}: {event.available}"
            for name, event in phases.items()
            if event.available
        ),
    }
    return facts, _rows(row for row in machine.rows if row.event == word)


def _edition(machine: Machine, word: str) -> Told:
    edition = next(each for each in machine.editions if each.name == word)
    values = (f"{k} {limit_text(v)}" for k, v in edition.limits.items())
    facts = {
        "what": "a named set of limits",
        "meaning": edition.doc,
        "limits": ", ".join(values) or "the defaults",
    }
    return facts, ()


def _assumption(machine: Machine, word: str) -> Told:
    each = next(item for item in machine.assumptions if item.name == word)
    often = "never" if each.at_most.strip() == "0" else f"at most {each.at_most} times"
    when = f" while {each.when}" if each.when else ""
    facts = {
        "what": "a limit on the environment, for check --assume",
        "rule": f"{each.phase} answers {each.event} {often} between progress{when}",
        "meaning": each.doc,
        "source": each.source,
    }
    rows = machine.rows
    return facts, _rows(
        row for row in rows if (row.source, row.event) == (each.phase, each.event)
    )


def _law(machine: Machine, word: str) -> Told:
    law = next(each for each in machine.laws if each.name == word)
    scope = law.scope
    bounds = [f"from {scope.start}"] if scope.start else []
    bounds += [f"to {scope.end}"] if scope.end else []
    facts = {
        "what": f"a law ({law.pattern}, {' '.join([scope.kind, *bounds])})",
        "meaning": law.doc,
        "condition": law.what,
        "other": law.other,
        "at most": law.at_most,
        "source": law.source,
    }
    return facts, ()


def _row(machine: Machine, word: str) -> Told:
    row = machine.row(word)
    facts = {"what": row_text(row), "meaning": row.doc, "source": row.cite}
    return facts, ()


def _machine(machine: Machine, word: str) -> Told:
    del word  # its own name
    facts = {
        "what": machine.doc,
        "phases": ", ".join(phase.name for phase in machine.phases),
        "terminals": ", ".join(terminal.name for terminal in machine.terminals),
        "reasons": ", ".join(machine.reasons),
        "editions": ", ".join(edition.name for edition in machine.editions),
        "assumptions": ", ".join(each.name for each in machine.assumptions),
        "source": machine.source,
    }
    return facts, ()


MEANINGS: Mapping[str, Callable[[Machine, str], Told]] = {
    "machine": _machine,
    "reason": _reason,
    "limit": _limit,
    "phase": _phase,
    "terminal": _terminal,
    "memory": _memory,
    "event": _event,
    "edition": _edition,
    "assumption": _assumption,
    "law": _law,
    "row": _row,
}
