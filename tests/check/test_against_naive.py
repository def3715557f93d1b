"""Quotient, summary, collapsing and lifting agree with a naive search."""

from hypothesis import HealthCheck, assume, given, settings

from tests.check.naive import Naive, explore_naively, law_holds
from unspiral.engine.check import Outcome, Verdict, check_law, check_table
from unspiral.engine.check.lift import replay
from unspiral.engine.core.declare import Machine
from unspiral.engine.core.step import Step, initial_snapshot
from unspiral.engine.core.table import compile_table
from unspiral.engine.fuzz import machines

GENERATED = settings(
    max_examples=500,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def both(machine: Machine) -> tuple[Verdict, Naive]:
    table = compile_table(machine)
    naive = explore_naively(table)
    assume(naive is not None)
    assert naive is not None
    return check_table(table, laws=False), naive


def is_a_run(steps: tuple[Step, ...], verdict: Verdict) -> bool:
    again = replay(verdict.table, [s.row for s in steps])
    return again == steps and (
        not steps or steps[0].before == initial_snapshot(verdict.table)
    )


@GENERATED
@given(machines())
def test_the_proof_and_a_naive_search_agree_on_spirals(machine: Machine) -> None:
    verdict, naive = both(machine)

    assert naive.spirals == bool(verdict.spirals)
    assert (naive.spirals or naive.faults > 0) == (verdict.verdict is Outcome.REFUTED)
    for lasso in verdict.spirals:
        assert is_a_run(lasso.stem + lasso.loop, verdict)
        assert lasso.cost
        assert not any(step.row.progress for step in lasso.loop)


@GENERATED
@given(machines())
def test_full_exploration_counts_every_snapshot_and_step(machine: Machine) -> None:
    table = compile_table(machine)
    naive = explore_naively(table)
    assume(naive is not None)
    assert naive is not None

    verdict = check_table(table, laws=False, full=True)

    ends = {s.phase for s in naive.states if s.phase in table.terminals}
    inside = [s for s in naive.states if s.phase not in table.terminals]
    # The end of a run has no memory: a terminal is one state, however it is reached.
    assert verdict.states == len(inside) + len(ends)
    assert verdict.transitions == len(naive.steps)


@GENERATED
@given(machines())
def test_the_worst_case_of_a_run_is_the_longest_path(machine: Machine) -> None:
    verdict, naive = both(machine)
    assume(verdict.bounds is not None)
    assert verdict.bounds is not None

    assert verdict.bounds.model_calls_per_run == naive.most("model_calls")


@GENERATED
@given(machines())
def test_an_open_ended_cycle_is_there_if_and_only_if_progress_can_recur(
    machine: Machine,
) -> None:
    verdict, naive = both(machine)

    recurring = {s.row.reason for s in naive.cycles(progress=True) if s.row.progress}
    shown = {reason for lasso in verdict.open_ended for reason in lasso.reasons}

    assert bool(recurring) == bool(verdict.open_ended)
    assert recurring <= shown | {""}


GENERATED_LAWS = settings(GENERATED, max_examples=300)


@GENERATED_LAWS
@given(machines(with_laws=True, max_phases=4))
def test_laws_are_broken_exactly_where_a_naive_product_breaks_them(
    machine: Machine,
) -> None:
    table = compile_table(machine)
    assume(bool(machine.laws) and explore_naively(table, most=4_000) is not None)

    for law in machine.laws:
        answer = check_law(table, law)

        assert (answer.verdict is Outcome.PROVED) == law_holds(table, law)
