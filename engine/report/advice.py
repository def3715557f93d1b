"""What to try after a verdict: which option or change would tell more.

It proposes; it judges nothing. Its texts may hold names from a machine file and are
cleaned where they are shown.
"""

from collections.abc import Iterable

from unspiral.engine.check.verdict import Lasso, Outcome, Verdict
from unspiral.engine.core.declare import Counter
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
        tips += [
            f"--set {each}=N: does the spiral end there?"
            for each in _open_limits(verdict, verdict.spirals)
        ]
    tips += [
        f"--set {each}=N bounds a run that goes on with progress"
        for each in _open_limits(verdict, verdict.open_ended)
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


def _open_limits(verdict: Verdict, lassos: Iterable[Lasso]) -> list[str]:
    """Return the UNLIMITED limits that would end counters which a loop raises."""
    table = verdict.table
    raised = {
        variable.name
        for lasso in lassos
        if lasso.loop
        for variable, first, last in zip(
            table.variables,
            lasso.loop[0].before.memory,
            lasso.loop[-1].after.memory,
            strict=True,
        )
        if variable.kind == "counter" and int(last) > int(first)
    }
    ends = {
        memory.high
        for memory in table.flat.memory
        if isinstance(memory, Counter) and memory.name in raised
    }
    return [
        limit.name
        for limit in table.machine.all_limits
        if table.limits.get(limit.name) is UNLIMITED and limit.name in ends
    ]
