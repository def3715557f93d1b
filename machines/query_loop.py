"""The agent loop of a coding assistant, as published analyses describe it.

One iteration: shape the context, call the model, run its tools or decide what its
answer is worth. Seven reasons to go on, and every way to end. Each continue writes the
complete new state: memory that its action does not name is kept on purpose, so the
matrix of reasons and resets (`machines.matrix`) can be read off the rows.

Every continue that repairs something passes one gate, `recovery_spent <
recovery_budget`, and is charged; only tools that did something give some of it back.
The gate is open in `published` and `documented`, where the budget is UNLIMITED.
"""

from unspiral.engine.core.declare import (
    REASONS,
    Choice,
    Counter,
    Flag,
    Machine,
    Phase,
    Terminal,
)
from unspiral.machines.api_attempt import API_ATTEMPT
from unspiral.machines.compaction import COMPACTION
from unspiral.machines.notation import on, when
from unspiral.machines.query_loop_laws import LAWS, laws_of
from unspiral.machines.query_loop_limits import ASSUMPTIONS, EDITIONS, LIMITS
from unspiral.machines.shaping import SHAPING
from unspiral.machines.token_budget import TOKEN_BUDGET

__all__ = ["QUERY_LOOP"]

_GATE = "recovery_spent < recovery_budget"
_CHARGE = "recovery_spent += 1"
_REFUND = "recovery_spent = max(recovery_spent - recovery_refund, 0)"

# What nearly every continue does to three fields, and the readings that change it.
_OVERRIDE = "override = override and override_kept"
_ACTIVE = "stop_hook_active = stop_hook_active and active_kept"
_BLOCKS = "stop_blocks = min(stop_blocks, blocks_kept_by_recovery)"
_NEXT_TURN = (
    "last = 'next_turn'; turn += 1; output_recoveries = 0; reactive_tried = False; "
    "override = False; stop_blocks = min(stop_blocks, blocks_kept_by_tools); "
    "turns_since_compact = min(turns_since_compact + 1, rapid_refill_turns); "
)

# fmt: off
_ROWS = (
    # ---- shape the context; compact it before it is too long
    on("shape", "shaped", "autocompact", action="reply = 'none'"),
    on("autocompact", "not_needed",        "preflight"),
    on("autocompact", "compacted",         "call_model", cite="spec B.4",
       doc="What was just compacted is not measured again."),
    on("autocompact", "compacted_no_gain", "call_model"),
    on("autocompact", "thrashing",         "rapid_refill_breaker"),
    on("autocompact", "failed",            "preflight"),
    on("autocompact", "aborted",           "aborted_streaming"),

    # ---- do not send what cannot fit, unless somebody else will mend it
    on("preflight", "fits", "call_model"),
    on("preflight", "over_limit", "call_model",
       "query_source in ('compact', 'session_memory') or "
       "autocompact_on and (reactive_compact or context_collapse)",
       name="sent_over_limit", cite="spec B.4",
       doc="Side tasks would deadlock; reactive compaction needs the refusal."),
    on("preflight", "over_limit", "blocking_limit", "otherwise"),

    # ---- one model request, with all its attempts
    on("call_model", "answered",        "read_reply"),
    on("call_model", "prompt_too_long", "diagnose", action="reply = 'prompt_too_long'"),
    on("call_model", "media_rejected",  "diagnose", action="reply = 'media_too_large'"),
    on("call_model", "api_error",       "diagnose", action="reply = 'api_error'"),
    on("call_model", "repeated_529",    "diagnose", action="reply = 'api_error'"),
    on("call_model", "model_error",     "model_error"),
    on("call_model", "image_error",     "image_error"),
    on("call_model", "aborted",         "aborted_streaming"),

    # ---- what did it say?
    on("read_reply", "tool_use",  "diagnose", action="reply = 'tool_use'"),
    on("read_reply", "answer",    "diagnose", action="reply = 'answer'"),
    on("read_reply", "empty",     "diagnose", action="reply = 'answer'",
       doc="Nothing in it; it ends the turn like any answer."),
    on("read_reply", "truncated", "diagnose", action="reply = 'truncated'",
       doc="Cut at the output limit, in its text or in its thinking."),
    on("read_reply", "truncated_tool_use", "diagnose",
       action="reply = 'truncated_tool_use'"),
    on("read_reply", "aborted",   "aborted_streaming"),

    # ---- decide, in this order
    when("diagnose", "reply == 'tool_use' or reply == 'truncated_tool_use' and "
         "truncated_tools_run", "run_tools", name="follow_up", cite="spec B.7"),
    when("diagnose", "reply == 'prompt_too_long' and context_collapse and "
         f"last != 'collapse_drain_retry' and {_GATE}", "drain",
         name="may_drain", layer="context", cite="spec B.8 row 1",
         doc="Never twice in a row."),
    when("diagnose", "reply == 'prompt_too_long' and (context_collapse or "
         "reactive_compact) or reply == 'media_too_large' and reactive_compact",
         "reactive_gate", name="overflow", layer="context", cite="spec B.8 row 2"),
    when("diagnose", "reply in ('truncated', 'truncated_tool_use') and "
         "output_escalation and not output_limit_set and not override and "
         f"output_cap < escalated_output and {_GATE}", "shape",
         f"last = 'max_output_tokens_escalate'; override = True; {_ACTIVE}; {_BLOCKS}; "
         f"{_CHARGE}", "max_output_tokens_escalate",
         name="escalate", raises=("output_cap", "escalated_output"), layer="output",
         cite="spec B.8 row 4", doc="The same request, with a higher limit."),
    when("diagnose", "reply in ('truncated', 'truncated_tool_use') and "
         f"output_recoveries < max_output_recoveries and {_GATE}", "shape",
         f"last = 'max_output_tokens_recovery'; output_recoveries += 1; {_OVERRIDE}; "
         f"{_ACTIVE}; {_BLOCKS}; {_CHARGE}", "max_output_tokens_recovery",
         name="resume", layer="output", cite="spec B.8 row 5",
         doc="Keep the cut text and ask to go on from there."),
    when("diagnose", "reply in ('truncated', 'truncated_tool_use') and "
         "recovery_spent >= recovery_budget", "recovery_exhausted",
         name="truncated_for_good"),
    when("diagnose", "reply != 'answer' and api_error_ends", "api_error",
         name="told_as_error", doc="Later builds have a reason of its own."),
    when("diagnose", "reply != 'answer'", "completed",
         name="told_as_completed", cite="spec B.8 row 7",
         doc="No stop hooks: they would judge an error, block, and meet it again."),
    when("diagnose", "otherwise", "stop_hooks", name="valid_answer"),

    # ---- prompt too long: fold, then compact, then give up
    on("drain", "committed", "shape", "",
       f"last = 'collapse_drain_retry'; {_OVERRIDE}; {_ACTIVE}; {_BLOCKS}; {_CHARGE}",
       "collapse_drain_retry", layer="context",
       doc="At least one staged fold was committed."),
    on("drain", "nothing", "reactive_gate"),
    when("reactive_gate", f"reactive_compact and not reactive_tried and {_GATE}",
         "compact_reactively", name="may_compact", layer="context"),
    when("reactive_gate", "reactive_compact and not reactive_tried",
         "recovery_exhausted", name="too_long_for_good"),
    when("reactive_gate", "reply == 'media_too_large'", "image_error",
         name="media_stays_too_large"),
    when("reactive_gate", "otherwise", "prompt_too_long", name="prompt_stays_too_long"),
    on("compact_reactively", "compacted", "shape", "",
       f"last = 'reactive_compact_retry'; reactive_tried = True; {_OVERRIDE}; "
       f"{_ACTIVE}; {_BLOCKS}; compacted = compacted and tracking_kept > 0; "
       f"compact_failures = min(compact_failures, tracking_kept); {_CHARGE}",
       "reactive_compact_retry", layer="context"),
    on("compact_reactively", "compacted_no_gain", "shape", "",
       f"last = 'reactive_compact_retry'; reactive_tried = True; {_OVERRIDE}; "
       f"{_ACTIVE}; {_BLOCKS}; compacted = compacted and tracking_kept > 0; "
       f"compact_failures = min(compact_failures, tracking_kept); {_CHARGE}",
       "reactive_compact_retry", layer="context",
       doc="It returned a summary, so it counts, whatever it freed."),
    on("compact_reactively", "failed",  "reactive_gate", action="reactive_tried = True",
       doc="The run ends; there is no second try."),
    on("compact_reactively", "aborted", "aborted_streaming"),

    # ---- a valid answer: may the run stop?
    on("stop_hooks", "prevent", "stop_hook_prevented", cite="law 39",
       doc="It wins over any number of blocks of other hooks."),
    on("stop_hooks", "block", "shape", f"stop_blocks < stop_block_cap and {_GATE}",
       "last = 'stop_hook_blocking'; "
       "output_recoveries = min(output_recoveries, recoveries_kept_by_block); "
       f"{_OVERRIDE}; stop_hook_active = True; stop_blocks += 1; {_CHARGE}",
       "stop_hook_blocking", name="block", layer="hook",
       doc="The reactive flag is kept: resetting it here made thousands of calls."),
    on("stop_hooks", "block", "stop_hook_cap", "cap_ends_apart",
       name="blocked_too_often"),
    on("stop_hooks", "block", "completed", "otherwise", name="block_overridden",
       cite="spec G.2", doc="Later builds: the hook is overridden, with a warning."),
    on("stop_hooks", "accept", "token_budget"),
    on("stop_hooks", "crash",  "token_budget", cite="spec G.1",
       doc="A hook that fails does not block."),
    on("token_budget", "go_on", "shape", _GATE,
       "last = 'token_budget_continuation'; output_recoveries = 0; "
       f"reactive_tried = False; {_OVERRIDE}; {_ACTIVE}; {_BLOCKS}; {_CHARGE}",
       "token_budget_continuation", name="nudge", layer="budget"),
    on("token_budget", "go_on", "completed", "otherwise", name="nudge_not_affordable",
       doc="The answer is valid; only the wish for more is dropped."),
    on("token_budget", "stop",  "completed"),

    # ---- tools were called: run them all, then the next turn
    on("run_tools", "aborted",      "aborted_tools"),
    on("run_tools", "hook_stopped", "hook_stopped"),
    on("run_tools", "executed",     "shape", "turn < max_turns", _NEXT_TURN + _REFUND,
       "next_turn", name="next_turn", progress=True),
    on("run_tools", "executed",     "max_turns", "otherwise", cite="spec B.9",
       doc="The last results are recorded and never sent."),
    on("run_tools", "unproductive", "max_turns", "turn >= max_turns"),
    on("run_tools", "unproductive", "shape", "not measured_progress",
       _NEXT_TURN + _REFUND, "next_turn", name="next_turn_unmeasured", progress=True,
       doc="All calls denied, failed or repeated: nobody looks, so it counts."),
    on("run_tools", "unproductive", "shape", _GATE, _NEXT_TURN + _CHARGE,
       "next_turn", name="next_turn_unproductive",
       doc="The same, where progress is measured: no progress, and charged."),
    on("run_tools", "unproductive", "no_progress", "otherwise"),
)
# fmt: on


def _events(phase: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row.event for row in _ROWS if row.source == phase))


_PHASES = (
    Phase("shape", runs=SHAPING, group="context", doc="Four light stages."),
    Phase("autocompact", runs=COMPACTION, group="context", source="spec E.3"),
    Phase(
        "preflight",
        events=_events("preflight"),
        group="context",
        doc="The estimated size against what can be sent at all.",
        source="spec B.4",
    ),
    Phase("call_model", runs=API_ATTEMPT, group="model", source="spec D"),
    Phase(
        "read_reply",
        events=_events("read_reply"),
        group="model",
        doc="Look at the blocks of the reply, not at its stop reason.",
        source="spec B.5, B.7",
    ),
    Phase("diagnose", group="decision", doc="What to do with it.", source="spec B.8"),
    Phase(
        "drain",
        events=_events("drain"),
        group="decision",
        doc="Commit all staged folds of the context at once.",
        source="spec E.2",
    ),
    Phase("reactive_gate", group="decision", source="spec B.8 rows 2, 3"),
    Phase(
        "compact_reactively",
        events=_events("compact_reactively"),
        cost={"model_calls": 1, "compactions": 1},
        group="decision",
        doc="Summarise the refused history, or strip its media.",
        source="spec E.5",
    ),
    Phase(
        "stop_hooks",
        events=_events("stop_hooks"),
        group="decision",
        doc="All hooks run; their answers are merged.",
        source="spec G.1",
    ),
    Phase("token_budget", runs=TOKEN_BUDGET, group="decision", source="spec G.4"),
    Phase(
        "run_tools",
        events=_events("run_tools"),
        group="tools",
        doc="Run every call of the reply. Unproductive: all of them were denied, "
        "failed, or repeated earlier ones.",
        source="spec B.9",
    ),
)

_TERMINALS = (
    Terminal("completed", doc="A valid answer; or an API error, told as text."),
    Terminal("blocking_limit", "limit", doc="The context cannot be sent at all."),
    Terminal("prompt_too_long", "error", doc="Too long, and nothing mends it."),
    Terminal("image_error", "error", doc="Media that cannot be sent."),
    Terminal("model_error", "error", doc="An unexpected exception of the request."),
    Terminal("aborted_streaming", "abort", doc="Stopped while the model answered."),
    Terminal("aborted_tools", "abort", doc="Stopped while tools ran."),
    Terminal("hook_stopped", "hook", doc="A tool hook stopped the run."),
    Terminal("stop_hook_prevented", "hook", doc="A stop hook said: end here."),
    Terminal("max_turns", "limit", doc="One more turn would be too many."),
    Terminal("rapid_refill_breaker", "limit", doc="Compaction is thrashing."),
    Terminal("api_error", "error", doc="The last message is an API error."),
    Terminal("stop_hook_cap", "limit", doc="A stop hook has blocked too often."),
    Terminal("recovery_exhausted", "limit", doc="No recovery is left to spend."),
    Terminal("no_progress", "limit", doc="Tools do nothing, and no budget is left."),
)

_REPLIES = (
    "none",
    "tool_use",
    "answer",
    "truncated",
    "truncated_tool_use",
    "prompt_too_long",
    "media_too_large",
    "api_error",
)
_MEMORY = (
    Counter("turn", high="max_turns", low=1, unit="turns", source="spec A.1 field 9"),
    Choice("last", REASONS, doc="Why this iteration began.", source="spec A.1"),
    Choice("reply", _REPLIES, doc="What this iteration's model call brought."),
    Counter(
        "output_recoveries",
        high="max_output_recoveries",
        doc="Resumed truncations.",
        source="spec A.1 field 4",
    ),
    Flag("override", doc="The output limit is raised.", source="spec A.1 field 6"),
    Flag(
        "reactive_tried",
        doc="Reactive compaction was tried, and is not tried again.",
        source="spec A.1 field 5",
    ),
    Flag(
        "stop_hook_active",
        doc="Told to stop hooks: one of them made this run go on.",
        source="spec A.1 field 8",
    ),
    Counter(
        "stop_blocks",
        high="stop_block_cap",
        unit="blocks",
        doc="Answers that a stop hook did not accept, since the last reset.",
        source="spec A.1 field 11",
    ),
    Counter(
        "recovery_spent",
        high="recovery_budget",
        unit="continues",
        doc="Recoveries not yet paid back by work.",
        source="guard G01",
    ),
    Flag("on_fallback", doc="The other model has taken over.", source="spec D.6"),
    Counter(
        "compact_failures",
        high="max_compact_failures",
        doc="Consecutive failures of proactive compaction.",
        source="spec A.1 field 3",
    ),
    Flag("compacted", doc="The run has compacted.", source="spec A.1 field 3"),
    Counter(
        "turns_since_compact",
        high="rapid_refill_turns",
        unit="turns",
        source="spec A.1 field 3",
    ),
    Counter(
        "rapid_refills",
        high="max_rapid_refills",
        unit="compactions",
        doc="Length of the present series of compactions close to each other.",
        source="spec E.1",
    ),
    Counter("budget_used", high="token_budget", unit="500 tokens", source="spec G.4"),
    Counter("continuations", high="3", doc="Nudges, up to three.", source="spec G.4"),
    Counter(
        "small_deltas",
        high="diminishing_deltas",
        doc="Consecutive small answers, as far as they are counted.",
        source="spec G.4",
    ),
)

_CONTINUES = tuple(dict.fromkeys(row.reason for row in _ROWS if row.reason))

QUERY_LOOP = Machine(
    name="query_loop",
    doc="The loop of an agent that answers with the help of tools.",
    source="spec A-G",
    phases=_PHASES,
    terminals=_TERMINALS,
    transitions=_ROWS,
    memory=_MEMORY,
    limits=LIMITS,
    assumptions=ASSUMPTIONS,
    laws=(*LAWS, *laws_of(tuple(end.name for end in _TERMINALS), _CONTINUES)),
    editions=EDITIONS,
)
