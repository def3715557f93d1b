"""A run is judged at the step that shows what is wrong, and a sound one is not."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.loops import (
    DUTY,
    GREEDY,
    ROUND,
    SILENT,
    SOUND,
    SPIRAL,
    STUCK,
    UNGUARDED,
)
from unspiral.engine.check import check
from unspiral.engine.core.declare import Machine
from unspiral.engine.core.language import UNLIMITED
from unspiral.engine.core.laws import broken_laws
from unspiral.engine.core.library import Driver
from unspiral.engine.core.table import compile_table
from unspiral.engine.errors import UnknownName
from unspiral.engine.fuzz import (
    Rules,
    Walk,
    failures,
    failures_of,
    machines,
    schedules,
)


def told(machine: Machine, events: str) -> list[tuple[str, str, int, int]]:
    """What is wrong with a run: kind, subject, steps, loop."""
    found = failures_of(machine, events.split())
    return [(each.kind, each.subject, each.steps, each.loop) for each in found]


@pytest.mark.parametrize(
    "events",
    [
        "",
        "answer",
        "fail fail answer",
        "fail fail fail",
        "use done use done use done use done",
        "use done fail fail use done fail fail fail",
    ],
)
def test_nothing_is_wrong_with_a_sound_run(events: str) -> None:
    assert told(SOUND, events) == []


@pytest.mark.parametrize(
    ("machine", "events", "found"),
    [
        (UNGUARDED, "fail fail fail", [("range", "judge#1", 5, 0)]),
        (STUCK, "fail fail fail", [("stuck", "judge", 5, 0)]),
        (SILENT, "use done use done use", [("deadlock", "act", 5, 0)]),
        (ROUND, "yes", [("endless", "one", 3, 0)]),
        (SPIRAL, "fail", [("spiral", "retry", 2, 2)]),
        (
            SPIRAL,
            "fail fail",
            [("spiral", "retry", 2, 2), ("law", "retries_end", 3, 2)],
        ),
        (DUTY, "promise stop", [("law", "promises", 2, 0)]),
        (DUTY, "promise again", [("law", "promises", 2, 1)]),
        (DUTY, "promise keep again stop", []),
    ],
)
def test_each_kind_of_failure_is_told_with_its_subject(
    machine: Machine, events: str, found: list[tuple[str, str, int, int]]
) -> None:
    assert told(machine, events) == found


def test_a_law_that_forbids_is_broken_at_the_step_that_does_it() -> None:
    found = told(GREEDY, "fail fail fail")

    assert ("law", "few_retries", 6, 0) in found
    assert ("spiral", "retry", 4, 2) in found


def test_a_round_with_progress_is_no_spiral() -> None:
    table = compile_table(SOUND, limits={"turns_most": UNLIMITED})

    assert failures_of(table, ["use", "done"] * 3) == ()


def test_a_counter_without_end_hides_no_loop_that_breaks_a_law() -> None:
    table = compile_table(SOUND, limits={"turns_most": UNLIMITED})
    found = failures_of(table, ["use", "done", "fail"] * 2 + ["use", "done"])

    assert [(each.kind, each.subject) for each in found] == [("law", "retries_end")]


def test_only_the_named_laws_are_watched() -> None:
    assert failures_of(DUTY, ["promise", "stop"], laws=()) == ()
    with pytest.raises(UnknownName, match="did you mean 'promises'"):
        Rules(compile_table(DUTY), ("promise",))


def test_what_is_not_asked_for_is_not_judged() -> None:
    table = compile_table(SPIRAL)
    rules = Rules(table, (), spirals=False)

    assert failures(rules, Walk.along(table, ["fail", "fail"])) == ()


def test_a_step_that_the_other_interpreter_takes_otherwise_is_a_failure() -> None:
    table, other = compile_table(SOUND), compile_table(STUCK)
    Driver(other)  # it keeps the machine of `transitions` with its table
    table.compiled.update({k: v for k, v in other.compiled.items() if "driven" in k})

    found = failures_of(table, ["fail", "fail", "fail"])

    assert [each.kind for each in found] == ["driver"]
    assert failures(Rules(table, driver=False), Walk.along(table, ["fail"])) == ()


@settings(max_examples=35, deadline=None, derandomize=True)
@given(st.data())
def test_the_judge_agrees_with_the_laws_on_every_run(data: st.DataObject) -> None:
    table = compile_table(data.draw(machines(with_laws=True)))
    events = data.draw(schedules(table, deep=False))
    walk = Walk.along(table, events)
    rules = Rules(table, spirals=False)

    found = {f.subject: f for f in failures(rules, walk) if not f.loop}
    known = {each.law: each for each in broken_laws(walk.steps, table)}

    assert {each for each, f in found.items() if f.kind == "law"} <= known.keys()
    assert known.keys() <= {f.subject for f in failures(rules, walk)}
    for name, failure in found.items():
        assert min(known[name].index + 1, len(walk.steps)) == failure.steps


@settings(max_examples=35, deadline=None, derandomize=True)
@given(st.data())
def test_whatever_the_judge_finds_the_checker_refutes(data: st.DataObject) -> None:
    table = compile_table(data.draw(machines(with_laws=True)))
    events = data.draw(schedules(table))
    verdict = check(table.machine)
    refuted = {law.name for law in verdict.laws if law.verdict.value == "REFUTED"}

    for each in failures_of(table, events):
        assert each.kind in {"law", "spiral"}
        if each.kind == "law":
            assert each.subject in refuted
        else:
            assert verdict.spirals
