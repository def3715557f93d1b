"""Machines on which a proof that is a little too clever goes wrong."""

import attrs
import pytest

from unspiral.engine.check import Outcome, check_law, check_table
from unspiral.engine.core.declare import (
    Counter,
    Event,
    Flag,
    Law,
    Limit,
    Machine,
    Phase,
    Terminal,
    Transition,
)
from unspiral.engine.core.table import compile_table
from unspiral.engine.errors import BadDeclaration


def dear_detour(cost: str) -> Machine:
    """Return a loop through a machine whose longer way alone costs something."""
    inner = Machine(
        "inner",
        phases=[Phase("a", ["quick", "slow"]), Phase("b", ["on"], cost={cost: 1})],
        terminals=[Terminal("out")],
        transitions=[
            Transition("a", "out", "quick"),
            Transition("a", "b", "slow"),
            Transition("b", "out", "on"),
        ],
    )
    return Machine(
        "outer",
        phases=[Phase("p", runs=inner), Phase("q", ["again", "stop"])],
        terminals=[Terminal("done")],
        transitions=[
            Transition("p", "q", "out"),
            Transition("q", "p", "again", reason="again"),
            Transition("q", "done", "stop"),
        ],
    )


@pytest.mark.parametrize("cost", ["model_calls", "tokens"])
def test_a_cost_on_the_longer_way_through_a_nested_machine_is_seen(cost: str) -> None:
    verdict = check_table(compile_table(dear_detour(cost)))

    assert verdict.verdict is Outcome.REFUTED
    assert verdict.spirals[0].cost == {cost: 1}


def two_budgets() -> Machine:
    """Return a loop in which two counters are raised by progress, each to three."""
    return Machine(
        "two",
        phases=[Phase("s", ["a", "b", "stop"], cost={"model_calls": 1})],
        terminals=[Terminal("done")],
        memory=[Counter("n", 3), Counter("k", 3)],
        transitions=[
            Transition("s", "s", "a", "n < 3", "n += 1", progress=True, reason="ra"),
            Transition("s", "done", "a", "otherwise"),
            Transition("s", "s", "b", "k < 3", "k += 1", progress=True, reason="rb"),
            Transition("s", "done", "b", "otherwise"),
            Transition("s", "done", "stop"),
        ],
        laws=[Law("finitely", "bounded", "reason == 'rb'")],
    )


def test_two_counters_that_progress_raises_bound_the_run_together() -> None:
    verdict = check_table(compile_table(two_budgets()))

    assert verdict.open_ended == ()
    assert verdict.bounds is not None
    assert verdict.bounds.model_calls_per_run == 3 + 3 + 1
    assert [law.verdict for law in verdict.laws] == [Outcome.PROVED]


def lent(*, shared: bool) -> Machine:
    """Return a machine whose outer rows write what the nested machine reads."""
    inner = Machine(
        "inner",
        phases=[Phase("a", ["go"], cost={"model_calls": 1})],
        terminals=[Terminal("good"), Terminal("bad")],
        memory=[Flag("p.f" if shared else "f", shared=shared)],
        transitions=[
            Transition("a", "bad", "go", "p.f" if shared else "f"),
            Transition("a", "good", "go", "otherwise"),
        ],
    )
    return Machine(
        "outer",
        phases=[Phase("s", ["set"]), Phase("p", runs=inner)],
        terminals=[Terminal("done")],
        memory=[Flag("p.f")] if shared else [],
        transitions=[
            Transition("s", "p", "set", action="p.f = True"),
            Transition("p", "done", "good"),
            Transition("p", "p", "bad", action="p.f = True", reason="again"),
        ],
    )


def test_shared_memory_does_not_start_afresh_whatever_its_name() -> None:
    assert check_table(compile_table(lent(shared=True))).spirals


def test_the_own_memory_of_a_nested_machine_is_not_written_outside() -> None:
    with pytest.raises(BadDeclaration, match=r"'p\.f' belongs to inner"):
        compile_table(lent(shared=False))


def test_an_obligation_that_is_met_and_opened_again_is_not_open_for_ever() -> None:
    machine = Machine(
        "round",
        phases=[Phase("s", ["x"]), Phase("d", ["x"]), Phase("e", ["x", "stop"])],
        terminals=[Terminal("done")],
        transitions=[
            Transition("s", "d", "x"),
            Transition("d", "e", "x"),
            Transition("e", "s", "x", reason="again"),
            Transition("e", "done", "stop"),
        ],
    )
    law = Law("answered", "response", "phase == 'd'", other="phase == 'e'")
    broken = attrs.evolve(law, what="phase == 'e'", other="phase == 's'")

    assert check_law(compile_table(machine), law).verdict is Outcome.PROVED
    assert check_law(compile_table(machine), broken).verdict is Outcome.REFUTED


@pytest.mark.parametrize("amount", [-1, 0.5, float("nan"), "3", True, 10**30])
def test_a_cost_is_a_whole_number_that_is_not_negative(amount: object) -> None:
    with pytest.raises(BadDeclaration, match="is no cost"):
        Phase("p", ["x"], cost={"model_calls": amount})  # type: ignore[dict-item]


@pytest.mark.parametrize("cap", [5, 70, 20_001, 10**9])
def test_the_verdict_and_the_bound_hold_for_a_limit_of_any_size(cap: int) -> None:
    machine = Machine(
        "turns",
        phases=[Phase("call", ["work", "end"], cost={"model_calls": 1})],
        terminals=[Terminal("done"), Terminal("too_many", "limit")],
        memory=[Counter("turn", "max_turns", low=1)],
        limits=[Limit("max_turns", 5)],
        transitions=[
            Transition("call", "too_many", "work", "turn + 1 > max_turns"),
            Transition(
                "call",
                "call",
                "work",
                "otherwise",
                "turn += 1",
                reason="next_turn",
                progress=True,
            ),
            Transition("call", "done", "end"),
        ],
    )

    verdict = check_table(compile_table(machine, limits={"max_turns": cap}))

    assert verdict.verdict is Outcome.PROVED
    assert verdict.bounds is not None
    assert verdict.bounds.model_calls_per_run == cap
    assert verdict.states < 10


def test_what_lies_behind_a_free_cycle_counts_in_the_worst_case() -> None:
    machine = Machine(
        "toggle",
        phases=[
            Phase("s", ["on", "off", Event("go", available="f")]),
            Phase("call", ["end"], cost={"model_calls": 3}),
        ],
        terminals=[Terminal("done")],
        memory=[Flag("f")],
        transitions=[
            Transition("s", "s", "on", action="f = True", reason="on"),
            Transition("s", "s", "off", action="f = False", reason="off"),
            Transition("s", "call", "go"),
            Transition("call", "done", "end"),
        ],
    )

    verdict = check_table(compile_table(machine))

    assert verdict.verdict is Outcome.PROVED
    assert verdict.bounds is not None
    assert verdict.bounds.model_calls_between_progress == 3
    assert dict(verdict.bounds.per_reason) == {"on": None, "off": None}
    assert verdict.bounds.witness is not None
    assert verdict.bounds.witness.cost == {"model_calls": 3}


def test_a_cycle_that_only_a_reduction_has_leaves_no_cost_without_a_bound() -> None:
    machine = Machine(
        "once",
        phases=[
            Phase("begin", ["go"]),
            Phase("s", ["go", "end"]),
            Phase("call", ["end"], cost={"model_calls": 1}),
        ],
        terminals=[Terminal("done")],
        memory=[Counter("k", 3)],
        transitions=[
            Transition("begin", "s", "go", "k < 3", "k += 1", progress=True),
            Transition("begin", "done", "go", "otherwise"),
            Transition("s", "s", "go", "k >= 2", reason="again"),
            Transition("s", "done", "go", "otherwise"),
            Transition("s", "call", "end"),
            Transition("call", "done", "end"),
        ],
    )

    verdict = check_table(compile_table(machine))

    assert verdict.verdict is Outcome.PROVED
    assert verdict.bounds is not None
    assert verdict.bounds.model_calls_per_run == 1
    assert dict(verdict.bounds.per_reason) == {"again": 0}


def test_a_bound_is_not_lost_to_a_free_condition_on_dropped_memory() -> None:
    machine = Machine(
        "free",
        phases=[
            Phase("begin", ["go"]),
            Phase("s", ["idle", "ask", "stop"]),
            Phase("call", ["back"], cost={"model_calls": 1}),
        ],
        terminals=[Terminal("done")],
        memory=[Counter("k", 3)],
        transitions=[
            Transition("begin", "s", "go", "k < 3", "k += 1", progress=True),
            Transition("begin", "done", "go", "otherwise"),
            Transition("s", "s", "idle", progress=True),
            Transition("s", "call", "ask"),
            Transition("s", "done", "stop"),
            Transition("call", "s", "back", "k >= 3", progress=True),
            Transition("call", "done", "back", "k < 3"),
        ],
    )

    verdict = check_table(compile_table(machine))

    assert verdict.bounds is not None
    assert verdict.bounds.model_calls_per_run == 1
