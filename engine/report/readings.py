"""The verdicts of all readings side by side, as a table and as an object.

A reading decides a gap or a disagreement of the sources; which verdicts depend on it is
what a reader of `check --readings` wants to see.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from unspiral.engine.check.verdict import Lasso, Outcome, Verdict
from unspiral.engine.core.declare import LimitValue, limit_text
from unspiral.engine.report.lines import Line, clean
from unspiral.engine.report.objects import limits_object, verdict_object
from unspiral.engine.report.verdict_text import outcome_role

__all__ = ["ReadingResult", "readings_lines", "readings_object"]


class ReadingResult(Protocol):
    """The verdict at one choice of readings."""

    @property
    def changes(self) -> Mapping[str, LimitValue]:
        """Return the readings that differ from their defaults."""
        ...

    @property
    def verdict(self) -> Verdict:
        """Return the verdict there."""
        ...


def readings_lines(results: Sequence[ReadingResult]) -> list[Line]:
    """Return a line a choice: the answer, the readings changed, the shortest lasso."""
    lines = [Line(_title(results), "head", whole=True)]
    width = max((len(each.verdict.verdict.value) for each in results), default=0)
    for result in results:
        outcome = result.verdict.verdict
        text = f"{outcome.value:<{width}}  {_changes(result)}"
        lines.append(Line(text, outcome_role(outcome), 2, width + 2))
        if result.verdict.spirals:
            shortest = _lasso(result.verdict.spirals[0])
            lines.append(Line(shortest, "dim", width + 6))
    return lines


def readings_object(results: Sequence[ReadingResult]) -> dict[str, object]:
    """Return the verdict at the default readings with a list `readings` added to it.

    The list has one object a choice of readings: `changes` and its whole verdict.
    """
    told = [
        {
            "changes": limits_object(result.changes),
            "verdict": verdict_object(result.verdict),
        }
        for result in results
    ]
    default = [result.verdict for result in results if not result.changes]
    return {**(verdict_object(default[0]) if default else {}), "readings": told}


def _title(results: Sequence[ReadingResult]) -> str:
    if not results:
        return "This machine has no readings to compare."
    table = results[0].verdict.table
    outcomes = [result.verdict.verdict for result in results]
    counts = ", ".join(
        f"{outcomes.count(outcome)} {outcome.value}"
        for outcome in Outcome
        if outcome in outcomes
    )
    edition = f", edition {clean(table.edition)}" if table.edition else ""
    used = ", ".join(clean(name) for name in table.assumptions) or "none"
    return (
        f"{clean(table.machine.name)}{edition}: {_count(len(results))} of readings, "
        f"{counts} (assumptions: {used})"
    )


def _count(number: int) -> str:
    return f"{number} choice{'' if number == 1 else 's'}"


def _changes(result: ReadingResult) -> str:
    changes = (
        f"{clean(k)} = {clean(limit_text(v))}" for k, v in result.changes.items()
    )
    return ", ".join(changes) or "(the defaults)"


def _lasso(lasso: Lasso) -> str:
    reasons = ", ".join(clean(reason) for reason in lasso.reasons) or "no continue"
    return f"spiral through {reasons} (stem {len(lasso.stem)}, loop {len(lasso.loop)})"
