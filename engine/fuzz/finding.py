"""A failure with the run that shows it, made short; and which failures are one.

It knows how a run is played and judged, and nothing of how runs are drawn.
"""

from collections.abc import Iterable
from typing import TypeAlias

import attrs

from unspiral.engine.core.table import Table
from unspiral.engine.fuzz.failure import Failure
from unspiral.engine.fuzz.judge import failures
from unspiral.engine.fuzz.rules import Rules
from unspiral.engine.fuzz.shorten import shortened
from unspiral.engine.fuzz.walk import Walk

__all__ = ["Finding", "Path", "distinct", "shortest"]

Path: TypeAlias = tuple[str, ...]


@attrs.frozen
class Finding:
    """One failure, with a run to it.

    Attributes:
        failure: what is wrong.
        events: the schedule; played again, it shows it at its end.
        first: the number of the run that showed it first, counted from 1.
    """

    failure: Failure
    events: Path
    first: int = 1


def shortest(table: Table, finding: Finding) -> Finding:
    """Look for a shorter run with the same failure.

    A spiral through fewer recoveries counts as the same.
    """
    rules = _rules(table, finding.failure)

    def fails(events: Path) -> int | None:
        found = _again(rules, events, finding.failure)
        return None if found is None else found[1]

    if fails(finding.events) is None:
        return finding
    events = shortened(finding.events, fails)
    again = _again(rules, events, finding.failure)
    failure = finding.failure if again is None else again[0]
    return attrs.evolve(finding, failure=failure, events=events)


def _rules(table: Table, failure: Failure) -> Rules:
    laws = (failure.subject,) if failure.kind == "law" else ()
    of = failure.kind
    return Rules(table, laws, spirals=of == "spiral", driver=of == "driver")


def _again(rules: Rules, events: Path, wanted: Failure) -> tuple[Failure, int] | None:
    """Return the failure as a schedule shows it, and how many events that takes."""
    walk = Walk.along(rules.table, events)
    for each in failures(rules, walk):
        if _as_bad(each, wanted):
            return each, _needed(walk, each)
    return None


def _as_bad(found: Failure, wanted: Failure) -> bool:
    if found.kind == wanted.kind == "spiral":
        return _ways(found) <= _ways(wanted)
    return found == wanted


def _ways(failure: Failure) -> frozenset[str]:
    return frozenset(failure.subject.split(", "))


def _needed(walk: Walk, failure: Failure) -> int:
    """Return how many of the events of a run it takes to show a failure."""
    if walk.fault is not None and failure.steps == len(walk.steps):
        return len(walk.events)  # the last of them may have been no step
    steps = walk.steps[: failure.steps]
    return sum(step.event is not None for step in steps)


def distinct(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Leave out what is told twice: a spiral through all that another goes through."""
    known = {each.failure: each for each in reversed(list(findings))}
    ways = [_ways(each) for each in known if each.kind == "spiral"]
    return tuple(
        finding
        for failure, finding in reversed(known.items())
        if failure.kind != "spiral" or not any(w < _ways(failure) for w in ways)
    )
