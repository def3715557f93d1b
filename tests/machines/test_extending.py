"""A machine made from another one: what is added, where it stands, what stays."""

import pytest

from unspiral.engine.core.declare import (
    Counter,
    Law,
    Machine,
    Phase,
    Terminal,
    Transition,
)
from unspiral.engine.core.table import compile_table
from unspiral.engine.core.validate import validate
from unspiral.engine.errors import BadDeclaration, UnknownName
from unspiral.machines.extending import charge_rows, extend

CALL = {"model_calls": 1}
BASE = Machine(
    "base",
    phases=(Phase("ask", ("well", "badly"), cost=CALL), Phase("judge")),
    terminals=(Terminal("good"), Terminal("bad", "error")),
    memory=(Counter("tries", "3"),),
    laws=(Law("one_end", "bounded", "target in ('good', 'bad')", at_most="1"),),
    transitions=(
        Transition("ask", "good", "well"),
        Transition("ask", "judge", "badly", cost={"model_calls": 2, "euros": 1}),
        Transition("judge", "ask", guard="tries < 3", action="tries += 1", reason="no"),
        Transition("judge", "bad", guard="otherwise"),
    ),
)


def names(machine: Machine) -> list[str]:
    return [row.name for row in machine.rows]


def test_a_row_with_an_event_stands_after_those_of_its_phase_and_is_offered() -> None:
    made = extend(BASE, "made", [Transition("ask", "bad", "never", name="given_up")])

    assert names(made) == ["ask:well", "ask:badly", "given_up", "judge#1", "judge#2"]
    assert [event.name for event in made.phase("ask").events] == [
        "well",
        "badly",
        "never",
    ]
    assert validate(made) == validate(BASE)


def test_rows_of_a_deciding_phase_stand_in_order_before_its_last() -> None:
    more = [
        Transition("judge", "good", guard="tries == 3", name="first"),
        Transition("judge", "good", guard="tries == 2", name="second"),
    ]

    assert names(extend(BASE, "made", more))[2:] == [
        "judge#1",
        "first",
        "second",
        "judge#2",
    ]


def test_rows_of_a_new_phase_stand_at_the_end_in_their_order() -> None:
    more = [
        Transition("rest", "ask", guard="tries < 1", name="first"),
        Transition("rest", "bad", guard="otherwise", name="second"),
    ]

    made = extend(BASE, "made", more, phases=[Phase("rest")])

    assert names(made)[-2:] == ["first", "second"]
    assert made.phase("rest").kind == "deciding"


def test_what_a_new_phase_offers_is_read_from_its_rows() -> None:
    more = [
        Transition("rest", "ask", "slept", "tries < 1"),
        Transition("rest", "bad", "slept", "otherwise"),
        Transition("rest", "bad", "woken"),
    ]

    made = extend(BASE, "made", more, phases=[Phase("rest")])

    assert [event.name for event in made.phase("rest").events] == ["slept", "woken"]


def test_a_part_with_a_known_name_replaces_it_where_it_stands() -> None:
    law = Law("one_end", "bounded", "target == 'good'", at_most="1")
    more = Law("another", "absence", "tries > 3")

    made = extend(
        BASE,
        "made",
        [],
        terminals=[Terminal("good", doc="At last."), Terminal("over", "limit")],
        memory=[Counter("tries", "4")],
        laws=[law, more],
        doc="Another one.",
    )

    assert [(end.name, end.doc) for end in made.terminals] == [
        ("good", "At last."),
        ("bad", ""),
        ("over", ""),
    ]
    assert made.memory == (Counter("tries", "4"),)
    assert made.laws == (law, more)
    assert (made.name, made.doc) == ("made", "Another one.")


def test_what_is_made_from_leaves_it_as_it_is() -> None:
    before = repr(BASE)
    extend(charge_rows(BASE, "ask", ["well"]), "made", [Transition("ask", "bad", "no")])

    assert repr(BASE) == before


def test_a_row_with_the_name_of_another_is_refused() -> None:
    with pytest.raises(BadDeclaration, match="ask:well"):
        extend(BASE, "made", [Transition("ask", "bad", "no", name="ask:well")])


def test_what_a_phase_costs_stands_at_its_rows_but_those_that_are_free() -> None:
    before, after = (
        {row.name: dict(row.cost) for row in compile_table(machine).rows}
        for machine in (BASE, charge_rows(BASE, "ask", ["well"]))
    )

    assert before["ask:well"] == {"model_calls": 1}
    assert after == before | {"ask:well": {}}


def test_only_a_phase_that_is_there_can_be_charged_by_its_rows() -> None:
    with pytest.raises(UnknownName, match="ask"):
        charge_rows(BASE, "aks", [])
