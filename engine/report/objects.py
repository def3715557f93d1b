"""Verdicts as plain JSON objects: the same facts as in the text, for programs.

The fields are documented in docs/reference/cli.md; `FORMAT` rises when one changes its
meaning. The same check gives the same object, apart from `seconds`.
"""

import json
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from unspiral.engine.check.verdict import Bounds, Lasso, LawVerdict, Verdict
from unspiral.engine.core.declare import LimitValue
from unspiral.engine.core.findings import Finding
from unspiral.engine.core.language import UNLIMITED
from unspiral.engine.core.step import Step, memory_of
from unspiral.engine.core.table import Table

__all__ = [
    "FORMAT",
    "finding_object",
    "lasso_object",
    "limits_object",
    "verdict_object",
]

FORMAT = 1  #: the version of the objects

Json: TypeAlias = object


def verdict_object(verdict: Verdict) -> dict[str, Json]:
    """Return a verdict as an object of plain JSON values."""
    table = verdict.table
    return {
        "format": FORMAT,
        "machine": table.machine.name,
        "edition": table.edition,
        "limits": limits_object(table.limits),
        "verdict": verdict.verdict.value,
        "passed": verdict.passed,
        "basis": verdict.basis,
        "states": verdict.states,
        "transitions": verdict.transitions,
        "seconds": round(verdict.seconds, 6),
        "spirals": _lassos(table, verdict.spirals),
        "open_ended": _lassos(table, verdict.open_ended),
        "deadlocks": _lassos(table, verdict.deadlocks),
        "out_of_range": _lassos(table, verdict.out_of_range),
        "laws": [_law(table, law) for law in verdict.laws],
        "findings": [finding_object(each) for each in verdict.findings],
        "bounds": _bounds(verdict),
        "assumptions": list(table.assumptions),
        "certificate": _certificate(verdict),
        "notes": list(verdict.notes),
    }


def limits_object(limits: Mapping[str, LimitValue]) -> dict[str, Json]:
    """Return limits with "UNLIMITED" for the limit that never binds."""
    return {
        name: "UNLIMITED" if value is UNLIMITED else value
        for name, value in limits.items()
    }


def finding_object(finding: Finding) -> dict[str, Json]:
    """Return a finding as an object."""
    return {
        "code": finding.code,
        "severity": finding.severity,
        "machine": finding.machine,
        "place": finding.place,
        "problem": finding.problem,
        "cause": finding.cause,
        "fix": finding.fix,
        "nearest": finding.nearest or None,
    }


def _lassos(table: Table, lassos: Iterable[Lasso]) -> list[Json]:
    return [lasso_object(table, lasso) for lasso in lassos]


def lasso_object(table: Table, lasso: Lasso) -> dict[str, Json]:
    """Return a counterexample as an object: stem, loop, what one round costs."""
    return {
        "stem": [_step(table, step) for step in lasso.stem],
        "loop": [_step(table, step) for step in lasso.loop],
        "reasons": list(lasso.reasons),
        "cost": lasso.cost,
    }


def _step(table: Table, step: Step) -> dict[str, Json]:
    row = step.row
    return {
        "phase": step.before.phase,
        "event": step.event,
        "reason": row.reason or None,
        "target": step.after.phase,
        "row": row.name,
        "guard": row.guard_text,
        "refused": [{"row": r.name, "guard": r.guard_text} for r in row.earlier],
        "progress": row.progress,
        "cost": dict(row.cost),
        "memory": memory_of(table, step.after),
    }


def _law(table: Table, law: LawVerdict) -> dict[str, Json]:
    found = law.counterexample
    return {
        "name": law.name,
        "verdict": law.verdict.value,
        "counterexample": None if found is None else lasso_object(table, found),
    }


def _bounds(verdict: Verdict) -> dict[str, Json]:
    # Of a machine with a spiral null is the answer; of a cut search it says nothing.
    endless = {reason: None for lasso in verdict.spirals for reason in lasso.reasons}
    bounds = verdict.bounds or Bounds(None, None, endless)
    witness = bounds.witness
    return {
        "known": verdict.bounds is not None or bool(verdict.spirals),
        "model_calls_between_progress": bounds.model_calls_between_progress,
        "model_calls_per_run": bounds.model_calls_per_run,
        "per_reason": dict(bounds.per_reason),
        "formula": bounds.formula,
        "witness": None if witness is None else lasso_object(verdict.table, witness),
    }


def _certificate(verdict: Verdict) -> Json:
    if verdict.certificate is None:
        return None
    parsed: Json = json.loads(verdict.certificate.to_json())
    return parsed
