"""Write the generated parts of the documentation: tables, pictures, shown outputs.

    python docs/generate.py [FOLDER]     tables and pictures, to docs/_generated
    python docs/generate.py --consoles   outputs of the pages' console blocks, in place

All of it is written from the declarations, the same bytes for the same machines,
so a test can compare what is committed with what would be written now.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from docs.console import PAGES, refreshed
from docs.fault_pages import catalogue, sdk
from docs.markdown import code, table, text
from unspiral.diagrams import Level, render
from unspiral.engine.check import Attempt, Lasso, check, smallest_spirals
from unspiral.engine.cli.pictures import overlay_of
from unspiral.engine.core.declare import LimitValue, Machine, limit_text
from unspiral.engine.core.findings import FINDINGS
from unspiral.engine.core.table import Table, compile_table
from unspiral.machines import SHIPPED
from unspiral.machines.ablations import ABLATIONS, GATES, ablate
from unspiral.machines.matrix import reset_matrix
from unspiral.machines.moves import MOVES

__all__ = ["FILES", "GENERATED", "main"]

GENERATED = Path(__file__).parent / "_generated"


def findings() -> bytes:
    """Return the table of findings."""
    rows = [
        (
            code(name),
            "error, forbids" if kind.forbids else kind.severity,
            kind.meaning,
            kind.remedy,
        )
        for name, kind in FINDINGS.items()
    ]
    return text(table(("code", "kind", "what it means", "what to do"), rows))


def machines() -> bytes:
    """Return the page of the shipped machines."""
    return text(line for machine in SHIPPED.values() for line in _machine(machine))


def _machine(machine: Machine) -> Iterator[str]:
    yield from (f"## {machine.name}", "", machine.doc, "")
    if machine.source:
        yield from (f"Source: {machine.source}.", "")
    yield from (f"![{machine.name}](../_generated/machines/{machine.name}.svg)", "")
    yield from table(
        ("edition", "what it describes", "limits that differ"),
        [(code(e.name), e.doc, _settings(e.limits)) for e in machine.editions],
    )
    yield from table(
        ("limit", "default", "what it limits", "source"),
        [
            (code(x.name), limit_text(x.default), _with(x.doc, x.unit), x.source)
            for x in machine.limits
            if not x.reading
        ],
    )
    yield from table(
        ("reading", "default", "other values", "why"),
        [
            (
                code(x.name),
                limit_text(x.default),
                ", ".join(limit_text(value) for value in x.alternatives[1:]),
                x.reading,
            )
            for x in machine.limits
            if x.reading
        ],
    )
    yield from table(
        ("assumption", "what it says of the environment"),
        [(code(a.name), a.doc) for a in machine.assumptions],
    )
    yield from table(
        ("law", "what it says", "source"),
        [(code(law.name), law.doc, law.source) for law in machine.laws],
    )
    yield from ("### Rows", "")
    yield from table(
        ("row", "guard", "action", "target", "reason"),
        [
            (
                code(row.name),
                code(row.guard),
                code(row.action),
                code(row.target),
                _with(code(row.reason), "progress" if row.progress else ""),
            )
            for row in machine.rows
        ],
    )


def _with(told: str, more: str) -> str:
    return f"{told} ({more})" if more else told


def _settings(limits: Mapping[str, LimitValue]) -> str:
    return ", ".join(f"`{k} = {limit_text(v)}`" for k, v in limits.items())


def matrix() -> bytes:
    """Return which continue of the query loop resets which memory."""
    cells = reset_matrix(SHIPPED["query_loop"], "published")
    reasons = list(cells)
    memory = list(cells[reasons[0]])
    rows = [
        [code(name), *(code(cells[reason][name]) for reason in reasons)]
        for name in memory
    ]
    return text(table(["memory", *(code(reason) for reason in reasons)], rows))


def moves() -> bytes:
    """Return the map from moves of the environment to rows."""
    rows = [
        (move.text, ", ".join(map(code, move.rows)) or "outside", move.note)
        for move in MOVES
    ]
    return text(table(("the environment's move", "rows", "how, or why not"), rows))


_ACCEPTING = "stop_hooks_accept_valid_answers"
_FINITE = "staged_folds_are_finite"


def ablations() -> bytes:
    """Return what becomes of the query loop without some of its guards."""
    told = [name for name in ABLATIONS if name not in GATES]
    lines = table(
        ("ablation", "what is taken away", "source"),
        [(code(n), ABLATIONS[n].doc, ABLATIONS[n].source) for n in told],
    )
    output: dict[str, LimitValue] = {
        "max_output_recoveries": 0,
        "output_escalation": False,
    }
    for title, edition, limits, assumptions in (
        ("Published", "published", {}, (_ACCEPTING, _FINITE)),
        ("Published, folds without end", "published", _KEPT, (_ACCEPTING,)),
        ("Documented, no output recovery", "documented", output, (_ACCEPTING,)),
    ):
        setting = ", ".join(f"`{k} = {limit_text(v)}`" for k, v in limits.items())
        lines += [f"**{title}**{': ' if setting else ''}{setting}", ""]
        lines += table(
            ("without", "verdict", "the loop", "what one round costs"),
            [_attempt(each) for each in _attempts(told, edition, limits, assumptions)],
        )
    return text(lines)


_KEPT: dict[str, LimitValue] = {"override_kept": True}


def _attempts(
    told: Sequence[str],
    edition: str,
    limits: Mapping[str, LimitValue],
    assumptions: Sequence[str],
) -> tuple[Attempt, ...]:
    machine = SHIPPED["query_loop"]
    return smallest_spirals(
        lambda names: compile_table(
            ablate(machine, names), edition, limits, assumptions
        ),
        told,
    )


def _attempt(each: Attempt) -> tuple[str, ...]:
    names = ", ".join(map(code, each.names)) or "nothing"
    verdict = each.verdict
    if not each.spirals:
        bounds = verdict.bounds
        most = None if bounds is None else bounds.model_calls_between_progress
        return names, verdict.verdict.value, "", f"at most {most} calls"
    lasso = verdict.spirals[0]
    edited = {edit.row for name in each.names for edit in ABLATIONS[name].edits}
    story = [
        code(s.row.name)
        for s in lasso.loop
        if s.row.reason or s.row.name in edited or s.row.source == "call_model.request"
    ]
    costs = ", ".join(f"{n} {name}" for name, n in lasso.cost.items())
    return names, verdict.verdict.value, " → ".join(story), costs


def _picture(name: str, level: Level, *, nested: bool) -> Callable[[], bytes]:
    return lambda: render(SHIPPED[name], "svg", level=level, nested=nested)


def _spiral(
    name: str, edition: str, assumptions: Sequence[str] = ()
) -> Callable[[], bytes]:
    """Return the drawing of a machine with its first spiral."""

    def drawn() -> bytes:
        verdict = check(
            SHIPPED[name], edition=edition, assumptions=assumptions, laws=False
        )
        return _drawn(
            verdict.table, verdict.spirals[0], ", ".join((edition, *assumptions))
        )

    return drawn


def _drawn(drawn: Table, lasso: Lasso, setting: str) -> bytes:
    title = f"{setting}: a death spiral"
    return render(drawn, "svg", level="overview", overlay=overlay_of(lasso, title))


FILES: Mapping[str, Callable[[], bytes]] = {
    "ablations.md": ablations,
    "faults.md": catalogue,
    "faults-sdk.md": sdk,
    "findings.md": findings,
    "machines.md": machines,
    "matrix.md": matrix,
    "moves.md": moves,
    "counterexample-turnstile.svg": _spiral("turnstile", "unguarded"),
    "counterexample-stop-hook.svg": _spiral("query_loop", "published"),
    "counterexample-drain.svg": _spiral(
        "query_loop", "published", ["stop_hooks_accept_valid_answers"]
    ),
    **{
        f"machines/{name}.svg": _picture(
            name,
            "overview" if any(p.runs for p in SHIPPED[name].phases) else "policy",
            nested=False,
        )
        for name in SHIPPED
    },
    "machines/query_loop-policy.svg": _picture("query_loop", "policy", nested=False),
}


def main(words: Sequence[str]) -> None:
    """Write what was asked for."""
    if "--consoles" in words:
        for page in PAGES:
            page.write_text(refreshed(page), "utf-8")
        return
    folder = Path(words[0]) if words else GENERATED
    for name, made in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(made())


if __name__ == "__main__":
    main(sys.argv[1:])
