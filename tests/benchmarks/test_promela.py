"""The Promela text says what the table says; SPIN, where it is, counts the same."""

import shutil

import attrs
import pytest

from benchmarks.explore import have_spin, spin, verdict
from benchmarks.promela import promela
from benchmarks.reference_loop import reference_loop
from unspiral.engine.core.declare import Counter, Machine, Phase, Terminal, Transition
from unspiral.engine.core.table import compile_table


def exchange(action: str) -> Machine:
    return Machine(
        name="exchange",
        phases=(Phase("only", events=("turn", "stop")),),
        terminals=(Terminal("done"),),
        transitions=(
            Transition("only", "only", "turn", action=action, reason="again"),
            Transition("only", "done", "stop"),
        ),
        memory=(Counter("a", high="3"), Counter("b", high="3", initial=2)),
    )


def test_there_is_one_step_for_each_row() -> None:
    table = compile_table(reference_loop(2, 2, 1))

    assert promela(table).count(":: d_step") == len(table.rows)


def test_an_alternative_excludes_those_before_it() -> None:
    machine = reference_loop(2, 2, 1)
    line = next(
        line
        for line in promela(compile_table(machine)).splitlines()
        if line.endswith("/* limit#2 */")
    )

    assert "v_context < 2" in line


def test_assignments_are_put_in_an_order_that_reads_old_values() -> None:
    text = promela(compile_table(exchange("a = b; b = 0")))

    assert "v_a = v_b; v_b = 0" in text
    assert promela(compile_table(exchange("b = 0; a = b"))).count("v_a = v_b; v_b") == 1


def test_an_exchange_has_no_such_order_and_is_refused() -> None:
    with pytest.raises(ValueError, match="a"):
        promela(compile_table(exchange("a = b; b = a")))


def test_a_counter_below_zero_is_refused() -> None:
    machine = attrs.evolve(
        exchange("b = 0"), memory=(Counter("a", high="3"), Counter("b", "3", low=-1))
    )

    with pytest.raises(ValueError, match="b"):
        promela(compile_table(machine))


def test_the_verdict_at_the_smallest_size_has_a_bound() -> None:
    assert verdict("tiny").answer.startswith("PROVED, at most ")


@pytest.mark.skipif(not have_spin(), reason="SPIN is not installed")
def test_spin_counts_the_states_that_we_count() -> None:
    assert shutil.which("spin")
    measure = spin("tiny", termination=True)

    assert (measure.answer, measure.states) == ("no error", 205_843)
