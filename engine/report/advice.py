"""What to try after a verdict: which option or change would tell more.

It proposes; it judges nothing. Its texts may hold names from a machine file and are
cleaned where they are shown.
"""

from unspiral.engine.check.verdict import Outcome, Verdict
from unspiral.engine.core.declare import Limit
from unspiral.engine.core.language import UNLIMITED

__all__ = ["advice"]


def advice(verdict: Verdict) -> list[str]:
    """Return what is worth trying after a verdict, the likeliest first."""
    table = verdict.table
    name = table.machine.name
    tips: list[str] = []
    if verdict.spirals:
        reasons = dict.fromkeys(r for lasso in verdict.spirals for r in lasso.reasons)
        which = " or ".join(reasons) or "a row of the loop"
        tips.append(f"spend a counter on {which} that only progress gives back")
        tips += [
            f"--assume {each}: does the spiral need what it excludes?"
            for each in _excluding(verdict)
        ]
    if verdict.open_ended:
        tips += [
            f"--set {limit.name}=N bounds a run that goes on with progress"
            for limit in _open_limits(verdict)
        ]
    if verdict.verdict is Outcome.UNDETERMINED:
        tips.append("lower the largest limits with --set, or leave out --full")
    if any(limit.reading for limit in table.machine.all_limits):
        tips.append("--readings compares the readings of the sources")
    if verdict.refuted:
        tips.append(f"unspiral check {name} --draw DIR draws each counterexample")
    if verdict.certificate is not None:
        tips.append(
            "--certificate FILE keeps the proof; unspiral recheck FILE reads it"
        )
    return tips


def _excluding(verdict: Verdict) -> list[str]:
    """Return the assumptions not yet used that restrict an event of a loop."""
    taken = {
        (step.before.phase, step.event)
        for lasso in verdict.spirals
        for step in lasso.loop
    }
    return [
        each.name
        for each in verdict.table.machine.assumptions
        if (each.phase, each.event) in taken
        and each.name not in verdict.table.assumptions
    ]


def _open_limits(verdict: Verdict) -> list[Limit]:
    """Return the UNLIMITED limits that guards of an open-ended cycle read."""
    loops = [step.row for lasso in verdict.open_ended for step in lasso.loop]
    texts = " ".join(f"{row.declared.guard} {row.declared.action}" for row in loops)
    domains = {
        getattr(memory, "high", "")
        for memory in verdict.table.flat.memory
        if memory.name in texts
    }
    return [
        limit
        for limit in verdict.table.machine.all_limits
        if verdict.table.limits.get(limit.name) is UNLIMITED
        and (limit.name in domains or limit.name in texts)
    ]
