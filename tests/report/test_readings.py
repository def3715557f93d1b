"""Readings are compared in one table: what was changed, the answer, the lasso."""

from collections.abc import Mapping

import attrs

from unspiral.engine.check.verdict import Verdict
from unspiral.engine.core.declare import LimitValue
from unspiral.engine.core.language import UNLIMITED
from unspiral.engine.report.lines import plain
from unspiral.engine.report.readings import readings_lines, readings_object


@attrs.frozen
class Reading:
    changes: Mapping[str, LimitValue]
    verdict: Verdict


def test_the_table_has_a_line_a_choice(refuted: Verdict, proved: Verdict) -> None:
    results = [Reading({}, proved), Reading({"kept": False}, refuted)]

    lines = plain(readings_lines(results)).splitlines()

    assert lines[0] == (
        "blocked, edition published: 2 choices of readings, "
        "1 PROVED, 1 REFUTED (assumptions: none)"
    )
    assert lines[1:] == [
        "  PROVED   (the defaults)",
        "  REFUTED  kept = false",
        "             spiral through stop_hook_blocking (stem 32, loop 4)",
    ]


def test_no_readings_is_said() -> None:
    assert "no readings" in plain(readings_lines([]))


def test_the_object_is_the_default_verdict_with_the_others(
    refuted: Verdict, proved: Verdict
) -> None:
    results = [Reading({}, proved), Reading({"max_turns": UNLIMITED}, refuted)]

    told = readings_object(results)

    assert told["verdict"] == "PROVED"
    readings = told["readings"]
    assert isinstance(readings, list)
    assert readings[1]["changes"] == {"max_turns": "UNLIMITED"}
    assert readings[1]["verdict"]["verdict"] == "REFUTED"
