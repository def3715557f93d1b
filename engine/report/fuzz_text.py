"""A fuzzing campaign as text and as an object: failures first, then the coverage.

Of each failure: the run that shows it, the command that plays it again, and a test
for pytest, ready to be kept.
"""

from collections.abc import Iterable, Sequence

import attrs

from unspiral.engine.check.verdict import Lasso
from unspiral.engine.core.points import Point
from unspiral.engine.core.table import Table
from unspiral.engine.fuzz.campaign import Campaign
from unspiral.engine.fuzz.finding import Finding
from unspiral.engine.fuzz.walk import Walk
from unspiral.engine.report.fuzz_again import Origin, pytest_source
from unspiral.engine.report.lines import Line, clean, columns
from unspiral.engine.report.objects import lasso_object, limits_object
from unspiral.engine.report.story import ending_lines, story_lines

__all__ = ["campaign_lines", "campaign_object", "failure_object", "replay_lines"]

_ENDS_BADLY = {"stuck", "range", "deadlock", "endless"}


def campaign_lines(campaign: Campaign, origin: Origin) -> list[Line]:
    """Return the whole report of a campaign."""
    lines = _head(campaign)
    for number, finding in enumerate(campaign.findings, 1):
        lines += [Line(), *_failure(campaign, origin, finding, number)]
    lines += [Line(), *_coverage(campaign)]
    return lines


def replay_lines(
    table: Table, origin: Origin, findings: Sequence[Finding], walk: Walk
) -> list[Line]:
    """Return the report of one schedule that was played."""
    if not findings:
        end = f"it stands in {walk.here.phase}" if walk.options else walk.here.phase
        head = Line(f"nothing is wrong with this run; {clean(end)}", "good")
        return [head, *story_lines(table, Lasso(tuple(walk.steps)))]
    lines: list[Line] = []
    for finding in findings:
        lines += [Line()] if lines else []
        lines += [Line(clean(finding.failure), "bad"), *_story(table, finding)]
        lines += _test(table, origin, finding)
    return lines


def _head(campaign: Campaign) -> list[Line]:
    table = campaign.table
    edition = f", edition {clean(table.edition)}" if table.edition else ""
    count = len(campaign.findings)
    said = f"{count} FAILURE{'' if count == 1 else 'S'}" if count else "NO FAILURE"
    text = (
        f"{said}: {clean(table.machine.name)}{edition} ({campaign.runs:,} runs, "
        f"{campaign.steps:,} steps, seed {campaign.seed}, {campaign.seconds:.3f} s)"
    )
    lines = [Line(text, "bad" if count else "good", whole=True)]
    if campaign.stopped:
        lines.append(Line(f"ended by {campaign.stopped}, not all runs made", indent=2))
    return lines


def _failure(
    campaign: Campaign, origin: Origin, finding: Finding, number: int
) -> list[Line]:
    failure = finding.failure
    of = f"FAILURE {number} of {len(campaign.findings)}"
    loop = f", the last {failure.loop} a loop" if failure.loop else ""
    many = f"{failure.steps:,} step{'' if failure.steps == 1 else 's'}"
    found = f"first in run {finding.first:,}; here in {many}{loop}"
    return [
        Line(f"{of}: {clean(failure)}", "bad"),
        Line(found, "dim", 2),
        *_story(campaign.table, finding),
        *_test(campaign.table, origin, finding),
    ]


def _lasso(table: Table, finding: Finding) -> Lasso:
    failure = finding.failure
    steps = tuple(Walk.along(table, finding.events).steps[: failure.steps])
    at = len(steps) - failure.loop
    return Lasso(steps[:at], steps[at:]) if failure.loop else Lasso(steps)


def _story(table: Table, finding: Finding) -> list[Line]:
    lasso = _lasso(table, finding)
    lines = story_lines(table, lasso)
    if finding.failure.kind in _ENDS_BADLY:
        lines += ending_lines(table, lasso)
    return lines


def _test(table: Table, origin: Origin, finding: Finding) -> list[Line]:
    replay = origin.command("--replay", ",".join(finding.events))
    return [
        Line("played again by", "dim", 2),
        Line(clean(replay, 100_000), indent=4, whole=True),
        Line("as a test", "dim", 2),
        *(
            Line(text, indent=4, whole=True)
            for text in pytest_source(table, origin, finding).splitlines()
        ),
    ]


# -- coverage --------------------------------------------------------------------------


def _coverage(campaign: Campaign) -> list[Line]:
    reachable = len(campaign.reach.runs)
    said = (
        f"coverage {campaign.share:.1%}: {campaign.covered:,} of {reachable:,} guard "
        "verdicts that the explorer says can be reached"
    )
    rows = [(phase, f"{shown:,}", f"{of:,}") for phase, shown, of in by_phase(campaign)]
    lines = [
        Line(said, "head", whole=True),
        *(
            Line(text, "dim" if not number else "", 2, whole=True)
            for number, text in enumerate(
                columns([("phase", "shown", "of"), *map(_cleaned, rows)])
            )
        ),
    ]
    lines += _points("not shown", campaign.missed)
    unknown = campaign.reach.unknown
    if unknown:
        lines += _points(f"not known ({clean(campaign.reach.cut)})", unknown)
    return lines


def _cleaned(row: Iterable[str]) -> tuple[str, ...]:
    return tuple(clean(cell) for cell in row)


def _points(head: str, points: tuple[Point, ...]) -> list[Line]:
    if not points:
        return []
    return [Line(f"{head}:", indent=2), *(Line(clean(p), indent=4) for p in points)]


def by_phase(campaign: Campaign) -> list[tuple[str, int, int]]:
    """Return per phase how many of its points were shown, of how many reachable."""
    rows = campaign.table.row_names
    counts: dict[str, list[int]] = {}
    for point in campaign.reach.runs:
        counted = counts.setdefault(rows[point.row].source, [0, 0])
        counted[0] += point in campaign.shown
        counted[1] += 1
    order = [phase for phase in campaign.table.phases if phase in counts]
    return [(phase, counts[phase][0], counts[phase][1]) for phase in order]


# -- an object -------------------------------------------------------------------------


def campaign_object(campaign: Campaign, origin: Origin) -> dict[str, object]:
    """Return a campaign as an object of plain JSON values."""
    return {
        "format": 1,
        "machine": campaign.table.machine.name,
        "edition": campaign.table.edition,
        "limits": limits_object(campaign.table.limits),
        "assumptions": list(campaign.table.assumptions),
        "seed": campaign.seed,
        "runs": campaign.runs,
        "steps": campaign.steps,
        "seconds": round(campaign.seconds, 6),
        "stopped": campaign.stopped or None,
        "failures": [
            failure_object(campaign.table, origin, each) for each in campaign.findings
        ],
        "coverage": {
            "shown": campaign.covered,
            "reachable": len(campaign.reach.runs),
            "share": round(campaign.share, 6),
            "phases": [
                {"phase": phase, "shown": shown, "reachable": of}
                for phase, shown, of in by_phase(campaign)
            ],
            "not_shown": [_point(point) for point in campaign.missed],
            "not_known": [_point(point) for point in campaign.reach.unknown],
        },
    }


def failure_object(table: Table, origin: Origin, finding: Finding) -> dict[str, object]:
    """Return a failure as an object: what, the run, how to play it, a test."""
    failure = finding.failure
    return {
        "kind": failure.kind,
        "subject": failure.subject,
        "text": str(failure),
        "first": finding.first,
        "events": list(finding.events),
        "trace": lasso_object(table, _lasso(table, finding)),
        "replay": origin.command("--replay", ",".join(finding.events)),
        "test": pytest_source(table, origin, finding),
    }


def _point(point: Point) -> dict[str, object]:
    return attrs.asdict(point)
