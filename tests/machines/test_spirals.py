"""Which editions, readings and ablations of the query loop have a death spiral.

At small limits, by a plain search: where there is a spiral at small limits there is one
at all, and the other way round, since every bound is one of counters.
"""

from typing import Any

import pytest

from unspiral.engine.core.language import UNLIMITED
from unspiral.engine.core.table import Table, compile_table
from unspiral.engine.errors import UnknownName
from unspiral.machines import load
from unspiral.machines.ablations import ABLATIONS, GATES, ablate

LOOP = load("query_loop")
ACCEPT = "stop_hooks_accept_valid_answers"
FOLDS = "staged_folds_are_finite"
SMALL = {
    "max_retries": 0,
    "max_overloads": 1,
    "max_compact_retries": 0,
    "max_compact_failures": 1,
    "rapid_refill_turns": 1,
    "history_groups": 1,
    "max_output_recoveries": 1,
    "token_budget_on": False,
    "staged_folds": 2,
}
CAPPED = {"stop_block_cap": 1, "max_rapid_refills": 2}
HARD = {"stop_block_cap": 2, "recovery_budget": 2, "recovery_refund": 1}


def small(
    edition: str, *assumed: str, ablated: tuple[str, ...] = (), **limits: Any
) -> Table:
    sizes = {"published": {}, "documented": CAPPED, "hardened": HARD}[edition]
    return compile_table(
        ablate(LOOP, ablated), edition, {**SMALL, **sizes, **limits}, assumed
    )


def spirals(plain: Any, table: Table) -> bool:
    return bool(plain.spiral_rows(plain.search(table)))


def test_a_hook_that_always_blocks_spirals_in_published(plain: Any) -> None:
    assert spirals(plain, small("published"))


def test_drain_and_escalation_alternate_where_folds_never_end(plain: Any) -> None:
    assert spirals(plain, small("published", ACCEPT))


def test_published_is_safe_with_accepting_hooks_and_finite_folds(plain: Any) -> None:
    assert not spirals(plain, small("published", ACCEPT, FOLDS))


def test_published_is_safe_with_accepting_hooks_where_the_override_is_kept(
    plain: Any,
) -> None:
    assert not spirals(plain, small("published", ACCEPT, override_kept=True))


def test_in_documented_a_recovery_gives_the_blocks_back(plain: Any) -> None:
    assert spirals(plain, small("documented"))


def test_in_documented_the_override_alone_is_not_what_spirals(plain: Any) -> None:
    assert spirals(plain, small("documented", override_kept=True))


def test_documented_is_safe_where_recoveries_leave_the_blocks_alone(
    plain: Any,
) -> None:
    assert not spirals(plain, small("documented", blocks_kept_by_recovery=UNLIMITED))


def test_documented_blocks_are_not_bounded_over_turns_of_tools(plain: Any) -> None:
    """Block, tool, block, tool: a cycle, though one with progress."""
    table = small("documented", blocks_kept_by_recovery=UNLIMITED)
    found = plain.search(table)

    again = found.forget
    turned = [
        again(s.after)
        for steps in found.steps.values()
        for s in steps
        if s.row.name == "next_turn"
    ]
    cleared = [s for s in turned if s.memory[table.positions["stop_blocks"]] == 0]

    assert cleared


@pytest.mark.parametrize(("collapse", "budget"), [(True, True), (False, False)])
def test_hardened_has_no_spiral_under_no_assumption(
    *, collapse: bool, budget: bool, plain: Any
) -> None:
    table = small("hardened", context_collapse=collapse, token_budget_on=budget)

    assert not spirals(plain, table)


def test_hardened_keeps_the_laws_that_the_gates_are_for(plain: Any) -> None:
    table = small("hardened", token_budget_on=True)

    assert not plain.broken(table, "recoveries_are_paid")
    assert not plain.broken(table, "blocks_without_tool_work")


@pytest.mark.parametrize("gate", GATES)
def test_each_gate_of_hardened_is_needed(gate: str, plain: Any) -> None:
    table = small("hardened", ablated=(gate,), token_budget_on=True)

    assert plain.broken(table, "recoveries_are_paid") or spirals(plain, table)


@pytest.mark.parametrize(
    "name",
    [
        "hooks_on_api_error",
        "hooks_on_prompt_too_long",
        "no_last_guard",
        "no_reactive_flag",
        "uncapped_output_recovery",
    ],
)
def test_an_ablation_that_the_sources_tell_of_spirals(name: str, plain: Any) -> None:
    table = small("published", ACCEPT, ablated=(name,), override_kept=True)

    assert spirals(plain, table)


def test_resetting_the_reactive_flag_alone_is_not_enough(plain: Any) -> None:
    table = small(
        "published", ACCEPT, ablated=("reactive_reset_on_block",), override_kept=True
    )

    assert not spirals(plain, table)


def test_the_reset_spirals_with_hooks_that_judge_a_refused_prompt(plain: Any) -> None:
    both = ("hooks_on_prompt_too_long", "reactive_reset_on_block")
    plainly = {"output_escalation": False, "max_output_recoveries": 0}

    assert not spirals(plain, small("documented", ACCEPT, ablated=both[:1], **plainly))
    assert spirals(plain, small("documented", ACCEPT, ablated=both, **plainly))


def test_an_unknown_ablation_is_named() -> None:
    with pytest.raises(UnknownName, match="did you mean 'no_last_guard'"):
        ablate(LOOP, ["no_last_gard"])


def test_every_ablation_changes_the_machine() -> None:
    assert [name for name in ABLATIONS if ablate(LOOP, [name]) == LOOP] == []


FORBIDDING = [law.name for law in LOOP.laws if law.pattern != "response"]
REFUTED = {
    "published": set[str](),  # those with an infinite count are not for this search
    "documented": {"blocks_without_tool_work"},
    "hardened": set[str](),
}


@pytest.mark.parametrize("edition", REFUTED)
def test_the_laws_that_forbid_hold_but_for_those_told_of(
    edition: str, plain: Any
) -> None:
    table = small(edition)

    assert {law for law in FORBIDDING if plain.broken(table, law)} == REFUTED[edition]
