"""The JSON object of a verdict holds the whole verdict, and only JSON."""

import json

import attrs

from unspiral.engine.check.verdict import Bounds, Outcome, Verdict
from unspiral.engine.report.objects import verdict_object

KEYS = {
    "format",
    "machine",
    "edition",
    "limits",
    "verdict",
    "passed",
    "basis",
    "states",
    "transitions",
    "seconds",
    "spirals",
    "open_ended",
    "deadlocks",
    "out_of_range",
    "laws",
    "findings",
    "bounds",
    "assumptions",
    "certificate",
    "notes",
}


def test_the_object_has_every_field_and_no_other(refuted: Verdict) -> None:
    assert verdict_object(refuted).keys() == KEYS


def test_the_object_survives_json(refuted: Verdict) -> None:
    told = verdict_object(refuted)

    assert json.loads(json.dumps(told, allow_nan=False)) == told


def test_an_unlimited_limit_is_a_word(refuted: Verdict) -> None:
    expected = {"cap": 8, "max_turns": "UNLIMITED", "kept": True}

    assert verdict_object(refuted)["limits"] == expected


def test_a_step_says_phase_event_reason_and_target(refuted: Verdict) -> None:
    told = json.loads(json.dumps(verdict_object(refuted)))

    loop = told["spirals"][0]["loop"]
    assert [(s["phase"], s["event"], s["reason"], s["target"]) for s in loop] == [
        ("shape", "fits", None, "call"),
        ("call", "answered", None, "hook"),
        ("hook", "block", None, "decide"),
        ("decide", None, "stop_hook_blocking", "shape"),
    ]
    assert loop[3]["refused"] == [{"row": "decide#1", "guard": "blocks >= 1000"}]
    assert loop[3]["memory"] == {"blocks": 8, "last": "stop_hook_blocking"}


def test_a_spiral_has_its_reasons_and_the_cost_of_a_round(refuted: Verdict) -> None:
    told = json.loads(json.dumps(verdict_object(refuted)))["spirals"][0]

    assert len(told["stem"]) == 32
    assert told["reasons"] == ["stop_hook_blocking"]
    assert told["cost"] == {"model_calls": 1}


def test_each_law_has_its_verdict_and_counterexample(refuted: Verdict) -> None:
    told = json.loads(json.dumps(verdict_object(refuted)))["laws"]

    assert [(law["name"], law["verdict"]) for law in told] == [
        ("blocks_end", "REFUTED"),
        ("starts", "PROVED"),
    ]
    assert told[0]["counterexample"]["loop"]
    assert told[1]["counterexample"] is None


def test_bounds_are_numbers_or_null(proved: Verdict) -> None:
    told = json.loads(json.dumps(verdict_object(proved)))["bounds"]

    assert told["known"] is True
    assert told["model_calls_between_progress"] == 9
    assert told["model_calls_per_run"] is None
    assert told["per_reason"] == {"stop_hook_blocking": 8, "next_turn": None}


def test_a_spiral_leaves_the_bounds_null_and_known(refuted: Verdict) -> None:
    told = json.loads(json.dumps(verdict_object(refuted)))["bounds"]

    assert (told["known"], told["model_calls_per_run"]) == (True, None)
    assert told["per_reason"] == {"stop_hook_blocking": None}


def test_a_cut_search_leaves_the_bounds_unknown(proved: Verdict) -> None:
    cut = attrs.evolve(proved, verdict=Outcome.UNDETERMINED, bounds=None)

    told = json.loads(json.dumps(verdict_object(cut)))["bounds"]

    assert (told["known"], told["model_calls_per_run"]) == (False, None)


def test_the_run_that_attains_a_bound_is_told(
    proved: Verdict, refuted: Verdict
) -> None:
    bounds = Bounds(9, 9, {}, witness=refuted.spirals[0])

    told = verdict_object(attrs.evolve(proved, bounds=bounds))

    witness = json.loads(json.dumps(told))["bounds"]["witness"]
    assert len(witness["stem"]) == 32


def test_seconds_are_the_only_thing_that_may_differ(refuted: Verdict) -> None:
    later = attrs.evolve(refuted, seconds=9.0)

    assert verdict_object(later) | {"seconds": 0} == verdict_object(refuted) | {
        "seconds": 0
    }
