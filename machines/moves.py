"""What the environment may do to the query loop, and the rows that realise it.

The moves are drawn from public reports of loops that went wrong. A move that this
machine cannot make is listed too, with the reason, so that nothing is silently absent.
Rows are those of the flat machine.
"""

import attrs

__all__ = ["MOVES", "Move"]


@attrs.frozen
class Move:
    """One move of the environment.

    Attributes:
        text: what happens.
        rows: the rows of the flat machine that realise it; empty if it is outside.
        note: how they do, or why it is outside.
    """

    text: str
    rows: tuple[str, ...] = ()
    note: str = ""


def _move(text: str, *rows: str, note: str = "") -> Move:
    return Move(text, rows, note)


_COMPACTION = (
    _move(
        "compaction that succeeds without gain",
        "autocompact.weigh:nothing",
        "compact_reactively:compacted_no_gain",
    ),
    _move("compaction with too little gain", "autocompact.weigh:too_little"),
    _move("compaction that inflates the history", "autocompact.weigh:inflated"),
    _move("a gain that a stale size hides", "autocompact.weigh:stale_size"),
    _move("compaction that is vetoed", "autocompact.pre_compact:vetoed"),
    _move("compaction that stalls", "autocompact.summarise:stalled"),
    _move(
        "compaction that is truncated, or cut by a proxy",
        "autocompact.summarise:cut_off",
    ),
    _move("compaction that returns nothing", "autocompact.summarise:empty"),
    _move(
        "a compaction request that is itself too long",
        "autocompact.summarise:too_long#1",
        "autocompact.summarise:too_long#2",
    ),
    _move("compaction aborted at the commit", "autocompact.weigh:aborted"),
    _move(
        "a second compaction soon after the first",
        "autocompact.refilled_soon",
        "autocompact.thrashes",
    ),
)

_OVERFLOW = (
    _move(
        "overflow whose cause is the fixed part",
        "prompt_stays_too_long",
        note="any refusal may follow any repair, so also one that nothing mends",
    ),
    _move(
        "overflow after the switch to a model with a smaller window",
        "call_model.switch_model",
        "call_model.request:prompt_too_long",
        note="both rows in one visit",
    ),
    _move("an error misread as overflow", "call_model.request:prompt_too_long"),
    _move(
        "a drain that commits, and one that finds nothing",
        "drain:committed",
        "drain:nothing",
    ),
    _move(
        "failures and successes of different classes in alternation",
        "escalate",
        "resume",
        "drain:committed",
        "block",
        note="each resets what others count, as the readings have it",
    ),
)

_REQUEST = (
    _move(
        "permanent errors dressed as transient",
        "call_model.request:permanent_as_transient#1",
        "call_model.request:permanent_as_transient#2",
    ),
    _move(
        "transient errors dressed as permanent",
        "call_model.request:transient_as_permanent",
    ),
    _move(
        "wait hints of seconds, minutes and days",
        "call_model.backoff:waited",
        note="waiting costs no model call; how long it takes is not modelled",
    ),
    _move(
        "the other model is overloaded too, and there is no third",
        "call_model.request:overloaded#4",
    ),
    _move(
        "a stream that is silent after its headers, or sends only keep-alives",
        "call_model.request:stream_died#1",
        "call_model.request:stream_died#2",
    ),
    _move("a stream that drops after a tool name", "call_model.request:stream_died#1"),
    _move("media rejected late", "call_model.request:media_rejected"),
    _move("media that stay rejected", "media_stays_too_large"),
)

_REPLY = (
    _move("truncated text, or truncated thinking without text", "read_reply:truncated"),
    _move("a truncated tool call", "read_reply:truncated_tool_use"),
    _move(
        "escalation at the ceiling",
        "resume",
        note="with output_cap at escalated_output the escalation is not taken",
    ),
    _move(
        "a stop reason that is missing or mislabelled",
        "read_reply:tool_use",
        "read_reply:answer",
        note="the blocks of a reply decide, not its stop reason",
    ),
    _move(
        "an empty answer to a nudge, to a stop block, and after a tool",
        "read_reply:empty",
        note="available in every iteration, whatever began it",
    ),
    _move(
        "nudges with small, large and exhausting answers",
        "token_budget.count:small#2",
        "token_budget.count:big#2",
        "token_budget.count:rest",
        "token_budget.diminishing",
    ),
)

_HOOKS_AND_TOOLS = (
    _move("a stop hook that always blocks", "block"),
    _move("a stop hook that fails", "stop_hooks:crash"),
    _move(
        "stop hooks that disagree",
        "stop_hooks:prevent",
        "block",
        note="prevent wins over block, and block over accept",
    ),
    _move(
        "block, tool, block, tool",
        "block",
        "next_turn",
        note="also where the hook is satisfied only by a tool that is denied",
    ),
    _move(
        "denied or failing tools with varying text, A-B-A-B calls, polling, "
        "successful writes that change nothing",
        "next_turn_unmeasured",
        "next_turn_unproductive",
        "run_tools:unproductive#4",
    ),
    _move("a tool hook that stops the run", "run_tools:hook_stopped"),
)

_ABORT = (
    _move(
        "abort before, during and after each phase",
        "autocompact.pre_compact:aborted",
        "autocompact.summarise:aborted",
        "call_model.request:aborted",
        "call_model.backoff:aborted",
        "call_model.refresh:aborted",
        "read_reply:aborted",
        "compact_reactively:aborted",
        "run_tools:aborted",
    ),
    _move("an abort that counts as a failure", "autocompact.abort_charged"),
)

_OUTSIDE = (
    _move("double abort", note="the first one ends the run"),
    _move(
        "crash at each point, resume, change of owner, rewind past an open call",
        note="a run of this machine is one human message in one process; sessions "
        "are another machine",
    ),
    _move("a fallback equal to the current model", note="a matter of configuration"),
    _move(
        "the first model returns after a cool-down, or two owners choose",
        note="the switch is never undone within a run",
    ),
    _move("the same error with unknown wording", note="classed as permanent"),
    _move(
        "a child that spawns itself, passes the budget, or never answers",
        note="a child is a run of its own; here it is one tool call",
    ),
    _move("a hook that starts a session", note="a run of its own"),
    _move(
        "a dialog that never answers",
        note="a phase that is never answered makes no model call",
    ),
)

MOVES = (
    *_COMPACTION,
    *_OVERFLOW,
    *_REQUEST,
    *_REPLY,
    *_HOOKS_AND_TOOLS,
    *_ABORT,
    *_OUTSIDE,
)
