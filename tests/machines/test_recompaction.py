"""A compaction that was ordered: the middle of another machine, and no more."""

from typing import Any

import pytest

from unspiral.engine.check import Outcome, check_law, check_table
from unspiral.engine.core.declare import Machine
from unspiral.engine.core.step import Step
from unspiral.engine.core.table import compile_table
from unspiral.machines import load

ORDERED, WHOLE = load("recompaction"), load("compaction")
SOURCES = ("pre_compact", "summarise", "truncate", "weigh")


def calls(step: Step) -> int:
    return int(step.row.cost.get("model_calls", 0))


def proved(machine: Machine, name: str) -> bool:
    law = next(law for law in machine.laws if law.name == name)
    table = compile_table(machine, None, {"history_groups": 2})
    return check_law(table, law).verdict is Outcome.PROVED


def test_each_row_is_one_of_compaction_that_ends_where_that_reports() -> None:
    rows = [row for row in WHOLE.rows if row.source in SOURCES]

    for old in rows:
        new = ORDERED.row(old.name)
        told = f"outcome = '{new.target}'"
        moved = (new.target, new.action) == (old.target, old.action)
        assert moved or (old.target, old.action) == ("finish", told), old.name
        assert (new.event, new.guard, new.doc) == (old.event, old.guard, old.doc)
    added = {row.name for row in ORDERED.rows} - {row.name for row in rows}
    assert added == {"summarise:over_budget", "summarise:irreducible"}


def test_every_answer_of_compaction_is_heard_in_the_same_phase() -> None:
    for name in SOURCES:
        old, new = WHOLE.phase(name).events, ORDERED.phase(name).events
        assert new[: len(old)] == old


def test_every_request_is_paid_and_what_is_not_sent_is_free() -> None:
    costs = {row.name: dict(row.cost) for row in compile_table(ORDERED).rows}

    paid = {name for name, cost in costs.items() if cost}
    asks = {name for name in costs if name.startswith("summarise:")}
    assert paid == asks - {"summarise:over_budget", "summarise:irreducible"}
    assert all(costs[n] == dict(WHOLE.phase("summarise").cost) for n in paid)


@pytest.mark.parametrize(
    ("groups", "retries", "requests"), [(1, 3, 1), (2, 3, 2), (6, 3, 4), (6, 0, 1)]
)
def test_it_asks_as_often_as_any_compaction(
    groups: int, retries: int, requests: int, plain: Any
) -> None:
    limits = {"history_groups": groups, "max_compact_retries": retries}

    assert plain.worst(compile_table(ORDERED, None, limits), calls) == requests
    assert plain.worst(compile_table(WHOLE, None, limits), calls) == requests


def test_it_is_proved_with_all_its_laws() -> None:
    verdict = check_table(compile_table(ORDERED))

    assert verdict.verdict is Outcome.PROVED
    assert [x.name for x in verdict.laws if x.verdict is not Outcome.PROVED] == []
    assert len(verdict.laws) == len(ORDERED.laws) == 11


BROKEN: dict[str, Machine] = {
    "few_summary_retries": ORDERED.amend("summarise:refused", target="summarise"),
    "a_group_remains": ORDERED.amend("summarise:too_long#1", guard="retries < 2"),
    "each_retry_drops_a_group": ORDERED.amend("truncate:dropped_one", action=""),
    "a_veto_means_no_summary": ORDERED.amend("pre_compact:vetoed", target="summarise"),
    "only_summaries_are_weighed": ORDERED.amend("summarise:empty", target="weigh"),
    "hooks_that_do_not_veto_let_it_pass": ORDERED.amend(
        "pre_compact:crashed", target="failed"
    ),
    "the_end_is_what_came": ORDERED.amend("weigh:nothing", target="compacted"),
    "no_request_after_abort": ORDERED.amend("pre_compact:aborted", target="summarise"),
    "a_gain_is_weighed": ORDERED.amend("summarise:summary", target="compacted"),
    "nothing_is_sent_over_budget": ORDERED.amend(
        "summarise:over_budget", target="summarise"
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_each_law_holds_and_is_broken_by_the_row_that_it_is_about(name: str) -> None:
    assert proved(ORDERED, name)
    assert not proved(BROKEN[name], name)


def test_each_law_can_be_broken_but_that_it_ends_once() -> None:
    assert {law.name for law in ORDERED.laws} - set(BROKEN) == {"one_end"}
