"""Schedules, traces and snapshots are those of runs, and shrink to short ones."""

from collections.abc import Callable
from typing import TypeVar

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from tests.fuzz.loops import SOUND, UNGUARDED
from unspiral.engine.check.coverage import reach
from unspiral.engine.core.declare import Machine
from unspiral.engine.core.points import Meter
from unspiral.engine.core.table import Table, compile_table
from unspiral.engine.core.trace import Trace, dump, load
from unspiral.engine.errors import BadValue, UnknownName
from unspiral.engine.fuzz import (
    Walk,
    events,
    machines,
    schedules,
    snapshots,
    traces,
)
from unspiral.machines import load as shipped

T = TypeVar("T")


def shortest(strategy: st.SearchStrategy[T], condition: Callable[[T], bool]) -> T:
    return find(
        strategy,
        condition,
        settings=settings(
            max_examples=3_000, deadline=None, database=None, derandomize=True
        ),
    )


def points_shown(table: Table, *, deep: bool) -> int:
    """How many points of coverage some traces show together."""
    meter = Meter(table)

    @settings(max_examples=150, deadline=None, database=None, derandomize=True)
    @given(traces(table, deep=deep))
    def collect(trace: Trace) -> None:
        meter.count(meter.shown(trace.steps))

    collect()
    return len(meter.seen)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data())
def test_each_event_of_a_schedule_is_available_in_its_turn(data: st.DataObject) -> None:
    machine = data.draw(machines())
    table = compile_table(machine)
    schedule = data.draw(schedules(table, deep=data.draw(st.booleans())))
    walk = Walk(table)

    for event in schedule:
        assert event in walk.options
        walk.answer(event)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.data())
def test_a_trace_is_a_run_of_the_machine(data: st.DataObject) -> None:
    table = compile_table(data.draw(machines()))
    trace = data.draw(traces(table))

    assert load(dump(trace), table).steps == trace.steps


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.data())
def test_a_snapshot_is_one_that_a_run_reaches(data: st.DataObject) -> None:
    table = compile_table(data.draw(machines(max_phases=3, max_memory=2)))
    here = data.draw(snapshots(table))

    assert here.phase in {*table.phases, *table.terminals}
    assert len(here.memory) == len(table.variables)


def test_events_are_those_of_the_machine_or_of_one_phase() -> None:
    found: set[str] = set()

    @settings(max_examples=60, database=None, derandomize=True)
    @given(events(SOUND, "act"))
    def collect(event: str) -> None:
        found.add(event)

    collect()

    assert found == {"done", "nothing"}
    assert shortest(events(SOUND), lambda _: True) == "answer"
    with pytest.raises(UnknownName, match="did you mean 'call'"):
        events(SOUND, "cal")


def test_a_machine_that_only_decides_has_no_events() -> None:
    assert events(SOUND, "judge").is_empty


def test_less_than_one_event_is_refused() -> None:
    with pytest.raises(BadValue, match="1 or more"):
        schedules(SOUND, max_events=0)


def test_a_schedule_shrinks_to_nothing() -> None:
    assert shortest(schedules(shipped("query_loop")), lambda _: True) == ()


@pytest.mark.parametrize("deep", [False, True])
def test_a_schedule_shrinks_to_the_shortest_that_fails(deep: bool) -> None:
    def fails(schedule: tuple[str, ...]) -> bool:
        return Walk.along(compile_table(UNGUARDED), schedule).fault is not None

    assert shortest(schedules(UNGUARDED, deep=deep), fails) == ("fail",) * 3


def test_a_deep_schedule_of_the_query_loop_shrinks_to_the_shortest_way_there() -> None:
    table = compile_table(shipped("query_loop"))
    known = min(
        (steps for point, steps in reach(table).runs.items() if "nudge" in point.row),
        key=len,
    )

    def nudged(schedule: tuple[str, ...]) -> bool:
        walk = Walk.along(table, schedule)
        return any("nudge" in step.row.name for step in walk.steps)

    found = shortest(schedules(table), nudged)

    assert len(Walk.along(table, found).steps) == len(known)


def test_half_of_the_deep_schedules_go_where_plain_ones_hardly_get() -> None:
    table = compile_table(shipped("query_loop"))

    assert points_shown(table, deep=True) > 1.2 * points_shown(table, deep=False)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data())
def test_any_list_of_names_is_a_run(data: st.DataObject) -> None:
    machine: Machine = data.draw(machines())
    table = compile_table(machine)
    walk = Walk.along(table, data.draw(st.lists(events(table), max_size=20)))

    assert walk.fault is None
    assert Walk.along(table, walk.events).steps == walk.steps
