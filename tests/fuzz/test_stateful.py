"""A state machine of Hypothesis is made from any declaration, and finds failures."""

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.fuzz.loops import DUTY, SILENT, SOUND, SPIRAL, STUCK, UNGUARDED
from tests.fuzz.stateful_campaign import generated, passes
from unspiral.engine.check import check
from unspiral.engine.core.declare import Machine, Phase, Terminal
from unspiral.engine.core.table import compile_table
from unspiral.engine.errors import UnknownName
from unspiral.engine.fuzz import Found, Subject, stateful
from unspiral.machines import load, names

SOME = settings(
    max_examples=60, deadline=None, database=None, derandomize=True, print_blob=False
)

TestSound = stateful(SOUND).TestCase
TestSound.settings = SOME


def found_in(subject: Subject, *, deep: bool = True) -> Found:
    with pytest.raises(Found) as caught:
        run_state_machine_as_test(stateful(subject, deep=deep), settings=SOME)
    return caught.value


@pytest.mark.parametrize(
    ("machine", "kind", "events"),
    [
        (UNGUARDED, "range", "fail fail fail"),
        (STUCK, "stuck", "fail fail fail"),
        (SILENT, "deadlock", "use done use done use"),
        (SPIRAL, "spiral", "fail"),
        (DUTY, "law", "promise stop"),
    ],
)
def test_a_failure_is_printed_as_the_shortest_answers_to_it(
    machine: Machine, kind: str, events: str
) -> None:
    found = found_in(machine, deep=False)
    story = [line for line in found.__notes__ if line.startswith("state.answer_")]

    assert found.failure.kind == kind
    assert len(story) == len(events.split())


def test_what_is_not_asked_for_is_not_required() -> None:
    run_state_machine_as_test(stateful(DUTY, laws=()), settings=SOME)
    run_state_machine_as_test(stateful(SPIRAL, spirals=False, laws=()), settings=SOME)
    with pytest.raises(UnknownName, match="did you mean 'promises'"):
        stateful(DUTY, laws=["promise"])


def test_there_is_one_rule_for_each_event_of_the_machine() -> None:
    made = stateful(compile_table(load("turnstile")))

    assert {name for name in vars(made) if name.startswith("answer_")} == {
        "answer_coin",
        "answer_push",
        "answer_close",
    }
    assert made.__name__ == "TurnstileRuns"


def test_a_machine_at_fault_from_the_start_is_found() -> None:
    lost = Machine("lost", (Phase("choose"),), (Terminal("end"),), ())

    assert found_in(lost).failure.kind == "stuck"


@pytest.mark.parametrize("name", names())
def test_every_shipped_machine_passes(name: str) -> None:
    """The loops in their hardened edition; all editions: `stateful_campaign`."""
    machine = load(name)
    loop = "loop" in name
    table = compile_table(machine, machine.editions[-1].name if loop else None)

    few = settings(SOME, max_examples=20 if loop else 60)
    run_state_machine_as_test(stateful(table, deep=not loop), settings=few)


def test_generated_machines_pass_as_far_as_the_checker_proves_them() -> None:
    """Some of the 500 of `stateful_campaign`."""
    verdicts = [check(machine) for machine in generated(16)]

    assert [found for each in verdicts if (found := passes(each, 8)) is not None] == []
    assert {each.verdict.value for each in verdicts} == {"PROVED", "REFUTED"}
