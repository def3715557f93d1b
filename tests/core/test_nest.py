"""A nested machine is the machine that one would have flattened by hand."""

from collections.abc import Callable, Iterator

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspiral.engine import fuzz
from unspiral.engine.core.declare import (
    Choice,
    Counter,
    Event,
    Flag,
    Limit,
    Machine,
    Phase,
    Terminal,
    Transition,
)
from unspiral.engine.core.environments import Random
from unspiral.engine.core.library import drive
from unspiral.engine.core.nest import flatten, nested_phases
from unspiral.engine.core.step import Step
from unspiral.engine.core.table import Table, compile_table
from unspiral.engine.errors import BadDeclaration

Walk = Callable[[Table], Iterator[Step]]

BY_HAND = Machine(
    "loop",
    phases=(
        Phase(
            "call.ask",
            ("good", "busy", Event("broken", "not fragile or call.tries > 0")),
        ),
        Phase("call.judge"),
        Phase("call.gave_up"),
        Phase("tools", ("done", Event("stop", "turn > 1")), cost={"tool_runs": 1}),
        Phase("recover"),
    ),
    terminals=(
        Terminal("completed"),
        Terminal("too_long", "limit"),
        Terminal("failed", "error"),
    ),
    memory=(
        Counter("turn", "max_turns", low=1),
        Flag("fragile"),
        Choice("last", ("none", "next_turn", "recovered")),
        Counter("recoveries", "2"),
        Counter("call.tries", "max_tries"),
    ),
    limits=(
        Limit("max_turns", 4),
        Limit("patient", default=True),
        Limit("max_tries", 2),
    ),
    transitions=(
        Transition("call.ask", "tools", "good", action="call.tries = 0"),
        Transition(
            "call.ask",
            "call.gave_up",
            "broken",
            action="fragile = True; call.tries = 0",
        ),
        Transition("call.ask", "call.judge", "busy"),
        Transition(
            "call.judge",
            "call.ask",
            guard="call.tries < max_tries",
            action="call.tries += 1",
            reason="again",
            cost={"model_calls": 1},
        ),
        Transition(
            "call.judge", "call.gave_up", guard="otherwise", action="call.tries = 0"
        ),
        Transition("call.gave_up", "recover", guard="patient and recoveries < 2"),
        Transition("call.gave_up", "failed", guard="otherwise"),
        Transition(
            "tools",
            "call.ask",
            "done",
            guard="turn < max_turns",
            action="turn += 1; last = 'next_turn'; recoveries = 0; fragile = False",
            reason="next_turn",
            progress=True,
        ),
        Transition("tools", "too_long", "done", guard="otherwise"),
        Transition("tools", "completed", "stop", guard="last == 'next_turn'"),
        Transition("tools", "failed", "stop", guard="otherwise"),
        Transition(
            "recover",
            "call.ask",
            guard="last not in ('recovered',) or not fragile",
            action="recoveries = min(recoveries + 1, 2); last = 'recovered'",
            reason="recovered",
        ),
        Transition("recover", "failed", guard="otherwise"),
    ),
)


def edge(taken: Step) -> tuple[object, ...]:
    row = taken.row
    return *taken[:2], taken.after, row.reason, row.progress, tuple(row.cost.items())


def test_a_nested_machine_is_the_one_flattened_by_hand(
    loop: Machine, walk: Walk
) -> None:
    found = list(map(edge, walk(compile_table(loop))))
    wanted = list(map(edge, walk(compile_table(BY_HAND))))

    assert found == wanted
    assert len(found) > 100


def test_a_flat_machine_stays_as_it_is(attempt: Machine) -> None:
    assert flatten(attempt) is attempt
    assert nested_phases(attempt) == ()


def outer(inner: Machine, *rows: Transition, **changes: object) -> Machine:
    machine = Machine(
        "outer",
        phases=(Phase("sub", runs=inner), Phase("rest", ("go",))),
        terminals=(Terminal("done"),),
        memory=(Counter("n", 9),),
        transitions=(*rows, Transition("rest", "done", "go")),
    )
    return attrs.evolve(machine, **changes)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] - fields of a test


def inner(**changes: object) -> Machine:
    machine = Machine(
        "inner",
        phases=(Phase("ask", ("yes",)),),
        terminals=(Terminal("ok"),),
        memory=(Counter("n", 9, shared=True), Counter("own", 3)),
        transitions=(Transition("ask", "ok", "yes", action="n += 1; own = 2"),),
    )
    return attrs.evolve(machine, **changes)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] - fields of a test


def test_a_single_outer_row_joins_the_row_that_ends_the_inner_machine() -> None:
    last = Transition(
        "sub",
        "rest",
        "ok",
        action="n = n + n",
        progress=True,
        cost={"calls": 1},
    )
    table = compile_table(outer(inner(), last))

    trace = drive(table, Random(0))

    assert [each.row.name for each in trace.steps] == ["sub.ask:yes", "rest:go"]
    # The outer action reads what the inner one wrote; the inner memory is fresh again.
    assert trace.steps[0].after.memory == (2, 0)
    assert trace.steps[0].row.progress
    assert trace.cost == {"calls": 1}


def test_what_an_answer_of_a_nested_phase_costs_is_charged_once_a_visit() -> None:
    machine = outer(
        inner(),
        Transition("sub", "rest", "ok"),
        phases=(
            Phase("sub", runs=inner(), cost={"visits": 1}),
            Phase("rest", ("go",)),
        ),
    )
    decided = attrs.evolve(
        machine,
        transitions=(
            Transition("sub", "done", "ok", guard="n > 5"),
            Transition("sub", "rest", "ok", guard="otherwise"),
            *machine.transitions[1:],
        ),
    )

    assert drive(compile_table(machine), Random(0)).cost == {"visits": 1}
    assert drive(compile_table(decided), Random(0)).cost == {"visits": 1}


def test_an_outer_row_back_to_the_nested_phase_enters_it_anew() -> None:
    again = Transition("sub", "sub", "ok", guard="n < 5", reason="again")
    ended = Transition("sub", "rest", "ok", guard="otherwise")

    trace = drive(compile_table(outer(inner(), again, ended)), Random(0))

    assert trace.reasons == ("again",) * 4
    assert trace.terminal == "done"


def test_shared_memory_must_be_declared_outside() -> None:
    machine = outer(inner(), Transition("sub", "rest", "ok"), memory=())

    with pytest.raises(BadDeclaration, match="declare 'n' in outer"):
        compile_table(machine)


def test_memory_outside_may_not_hide_a_limit_inside() -> None:
    hidden = inner(limits=(Limit("cap", 3),))
    machine = outer(
        hidden,
        Transition("sub", "rest", "ok"),
        memory=(Counter("n", 9), Counter("cap", 5)),
    )

    with pytest.raises(BadDeclaration, match="'cap' has the name of a limit of inner"):
        compile_table(machine)


def test_an_outer_limit_wins_over_an_inner_one_of_its_name() -> None:
    machine = outer(
        inner(limits=(Limit("cap", 3),)),
        Transition("sub", "rest", "ok"),
        limits=(Limit("cap", 5),),
    )

    assert compile_table(machine).limits == {"cap": 5}


@given(machine=fuzz.machines(), seed=st.integers(0, 2**32))
def test_flattening_twice_is_flattening_once(machine: Machine, seed: int) -> None:
    flat = flatten(machine)

    assert nested_phases(flat) == ()
    assert flatten(flat) is flat
    trace = drive(compile_table(machine), Random(seed), max_steps=30)
    again = drive(compile_table(flat), Random(seed), max_steps=30)
    assert list(map(edge, again.steps)) == list(map(edge, trace.steps))
