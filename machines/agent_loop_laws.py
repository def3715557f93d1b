"""What the agent loop keeps beyond the query loop: laws of budgets and of the fuse.

The first is a law of the query loop that now speaks of more calls.
"""

from collections.abc import Mapping
from types import MappingProxyType

from unspiral.engine.core.declare import Assumption, Law, Scope

__all__ = ["ASSUMPTIONS", "BUDGET_ENDS", "LAWS"]

#: where a run ends of which nothing is left, by the name of the budget
BUDGET_ENDS: Mapping[str, str] = MappingProxyType(
    {
        "model_calls": "max_model_calls",
        "tool_calls": "max_tool_calls",
        "tokens": "max_tokens_spent",
        "micro_dollars": "max_cost",
        "seconds": "max_time",
    }
)

_CALLS = (
    "call_model.request",
    "autocompact.summarise",
    "compact_reactively",
    "break_cycle",
)
_BEGINNINGS = ("compact_reactively.pre_compact", "break_cycle.pre_compact")
_SPENT = "event == 'over_budget'"

_WIDER = (
    Law(
        "no_request_after_abort",
        "absence",
        what=f"phase in {_CALLS}",
        scope=Scope("after", start="event == 'aborted'"),
        source="law 14",
    ),
)

_BUDGETS = (
    Law(
        "nothing_is_sent_over_budget",
        "absence",
        what=f"phase in {_CALLS}",
        scope=Scope("after", start=_SPENT),
        doc="Where nothing is left, no call of a model follows.",
        source="law 76",
    ),
    Law(
        "budgets_never_go_on",
        "absence",
        what="target == 'shape'",
        scope=Scope("after", start=_SPENT),
        doc="No continue follows.",
        source="law 76",
    ),
    Law(
        "spent_is_said",
        "response",
        what=_SPENT,
        other=f"target in {tuple(BUDGET_ENDS.values())}",
        doc="The run ends by the budget of which nothing is left.",
        source="law 76",
    ),
    Law(
        "budget_ends_have_their_cause",
        "precedence",
        what=f"target in {tuple(BUDGET_ENDS.values())}",
        other=_SPENT,
        doc="And no run ends so without.",
        source="law 76",
    ),
    Law(
        "few_summaries_a_compaction",
        "bounded",
        what="phase in ('compact_reactively.summarise', 'break_cycle.summarise')",
        at_most="max_compact_retries + 1",
        scope=Scope("between", end=f"phase in {_BEGINNINGS}"),
        doc="A compaction that was ordered asks no more often than any other.",
        source="law 51",
    ),
    Law(
        "media_need_no_summary",
        "absence",
        what="phase == 'compact_reactively.summarise' and reply == 'media_too_large'",
        doc="Media that were refused are taken out, and no model is asked.",
        source="spec E.5",
    ),
    Law(
        "budgets_charge_no_breaker",
        "absence",
        what="autocompact.outcome == 'over_budget' and phase == 'autocompact.finish' "
        "and after.compact_failures != compact_failures",
        doc="That nothing is left is no failure of compaction.",
        source="law 44",
    ),
)

_FUSE = (
    Law(
        "stuck_means_that",
        "absence",
        what="target == 'stuck_loop' and event != 'cycled_again' and "
        "(event != 'cycled' or recovery_spent < recovery_budget)",
        doc="A run is stuck only where a circle was told: the same one again, or one "
        "for which no recovery is left.",
        source="law 79",
    ),
    Law(
        "the_same_circle_ends_the_run",
        "absence",
        what="event == 'cycled_again' and target != 'stuck_loop'",
        doc="After the warning there is no other one.",
        source="law 79",
    ),
    Law(
        "no_request_before_the_circle_is_broken",
        "absence",
        what="phase == 'call_model'",
        scope=Scope("between", start="event == 'cycled'", end="phase == 'break_cycle'"),
        doc="A circle is broken before the next request.",
        source="law 79",
    ),
    Law(
        "one_compaction_a_circle",
        "bounded",
        what="phase == 'break_cycle.pre_compact'",
        at_most="1",
        scope=Scope("between", end="event == 'cycled'"),
        doc="Each forced compaction has a circle of its own.",
        source="law 79",
    ),
    Law(
        "breaking_a_circle_is_paid",
        "absence",
        what="phase == 'break_cycle' and reason == 'next_turn' and "
        "(progress or after.recovery_spent != recovery_spent + 1)",
        doc="It is no progress, and charged like any recovery.",
        source="guard G02",
    ),
)

_PAUSES = (
    Law(
        "a_pause_is_paid",
        "absence",
        what="reason == 'server_pause' and "
        "(progress or after.recovery_spent != recovery_spent + 1)",
        doc="That an answer goes on is no progress, and charged like any recovery.",
        source="guard G02",
    ),
    Law(
        "a_pause_resets_nothing",
        "absence",
        what="reason == 'server_pause' and "
        "(after.output_recoveries != output_recoveries or "
        "after.stop_blocks != stop_blocks or after.reactive_tried != reactive_tried)",
        doc="No other recovery is free again because the server has paused.",
        source="guard G10",
    ),
)

LAWS = (*_WIDER, *_BUDGETS, *_FUSE, *_PAUSES)

ASSUMPTIONS = (
    Assumption(
        "circles_take_rounds",
        phase="run_tools",
        event="cycled",
        at_most="1",
        doc="Between two circles there is a round of tools that counts as progress. "
        "So it is wherever progress is not measured: a circle is several rounds.",
        source="law 79",
    ),
    Assumption(
        "pauses_take_rounds",
        phase="read_reply",
        event="paused",
        at_most="1",
        doc="A server pauses once between two rounds of tools that count as progress.",
        source="spec M: a paused answer is sent again",
    ),
)
