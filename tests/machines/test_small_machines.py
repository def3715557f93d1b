"""The turnstile, one tool call, one request, one compaction, the token budget."""

from typing import Any

import pytest

from unspiral.engine.core.declare import LimitValue
from unspiral.engine.core.language import UNLIMITED
from unspiral.engine.core.step import Step
from unspiral.engine.core.table import compile_table
from unspiral.machines import load


def calls(step: Step) -> int:
    return int(step.row.cost.get("model_calls", 0))


def test_a_guarded_turnstile_is_shaken_a_few_times_only(plain: Any) -> None:
    table = compile_table(load("turnstile"))

    assert plain.spiral_rows(plain.search(table)) == set()
    assert not plain.broken(table, "few_shakes_between_passers")


def test_an_unguarded_turnstile_can_be_shaken_for_ever(plain: Any) -> None:
    table = compile_table(load("turnstile"), "unguarded")

    assert plain.spiral_rows(plain.search(table)) == {"locked:push#1"}


def test_one_request_makes_at_most_eleven_attempts_a_model(plain: Any) -> None:
    one = compile_table(load("api_attempt"), None, {"fallback_model": False})
    two = compile_table(load("api_attempt"))

    assert plain.worst(one, calls) == 11
    assert plain.worst(two, calls) == 22
    assert not plain.broken(two, "attempts_per_model")
    assert not plain.broken(two, "attempts_on_fallback")


def test_attempts_are_bounded_in_normal_mode_and_endless_in_persistent(
    plain: Any,
) -> None:
    normal = plain.search(compile_table(load("api_attempt"), "normal"))
    persistent = plain.search(compile_table(load("api_attempt"), "persistent"))

    assert plain.spiral_rows(normal) == set()
    assert {"rate_limited_for_ever", "overloaded_for_ever"} <= plain.spiral_rows(
        persistent
    )


def test_a_background_request_gives_up_at_the_first_overload(plain: Any) -> None:
    table = compile_table(load("api_attempt"), None, {"foreground": False})

    found = plain.search(table)

    assert "overloaded_in_background" in found.rows
    assert not {r for r in found.rows if r.startswith("request:overloaded")}


@pytest.mark.parametrize("name", ["api_attempt", "compaction", "tool_call"])
def test_the_laws_that_forbid_hold(name: str, plain: Any) -> None:
    for edition in load(name).editions:
        if edition.name == "persistent":
            continue
        table = compile_table(load(name), edition.name)
        forbidding = [
            law.name
            for law in load(name).laws
            if law.pattern in {"absence", "bounded", "precedence"}
        ]

        assert [law for law in forbidding if plain.broken(table, law)] == []


def test_a_persistent_request_breaks_the_law_of_attempts(plain: Any) -> None:
    table = compile_table(load("api_attempt"), "persistent")

    assert plain.broken(table, "attempts_per_model")


@pytest.mark.parametrize(("groups", "requests"), [(1, 1), (2, 2), (6, 4)])
def test_a_summary_is_asked_for_again_with_less_while_a_group_remains(
    groups: int, requests: int, plain: Any
) -> None:
    table = compile_table(load("compaction"), None, {"history_groups": groups})

    assert plain.worst(table, calls) == requests


def test_a_summary_that_frees_nothing_is_charged_only_if_gain_is_measured(
    plain: Any,
) -> None:
    published = plain.search(compile_table(load("compaction"), "published"))
    hardened = plain.search(compile_table(load("compaction"), "hardened"))

    assert "no_gain_trusted" in published.rows
    assert "no_gain_charged" not in published.rows
    assert "no_gain_charged" in hardened.rows
    assert "no_gain_trusted" not in hardened.rows


def test_a_tool_call_ends_with_one_result_or_is_discarded(plain: Any) -> None:
    limits = {"interruptible": True, "cancel_all_siblings": True}
    found = plain.search(compile_table(load("tool_call"), None, limits))

    assert found.ends == {end.name for end in load("tool_call").terminals}


def test_only_shell_calls_are_cancelled_with_a_failed_sibling_by_default(
    plain: Any,
) -> None:
    table = compile_table(load("tool_call"))
    shell = table.positions["is_shell"]

    cancelled = [
        state
        for state, steps in plain.search(table).steps.items()
        if any(step.event == "sibling_failed" for step in steps)
    ]

    assert cancelled
    assert all(state.memory[shell] for state in cancelled)


def test_the_shortest_request_has_one_attempt_when_nothing_is_retried(
    plain: Any,
) -> None:
    limits: dict[str, LimitValue] = {"max_retries": 0, "max_overloads": UNLIMITED}

    assert plain.worst(compile_table(load("api_attempt"), None, limits), calls) == 1
