"""The machine of `transitions` takes the rows that `step` takes."""

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import attrs
import pytest
import transitions
from hypothesis import given
from hypothesis import strategies as st

from unspiral import machines
from unspiral.engine import fuzz
from unspiral.engine.core.declare import (
    Counter,
    Event,
    Machine,
    Phase,
    Terminal,
    Transition,
)
from unspiral.engine.core.environments import Random, Scripted
from unspiral.engine.core.library import (
    DECIDE,
    Driver,
    drive,
    graph_machine,
    transitions_machine,
)
from unspiral.engine.core.step import Snapshot, Step, initial_snapshot, step
from unspiral.engine.core.table import Table, compile_table
from unspiral.engine.errors import (
    Deadlock,
    IllegalEvent,
    OutOfRange,
    RunError,
    ScriptError,
    StuckError,
)

Walk = Callable[[Table], Iterator[Step]]


def small(**changes: str) -> Machine:
    """One phase that counts, with a fault to be put in."""
    return Machine(
        "small",
        phases=(Phase("work", (Event("go", changes.get("available", "")),)),),
        terminals=(Terminal("done"),),
        memory=(Counter("n", "2"),),
        transitions=(
            Transition("work", "work", "go", "n < 2", "n += 1", reason="again"),
            Transition(
                "work",
                "done",
                "go",
                changes.get("guard", "otherwise"),
                changes.get("action", ""),
            ),
        ),
    )


def outcome(send: Callable[[], Step]) -> Step | tuple[type[RunError], str]:
    """Return what a step gives: the step, or the error."""
    try:
        return send()
    except RunError as error:
        return type(error), str(error)


def test_both_interpreters_agree_on_every_reachable_edge(
    subject: Table, walk: Walk
) -> None:
    driver = Driver(subject)
    count = 0
    for taken in walk(subject):
        driver.model.state, driver.model.memory = taken.before

        assert driver.send(taken.event) == taken
        assert tuple(driver.model.asked) == taken.asked
        count += 1

    assert count >= len(subject.phases)


SWITCHES = [
    (name, edition.name, limit.name, value)
    for name in ("api_attempt", "query_loop", "tool_call")
    for edition in machines.load(name).editions[:1]
    for limit in machines.load(name).all_limits
    if isinstance(limit.default, bool | str)
    for value in limit.alternatives[1:]
]


def test_both_interpreters_agree_whatever_is_switched_on_or_off(
    walk: Walk, cut: Callable[..., Table]
) -> None:
    compared: set[str] = set()
    rows: set[str] = set()
    for name, edition, limit, value in SWITCHES:
        table = cut(machines.load(name), edition, {limit: value})
        driver = Driver(table)
        rows |= {f"{name} {row.name}" for row in table.rows}
        for taken in itertools.islice(walk(table), 1_000):
            driver.model.state, driver.model.memory = taken.before

            assert driver.send(taken.event) == taken
            compared.add(f"{name} {taken.row.name}")

    # What needs more turns than a short walk has: the rest of every machine is here.
    assert len(rows - compared) <= len(rows) // 10, sorted(rows - compared)


@given(table=fuzz.machines().map(compile_table), seed=st.integers(0, 2**32))
def test_both_interpreters_agree_on_generated_machines(table: Table, seed: int) -> None:
    environment = Random(seed)
    driver = Driver(table)
    here = initial_snapshot(table)
    for _ in range(50):
        if here.phase in table.terminals:
            break
        asks = bool(table.events[here.phase])
        event = environment.answer(table, here) if asks else None
        mine = outcome(partial(step, table, here, event))

        assert outcome(partial(driver.send, event)) == mine
        if not isinstance(mine, Step):
            break
        here = driver.snapshot


def test_every_row_is_a_transition_and_there_is_no_other(subject: Table) -> None:
    machine = transitions_machine(subject)

    found = [
        (name, made.source, made.dest)
        for name, event in machine.events.items()
        for rows in event.transitions.values()
        for made in rows
    ]

    wanted = [(row.event or DECIDE, row.source, row.target) for row in subject.rows]
    assert sorted(found) == sorted(wanted)
    assert set(machine.states) == {*subject.phases, *subject.terminals}
    assert {s.name for s in machine.states.values() if s.final} == subject.terminals


def test_the_machine_is_used_as_people_know_it(loop: Machine) -> None:
    machine = transitions_machine(compile_table(loop))
    model = machine.new_model()

    assert machine.events["good"].trigger(model)

    assert model.state == "tools"
    assert model.row is not None
    assert model.row.name == "call.ask:good"
    assert machine.get_triggers("tools") == ["done", "stop"]


def test_two_registered_models_run_apart(loop: Machine) -> None:
    machine = transitions_machine(compile_table(loop))
    one, two = machine.new_model(), machine.new_model()
    machine.add_model([one, two])

    machine.events["good"].trigger(one)

    assert machine.models == [one, two]
    assert (one.state, two.state) == ("tools", "call.ask")


def test_a_guard_shows_as_its_text_in_the_graph(loop: Machine) -> None:
    machine = graph_machine(compile_table(loop))

    source = machine.get_graph().source

    assert "call.judge" in source
    assert "call.tries < 2" in source
    assert "decide" in source


@pytest.mark.parametrize(
    ("changes", "events", "error"),
    [
        ({"available": "n < 1"}, ["go", "go"], IllegalEvent),
        ({"guard": "n == 7"}, ["go"] * 3, StuckError),
        ({"action": "n += 1"}, ["go"] * 3, OutOfRange),
        ({}, ["gone"], IllegalEvent),
        ({}, ["go"] * 4, IllegalEvent),
    ],
)
def test_a_refused_step_is_refused_alike_and_changes_nothing(
    changes: dict[str, str], events: list[str], error: type[RunError]
) -> None:
    table = compile_table(small(**changes))
    driver = Driver(table)
    for event in events[:-1]:
        driver.send(event)
    here = driver.snapshot

    mine = outcome(lambda: step(table, here, events[-1]))

    assert outcome(lambda: driver.send(events[-1])) == mine
    assert mine[0] is error
    assert driver.snapshot == here


def test_driving_a_script_gives_the_trace_of_its_events(loop: Machine) -> None:
    table = compile_table(loop)

    trace = drive(table, Scripted(["good", "done", "busy", "good", "stop"]))

    assert trace.terminal == "completed"
    assert trace.reasons == ("next_turn", "again")
    assert trace.cost == {"tool_runs": 2, "model_calls": 1}
    assert [each.event for each in trace.steps if each.event] == [
        "good",
        "done",
        "busy",
        "good",
        "stop",
    ]


def test_a_run_without_end_is_left_after_the_most_steps(loop: Machine) -> None:
    trace = drive(compile_table(loop), Random(1), max_steps=3)

    assert len(trace.steps) == 3
    assert trace.terminal == ""


def test_a_script_at_its_end_says_what_could_follow(loop: Machine) -> None:
    with pytest.raises(ScriptError) as caught:
        drive(compile_table(loop), Scripted(["good"]))

    assert attrs.astuple(caught.value) == ("loop", 1, "tools", "", ("done",))
    assert "go on with one of: done" in str(caught.value)


def test_a_wrong_event_in_a_script_names_its_place_and_the_nearest(
    loop: Machine,
) -> None:
    with pytest.raises(ScriptError, match=r"number 2 .* did you mean 'done'") as caught:
        drive(compile_table(loop), Scripted(["good", "dones"]))

    assert (caught.value.position, caught.value.event) == (1, "dones")


def test_equal_seeds_give_equal_runs_and_other_seeds_others(loop: Machine) -> None:
    table = compile_table(loop)
    runs = [drive(table, Random(seed)).steps for seed in range(20)]

    assert runs == [drive(table, Random(seed)).steps for seed in range(20)]
    assert len(set(runs)) > 3


def test_a_phase_without_any_event_is_called_a_deadlock() -> None:
    table = compile_table(small(available="n < 1"))

    with pytest.raises(Deadlock) as caught:
        drive(table, Random(0))

    assert attrs.astuple(caught.value) == ("small", "work", {"n": 1})


def test_a_driver_starts_where_it_is_told(loop: Machine) -> None:
    table = compile_table(loop)
    there = Snapshot("tools", initial_snapshot(table).memory)

    assert Driver(table, there).send("done").after.phase == "call.ask"


#: where callbacks can be set, and how often they are called in three steps to the end
PLACES = {
    "prepare_event": 3,
    "before_state_change": 3,
    "after_state_change": 3,
    "finalize_event": 3,
    "on_final": 1,
    "prepare": 4,  # of each row that is tried
    "before": 3,
    "after": 3,
    "on_enter": 3,
    "on_exit": 3,
}


@pytest.mark.parametrize("place", PLACES)
def test_a_callback_that_people_set_is_called_wherever_it_is_set(place: str) -> None:
    machine = transitions_machine(compile_table(small()))
    heard: list[str] = []

    def hear(data: Any) -> None:
        heard.append(data.model.state)

    if place in {"prepare", "before", "after"}:
        machine.events["go"].add_callback(place, hear)
    elif place in {"on_enter", "on_exit"}:
        for state in machine.states.values():
            state.add_callback(place.removeprefix("on_"), hear)
    else:
        setattr(machine, place, hear)
    model = machine.new_model()
    taken = [machine.events["go"].trigger(model) for _ in range(3)]

    assert taken == [True, True, True]
    assert model.state == "done"
    assert len(heard) == PLACES[place]


def test_an_exception_of_a_condition_is_told_to_whoever_listens() -> None:
    machine = transitions_machine(compile_table(small(guard="n > 5")))
    told: list[object] = []

    def tell(data: Any) -> None:
        told.append(data.error)

    machine.on_exception = tell

    assert (
        machine.events["go"].trigger(machine.new_model(Snapshot("done", (0,)))) is False
    )
    assert isinstance(told[0], transitions.MachineError)
