"""Mutants: each kind is made, killed by what is about it, or lives for a reason."""

from collections.abc import Iterator

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspiral.engine.check.judging import judged, small_limits
from unspiral.engine.check.mutants import Kind, Mutant, mutants_of
from unspiral.engine.check.mutate import Judge, Judgement
from unspiral.engine.check.verdict import Outcome
from unspiral.engine.core.declare import (
    Counter,
    Flag,
    Law,
    Limit,
    Machine,
    Phase,
    Terminal,
    Transition,
)
from unspiral.engine.core.nest import flatten
from unspiral.engine.core.settings import resolve
from unspiral.engine.fuzz import limits_for, machines
from unspiral.machines.query_loop import QUERY_LOOP
from unspiral.machines.tool_call import TOOL_CALL

GUARD = "tries < most and patient and unread == 0"
AGENT = Machine(
    name="agent",
    phases=(Phase("ask", ("done", "cut", "tool"), cost={"model_calls": 1}),),
    terminals=(Terminal("completed"), Terminal("gave_up", kind="limit")),
    memory=(
        Counter("tries", high="most"),
        Flag("once"),
        Counter("unread", high="1"),
    ),
    limits=(Limit("most", 3, values=(1, 3)), Limit("patient", default=True)),
    transitions=(
        Transition("ask", "completed", "done"),
        Transition(
            "ask",
            "ask",
            "cut",
            GUARD,
            "tries += 1; once = True",
            reason="again",
            name="again",
        ),
        Transition("ask", "gave_up", "cut", "otherwise"),
        Transition(
            "ask",
            "ask",
            "tool",
            "",
            "tries = 0",
            reason="turn",
            progress=True,
            name="turn",
        ),
    ),
    laws=(
        Law("cut_is_no_end", "absence", "event == 'cut' and target == 'completed'"),
        Law("again_is_told", "absence", "reason == 'again' and not after.once"),
    ),
)


def judgements(machine: Machine = AGENT) -> dict[str, Judgement]:
    judge = Judge(machine, None, {})
    found = judged(judge, mutants_of(judge.flat, judge.table.limits), jobs=1)
    return {each.mutant.name: each for each in found}


FOUND = judgements()


@pytest.mark.parametrize(
    ("start", "by", "how"),
    [
        ("guard dropped: again", "verdict", "out of range"),
        (f"condition dropped: again: {GUARD} => patient", "verdict", "out of range"),
        (f"comparison shifted: again: {GUARD} => tries <=", "verdict", "out of range"),
        (
            "assignment dropped: again: tries += 1",
            "verdict",
            "a death spiral through again",
        ),
        ("assignment dropped: again: once = True", "law", "again_is_told"),
        ("target changed: ask:cut#2: gave_up => ask", "verdict", "a death spiral"),
        ("progress moved: again: no progress => progress", "bounds", "model calls"),
        ("progress moved: turn: progress => no progress", "verdict", "a death spiral"),
        ("limit removed: limits: most = 3", "verdict", "a death spiral through again"),
        ("switch flipped: limits: patient = True", "bounds", "model calls"),
        ("reset added: again: nothing => unread = 0", "", "equivalent"),
        ("guard negated: again", "bounds", "model calls"),
    ],
)
def test_each_kind_is_killed_by_what_is_about_it(start: str, by: str, how: str) -> None:
    named = [each for name, each in FOUND.items() if name.startswith(start)]

    assert named
    assert all(each.killed_by == by for each in named)
    assert any(each.how.startswith(how) for each in named)


def test_a_guard_that_never_decides_is_dropped_without_a_difference() -> None:
    name = f"condition dropped: again: {GUARD} => tries < most and patient"

    assert FOUND[name].how == "equivalent"


def test_what_no_law_speaks_of_is_said_to_be_unobserved() -> None:
    silent = attrs.evolve(AGENT, laws=())
    found = judgements(silent)

    name = "assignment dropped: again: once = True => nothing"
    assert found[name].how == "unobserved"
    assert found["target changed: ask:done: completed => ask"].killed_by == "verdict"


def test_a_killed_mutant_shows_the_run() -> None:
    found = next(
        e for n, e in FOUND.items() if n.startswith("limit removed: limits: m")
    )

    assert found.loop
    assert set(found.loop) == {"ask: cut"}


def test_rows_that_the_limits_switch_off_are_said_to_be() -> None:
    judge = Judge(AGENT, None, {"patient": False})
    change = Mutant("assignment dropped", "again", "x", "y", {"action": "once = True"})

    assert judge.judge(change).how in {"equivalent", "switched off"}


def test_what_is_no_machine_is_killed_by_the_finding() -> None:
    judge = Judge(AGENT, None, {})
    change = Mutant("guard dropped", "again", "x", "y", {"guard": "tires < most"})

    found = judge.judge(change)

    assert found.killed_by == "finding"
    assert "did you mean 'tries'" in found.how


def kinds_of(machine: Machine, edition: str | None = None) -> set[Kind]:
    flat = flatten(machine)
    return {each.kind for each in mutants_of(flat, resolve(machine, edition, {}))}


def test_of_the_query_loop_there_is_every_kind() -> None:
    found = mutants_of(flatten(QUERY_LOOP), resolve(QUERY_LOOP, "hardened", {}))

    assert len(kinds_of(QUERY_LOOP, "hardened")) == 11
    assert len({each.name for each in found}) == len(found)
    assert len(found) > 700


def test_mutants_are_the_same_each_time() -> None:
    flat, limits = flatten(TOOL_CALL), resolve(TOOL_CALL, None, {})

    assert mutants_of(flat, limits) == mutants_of(flat, limits)


def test_several_processes_say_what_one_says() -> None:
    judge = Judge(AGENT, None, {})
    mutants = mutants_of(judge.flat, judge.table.limits)

    assert list(judged(judge, mutants, jobs=2)) == list(judged(judge, mutants, jobs=1))


def test_small_limits_keep_what_was_chosen_and_the_verdict() -> None:
    small = small_limits(QUERY_LOOP, "hardened", {"max_retries": 4})

    assert small["max_retries"] == 4
    assert small["recovery_budget"] == 2
    assert "escalated_output" not in small
    small["max_retries"] = 0
    assert Judge(QUERY_LOOP, "hardened", small).verdict.verdict is Outcome.PROVED


@settings(max_examples=15)
@given(machines(), st.data())
def test_the_mutants_of_any_machine_are_judged(
    machine: Machine, data: st.DataObject
) -> None:
    judge = Judge(machine, None, data.draw(limits_for(machine)))
    for mutant in _some(mutants_of(judge.flat, judge.table.limits)):
        found = judge.judge(mutant)
        assert found.lives == (found.killed_by == "")
        assert found.how


def _some(mutants: tuple[Mutant, ...]) -> Iterator[Mutant]:
    """Every seventh, so that all kinds come in turn."""
    yield from mutants[::7]
