"""A counterexample as a numbered story: stem, then the loop, step by step.

Nothing is left out: steps in which nothing was decided, spent or remembered share a
line, and that line still names each phase, answer and target.
"""

from collections.abc import Mapping, Sequence

from unspiral.engine.check.verdict import Lasso
from unspiral.engine.core.language import FALSE
from unspiral.engine.core.step import Step, available_events, initial_snapshot, step
from unspiral.engine.core.table import Table
from unspiral.engine.errors import IllegalEvent, OutOfRange, StuckError
from unspiral.engine.report.lines import Line, clean

__all__ = ["cost_text", "ending_lines", "memory_changes", "story_lines"]


def cost_text(cost: Mapping[str, int]) -> str:
    """Return a cost in words: `model_calls 2, compactions 1`."""
    return ", ".join(f"{clean(name)} {amount:,}" for name, amount in cost.items())


def memory_changes(table: Table, step: Step) -> tuple[tuple[str, object, object], ...]:
    """Return the memory that a step changed: name, value before, value after."""
    pairs = zip(table.variables, step.before.memory, step.after.memory, strict=True)
    return tuple((v.name, old, new) for v, old, new in pairs if old != new)


def story_lines(table: Table, lasso: Lasso, indent: int = 2) -> list[Line]:
    """Tell a counterexample: every step with its reason, guard, memory and cost."""
    lines: list[Line] = []
    if lasso.stem and lasso.loop:
        lines.append(Line("from the start", "dim", indent))
    lines += _steps(table, lasso.stem, 1, indent)
    if lasso.loop:
        lines.append(Line("LOOP, again and again", "bad", indent))
        lines += _steps(table, lasso.loop, len(lasso.stem) + 1, indent)
    return lines


def ending_lines(table: Table, lasso: Lasso, indent: int = 2) -> list[Line]:
    """Say why a run cannot go on after its stem: it is stuck, or out of range."""
    at = lasso.stem[-1].after if lasso.stem else initial_snapshot(table)
    words: list[str] = []
    for event in available_events(table, at) or (None,):
        try:
            step(table, at, event)
        except (StuckError, OutOfRange) as error:
            words.append(clean(error))
        except IllegalEvent:
            words.append(f"phase {clean(at.phase)} offers no event now")
    return [Line(f"then  {each}", "bad", indent + 5, 6) for each in words]


def _steps(table: Table, steps: Sequence[Step], first: int, indent: int) -> list[Line]:
    lines: list[Line] = []
    at = 0
    while at < len(steps):
        end = at + 1
        if _quiet(table, steps[at]):
            while end < len(steps) and _quiet(table, steps[end]):
                end += 1
        lines += _told(table, steps[at:end], first + at, indent)
        at = end
    return lines


def _quiet(table: Table, step: Step) -> bool:
    """Tell whether a step decided, spent and remembered nothing."""
    row = step.row
    return not (
        row.guard_text
        or row.earlier
        or row.reason
        or row.progress
        or any(row.cost.values())
        or memory_changes(table, step)
    )


def _told(table: Table, steps: Sequence[Step], number: int, indent: int) -> list[Line]:
    last = number + len(steps) - 1
    label = str(number) if number == last else f"{number}-{last}"
    path = " -> ".join(_answered(step) for step in steps)
    text = f"{label:>5}  {path} -> {clean(steps[-1].after.phase)}"
    row = steps[0].row
    marks = [f"continue {clean(row.reason)}"] if row.reason else []
    marks += ["progress"] if row.progress else []
    cost = cost_text({k: v for k, v in row.cost.items() if v})
    marks += [f"costs {cost}"] if cost else []
    if marks:
        text += f"   [{'; '.join(marks)}]"
    details = _details(table, steps[0])
    return [
        Line(text, indent=indent, hang=7),
        *(Line(detail, "dim", indent + 11) for detail in details),
    ]


def _answered(step: Step) -> str:
    phase = clean(step.before.phase)
    return phase if step.event is None else f"{phase}: {clean(step.event)}"


def _details(table: Table, step: Step) -> list[str]:
    row = step.row
    told: list[str] = []
    if row.guard_text == "otherwise":
        refused = "; ".join(_refused(step))
        told.append(f"otherwise: {refused}" if refused else "otherwise")
    elif row.guard_text:
        told.append(f"because {clean(row.guard_text)}")
    changes = memory_changes(table, step)
    if changes:
        words = (f"{clean(name)} {old} -> {new}" for name, old, new in changes)
        told.append("memory  " + ", ".join(clean(word) for word in words))
    return told


def _refused(step: Step) -> list[str]:
    """Return the guards that did not hold; one that limits switch off says nothing."""
    asked = (row for row in step.row.earlier if row.guard != FALSE)
    return [f"not ({clean(row.guard_text)})" for row in asked]
