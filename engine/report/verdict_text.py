"""A verdict as lines of text: the answer first, then what it rests on and what follows.

It reads the values of `check.verdict` and decides nothing itself.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby

from unspiral.engine.check.verdict import Lasso, LawVerdict, Outcome, Verdict
from unspiral.engine.core.declare import Assumption, limit_text
from unspiral.engine.report.advice import advice
from unspiral.engine.report.lines import Line, Role, clean, columns
from unspiral.engine.report.story import cost_text, ending_lines, story_lines

__all__ = ["headline", "outcome_role", "verdict_lines"]

_ROLES: dict[Outcome, Role] = {
    Outcome.PROVED: "good",
    Outcome.REFUTED: "bad",
    Outcome.UNDETERMINED: "open",
}


def outcome_role(outcome: Outcome) -> Role:
    """Return the role, and so the colour, of an answer."""
    return _ROLES[outcome]


def headline(verdict: Verdict) -> str:
    """Return the answer in one line: machine, edition, basis, numbers, time."""
    table = verdict.table
    edition = f", edition {clean(table.edition)}" if table.edition else ""
    return (
        f"{verdict.verdict.value}: {clean(table.machine.name)}{edition} "
        f"({clean(verdict.basis)}; {verdict.states:,} states, "
        f"{verdict.transitions:,} transitions, {verdict.seconds:.3f} s)"
    )


def verdict_lines(verdict: Verdict) -> list[Line]:
    """Return the whole report of one verdict."""
    blocks = [
        _answer(verdict),
        *_stories(verdict, "SPIRAL", verdict.spirals, "bad"),
        *_faults(verdict, "DEADLOCK", verdict.deadlocks),
        *_faults(verdict, "OUT OF RANGE", verdict.out_of_range),
        *_stories(verdict, "OPEN-ENDED", verdict.open_ended, "open"),
        _laws(verdict),
        *_broken_laws(verdict),
        _bounds(verdict),
        _assumptions(verdict),
        _findings(verdict),
        _certificate(verdict),
        _list("Notes", verdict.notes),
        _list("What to try next", advice(verdict)),
    ]
    lines: list[Line] = []
    for block in blocks:
        if block:
            lines += [*([Line()] if lines else []), *block]
    return lines


def _answer(verdict: Verdict) -> list[Line]:
    lines = [Line(headline(verdict), outcome_role(verdict.verdict), whole=True)]
    lines.append(Line(_meaning(verdict), indent=2, hang=0))
    changed = _set_limits(verdict)
    if changed:
        lines.append(Line(f"limits: {changed}", indent=2))
    return lines


def _meaning(verdict: Verdict) -> str:
    match verdict.verdict:
        case Outcome.PROVED:
            said = (
                "No reachable cycle costs and makes no progress; no run is stuck; no "
                "counter leaves its domain."
            )
        case Outcome.UNDETERMINED:
            said = "The search was cut, so this is no pass."
        case Outcome.REFUTED:
            found = (
                _count(len(verdict.spirals), "death spiral"),
                _count(len(verdict.deadlocks), "deadlock"),
                _count(len(verdict.out_of_range), "range violation"),
            )
            named = ", ".join(part for part in found if part)
            said = f"Found: {named or 'a counterexample'}."
    broken = [law for law in verdict.laws if law.verdict is Outcome.REFUTED]
    return said + (f" {_count(len(broken), 'law')} REFUTED." if broken else "")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}" if number else ""


def _set_limits(verdict: Verdict) -> str:
    """Return the limits that are not at their defaults."""
    values = verdict.table.limits
    declared = verdict.table.machine.all_limits
    return ", ".join(
        f"{clean(each.name)} = {clean(limit_text(values[each.name]))}"
        for each in declared
        if each.name in values and values[each.name] != each.default
    )


def _stories(
    verdict: Verdict, kind: str, lassos: Sequence[Lasso], role: Role
) -> list[list[Line]]:
    return [
        [
            Line(f"{kind} {number} of {len(lassos)}{_what(lasso)}", role),
            *story_lines(verdict.table, lasso),
        ]
        for number, lasso in enumerate(lassos, 1)
    ]


def _faults(verdict: Verdict, kind: str, lassos: Sequence[Lasso]) -> list[list[Line]]:
    stories = _stories(verdict, kind, lassos, "bad")
    return [
        [*story, *ending_lines(verdict.table, lasso)]
        for story, lasso in zip(stories, lassos, strict=True)
    ]


def _what(lasso: Lasso) -> str:
    parts: list[str] = []
    reasons = tuple(dict.fromkeys(lasso.reasons)) if lasso.loop else ()
    if reasons:
        parts.append("through " + ", ".join(clean(reason) for reason in reasons))
    cost = cost_text({k: v for k, v in lasso.cost.items() if v})
    if cost:
        parts.append(f"{'one round' if lasso.loop else 'it'} costs {cost}")
    stem, loop = len(lasso.stem), len(lasso.loop)
    length = f"{stem} step{'' if stem == 1 else 's'}"
    parts.append(f"stem {stem}, loop {loop}" if loop else length)
    return ": " + "; ".join(parts)


def _laws(verdict: Verdict) -> list[Line]:
    if not verdict.laws:
        return []
    docs = {law.name: law.doc for law in verdict.table.machine.laws}
    cells = [
        (law.verdict.value, clean(law.name), clean(docs.get(law.name, "")))
        for law in verdict.laws
    ]
    hang = len(columns([(a, b, "|") for a, b, _ in cells])[0]) - 1
    roles: list[Role] = [_law_role(law) for law in verdict.laws]
    lines = [Line("Laws", "head")]
    for text, role in zip(columns(cells), roles, strict=True):
        lines.append(Line(text, role, 2, hang))
    return lines


def _law_role(law: LawVerdict) -> Role:
    return "" if law.verdict is Outcome.PROVED else outcome_role(law.verdict)


def _broken_laws(verdict: Verdict) -> list[list[Line]]:
    return [
        [
            Line(f"BROKEN LAW {clean(law.name)}{_what(law.counterexample)}", "bad"),
            *story_lines(verdict.table, law.counterexample),
        ]
        for law in verdict.laws
        if law.counterexample is not None
    ]


def _bounds(verdict: Verdict) -> list[Line]:
    bounds = verdict.bounds
    if bounds is None:
        return []
    per_run = _number(bounds.model_calls_per_run)
    if bounds.formula:
        equals = "" if bounds.model_calls_per_run is None else "= "
        per_run += f" ({equals}{clean(bounds.formula)})"
    cells = [
        ("model calls between progress", _number(bounds.model_calls_between_progress)),
        ("model calls of a whole run", per_run),
    ]
    cells += [
        (f"continues by {clean(reason)} between progress", _number(most))
        for reason, most in bounds.per_reason.items()
    ]
    rows = [Line(text, indent=2) for text in columns(cells)]
    if bounds.witness is not None:
        rows.append(Line(f"attained by {_attained(bounds.witness)}", "dim", 2))
    return [Line("Bounds (worst cases)", "head"), *rows]


def _attained(witness: Lasso) -> str:
    """Return a long run in short: its steps, and its continues counted in turn."""
    steps = (*witness.stem, *witness.loop)
    reasons = [step.row.reason for step in steps if step.row.reason]
    groups = [(clean(name), len(list(same))) for name, same in groupby(reasons)]
    told = ", ".join(name if n == 1 else f"{n} x {name}" for name, n in groups)
    return f"a run of {len(steps):,} steps: {told or 'no continue'}"


def _number(most: int | None) -> str:
    return "unbounded" if most is None else f"{most:,}"


def _assumptions(verdict: Verdict) -> list[Line]:
    used = verdict.table.assumptions
    if not used:
        return [Line("Assumptions used: none", "head")]
    declared = {each.name: each for each in verdict.table.machine.assumptions}
    lines = [Line(f"Assumptions used: {len(used)}", "head")]
    return lines + [Line(_assumed(each, declared.get(each)), indent=2) for each in used]


def _assumed(name: str, assumption: Assumption | None) -> str:
    if assumption is None:
        return clean(name)
    when = f" while {clean(assumption.when)}" if assumption.when else ""
    often = clean(assumption.at_most)
    count = "never" if often == "0" else f"at most {often} times between progress"
    rule = f"{clean(assumption.phase)} answers {clean(assumption.event)} {count}{when}"
    doc = f" ({clean(assumption.doc)})" if assumption.doc else ""
    return f"{clean(name)}: {rule}{doc}"


def _findings(verdict: Verdict) -> list[Line]:
    if not verdict.findings:
        return []
    lines = [Line("Findings", "head")]
    for each in verdict.findings:
        lines.append(Line(f"{clean(each.code)}: {clean(each.place)}", "open", 2))
        lines.append(Line(clean(each.problem), indent=4))
        if each.cause:
            lines.append(Line(f"cause: {clean(each.cause)}", indent=4))
        if each.fix:
            lines.append(Line(f"fix: {clean(each.fix)}", indent=4))
    return lines


def _certificate(verdict: Verdict) -> list[Line]:
    certificate = verdict.certificate
    if certificate is None:
        return []
    count = len(certificate.terms)
    lowered = len([at for at in certificate.rows.values() if 0 <= at < count])
    idle = len([at for at in certificate.rows.values() if at == count])
    lines = [
        Line("Certificate", "head"),
        Line(
            f"Each of {lowered} rows without progress lowers one of these and raises "
            "none before it:",
            indent=2,
            hang=0,
        ),
    ]
    for number, term in enumerate(certificate.terms, 1):
        lines.append(Line(f"{number:>3}. {clean(term)}", indent=2, hang=5))
    if idle:
        said = f"Rows that cost nothing and raise none of these: {idle}"
        lines.append(Line(said, indent=2))
    return lines


def _list(title: str, items: Iterable[str]) -> list[Line]:
    lines = [Line(f"- {clean(item)}", indent=2) for item in items]
    return [Line(title, "head"), *lines] if lines else []
