"""Generated machines are well formed, small, of all three kinds, and shrink."""

from collections import Counter as Count
from collections.abc import Iterable

import attrs
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from unspiral.engine.core.declare import Machine
from unspiral.engine.core.language import UNLIMITED
from unspiral.engine.core.step import (
    Snapshot,
    Step,
    available_events,
    initial_snapshot,
    step,
)
from unspiral.engine.core.table import Table, compile_table
from unspiral.engine.errors import BadValue
from unspiral.engine.fuzz import Kind, limits_for, machines

KINDS: tuple[Kind, ...] = ("open", "bounded", "spiral")
MOST = 3_000


def all_steps(table: Table) -> list[Step]:
    """Take every step from every reachable snapshot; fails where a run is stuck."""
    start = initial_snapshot(table)
    seen, todo, steps = {start}, [start], list[Step]()
    while todo:
        snapshot = todo.pop()
        if snapshot.phase in table.terminals:
            continue
        acting = bool(table.events[snapshot.phase])
        answers = available_events(table, snapshot) if acting else (None,)
        assert answers, f"no event is available in {snapshot}"
        for answer in answers:
            taken = step(table, snapshot, answer)
            steps.append(taken)
            if taken.after not in seen:
                seen.add(taken.after)
                todo.append(taken.after)
        assert len(seen) < MOST
    return steps


def on_cycles(steps: Iterable[Step]) -> set[Step]:
    """Return the steps that lie on a cycle: from where they lead, a run returns."""
    following: dict[Snapshot, set[Snapshot]] = {}
    for each in steps:
        following.setdefault(each.before, set()).add(each.after)

    def returns(each: Step) -> bool:
        seen, todo = {each.after}, [each.after]
        while todo:
            here = todo.pop()
            if here == each.before:
                return True
            fresh = following.get(here, set()) - seen
            seen |= fresh
            todo += fresh
        return False

    return {each for each in steps if returns(each)}


def spirals(table: Table) -> bool:
    """Tell whether a reachable cycle has a cost and no progress."""
    idle = [each for each in all_steps(table) if not each.row.progress]
    return any(each.row.cost for each in on_cycles(idle))


def sort_of(machine: Machine) -> str:
    """Say what the runs of a machine may do, by exhaustion."""
    table = compile_table(machine)
    steps = all_steps(table)
    if spirals(table):
        return "death spiral"
    if any(each.row.reason and not each.row.progress for each in steps):
        return "bounded recovery"
    return "acyclic or open-ended"


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.data())
def test_every_machine_compiles_and_no_run_is_ever_stuck_or_out_of_range(
    data: st.DataObject,
) -> None:
    machine = data.draw(
        machines(
            kind=data.draw(st.sampled_from(KINDS)),
            costs=data.draw(st.booleans()),
            progress=data.draw(st.booleans()),
            editions=True,
            assumptions=True,
            with_laws=True,
        )
    )
    chosen = [each.name for each in machine.assumptions]

    assert all_steps(compile_table(machine))
    assert all_steps(compile_table(machine, assumptions=chosen))
    for edition in machine.editions:
        assert all_steps(compile_table(machine, edition.name))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(machines(kind="bounded") | machines(kind="open"))
def test_no_bounded_and_no_open_machine_has_a_death_spiral(machine: Machine) -> None:
    assert not spirals(compile_table(machine))


def test_each_third_occurs_among_two_hundred_machines() -> None:
    found: Count[str] = Count()
    nested: Count[str] = Count()

    @settings(max_examples=200, deadline=None, derandomize=True, database=None)
    @given(machines())
    def collect(machine: Machine) -> None:
        found[sort_of(machine)] += 1
        inner = [phase.runs for phase in machine.phases if phase.runs]
        deeper = [phase.runs for each in inner for phase in each.phases if phase.runs]
        nested["once"] += bool(inner)
        nested["twice"] += bool(deeper)
        nested["shared"] += any(m.shared for each in inner for m in each.memory)
        nested["lent on"] += any(m.shared for each in deeper for m in each.memory)

    collect()

    assert set(found) == {"death spiral", "bounded recovery", "acyclic or open-ended"}
    assert min(found.values()) >= 25
    assert nested["once"] >= 40
    assert min(nested[kind] for kind in ("twice", "shared")) >= 5
    assert nested["lent on"] >= 1


def test_most_machines_asked_to_spiral_do() -> None:
    found: Count[str] = Count()

    @settings(max_examples=100, deadline=None, derandomize=True, database=None)
    @given(machines(kind="spiral"))
    def collect(machine: Machine) -> None:
        found[sort_of(machine)] += 1

    collect()

    assert found["death spiral"] >= 60


def smallest(kind: Kind | None = None) -> Machine:
    """Return to what a machine of a kind shrinks, with the one thing it is for."""
    return find(
        machines(kind=kind),
        (lambda machine: spirals(compile_table(machine)))
        if kind == "spiral"
        else (lambda _: True),
        settings=settings(
            max_examples=500,
            deadline=None,
            database=None,
            derandomize=True,
        ),
    )


def test_a_machine_shrinks_to_one_row() -> None:
    machine = smallest()

    assert (len(machine.phases), len(machine.rows), machine.memory) == (1, 1, ())


def test_a_spiral_shrinks_to_a_phase_with_a_way_out_and_a_way_back() -> None:
    machine = smallest("spiral")

    assert len(machine.phases) == 1
    assert len(machine.rows) == 2
    assert len(machine.memory) <= 1


@settings(max_examples=50, deadline=None, derandomize=True)
@given(machines(nested=False, costs=False, progress=False, max_phases=2, max_memory=0))
def test_what_is_switched_off_is_not_there(machine: Machine) -> None:
    assert len(machine.phases) <= 2
    assert machine.memory == ()
    for phase in machine.phases:
        assert phase.runs is None
        assert not phase.cost
    for row in machine.rows:
        assert not row.progress
        assert not row.cost


@settings(max_examples=50, deadline=None, derandomize=True)
@given(machines(unlimited=True))
def test_an_unlimited_machine_counts_turns_only_by_progress(machine: Machine) -> None:
    for limit in machine.all_limits:
        assert (limit.name == "max_turns") == (limit.default is UNLIMITED)
    for row in machine.rows:
        assert row.progress or "turn" not in row.action


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.data())
def test_limits_are_drawn_among_those_that_can_be_set(data: st.DataObject) -> None:
    machine = data.draw(machines())
    limits = data.draw(limits_for(machine))

    assert compile_table(machine, limits=limits).limits.items() >= limits.items()


@settings(max_examples=50, deadline=None, derandomize=True)
@given(machines())
def test_no_memory_and_no_limit_is_left_that_nothing_needs(machine: Machine) -> None:
    texts = [row.guard + row.action for row in machine.rows]
    texts += [event.available for phase in machine.phases for event in phase.events]
    texts += [str(attrs.asdict(memory)) for memory in machine.memory]
    for limit in machine.limits:
        assert any(limit.name in text for text in texts)


@pytest.mark.parametrize("sizes", [{"max_phases": 0}, {"max_memory": -1}])
def test_sizes_that_make_no_machine_are_refused_at_once(sizes: dict[str, int]) -> None:
    with pytest.raises(BadValue, match="or more"):
        machines(**sizes)  # type: ignore[arg-type]  # each is an int


def test_an_unknown_kind_is_refused_at_once() -> None:
    with pytest.raises(BadValue, match="one of open, bounded, spiral"):
        machines(kind="endless")  # type: ignore[arg-type]  # that is the test
