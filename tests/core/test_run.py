"""A run says what comes next, changes nothing when refused, and survives JSON."""

import json
from collections.abc import Callable
from copy import deepcopy
from typing import cast

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspiral.engine import fuzz
from unspiral.engine.core.declare import (
    Counter,
    Limit,
    Machine,
    Phase,
    Terminal,
    Transition,
)
from unspiral.engine.core.environments import Random
from unspiral.engine.core.language import UNLIMITED
from unspiral.engine.core.library import Driver
from unspiral.engine.core.run import Refusal, Run, start
from unspiral.engine.core.step import Snapshot, memory_of, step
from unspiral.engine.errors import (
    EndlessDecision,
    IllegalEvent,
    OutOfRange,
    TraceError,
    UnknownName,
)

Change = Callable[[dict[str, object]], object]
ONE = cast("dict[str, object]", {7: 7})  # JSON has none, other callers may


def inner(snapshot: dict[str, object], key: str) -> dict[str, object]:
    return cast("dict[str, object]", snapshot[key])


def test_a_run_starts_in_the_first_acting_phase(loop: Machine) -> None:
    run = start(loop)

    assert run.phase == "call.ask"
    assert run.decision.phase == "call.ask"
    assert run.decision.steps == ()
    assert run.allowed == ("good", "busy", "broken")
    assert not run.finished


def test_a_machine_starts_its_own_run_with_limits(loop: Machine) -> None:
    run = loop.start({"max_turns": 1})
    run.send("good")

    assert run.send("done").terminal == "too_long"


def test_a_decision_tells_what_is_next_and_why(loop: Machine) -> None:
    run = start(loop)
    run.send("good")

    decision = run.send("done")

    assert decision.phase == "call.ask"
    assert decision.reason == "next_turn"
    assert decision.terminal is None
    assert [each.row.name for each in decision.steps] == ["tools:done#1"]
    assert decision.why_not == ()
    assert decision.allowed == ("good", "busy", "broken")


def test_deciding_phases_are_passed_in_one_send(loop: Machine) -> None:
    run = start(loop)
    run.send("busy")
    run.send("busy")

    decision = run.send("busy")

    assert [each.before.phase for each in decision.steps] == [
        "call.ask",
        "call.judge",
        "call.gave_up",
        "recover",
    ]
    assert decision.reason == "recovered"
    assert decision.why_not == (Refusal("call.judge#1", "call.ask", "call.tries < 2"),)
    assert str(decision.why_not[0]) == (
        "not call.judge#1 -> call.ask: call.tries < 2 is false"
    )


def test_the_end_has_a_terminal_and_no_phase(loop: Machine) -> None:
    run = start(loop, {"max_tries": 0, "patient": False})

    decision = run.send("busy")

    assert (decision.phase, decision.terminal) == (None, "failed")
    assert (run.phase, run.finished, run.allowed) == ("failed", True, ())
    with pytest.raises(IllegalEvent, match="the run has ended in 'failed'"):
        run.send("busy")


@pytest.mark.parametrize("event", ["god", "", "stop", None, 7, ["good"], "x" * 10**6])
def test_an_illegal_event_changes_nothing(loop: Machine, event: object) -> None:
    run = start(loop)
    before, decision = run.snapshot(), run.decision

    with pytest.raises(IllegalEvent) as caught:
        run.send(event)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] - callers may be untyped

    assert caught.value.allowed == ("good", "busy", "broken")
    assert len(str(caught.value)) < 400
    assert run.snapshot() == before
    assert run.decision is decision


def test_an_event_that_is_not_available_now_is_illegal(loop: Machine) -> None:
    run = start(loop)
    run.send("good")

    with pytest.raises(IllegalEvent, match="takes no event 'stop' now"):
        run.send("stop")


def test_a_run_may_begin_with_a_decision() -> None:
    machine = Machine(
        "chooser",
        phases=(Phase("choose"), Phase("work", ("ok",))),
        terminals=(Terminal("done"),),
        limits=(Limit("lazy", default=False),),
        transitions=(
            Transition("choose", "done", guard="lazy"),
            Transition("choose", "work", guard="otherwise"),
            Transition("work", "done", "ok"),
        ),
    )

    assert start(machine).phase == "work"
    assert start(machine, {"lazy": True}).decision.terminal == "done"


def test_deciding_without_end_is_an_error_of_the_machine() -> None:
    machine = Machine(
        "dizzy",
        phases=(Phase("work", ("ok",)), Phase("left"), Phase("right")),
        terminals=(Terminal("done"),),
        transitions=(
            Transition("work", "left", "ok"),
            Transition("left", "right"),
            Transition("right", "left"),
        ),
    )
    run = start(machine)

    with pytest.raises(EndlessDecision) as caught:
        run.send("ok")

    assert caught.value.phase == "left"
    assert run.phase == "work"


def test_a_fault_of_the_machine_leaves_the_run_where_it_was() -> None:
    machine = Machine(
        "leaky",
        phases=(Phase("work", ("ok",)), Phase("count")),
        terminals=(Terminal("done"),),
        memory=(Counter("n", "1"),),
        transitions=(
            Transition("work", "count", "ok", action="n += 1"),
            Transition("count", "done", action="n += 1"),
        ),
    )
    run = start(machine)

    with pytest.raises(OutOfRange):
        run.send("ok")

    assert (run.phase, run.memory) == ("work", {"n": 0})


def test_unknown_editions_and_limits_are_refused(loop: Machine) -> None:
    with pytest.raises(UnknownName, match="did you mean 'max_turns'"):
        start(loop, {"max_turn": 3})
    with pytest.raises(UnknownName, match="edition"):
        start(loop, edition="first")


def test_a_snapshot_is_plain_and_says_of_which_run_it_is(loop: Machine) -> None:
    run = start(loop, {"max_turns": UNLIMITED})
    run.send("busy")

    snapshot = json.loads(json.dumps(run.snapshot()))

    assert snapshot["machine"] == "loop"
    assert snapshot["limits"] == {
        "max_turns": "UNLIMITED",
        "patient": True,
        "max_tries": 2,
    }
    assert snapshot["phase"] == "call.ask"
    assert snapshot["memory"] == {
        "turn": 1,
        "fragile": False,
        "last": "none",
        "recoveries": 0,
        "call.tries": 1,
    }
    assert Run.resume(loop, snapshot).snapshot() == snapshot


def test_a_finished_run_can_be_resumed(loop: Machine) -> None:
    run = start(loop, {"max_tries": 0, "patient": False})
    run.send("busy")

    again = Run.resume(loop, run.snapshot())

    assert (again.finished, again.decision.terminal) == (True, "failed")


TAMPERED: list[tuple[str, Change]] = [
    ("'format'|format", lambda s: s.pop("format")),
    ("version 1", lambda s: s.update(version=2)),
    ("version 1", lambda s: s.update(version=True)),
    ("'phase' is missing", lambda s: s.pop("phase")),
    ("unknown key 'phases'.*'phase'", lambda s: s.update(phases=1)),
    ("is no string", lambda s: s.update(ONE)),
    ("machine 'other', not of 'loop'", lambda s: s.update(machine="other")),
    ("machine 7, not of 'loop'", lambda s: s.update(machine=7)),
    ("no edition 'new'", lambda s: s.update(edition="new")),
    ("edition 7 must be", lambda s: s.update(edition=7)),
    ("another version of machine", lambda s: s.update(digest="0" * 64)),
    ("another version of machine", lambda s: inner(s, "limits").update(max_turns=5)),
    ("limit 'max_turns'", lambda s: inner(s, "limits").update(max_turns=-1)),
    ("limit 'max_turns'", lambda s: inner(s, "limits").update(max_turns=2.0)),
    ("limit 'max_turns'", lambda s: inner(s, "limits").update(max_turns=True)),
    ("no limit 'most'", lambda s: inner(s, "limits").update(most=1)),
    ("is no string", lambda s: inner(s, "limits").update(ONE)),
    ("limits must be", lambda s: s.update(limits=[])),
    ("assumptions must be", lambda s: s.update(assumptions={})),
    ("no assumption", lambda s: s.update(assumptions=["luck"])),
    ("unknown phase 'call'", lambda s: s.update(phase="call")),
    ("unknown phase None", lambda s: s.update(phase=None)),
    ("unknown phase a list", lambda s: s.update(phase=["tools"])),
    ("'recover' decides", lambda s: s.update(phase="recover")),
    ("memory must be", lambda s: s.update(memory=[])),
    ("memory 'turn' is missing", lambda s: inner(s, "memory").pop("turn")),
    ("unknown memory 'turns'.*'turn'", lambda s: inner(s, "memory").update(turns=1)),
    ("'turn' cannot be 0.*in 1..4", lambda s: inner(s, "memory").update(turn=0)),
    ("'turn' cannot be 5", lambda s: inner(s, "memory").update(turn=5)),
    ("'turn' cannot be True", lambda s: inner(s, "memory").update(turn=True)),
    ("'turn' cannot be 1.0", lambda s: inner(s, "memory").update(turn=1.0)),
    ("'turn' cannot be a num", lambda s: inner(s, "memory").update(turn=10**9999)),
    ("'fragile' cannot be 1", lambda s: inner(s, "memory").update(fragile=1)),
    ("'last' cannot be 'luck'", lambda s: inner(s, "memory").update(last="luck")),
    ("'last' cannot be None", lambda s: inner(s, "memory").update(last=None)),
]


@pytest.mark.parametrize(("message", "change"), TAMPERED)
def test_a_tampered_snapshot_is_refused(
    loop: Machine, message: str, change: Change
) -> None:
    snapshot = deepcopy(start(loop).snapshot())
    change(snapshot)

    with pytest.raises(TraceError, match=message):
        Run.resume(loop, snapshot)


@pytest.mark.parametrize("snapshot", [None, [], "loop", 7, {}])
def test_what_is_no_snapshot_is_refused(loop: Machine, snapshot: object) -> None:
    with pytest.raises(TraceError):
        Run.resume(loop, snapshot)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] - callers may be untyped


def test_a_snapshot_of_a_changed_machine_is_refused(loop: Machine) -> None:
    changed = loop.amend("tools:done#1", guard="turn <= max_turns")

    with pytest.raises(TraceError, match="another version"):
        Run.resume(changed, start(loop).snapshot())


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(), each),
    max_leaves=5,
)


@given(value=json_values)
def test_no_value_of_any_key_gives_another_kind_of_error(
    loop: Machine, value: object
) -> None:
    good = start(loop).snapshot()
    for key in good:
        try:
            run = Run.resume(loop, {**good, key: value})
        except TraceError:
            continue
        assert run.snapshot() == good


@settings(max_examples=40)
@given(machine=fuzz.machines(), seed=st.integers(0, 2**32))
def test_a_run_survives_json_at_every_step_and_agrees_with_both_interpreters(
    machine: Machine, seed: int
) -> None:
    environment = Random(seed)
    run = start(machine)
    table = run.table
    driver = Driver(table, Snapshot(run.phase, tuple(run.memory.values())))
    for _ in range(8):
        if run.finished:
            break
        here = driver.snapshot
        event = environment.answer(table, here)
        decision = run.send(event)
        run = Run.resume(machine, json.loads(json.dumps(run.snapshot())))

        for taken in decision.steps:
            plain = step(table, here, taken.event)
            assert driver.send(taken.event) == plain
            assert (taken.row.name, *taken[:2]) == (plain.row.name, *plain[:2])
            assert taken.after == plain.after
            here = taken.after
        assert (run.phase, run.memory) == (here.phase, memory_of(table, here))
        assert run.allowed == decision.allowed
        assert run.table.digest == table.digest


def test_decisions_are_frozen(loop: Machine) -> None:
    decision = start(loop).decision

    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        decision.reason = "none"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue] - frozen
