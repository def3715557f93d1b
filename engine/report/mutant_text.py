"""Mutants of a machine and what became of them, as text and as an object."""

from collections import Counter
from collections.abc import Sequence

from unspiral.engine.check.mutate import Judge, Judgement
from unspiral.engine.report.lines import Line, clean, columns
from unspiral.engine.report.objects import limits_object

__all__ = ["mutant_lines", "mutants_object"]

_LIVES = {
    "equivalent": "do the same in every state that can be reached",
    "switched off": "change a row that these limits switch off",
    "a setting": "set a limit otherwise, and every law and bound holds there too",
    "unobserved": "do something else, and no law or bound speaks of it",
    "undetermined": "could not be decided",
}
_OPEN = ("unobserved", "undetermined")


def mutant_lines(judge: Judge, found: Sequence[Judgement]) -> list[Line]:
    """Return the report: how many were noticed, by what, and which were not."""
    killed = [each for each in found if not each.lives]
    table = judge.table
    edition = f", edition {clean(table.edition)}" if table.edition else ""
    unseen = [each for each in found if each.how in _OPEN]
    head = (
        f"{len(killed):,} of {len(found):,} mutants NOTICED: "
        f"{clean(table.machine.name)}{edition}"
    )
    lines = [
        Line(head, "bad" if unseen else "good", whole=True),
        Line(f"limits {_limits(judge)}", "dim", 2),
        Line(),
        *_counted("noticed by", Counter(_by(each) for each in killed)),
        *_counted("not noticed", Counter(each.how for each in found if each.lives)),
    ]
    there = {each.how for each in found if each.lives}
    told = [word for word in _LIVES if word in there]
    lines += [Line(f"{word}: they {_LIVES[word]}", "dim", 2) for word in told]
    for word in _OPEN:
        these = [each for each in found if each.how == word]
        if these:
            lines += [Line(), Line(f"{word}:", "open")]
            lines += [Line(clean(each.mutant.name), indent=2) for each in these]
    return lines


def _by(judgement: Judgement) -> str:
    return (
        f"law {judgement.how}" if judgement.killed_by == "law" else judgement.killed_by
    )


def _counted(title: str, counts: Counter[str]) -> list[Line]:
    if not counts:
        return []
    rows = [(clean(word), f"{count:,}") for word, count in counts.most_common()]
    return [
        Line(title, "head"),
        *(Line(row, indent=2) for row in columns(rows)),
        Line(),
    ]


def _limits(judge: Judge) -> str:
    limits = limits_object(judge.table.limits)
    return ", ".join(f"{clean(name)} {clean(value)}" for name, value in limits.items())


def mutants_object(judge: Judge, found: Sequence[Judgement]) -> dict[str, object]:
    """Return the same as plain JSON, each mutant with the run that shows it."""
    return {
        "machine": judge.table.machine.name,
        "edition": judge.table.edition,
        "limits": limits_object(judge.table.limits),
        "assumptions": list(judge.table.assumptions),
        "mutants": [
            {
                "name": each.mutant.name,
                "kind": each.mutant.kind,
                "row": each.mutant.row,
                "before": each.mutant.before,
                "after": each.mutant.after,
                "killed_by": each.killed_by,
                "how": each.how,
                "path": list(each.path),
                "loop": list(each.loop),
            }
            for each in found
        ],
    }
