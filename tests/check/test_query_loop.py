"""What the proof says about the query loop: the answers the project stands for."""

import functools

import pytest

from unspiral.engine.check import (
    Outcome,
    Verdict,
    check_law,
    check_table,
    smallest_spirals,
)
from unspiral.engine.check.recheck import recheck
from unspiral.engine.core.declare import LimitValue, Machine
from unspiral.engine.core.language import UNLIMITED
from unspiral.engine.core.table import Table, compile_table
from unspiral.machines import load
from unspiral.machines.ablations import ABLATIONS, GATES, ablate

ACCEPTING = "stop_hooks_accept_valid_answers"
FINITE = "staged_folds_are_finite"
TOLD = tuple(name for name in ABLATIONS if name not in GATES)
#: `documented` without the recoveries that have nothing to do with long prompts.
NO_OUTPUT_RECOVERY: dict[str, LimitValue] = {
    "max_output_recoveries": 0,
    "output_escalation": False,
}
#: `hardened` with small caps: each gate matters at any size.
SMALL: dict[str, LimitValue] = {
    "recovery_budget": 3,
    "stop_block_cap": 2,
    "max_retries": 0,
    "max_output_recoveries": 2,
}


def query_loop() -> Machine:
    return load("query_loop")


@functools.cache
def verdict_of(
    edition: str,
    assumptions: tuple[str, ...] = (),
    limits: tuple[tuple[str, LimitValue], ...] = (),
) -> Verdict:
    table = compile_table(query_loop(), edition, dict(limits), assumptions)
    return check_table(table, laws=False)


def law_of(table: Table, name: str) -> Outcome:
    law = next(law for law in table.machine.laws if law.name == name)
    return check_law(table, law).verdict


# ---------------------------------------------------------------- published


def test_published_spirals_through_a_hook_that_always_blocks() -> None:
    verdict = verdict_of("published")

    assert verdict.verdict is Outcome.REFUTED
    assert verdict.spirals[0].reasons == ("stop_hook_blocking",)
    assert verdict.spirals[0].cost == {"model_calls": 1}


def test_with_accepting_hooks_published_drains_and_escalates_by_turns() -> None:
    verdict = verdict_of("published", (ACCEPTING,))

    assert verdict.verdict is Outcome.REFUTED
    assert set(verdict.spirals[0].reasons) == {
        "collapse_drain_retry",
        "max_output_tokens_escalate",
    }


def test_with_accepting_hooks_and_finite_folds_published_is_proved() -> None:
    verdict = verdict_of("published", (ACCEPTING, FINITE))

    assert verdict.verdict is Outcome.PROVED
    assert verdict.table.assumptions == (ACCEPTING, FINITE)
    assert verdict.bounds is not None
    assert verdict.bounds.model_calls_between_progress == 743
    assert verdict.bounds.witness is not None
    assert verdict.bounds.witness.cost["model_calls"] == 743


def test_where_the_override_is_kept_endless_folds_do_no_harm() -> None:
    verdict = verdict_of("published", (ACCEPTING,), (("override_kept", True),))

    assert verdict.verdict is Outcome.PROVED


# ---------------------------------------------------------------- documented


def test_documented_resets_the_blocks_by_escalating() -> None:
    verdict = verdict_of("documented")

    assert verdict.verdict is Outcome.REFUTED
    assert set(verdict.spirals[0].reasons) == {
        "stop_hook_blocking",
        "max_output_tokens_escalate",
    }


@pytest.mark.parametrize(
    ("readings", "outcome"),
    [
        ({"override_kept": True}, Outcome.REFUTED),
        ({"recoveries_kept_by_block": UNLIMITED}, Outcome.REFUTED),
        ({"blocks_kept_by_recovery": UNLIMITED}, Outcome.PROVED),
        (
            {"override_kept": True, "recoveries_kept_by_block": UNLIMITED},
            Outcome.PROVED,
        ),
    ],
)
def test_what_documented_is_worth_depends_on_its_readings(
    readings: dict[str, LimitValue], outcome: Outcome
) -> None:
    assert verdict_of("documented", (), tuple(readings.items())).verdict is outcome


def test_in_documented_blocks_and_tools_alternate_without_end() -> None:
    # Without the spiral in which recoveries give the blocks back, tools still do; and
    # without compaction nothing else is counted in which two rounds could differ.
    limits: dict[str, LimitValue] = {
        "blocks_kept_by_recovery": UNLIMITED,
        "autocompact_on": False,
        "reactive_compact": False,
    }
    table = compile_table(query_loop(), "documented", limits)
    law = next(x for x in table.machine.laws if x.name == "stop_blocks_are_bounded")

    answer = check_law(table, law)

    assert answer.verdict is Outcome.REFUTED
    assert answer.counterexample is not None
    assert set(answer.counterexample.reasons) == {"stop_hook_blocking", "next_turn"}
    assert law_of(compile_table(query_loop(), "documented"), law.name) is (
        Outcome.REFUTED
    )


# ---------------------------------------------------------------- hardened


def test_hardened_is_proved_under_no_assumption_by_a_certificate_and_a_search() -> None:
    verdict = verdict_of("hardened")

    assert verdict.verdict is Outcome.PROVED
    assert verdict.table.assumptions == ()
    assert verdict.basis == "certificate and exact search"
    assert verdict.certificate is not None
    recheck(verdict.certificate, query_loop())


@pytest.mark.parametrize("collapse", [True, False])
def test_every_law_of_hardened_is_proved_at_small_caps(*, collapse: bool) -> None:
    limits = {**SMALL, "context_collapse": collapse}
    verdict = check_table(compile_table(query_loop(), "hardened", limits))

    assert verdict.verdict is Outcome.PROVED
    assert [x.name for x in verdict.laws if x.verdict is not Outcome.PROVED] == []


@pytest.mark.parametrize("gate", GATES)
def test_without_one_gate_hardened_spirals_or_breaks_a_law(gate: str) -> None:
    table = compile_table(ablate(query_loop(), [gate]), "hardened", SMALL)

    spirals = check_table(table, laws=False).verdict is Outcome.REFUTED

    assert spirals or law_of(table, "recoveries_are_paid") is Outcome.REFUTED


# ---------------------------------------------------------------- all editions


@pytest.mark.parametrize("edition", ["published", "documented", "hardened"])
def test_unlimited_turns_are_told_as_open_ended(edition: str) -> None:
    lassos = verdict_of(edition).open_ended

    assert any("next_turn" in lasso.reasons for lasso in lassos)


def test_with_max_turns_nothing_is_open_ended_and_a_run_has_a_bound() -> None:
    limits = (("max_turns", 10),)
    verdict = verdict_of("published", (ACCEPTING, FINITE), limits)

    assert verdict.open_ended == ()
    assert verdict.bounds is not None
    assert verdict.bounds.model_calls_per_run is not None
    slope, _, rest = verdict.bounds.formula.partition(" * max_turns ")
    total = int(slope) * 10 + int(rest.replace(" ", ""))
    assert verdict.bounds.model_calls_per_run == total
    assert verdict.bounds.witness is not None
    assert verdict.bounds.witness.cost["model_calls"] == total


# ---------------------------------------------------------------- ablations


def attempts(
    edition: str, limits: dict[str, LimitValue], *assumptions: str
) -> dict[tuple[str, ...], tuple[str, ...] | None]:
    """Return, per set of ablations, the reasons of its shortest spiral, or None."""

    def table_of(names: tuple[str, ...]) -> Table:
        machine = ablate(query_loop(), names)
        return compile_table(machine, edition, limits, assumptions)

    return {
        each.names: each.verdict.spirals[0].reasons if each.spirals else None
        for each in smallest_spirals(table_of, TOLD)
    }


def test_each_guard_that_the_sources_tell_of_prevents_its_spiral() -> None:
    found = attempts("published", {"override_kept": True}, ACCEPTING)

    assert {names: reasons for names, reasons in found.items() if len(names) < 2} == {
        (): None,
        ("hooks_on_api_error",): ("stop_hook_blocking",),
        ("hooks_on_prompt_too_long",): ("stop_hook_blocking",),
        ("no_last_guard",): ("collapse_drain_retry",),
        ("no_reactive_flag",): ("reactive_compact_retry",),
        ("uncapped_output_recovery",): ("max_output_tokens_recovery",),
        ("reactive_reset_on_block",): None,
    }


def test_resetting_the_reactive_flag_needs_hooks_on_errors_to_spiral() -> None:
    found = attempts("documented", NO_OUTPUT_RECOVERY, ACCEPTING)

    pairs = {names for names, reasons in found.items() if reasons and len(names) == 2}
    assert pairs == {
        ("hooks_on_api_error", "reactive_reset_on_block"),
        ("hooks_on_prompt_too_long", "reactive_reset_on_block"),
    }


def test_finite_folds_and_not_the_last_guard_are_what_bounds_the_drain() -> None:
    found = attempts("published", {}, ACCEPTING, FINITE)

    assert found["no_last_guard",] is None
    assert verdict_of("published", (ACCEPTING,)).verdict is Outcome.REFUTED


# ---------------------------------------------------------------- one request


@pytest.mark.parametrize(("fallback", "calls"), [(False, 11), (True, 22)])
def test_one_request_makes_at_most_eleven_attempts_a_model(
    *, fallback: bool, calls: int
) -> None:
    limits: dict[str, LimitValue] = {"fallback_model": fallback}
    table = compile_table(load("api_attempt"), "normal", limits)
    verdict = check_table(table, laws=False)

    assert verdict.verdict is Outcome.PROVED
    assert verdict.bounds is not None
    assert verdict.bounds.model_calls_per_run == calls


def test_persistent_retries_are_refuted_as_what_they_are() -> None:
    table = compile_table(load("api_attempt"), "persistent")
    verdict = check_table(table, laws=False)

    assert verdict.verdict is Outcome.REFUTED
    assert set(verdict.spirals[0].reasons) == {"api_retry"}
    assert verdict.bounds is not None
    assert verdict.bounds.model_calls_per_run is None
