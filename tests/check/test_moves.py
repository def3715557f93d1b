"""What a row may do to memory, against all snapshots of the domains."""

import itertools
from collections.abc import Iterable

import pytest
from hypothesis import given, settings

from unspiral.engine.check.moves import MOST, Move, Moves
from unspiral.engine.core.declare import (
    Counter,
    Event,
    Flag,
    Limit,
    Machine,
    Phase,
    Terminal,
    Transition,
)
from unspiral.engine.core.language import UNLIMITED
from unspiral.engine.core.step import Snapshot, available_events, step
from unspiral.engine.core.table import Row, Table, compile_table
from unspiral.engine.errors import RunError
from unspiral.engine.fuzz import machines

COUNT = Machine(
    "count",
    phases=(Phase("ask", (Event("up", "ready or low < 2"), "down")),),
    terminals=(Terminal("end"),),
    memory=(
        Counter("low", "3"),
        Counter("wide", "width"),
        Flag("ready"),
        Counter("other", "3"),
    ),
    limits=(Limit("width", UNLIMITED),),
    transitions=(
        Transition("ask", "ask", "up", "low >= 2", "low = low + 1"),
        Transition("ask", "ask", "up", "other > 3", "low = 0"),
        Transition("ask", "ask", "up", "otherwise", "low = other; other = low"),
        Transition("ask", "ask", "down", "low > 0 and wide > 5", "low -= 1"),
        Transition("ask", "end", "down", "otherwise", "wide += 1"),
    ),
)


def moves_of(name: str, *memory: str) -> set[Move] | None:
    table = compile_table(COUNT)
    found = Moves(table).of(table.row_names[name], memory)
    return None if found is None else set(found)


def one(pairs: Iterable[tuple[int, int]]) -> set[Move]:
    """Return the moves of one memory."""
    return {((before,), (after,)) for before, after in pairs}


def test_moves_keep_to_the_guard_and_the_domain() -> None:
    assert moves_of("ask:up#1", "low") == one([(2, 3)])


def test_moves_heed_the_alternatives_before_and_the_availability() -> None:
    found = moves_of("ask:up#3", "low", "ready")
    assert found is not None
    assert {before for before, _ in found} == {
        (low, ready) for low in (0, 1) for ready in (False, True)
    }


def test_two_memories_move_at_once() -> None:
    swapped: set[Move] = {((a, b), (b, a)) for a in (0, 1) for b in range(4)}
    assert moves_of("ask:up#3", "low", "other") == swapped


def test_a_counter_without_end_may_be_anything_in_a_guard() -> None:
    assert moves_of("ask:down#1", "low") == one((i, i - 1) for i in (1, 2, 3))
    assert moves_of("ask:down#2", "low") == one((i, i) for i in range(4))


def test_a_counter_without_end_has_no_moves_to_list() -> None:
    assert moves_of("ask:down#2", "wide") is None


@pytest.mark.parametrize("width", [MOST - 1, MOST, 10**9])
def test_too_many_cases_are_not_enumerated(width: int) -> None:
    table = compile_table(COUNT, limits={"width": width})
    found = Moves(table).of(table.row_names["ask:down#2"], ("wide",))
    assert (found is None) == (width >= MOST)


def test_a_row_whose_condition_cannot_hold_is_never_taken() -> None:
    assert Moves(compile_table(COUNT)).never == {"ask:up#2"}


def taken(table: Table) -> list[tuple[Row, Snapshot, Snapshot]]:
    """Take every step from every snapshot of the domains, reachable or not."""
    domains = [variable.domain or () for variable in table.variables]
    found: list[tuple[Row, Snapshot, Snapshot]] = []
    for phase, values in itertools.product(table.phases, itertools.product(*domains)):
        snapshot = Snapshot(phase, values)
        decides = not table.events[phase]
        for event in (None,) if decides else available_events(table, snapshot):
            try:
                one = step(table, snapshot, event)
            except RunError:
                continue
            found.append((one.row, snapshot, one.after))
    return found


@settings(max_examples=50)
@given(machines(max_phases=3, max_memory=2))
def test_every_step_from_any_snapshot_is_a_move(machine: Machine) -> None:
    table = compile_table(machine)
    moves = Moves(table)
    for row, before, after in taken(table):
        for name, i in table.positions.items():
            found = moves.of(row, (name,))
            move = (before.memory[i],), (after.memory[i],)
            assert found is None or move in found
