"""An assumption takes moves from the environment, exactly those that it names."""

from collections.abc import Callable, Iterator

import attrs
import pytest

from unspiral.engine.core.assume import assume
from unspiral.engine.core.declare import (
    Assumption,
    Counter,
    Flag,
    Limit,
    Machine,
    Phase,
    Terminal,
    Transition,
)
from unspiral.engine.core.language import UNLIMITED
from unspiral.engine.core.step import (
    Snapshot,
    Step,
    available_events,
    initial_snapshot,
    step,
)
from unspiral.engine.core.table import Table, compile_table
from unspiral.engine.errors import DeclarationError, UnknownName

Walk = Callable[[Table], Iterator[Step]]


def hooked(**fields: str) -> Machine:
    """A phase that may be blocked, and an assumption on how often."""
    return Machine(
        "hooked",
        phases=(Phase("work", ("block", "turn", "switch", "end")),),
        terminals=(Terminal("done"),),
        memory=(Flag("valid"), Counter("blocks", "8")),
        limits=(Limit("most", 2),),
        transitions=(
            Transition(
                "work",
                "work",
                "block",
                action="blocks = min(blocks + 1, 8)",
                reason="blocked",
            ),
            Transition("work", "work", "turn", reason="turned", progress=True),
            Transition("work", "work", "switch", action="valid = True", reason="on"),
            Transition("work", "done", "end"),
        ),
        assumptions=(
            Assumption("kind", fields.pop("phase", "work"), "block", **fields),
        ),
    )


def after(table: Table, *events: str) -> Snapshot:
    here = initial_snapshot(table)
    for event in events:
        here = step(table, here, event).after
    return here


def may_block(table: Table, *events: str) -> bool:
    return "block" in available_events(table, after(table, *events))


def test_without_names_nothing_is_assumed() -> None:
    machine = hooked()

    assert assume(machine, ()) is machine
    assert may_block(compile_table(machine), *["block"] * 9)


def test_never_means_that_the_event_is_not_there() -> None:
    table = compile_table(hooked(), assumptions=["kind"])

    assert not may_block(table)
    assert table.assumptions == ("kind",)


def test_never_while_means_only_while() -> None:
    table = compile_table(hooked(when="valid"), assumptions=["kind"])

    assert may_block(table, "block", "block")
    assert not may_block(table, "block", "switch")


@pytest.mark.parametrize("at_most", ["2", "most", "most + 0"])
def test_at_most_counts_between_two_progress_events(at_most: str) -> None:
    table = compile_table(hooked(at_most=at_most), assumptions=["kind"])

    assert may_block(table, "block")
    assert not may_block(table, "block", "block")
    assert may_block(table, "block", "block", "turn")
    assert not may_block(table, "block", "turn", "block", "block")


def test_at_most_while_counts_only_while() -> None:
    table = compile_table(hooked(at_most="2", when="valid"), assumptions=["kind"])

    assert may_block(table, *["block"] * 5)
    assert may_block(table, *["block"] * 5, "switch", "block")
    assert not may_block(table, *["block"] * 5, "switch", "block", "block")
    assert may_block(table, "switch", "block", "block", "turn")


def test_a_limit_of_none_and_of_no_end_are_both_understood() -> None:
    machine = hooked(at_most="most")

    never = compile_table(machine, limits={"most": 0}, assumptions=["kind"])
    always = compile_table(machine, limits={"most": UNLIMITED}, assumptions=["kind"])

    assert not may_block(never)
    assert may_block(always, *["block"] * 9)


def test_alternatives_keep_their_order_under_an_assumption() -> None:
    machine = attrs.evolve(
        hooked(at_most="2", when="valid"),
        transitions=(
            Transition(
                "work", "work", "block", "blocks < 1", "blocks += 1", reason="blocked"
            ),
            Transition("work", "done", "block", "otherwise"),
            *hooked().transitions[1:],
        ),
    )
    plain = compile_table(machine)
    table = compile_table(machine, assumptions=["kind"])

    for events in (["block", "block"], ["switch", "block", "block"]):
        here = after(table, *events)
        assert (here.phase, here.memory[:2]) == after(plain, *events)


def test_an_assumption_only_takes_runs_away(walk: Walk) -> None:
    machine = hooked(at_most="2", when="valid")
    plain = {
        (each.before, each.event, each.after) for each in walk(compile_table(machine))
    }

    for each in walk(compile_table(machine, assumptions=["kind"])):
        before = each.before._replace(memory=each.before.memory[:2])
        later = each.after._replace(memory=each.after.memory[:2])
        assert (before, each.event, later) in plain


def test_progress_inside_a_nested_machine_counts() -> None:
    inner = Machine(
        "inner",
        phases=(Phase("ask", ("yes",)),),
        terminals=(Terminal("ok"),),
        transitions=(Transition("ask", "ok", "yes", progress=True),),
    )
    machine = hooked(at_most="2")
    machine = attrs.evolve(
        machine,
        phases=(*machine.phases, Phase("sub", runs=inner)),
        transitions=(
            *(
                attrs.evolve(row, target="sub", progress=False)
                if row.event == "turn"
                else row
                for row in machine.transitions
            ),
            Transition("sub", "work", "ok"),
        ),
    )
    table = compile_table(machine, assumptions=["kind"])

    assert not may_block(table, "block", "block")
    assert may_block(table, "block", "block", "turn", "yes")


def test_an_unknown_assumption_names_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'kind'"):
        compile_table(hooked(), assumptions=["kid"])


def test_an_assumption_on_what_is_not_there_is_refused() -> None:
    with pytest.raises(UnknownName, match=r"no acting phase 'wrok'.*mean 'work'"):
        compile_table(hooked(phase="wrok"), assumptions=["kind"])
    machine = hooked()
    wrong = attrs.evolve(machine.assumptions[0], event="blok")
    with pytest.raises(UnknownName, match=r"no event 'blok'.*mean 'block'"):
        compile_table(attrs.evolve(machine, assumptions=(wrong,)), assumptions=["kind"])


@pytest.mark.parametrize("fields", [{"when": "valit"}, {"at_most": "mots"}])
def test_a_wrong_text_of_an_assumption_is_a_clear_error(fields: dict[str, str]) -> None:
    with pytest.raises(DeclarationError, match="did you mean"):
        compile_table(hooked(**fields), assumptions=["kind"])
