"""What the explorer says of points of coverage is what a search without ideas finds."""

from hypothesis import given, settings

from tests.check.naive import explore_naively
from unspiral.engine.check.coverage import reach
from unspiral.engine.core.declare import Machine
from unspiral.engine.core.points import Meter, Point, points_of
from unspiral.engine.core.step import initial_snapshot
from unspiral.engine.core.table import Table, compile_table
from unspiral.engine.fuzz import machines
from unspiral.machines import load

TURNSTILE = load("turnstile")


def shortest(table: Table) -> dict[Point, int]:
    """Return each point that any step shows, with how soon it can be shown."""
    naive = explore_naively(table)
    assert naive is not None
    meter = Meter(table)
    found: dict[Point, int] = {}
    for step in naive.steps:
        length = naive.states[step.before] + 1
        for point in meter.shown([step]):
            found[point] = min(length, found.get(point, length))
    return found


@settings(max_examples=80, deadline=None, derandomize=True)
@given(machines())
def test_exactly_the_reachable_points_of_any_machine_are_found(
    machine: Machine,
) -> None:
    table = compile_table(machine)
    found = reach(table)

    assert not found.unknown
    assert {p: len(steps) for p, steps in found.runs.items()} == shortest(table)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(machines(nested=False, max_memory=2))
def test_each_run_shows_its_point_at_its_last_step(machine: Machine) -> None:
    table = compile_table(machine)
    meter = Meter(table)

    for point, steps in reach(table).runs.items():
        here = initial_snapshot(table)
        for step in steps:
            assert step.before == here
            here = step.after
        assert point in meter.shown(steps[-1:])
        assert point not in meter.shown(steps[:-1])


def test_a_row_without_a_guard_is_one_point() -> None:
    table = compile_table(TURNSTILE)
    row = table.row_names["locked:coin"]

    assert list(points_of(row)) == [
        Point("locked:coin", "locked:coin", "", verdict=True)
    ]


def test_a_row_behind_a_guard_has_the_points_of_that_guard() -> None:
    table = compile_table(TURNSTILE)
    otherwise = table.row_names["locked:push#2"]
    texts = [str(point) for point in points_of(otherwise)]

    assert texts == [
        "locked:push#2: shakes < 3 holds (asked by locked:push#1)",
        "locked:push#2: shakes < 3 does not hold (asked by locked:push#1)",
    ]
    reached = [str(point) for point in reach(table).runs if "#2" in point.row]
    assert reached == texts[1:]


def test_an_end_of_memory_leaves_points_open_and_says_so() -> None:
    table = compile_table(load("query_loop"))

    found = reach(table, memory=100)

    assert found.unknown
    assert "100 bytes" in found.cut


def test_no_point_of_the_query_loop_is_left_open() -> None:
    table = compile_table(load("query_loop"))

    found = reach(table)

    assert not found.unknown
    assert {point.row for point in found.runs} <= set(table.row_names)
