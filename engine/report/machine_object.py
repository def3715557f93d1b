"""A machine as a plain JSON object: what it declares, and its rows at fixed limits.

Phases run by other machines are spelled out in the rows, as they are in a check.
"""

from unspiral.engine.core.declare import (
    Choice,
    Counter,
    Limit,
    Memory,
    Phase,
    limit_text,
)
from unspiral.engine.core.language import UNLIMITED
from unspiral.engine.core.table import Row, Table

__all__ = ["machine_object"]


def machine_object(table: Table) -> dict[str, object]:
    """Return a machine as an object of plain JSON values."""
    machine = table.machine
    return {
        "format": 1,
        "machine": machine.name,
        "doc": machine.doc,
        "source": machine.source,
        "edition": table.edition,
        "initial": machine.start_phase,
        "editions": [
            {"name": each.name, "doc": each.doc, "limits": _plain(dict(each.limits))}
            for each in machine.editions
        ],
        "limits": [_limit(each, table) for each in machine.all_limits],
        "memory": [_memory(each) for each in machine.variables],
        "phases": [_phase(each) for each in machine.phases],
        "terminals": [
            {"name": each.name, "kind": each.kind, "doc": each.doc}
            for each in machine.terminals
        ],
        "assumptions": [
            {"name": each.name, "doc": each.doc} for each in machine.assumptions
        ],
        "laws": [{"name": each.name, "doc": each.doc} for each in machine.laws],
        "rows": [_row(row) for row in table.rows],
    }


def _plain(values: dict[str, object]) -> dict[str, object]:
    return {k: "UNLIMITED" if v is UNLIMITED else v for k, v in values.items()}


def _limit(limit: Limit, table: Table) -> dict[str, object]:
    values = {"value": table.limits[limit.name], "default": limit.default}
    return {
        "name": limit.name,
        **_plain(dict(values)),
        "alternatives": [limit_text(value) for value in limit.alternatives],
        "unit": limit.unit,
        "reading": limit.reading,
        "doc": limit.doc,
        "source": limit.source,
    }


def _memory(memory: Memory) -> dict[str, object]:
    found: dict[str, object] = {"name": memory.name}
    if isinstance(memory, Counter):
        found |= {"kind": "counter", "low": memory.low, "high": memory.high}
    elif isinstance(memory, Choice):
        found |= {"kind": "choice", "values": list(memory.values)}
    else:
        found |= {"kind": "flag"}
    return {**found, "initial": memory.initial, "doc": memory.doc}


def _phase(phase: Phase) -> dict[str, object]:
    return {
        "name": phase.name,
        "kind": phase.kind,
        "events": [event.name for event in phase.events],
        "runs": None if phase.runs is None else phase.runs.name,
        "cost": dict(phase.cost),
        "doc": phase.doc,
    }


def _row(row: Row) -> dict[str, object]:
    return {
        "name": row.name,
        "phase": row.source,
        "event": row.event,
        "guard": row.guard_text,
        "action": row.action_text,
        "target": row.target,
        "reason": row.reason or None,
        "progress": row.progress,
        "cost": dict(row.cost),
        "layer": row.layer,
        "doc": row.declared.doc,
        "cite": row.declared.cite,
    }
