"""The query loop against numbers that follow from its facts, counted by hand."""

import functools
from typing import Any

import pytest

from unspiral.engine.core.declare import LimitValue
from unspiral.engine.core.language import UNLIMITED
from unspiral.engine.core.step import (
    Snapshot,
    Step,
    available_events,
    initial_snapshot,
    step,
)
from unspiral.engine.core.table import Table, compile_table
from unspiral.machines import load
from unspiral.machines.matrix import KEPT, reset_matrix
from unspiral.machines.moves import MOVES

LOOP = load("query_loop")
LETTERS = {"collapse_drain_retry": "D", "reactive_compact_retry": "R"}
QUIET = {  # what a run does where nothing else is said
    "shape.result_budget": {"within"},
    "shape.snip": {"kept"},
    "shape.microcompact": {"kept"},
    "shape.collapse": {"kept"},
    "autocompact.measure": {"below_threshold"},
    "preflight": {"fits"},
    "call_model.request": {"answered"},
    "read_reply": {"answer"},
    "stop_hooks": {"accept"},
    "token_budget.count": {"rest"},
    "run_tools": {"executed"},
}


def only(**events: set[str]) -> Any:
    """Accept the steps of an environment that answers as named, else quietly."""
    wanted = QUIET | {name.replace("__", "."): each for name, each in events.items()}

    def accepts(taken: Step) -> bool:
        allowed = wanted.get(taken.before.phase)
        return allowed is None or taken.event is None or taken.event in allowed

    return accepts


def is_request(taken: Step) -> int:
    return int(taken.before.phase == "call_model.request")


def runs_tools(taken: Step) -> int:
    return int(taken.before.phase == "run_tools")


def is_nudge(taken: Step) -> int:
    return int(taken.row.reason == "token_budget_continuation")


def words(table: Table) -> set[tuple[str, int]]:
    """Return the recoveries of every episode of refusals, with its requests."""
    found: set[tuple[str, int]] = set()
    accepts = only(call_model__request={"answered", "prompt_too_long"})
    waiting = [(initial_snapshot(table), "", 0)]
    while waiting:
        state, word, requests = waiting.pop()
        if state.phase == "read_reply" or state.phase in table.terminals:
            found.add((word, requests))
            continue
        for event in table.events[state.phase] or (None,):
            taken = (
                step(table, state, event) if available(table, state, event) else None
            )
            if taken is None or not accepts(taken):
                continue
            if event == "aborted":
                continue
            letter = LETTERS.get(taken.row.reason, "")
            waiting.append((taken.after, word + letter, requests + is_request(taken)))
    return found


def available(table: Table, state: Snapshot, event: str | None) -> bool:
    return event is None or event in available_events(table, state)


def test_the_recoveries_of_a_refused_prompt_form_six_words_and_four_requests() -> None:
    found = words(compile_table(LOOP))

    assert {word for word, _ in found} == {"", "D", "R", "DR", "RD", "DRD"}
    assert max(requests for _, requests in found) == 4


@pytest.mark.parametrize(("kept", "requests"), [(True, 5), (False, 8)])
def test_an_answer_that_stays_truncated_costs_few_requests(
    *, kept: bool, requests: int, plain: Any
) -> None:
    table = compile_table(LOOP, None, {"override_kept": kept})

    found = plain.worst(table, is_request, goes_on=only(read_reply={"truncated"}))

    assert found == requests


@pytest.mark.parametrize("turns", [1, 2, 7])
def test_max_turns_is_the_number_of_requests_whose_tools_run(
    turns: int, plain: Any
) -> None:
    table = compile_table(LOOP, None, {"max_turns": turns})

    rounds = plain.worst(
        table,
        runs_tools,
        goes_on=only(read_reply={"tool_use", "answer"}, run_tools={"executed"}),
    )

    assert rounds == turns


@functools.cache
def nudges(tokens: int, used: int, seen: int, *, last_small: bool) -> int:
    """Return the most nudges that a budget of so many tokens can be followed by.

    An independent count: answers of 1 and of 500 tokens are the worst of their kind.
    """
    best = 0
    for answer in (1, 500):
        small = answer < 500
        if seen >= 3 and small and last_small:
            continue
        after = used + (answer if not small else 0)
        if 10 * after < 9 * tokens:
            more = nudges(tokens, after, min(seen + 1, 3), last_small=small)
            best = max(best, 1 + more)
    return best


@pytest.mark.parametrize(
    ("units", "most"), [(2, 5), (4, 9), (10, 19), (20, 37), (40, 73)]
)
def test_a_token_budget_nudges_so_often_at_worst(
    units: int, most: int, plain: Any
) -> None:
    table = compile_table(LOOP, None, {"token_budget": units})

    found = plain.worst(
        table,
        is_nudge,
        goes_on=only(token_budget__count={"small", "big", "rest"}),
    )

    assert found == most == nudges(500 * units, 0, 0, last_small=True)


# The page's matrix in our own signs: "=" kept, 0 reset, else the value; columns are
# D drain, R reactive, E escalate, T resume, B block, C nudge, N next turn.
PAGE = """
                        D  R     E     T   B     C  N
    compacted           =  0     =     =   =     =  =
    output_recoveries   =  =     =     +1  0     0  0
    reactive_tried      =  True  =     =   =     0  0
    override            0  0     True  0   0     0  0
    stop_hook_active    0  0     0     0   True  0  =
    turn                =  =     =     =   =     =  +1
    stop_blocks         0  0     0     0   +1    0  0
"""
COLUMNS = {
    "D": "collapse_drain_retry",
    "R": "reactive_compact_retry",
    "E": "max_output_tokens_escalate",
    "T": "max_output_tokens_recovery",
    "B": "stop_hook_blocking",
    "C": "token_budget_continuation",
    "N": "next_turn",
}


def test_each_continue_resets_what_the_page_says() -> None:
    header, *lines = [line.split() for line in PAGE.strip().splitlines()]
    found = reset_matrix(LOOP, "published")
    zero = {"False": "0"}

    for name, *cells in lines:
        for column, cell in zip(header, cells, strict=True):
            text = found[COLUMNS[column]][name]
            assert (name, column, zero.get(text, text)) == (name, column, cell)


def test_the_matrix_has_the_seven_reasons_and_each_is_the_next_last() -> None:
    found = reset_matrix(LOOP, "published")

    assert set(found) == set(COLUMNS.values())
    assert all(cells["last"] == reason for reason, cells in found.items())


def test_a_reading_changes_its_cells_and_no_other() -> None:
    before = reset_matrix(LOOP, "published")
    after = reset_matrix(LOOP, "published", {"override_kept": True})
    changed = {
        (reason, name)
        for reason, cells in after.items()
        for name, cell in cells.items()
        if cell != before[reason][name]
    }

    assert changed == {
        (COLUMNS[column], "override") for column in ("D", "R", "T", "B", "C")
    }
    assert all(after[reason][name] == KEPT for reason, name in changed)


REACHING: list[tuple[str, dict[str, LimitValue]]] = [
    ("documented", {"max_rapid_refills": 3, "stop_block_cap": 1}),
    ("published", {"max_turns": 2, "token_budget_on": True}),
    ("hardened", {"stop_block_cap": 1, "recovery_budget": 1}),
    ("published", {"autocompact_on": False, "output_cap": 64_000}),
    ("published", {"persistent": True}),
]
SMALL: dict[str, LimitValue] = {
    "max_retries": 1,
    "max_overloads": 2,
    "max_compact_retries": 1,
    "max_compact_failures": 1,
    "history_groups": 2,
    "max_output_recoveries": 1,
    "token_budget_on": False,
}


@pytest.fixture(scope="module")
def reached(plain: Any) -> set[str]:
    rows: set[str] = set()
    for edition, limits in REACHING:
        table = compile_table(LOOP, edition, {**SMALL, **limits})
        rows |= plain.search(table).rows
    return rows


@pytest.mark.parametrize("move", MOVES, ids=lambda move: move.text)
def test_the_environment_can_make_every_move(move: Any, reached: set[str]) -> None:
    assert set(move.rows) <= reached
    assert move.rows or move.note


def test_unlimited_is_the_only_way_to_say_that_a_cap_is_off() -> None:
    offs = [
        limit.name
        for limit in LOOP.limits
        if UNLIMITED in limit.alternatives and limit.default in (0, UNLIMITED)
    ]

    # Where 0 is a default it is a number: so much is kept.
    assert {name for name in offs if "kept" not in name} == {
        "max_turns",
        "stop_block_cap",
        "recovery_budget",
    }
