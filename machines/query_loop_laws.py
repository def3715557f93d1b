"""The laws of the query loop that the machine alone can keep or break.

`law N` is the number of the rule in the specification. A rule that is a fact of one
edition only says so; the check tells which editions refute it.
"""

from unspiral.engine.core.declare import Law, Scope

__all__ = ["LAWS", "laws_of"]

_RENEWS = "reason in ('next_turn', 'token_budget_continuation')"


def _never(name: str, what: str, doc: str, source: str) -> Law:
    return Law(name, "absence", what, doc=doc, source=source)


_TERMINATION = (
    _never(
        "ends_have_their_causes",
        "target == 'prompt_too_long' and reply != 'prompt_too_long' or "
        "target == 'image_error' and phase == 'reactive_gate' and "
        "reply != 'media_too_large' or "
        "target == 'blocking_limit' and event != 'over_limit' or "
        "target == 'stop_hook_prevented' and event != 'prevent' or "
        "target == 'hook_stopped' and event != 'hook_stopped'",
        "Each end is told only where its cause is met.",
        "law 11",
    ),
    _never(
        "max_turns_means_that",
        "target == 'max_turns' and (phase != 'run_tools' or turn < max_turns)",
        "The run ends as max_turns only after tools, when one more turn is too many.",
        "law 12",
    ),
    Law(
        "few_next_turns",
        "bounded",
        what="reason == 'next_turn'",
        at_most="max_turns - 1",
        source="law 12",
    ),
    Law(
        "few_tool_rounds",
        "bounded",
        what="phase == 'run_tools'",
        at_most="max_turns",
        doc="At most max_turns requests run tools.",
        source="law 12",
    ),
    _never(
        "no_end_of_unlimited_turns",
        "target == 'max_turns' and max_turns == UNLIMITED",
        "Without a limit no run ends as max_turns.",
        "law 13",
    ),
    Law(
        "abort_ends_the_run",
        "response",
        what="event == 'aborted'",
        other="target in ('aborted_streaming', 'aborted_tools')",
        source="law 14",
    ),
    _never(
        "abort_among_tools",
        "event == 'aborted' and phase == 'run_tools' and target != 'aborted_tools'",
        "An abort while tools run ends as aborted_tools.",
        "law 14",
    ),
    Law(
        "no_request_after_abort",
        "absence",
        what="phase in ('call_model.request', 'autocompact.summarise', "
        "'compact_reactively')",
        scope=Scope("after", start="event == 'aborted'"),
        source="law 14",
    ),
)

_STATE = (
    _never(
        "turn_changes_only_by_next_turn",
        "reason != 'next_turn' and after.turn != turn",
        "The count of turns counts turns.",
        "law 18",
    ),
    _never(
        "next_turn_counts_one",
        "reason == 'next_turn' and after.turn != turn + 1",
        "And each of them once.",
        "law 18",
    ),
    _never(
        "recoveries_rise_only_by_recovery",
        "after.output_recoveries > output_recoveries and "
        "reason != 'max_output_tokens_recovery'",
        "Only a resumed truncation counts as one.",
        "law 22",
    ),
    _never(
        "recovery_counts_one",
        "reason == 'max_output_tokens_recovery' and "
        "after.output_recoveries != output_recoveries + 1",
        "And each of them once.",
        "law 22",
    ),
    _never(
        "work_renews_recoveries",
        f"{_RENEWS} and after.output_recoveries > 0",
        "After a turn of tools or a nudge the count is 0.",
        "law 22",
    ),
    _never(
        "no_two_drains_in_a_row",
        "reason == 'collapse_drain_retry' and last == 'collapse_drain_retry'",
        "It does not bound the drains by itself: another recovery may stand between.",
        "law 23",
    ),
    _never(
        "a_drain_commits",
        "reason == 'collapse_drain_retry' and event != 'committed'",
        "A drain that committed nothing is no reason to go on.",
        "law 24",
    ),
    Law(
        "one_reactive_compaction",
        "bounded",
        what="reason == 'reactive_compact_retry'",
        at_most="1",
        scope=Scope("between", end=_RENEWS),
        doc="One until the next turn of tools or nudge.",
        source="law 25",
    ),
    _never(
        "block_keeps_reactive_flag",
        "reason == 'stop_hook_blocking' and after.reactive_tried != reactive_tried",
        "A block does not allow another reactive compaction.",
        "law 26",
    ),
    _never(
        "block_sets_the_hook_flag",
        "reason == 'stop_hook_blocking' and not after.stop_hook_active",
        "The next stop hooks are told.",
        "law 27",
    ),
    Law(
        "hook_flag_only_after_a_block",
        "precedence",
        what="phase == 'stop_hooks' and stop_hook_active",
        other="reason == 'stop_hook_blocking'",
        doc="The first stop hooks of a run are not told so.",
        source="law 27",
    ),
)

_EPISODES = (
    Law(
        "few_recoveries_between_resets",
        "bounded",
        what="reason == 'max_output_tokens_recovery'",
        at_most="max_output_recoveries",
        scope=Scope(
            "between",
            end=f"{_RENEWS} or reason == 'stop_hook_blocking'",
        ),
        source="law 30",
    ),
    Law(
        "few_requests_too_long",
        "bounded",
        what="event == 'prompt_too_long'",
        at_most="4",
        scope=Scope(
            "between", end="phase == 'read_reply' or event == 'media_rejected'"
        ),
        doc="The first request, after a drain, after a compaction, after a drain.",
        source="law 31",
    ),
    _never(
        "tool_path_apart",
        "reply == 'tool_use' and phase in ('stop_hooks', 'token_budget', 'drain', "
        "'reactive_gate', 'compact_reactively')",
        "A reply with tool calls meets no stop hook, no recovery and no budget.",
        "law 32",
    ),
    _never(
        "error_meets_no_stop_hook",
        "phase == 'stop_hooks' and reply != 'answer'",
        "Hooks that judge an error block it, and the retry meets it again.",
        "law 35",
    ),
)

_COMPACTION = (
    _never(
        "breaker_stops_compaction",
        "phase == 'autocompact.summarise' and compact_failures >= max_compact_failures",
        "After so many failures in a row nothing is summarised.",
        "law 44",
    ),
    _never(
        "success_closes_the_breaker",
        "phase == 'autocompact.finish' and autocompact.outcome == 'compacted' and "
        "after.compact_failures > 0",
        "One success sets the count to 0.",
        "law 44",
    ),
    _never(
        "side_tasks_never_compact",
        "phase == 'autocompact.summarise' and query_source != 'main'",
        "A compaction never starts a compaction.",
        "law 45",
    ),
    _never(
        "collapse_excludes_compaction",
        "phase == 'autocompact.summarise' and context_collapse",
        "Two owners of the context would race.",
        "law 46",
    ),
    Law(
        "compaction_only_over_the_threshold",
        "precedence",
        what="phase == 'autocompact.announce'",
        other="event == 'over_threshold'",
        scope=Scope("between", end="phase == 'shape'"),
        doc="In the same iteration.",
        source="law 47",
    ),
    Law(
        "status_is_cleared",
        "response",
        what="phase == 'autocompact.announce'",
        other="phase == 'autocompact.finish'",
        source="law 48",
    ),
    Law(
        "status_is_not_nested",
        "absence",
        what="phase == 'autocompact.announce'",
        scope=Scope(
            "between",
            start="phase == 'autocompact.announce'",
            end="phase == 'autocompact.finish'",
        ),
        source="law 48",
    ),
)

_REQUESTS = (
    _never(
        "background_overload_is_not_retried",
        "event == 'overloaded' and not foreground and not persistent and "
        "target in ('call_model.request', 'call_model.backoff')",
        "A background request gives up at the first 529.",
        "law 66",
    ),
    _never(
        "fallback_after_consecutive_overloads",
        "reason == 'model_fallback_retry' and "
        "(event != 'overloaded' or call_model.overloads + 1 < max_overloads)",
        "The model is switched only after max_overloads 529s in a row.",
        "law 67",
    ),
    _never(
        "other_outcomes_reset_overloads",
        "phase == 'call_model.request' and event != 'overloaded' and "
        "after.call_model.overloads > 0",
        "Only 529s in a row count.",
        "law 67",
    ),
    _never(
        "switch_adds_no_iteration",
        "reason == 'model_fallback_retry' and (after.turn != turn or "
        "after.last != last or target != 'call_model')",
        "The other model answers in the same iteration.",
        "law 68",
    ),
    Law(
        "attempts_per_model",
        "bounded",
        what="phase == 'call_model.request' and not on_fallback",
        at_most="max_retries + 1",
        scope=Scope("between", end="phase == 'shape'"),
        doc="One request makes so many attempts on the first model. Refuted where "
        "`persistent` is on.",
        source="law 65",
    ),
)

_BUDGETS = (
    _never(
        "only_the_main_agent_goes_on",
        "reason == 'token_budget_continuation' and (not main_agent or "
        "not token_budget_on or 10 * budget_used >= 9 * token_budget)",
        "And only under 90 % of the budget.",
        "law 72",
    ),
    Law(
        "few_nudges",
        "bounded",
        what="reason == 'token_budget_continuation'",
        at_most="2 * token_budget + 4",
        doc="In a whole run; the exact worst cases are smaller.",
        source="law 73",
    ),
    Law(
        "stop_blocks_are_bounded",
        "bounded",
        what="reason == 'stop_hook_blocking'",
        doc="Stop blocks per human message are bounded. Refuted in `published` (a "
        "hook that always blocks) and in `documented` (block, tool, block, tool).",
        source="law 82, guard G10",
    ),
    Law(
        "blocks_without_tool_work",
        "bounded",
        what="reason == 'stop_hook_blocking'",
        at_most="stop_block_cap",
        scope=Scope("between", end="phase == 'run_tools'"),
        doc="At most so many between two rounds of tools. Refuted in `documented` "
        "where other recoveries reset the count.",
        source="law 41",
    ),
)

LAWS = (*_TERMINATION, *_STATE, *_EPISODES, *_COMPACTION, *_REQUESTS, *_BUDGETS)


def laws_of(ends: tuple[str, ...], continues: tuple[str, ...]) -> tuple[Law, ...]:
    """Return the laws of all ends and all reasons to go on that a loop has.

    Args:
        ends: the names of its terminals.
        continues: its reasons; all but `next_turn` are recoveries.
    """
    recoveries = tuple(each for each in continues if each != "next_turn")
    return (
        Law(
            "one_end",
            "bounded",
            what=f"target in {ends}",
            at_most="1",
            doc="A run ends once.",
            source="law 10",
        ),
        _never(
            "last_is_the_reason",
            " or ".join(f"reason == '{r}' and after.last != '{r}'" for r in continues),
            "What the next iteration reads as last is the reason of this continue.",
            "law 19",
        ),
        _never(
            "last_changes_only_by_continues",
            f"after.last != last and reason not in {continues}",
            "Retries and the switch of model leave it alone.",
            "laws 19, 68",
        ),
        Law(
            "recoveries_are_paid",
            "bounded",
            what=f"reason in {recoveries} or reason == 'next_turn' and not progress",
            at_most="recovery_budget",
            scope=Scope("between", end="progress"),
            doc="Between two progress events there are at most recovery_budget "
            "recoveries, of all kinds together.",
            source="guards G01, G02",
        ),
    )
