"""The agent loop: the query loop, with budgets that end it and a fuse for circles."""

import functools
from collections.abc import Iterable
from typing import Any

import attrs
import pytest

from unspiral.engine.check import Outcome, Verdict, check_law, check_table
from unspiral.engine.core.declare import LimitValue, Machine
from unspiral.engine.core.library import drive
from unspiral.engine.core.step import Snapshot, memory_of
from unspiral.engine.core.table import Table, compile_table
from unspiral.engine.core.trace import Trace
from unspiral.engine.live.budgets import BUDGETS
from unspiral.machines import load
from unspiral.machines.agent_loop_laws import ASSUMPTIONS, BUDGET_ENDS, LAWS
from unspiral.machines.query_loop_laws import laws_of
from unspiral.machines.recompaction import OVER, UNSENT

LOOP, QUERY = load("agent_loop"), load("query_loop")
ACCEPTING = "stop_hooks_accept_valid_answers"
FINITE = "staged_folds_are_finite"
CIRCLES = "circles_take_rounds"
PAUSES = "pauses_take_rounds"
#: `hardened` with small caps: what is proved of it does not depend on their size.
SMALL: dict[str, LimitValue] = {
    "recovery_budget": 2,
    "stop_block_cap": 1,
    "max_retries": 0,
    "max_overloads": 1,
    "max_output_recoveries": 1,
    "max_compact_retries": 0,
    "max_compact_failures": 1,
    "max_rapid_refills": 2,
    "rapid_refill_turns": 1,
    "history_groups": 1,
    "token_budget_on": False,
}
#: the other editions, so that the search is short; what is UNLIMITED remains so.
SHORT: dict[str, LimitValue] = {
    name: SMALL[name]
    for name in ("max_retries", "max_compact_failures", "history_groups")
}
QUIET = {  # what a run does where nothing else is said
    "shape.result_budget": "within",
    "shape.snip": "kept",
    "shape.microcompact": "kept",
    "shape.collapse": "kept",
    "autocompact.measure": "below_threshold",
    "preflight": "fits",
    "call_model.request": "answered",
    "read_reply": "tool_use",
    "run_tools": "executed",
    "compact_reactively.pre_compact": "allowed",
    "compact_reactively.summarise": "summary",
    "compact_reactively.weigh": "gained",
    "break_cycle.pre_compact": "allowed",
    "break_cycle.summarise": "summary",
    "break_cycle.weigh": "gained",
    "which_budget": "seconds",
}


class Told:
    """Answers phase by phase as told, and quietly when nothing is told any more."""

    def __init__(self, told: dict[str, Iterable[str]]) -> None:
        self.told = {phase: iter(events) for phase, events in told.items()}

    def answer(self, table: Table, snapshot: Snapshot) -> str:
        del table
        told = next(self.told.get(snapshot.phase, iter(())), "")
        return told or QUIET[snapshot.phase]


def run(
    told: dict[str, Iterable[str]], edition: str = "hardened", **limits: Any
) -> Trace:
    """Run to the end; with nothing told for it a run ends after its turns."""
    return drive(compile_table(LOOP, edition, {"max_turns": 99} | limits), Told(told))


def phases(trace: Trace) -> list[str]:
    return [taken.before.phase for taken in trace.steps]


def memory_at_turns(trace: Trace) -> list[dict[str, Any]]:
    return [
        dict(memory_of(trace.table, taken.after))
        for taken in trace.steps
        if taken.row.reason == "next_turn"
    ]


# ---------------------------------------------------------------- derived


MENDED = "compact_reactively"  # one phase there, a machine here


def test_every_row_of_the_query_loop_is_declared_in_the_agent_loop() -> None:
    assert [row.name for row in QUERY.rows if LOOP.row(row.name) != row] == []


@pytest.mark.parametrize("edition", [edition.name for edition in QUERY.editions])
def test_every_row_of_the_query_loop_is_one_of_the_agent_loop(edition: str) -> None:
    """Flat rows, that is those of the nested machines too, with their costs."""
    old, new = told_of(QUERY, edition), told_of(LOOP, edition)

    same = {name: told for name, told in old.items() if told[0] != MENDED}
    assert len(old) - len(same) == len(QUERY.phase(MENDED).events)
    assert {name: new[name] for name in same} == same


def told_of(machine: Machine, edition: str) -> dict[str, tuple[Any, ...]]:
    """Return what each row does, and which row of the query loop is asked before it."""
    known = {row.name for row in compile_table(QUERY, edition).rows}
    return {
        row.name: (
            *(row.source, row.event, row.guard, row.action),
            MENDED if row.target.startswith(MENDED) else row.target,
            *(row.reason, row.progress, row.layer, dict(row.cost)),
            [each.name for each in row.earlier if each.name in known],
        )
        for row in compile_table(machine, edition).rows
    }


def test_every_event_is_offered_as_it_is_in_the_query_loop() -> None:
    old, new = compile_table(QUERY), compile_table(LOOP)

    known = {key: node for key, node in old.available.items() if key[0] != MENDED}
    assert {key: new.available[key] for key in known} == known


@pytest.mark.parametrize("phase", [MENDED, "break_cycle"])
def test_an_ordered_compaction_ends_as_the_phase_does_and_costs_what_it_sends(
    phase: str,
) -> None:
    inner = LOOP.phase(phase).runs
    assert inner is not None
    ends = {end.name for end in inner.terminals}

    assert ends == {event.name for event in QUERY.phase(MENDED).events} | {OVER}
    assert dict(LOOP.phase(phase).cost) == {}
    costs = {row.name: dict(row.cost) for row in compile_table(inner).rows}
    sent = dict(QUERY.phase(MENDED).cost)
    unsent = {f"summarise:{event}" for event in UNSENT}
    for name, cost in costs.items():
        asks = name.startswith("summarise:") and name not in unsent
        assert cost == (sent if asks else {}), name


def test_editions_and_limits_are_those_of_the_query_loop() -> None:
    assert LOOP.editions == QUERY.editions
    assert LOOP.all_limits == QUERY.all_limits


def test_what_is_added_is_less_than_a_screen() -> None:
    assert len(LOOP.rows) - len(QUERY.rows) < 25


def test_every_law_is_there_and_those_that_are_replaced_say_more() -> None:
    laws = {law.name: law for law in LOOP.laws}
    replaced = {law.name for law in QUERY.laws if laws[law.name] != law}

    assert replaced == {
        *(law.name for law in laws_of((), ())),
        "no_request_after_abort",
    }
    for name in ("one_end", "no_request_after_abort", "last_changes_only_by_continues"):
        before = next(law for law in QUERY.laws if law.name == name)
        assert laws[name].what.startswith(before.what.rstrip(")"))
    assert all(end.name in laws["one_end"].what for end in LOOP.terminals)
    for name in ("last_is_the_reason", "recoveries_are_paid"):
        assert "'server_pause'" in laws[name].what


# ---------------------------------------------------------------- budgets


def test_the_budgets_are_those_of_the_live_loop_but_for_turns() -> None:
    assert tuple(BUDGET_ENDS) == tuple(name for name in BUDGETS if name != "turns")
    assert [event.name for event in LOOP.phase("which_budget").events] == list(
        BUDGET_ENDS
    )


@pytest.mark.parametrize(("budget", "end"), BUDGET_ENDS.items())
def test_a_run_ends_by_the_budget_of_which_nothing_is_left(
    budget: str, end: str
) -> None:
    trace = run({"call_model.request": ["over_budget"], "which_budget": [budget]})

    assert trace.terminal == end
    assert trace.cost == {}
    assert {t.name: t.kind for t in LOOP.terminals}[end] == "limit"


def test_a_retry_is_not_sent_over_budget() -> None:
    trace = run(
        {
            "call_model.request": ["server_error", "over_budget"],
            "call_model.backoff": ["waited"],
        }
    )

    assert trace.terminal == "max_time"
    assert trace.cost == {"model_calls": 1}


def test_a_summary_over_budget_clears_the_status_and_charges_no_breaker() -> None:
    trace = run(
        {
            "autocompact.measure": ["over_threshold"],
            "autocompact.session_memory": ["too_large"],
            "autocompact.pre_compact": ["allowed"],
            "autocompact.summarise": ["over_budget"],
        },
        context_collapse=False,
    )

    assert trace.terminal == "max_time"
    assert trace.cost == {}
    assert "autocompact.finish" in phases(trace)
    assert "call_model.request" not in phases(trace)
    assert memory_of(trace.table, trace.last)["compact_failures"] == 0


@pytest.mark.parametrize(
    "told",
    [
        {
            "call_model.request": ["prompt_too_long"],
            "drain": ["nothing"],
            "compact_reactively.summarise": ["over_budget"],
        },
        {"run_tools": ["cycled"], "break_cycle.summarise": ["over_budget"]},
    ],
)
def test_no_other_side_task_goes_over_budget(told: dict[str, Iterable[str]]) -> None:
    trace = run(told)

    assert trace.terminal == "max_time"
    assert phases(trace).count("call_model.request") == 1
    assert trace.cost == {"model_calls": 1}


# ---------------------------------------------------------------- compactions


REFUSED: dict[str, Iterable[str]] = {
    "call_model.request": ["prompt_too_long"],
    "drain": ["nothing"],
}
CYCLED: dict[str, Iterable[str]] = {"run_tools": ["cycled"]}


@pytest.mark.parametrize(
    ("phase", "told"), [("compact_reactively", REFUSED), ("break_cycle", CYCLED)]
)
def test_each_request_of_an_ordered_compaction_is_counted(
    phase: str, told: dict[str, Iterable[str]]
) -> None:
    quiet = run(told, max_turns=5)
    more = {
        f"{phase}.summarise": ["too_long", "too_long", "summary"],
        f"{phase}.truncate": ["dropped_one", "dropped_more"],
    }
    repeated = run(told | more, max_turns=5)

    assert quiet.reasons == repeated.reasons
    assert repeated.cost["model_calls"] - quiet.cost["model_calls"] == 2
    assert (quiet.cost["compactions"], repeated.cost["compactions"]) == (1, 3)


@pytest.mark.parametrize(
    ("phase", "told"), [("compact_reactively", REFUSED), ("break_cycle", CYCLED)]
)
def test_a_summary_request_that_stays_too_long_is_given_up(
    phase: str, told: dict[str, Iterable[str]]
) -> None:
    more = {
        f"{phase}.summarise": ["too_long"] * 9,
        f"{phase}.truncate": ["dropped_one"] * 9,
    }
    trace = run(told | more, max_turns=3, max_compact_retries=1)

    assert phases(trace).count(f"{phase}.summarise") == 2
    assert f"{phase}.weigh" not in phases(trace)


def test_media_that_were_refused_are_stripped_and_cost_nothing() -> None:
    trace = run(
        {
            "call_model.request": ["media_rejected"],
            "compact_reactively.strip": ["gained"],
        },
        max_turns=1,
    )

    assert trace.reasons == ("reactive_compact_retry",)
    assert trace.cost == {"model_calls": 2}


def test_a_history_that_cannot_be_summarised_is_not_sent_to_a_model() -> None:
    trace = run(REFUSED | {"compact_reactively.summarise": ["irreducible"]})

    assert trace.terminal == "prompt_too_long"
    assert trace.cost == {"model_calls": 1}


# ---------------------------------------------------------------- circles


def test_a_circle_is_broken_by_one_compaction_and_ends_the_run_if_it_goes_on() -> None:
    trace = run({"run_tools": ["executed", "cycled", "executed", "cycled_again"]})

    assert trace.terminal == "stuck_loop"
    assert trace.reasons == ("next_turn",) * 3
    assert phases(trace).count("break_cycle.pre_compact") == 1
    assert trace.cost == {"model_calls": 5, "compactions": 1}


@pytest.mark.parametrize(
    ("phase", "event"),
    [("weigh", "gained"), ("weigh", "inflated"), ("summarise", "empty")],
)
def test_after_a_forced_compaction_the_turn_is_one_that_did_nothing(
    phase: str, event: str
) -> None:
    broken = run({"run_tools": ["executed", "cycled"], f"break_cycle.{phase}": [event]})
    plain = run({"run_tools": ["executed", "unproductive"]})

    assert memory_at_turns(broken)[1] == memory_at_turns(plain)[1]
    assert memory_at_turns(broken)[1]["recovery_spent"] == 1


def test_an_abort_while_a_circle_is_broken_ends_as_one_among_tools() -> None:
    trace = run({"run_tools": ["cycled"], "break_cycle.summarise": ["aborted"]})

    assert trace.terminal == "aborted_tools"


def test_a_circle_in_the_last_turn_ends_as_the_last_turn() -> None:
    assert run({"run_tools": ["cycled"]}, max_turns=1).terminal == "max_turns"


def test_a_circle_for_which_no_recovery_is_left_ends_the_run() -> None:
    trace = run({"run_tools": ["cycled"] * 3}, recovery_budget=2)

    assert trace.terminal == "stuck_loop"
    assert phases(trace).count("break_cycle.pre_compact") == 2


# ---------------------------------------------------------------- what is proved


@functools.cache
def verdict_of(edition: str, assumptions: tuple[str, ...] = ()) -> Verdict:
    return check_table(compile_table(LOOP, edition, None, assumptions), laws=False)


def test_hardened_is_proved_under_no_assumption() -> None:
    verdict = verdict_of("hardened")

    assert verdict.verdict is Outcome.PROVED
    assert verdict.basis == "certificate and exact search"
    assert verdict.bounds is not None
    assert verdict.bounds.model_calls_between_progress == 142
    assert verdict.bounds.witness is not None
    assert verdict.bounds.witness.cost["model_calls"] == 142


def test_every_law_of_hardened_is_proved_at_small_caps() -> None:
    limits = SMALL | {"context_collapse": False}
    verdict = check_table(compile_table(LOOP, "hardened", limits))

    assert [x.name for x in verdict.laws if x.verdict is not Outcome.PROVED] == []
    assert len(verdict.laws) == len(LOOP.laws)


@pytest.mark.parametrize("edition", ["published", "documented"])
def test_the_other_editions_spiral_as_the_query_loop_does(edition: str) -> None:
    plain, verdict = (
        check_table(compile_table(machine, edition, SHORT, assumed), laws=False)
        for machine, assumed in ((QUERY, ()), (LOOP, (PAUSES,)))
    )

    assert verdict.verdict is Outcome.REFUTED
    assert verdict.spirals[0].reasons == plain.spirals[0].reasons
    assert verdict.spirals[0].cost == plain.spirals[0].cost


def test_published_is_proved_where_a_circle_takes_rounds_that_count() -> None:
    verdict = verdict_of("published", (ACCEPTING, FINITE, CIRCLES, PAUSES))

    assert verdict.verdict is Outcome.PROVED
    assert verdict.bounds is not None
    assert verdict.bounds.model_calls_between_progress == 890


def test_in_published_circles_that_are_told_without_rounds_have_no_end() -> None:
    verdict = verdict_of("published", (ACCEPTING, FINITE, PAUSES))

    assert verdict.verdict is Outcome.REFUTED
    assert {each.reasons for each in verdict.spirals} == {("next_turn",)}
    assert [each.name for each in ASSUMPTIONS] == [CIRCLES, PAUSES]


def test_in_published_a_server_that_pauses_again_and_again_is_asked_without_end() -> (
    None
):
    verdict = verdict_of("published", (ACCEPTING, FINITE, CIRCLES))

    assert verdict.verdict is Outcome.REFUTED
    assert {each.reasons for each in verdict.spirals} == {("server_pause",)}


def test_in_hardened_a_server_that_pauses_again_and_again_ends_the_run() -> None:
    trace = run({"read_reply": ["paused"] * 9})

    assert trace.terminal == "recovery_exhausted"
    assert trace.reasons == ("server_pause",) * 8
    assert trace.cost == {"model_calls": 9}


def test_without_its_gate_a_circle_spirals_in_hardened() -> None:
    free = LOOP.amend("may_break_cycle", guard="")
    for event in ("compacted", "compacted_no_gain", "failed"):
        row = free.row(f"break_cycle:{event}")
        uncharged = row.action.replace("; recovery_spent += 1", "")
        assert uncharged != row.action
        free = free.amend(row.name, action=uncharged)

    verdict = check_table(compile_table(free, "hardened", SMALL), laws=False)

    assert verdict.verdict is Outcome.REFUTED


def proved(table: Table, name: str) -> bool:
    law = next(law for law in table.machine.laws if law.name == name)
    return check_law(table, law).verdict is Outcome.PROVED


def inside(phase: str, row: str, **changes: Any) -> Machine:
    """Return the loop with a row changed of the machine that runs a phase."""
    old = LOOP.phase(phase)
    assert old.runs is not None
    new = attrs.evolve(old, runs=old.runs.amend(row, **changes))
    phases = [new if each is old else each for each in LOOP.phases]
    return attrs.evolve(LOOP, phases=phases)


TURN: dict[str, Any] = {
    "target": "shape",
    "reason": "next_turn",
    "action": LOOP.row("next_turn").action,
}
BROKEN: dict[str, Machine] = {
    "no_request_after_abort": LOOP.amend("break_cycle:aborted", **TURN),
    "nothing_is_sent_over_budget": LOOP.amend("call_model:over_budget", target="shape"),
    "budgets_never_go_on": LOOP.amend("which_budget:seconds", **TURN),
    "spent_is_said": LOOP.amend("autocompact:over_budget", target="completed"),
    "budget_ends_have_their_cause": LOOP.amend("read_reply:aborted", target="max_time"),
    "budgets_charge_no_breaker": inside(
        "autocompact", "nothing_left", action="compact_failures += 1"
    ),
    "few_summaries_a_compaction": inside(
        "break_cycle", "summarise:refused", target="summarise"
    ),
    "media_need_no_summary": inside(
        "compact_reactively", "media_refused", target="summarise"
    ),
    "stuck_means_that": LOOP.amend("run_tools:hook_stopped", target="stuck_loop"),
    "the_same_circle_ends_the_run": LOOP.amend("run_tools:cycled_again", **TURN),
    "no_request_before_the_circle_is_broken": LOOP.amend("may_break_cycle", **TURN),
    "one_compaction_a_circle": LOOP.amend(
        "break_cycle:failed", target="break_cycle", reason="", action=""
    ),
    "a_pause_is_paid": LOOP.amend("resume_paused", action="last = 'server_pause'"),
    "a_pause_resets_nothing": LOOP.amend(
        "resume_paused",
        action="last = 'server_pause'; recovery_spent += 1; stop_blocks = 0",
    ),
    "breaking_a_circle_is_paid": LOOP.amend(
        "break_cycle:failed", action=LOOP.row("next_turn").action
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_each_law_is_broken_by_the_row_that_it_is_about(name: str) -> None:
    limits = SMALL | {"context_collapse": False}

    assert not proved(compile_table(BROKEN[name], "hardened", limits), name)


def test_each_law_that_is_added_can_be_broken() -> None:
    assert {law.name for law in LAWS} == set(BROKEN)
