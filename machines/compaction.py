"""Proactive compaction: the history is replaced by a summary before the window is full.

It decides whether to compact, asks the hooks, makes the summary (again with less if
the request itself is too long), weighs what was gained, and keeps the breaker that
stops hopeless attempts. In `published` a summary that frees nothing is a success; with
`measured_gain` it is charged like a failure.
"""

from unspiral.engine.core.declare import (
    Choice,
    Counter,
    Edition,
    Event,
    Flag,
    Limit,
    Machine,
    Phase,
    Terminal,
)
from unspiral.engine.core.language import UNLIMITED
from unspiral.machines.compaction_laws import LAWS
from unspiral.machines.notation import on, when

__all__ = ["COMPACTION"]

_NEVER = (
    "not autocompact_on or context_collapse or query_source != 'main' or "
    "compact_failures >= max_compact_failures"
)
_FAIL = "outcome = 'failed'"
_NO_GAIN = "outcome = 'compacted_no_gain'"
_SOON = "compacted and turns_since_compact < rapid_refill_turns"
_FIRST = (
    "compacted = True; turns_since_compact = 0; "
    "rapid_refills = min(1, max_rapid_refills)"
)

# fmt: off
_ROWS = (
    # ---- is it wanted at all?
    when("decide", _NEVER, "not_needed", name="not_allowed", cite="spec E.3",
         doc="Off, breaker open, a side task, or collapse owns the context."),
    when("decide", "otherwise", "measure"),
    on("measure", "below_threshold", "not_needed"),
    on("measure", "over_threshold",  "session_memory"),

    # ---- a summary that is already there costs nothing
    on("session_memory", "small_enough", "finish", action="outcome = 'compacted'"),
    on("session_memory", "too_large",    "announce",
       doc="Discarded if its result is still over the threshold.", cite="spec E.3"),

    # ---- status "compacting" is shown from here until `finish` clears it
    when("announce", "", "pre_compact", name="show_status"),
    on("pre_compact", "allowed", "summarise"),
    on("pre_compact", "crashed", "summarise", doc="A hook that fails does not block."),
    on("pre_compact", "vetoed",  "finish", action=_FAIL,
       doc="No request is made; a veto counts as a failure.", cite="law 57"),
    on("pre_compact", "aborted", "finish", action="outcome = 'aborted'"),

    # ---- one model call, text only
    on("summarise", "summary",  "weigh"),
    on("summarise", "empty",    "finish", action=_FAIL, doc="A tool call, no text."),
    on("summarise", "cut_off",  "finish", action=_FAIL, doc="Cut, by limit or proxy."),
    on("summarise", "stalled",  "finish", action=_FAIL),
    on("summarise", "refused",  "finish", action=_FAIL, doc="Any error of the API."),
    on("summarise", "aborted",  "finish", action="outcome = 'aborted'"),
    on("summarise", "too_long", "truncate",
       "retries < max_compact_retries and dropped + 1 < history_groups", "retries += 1",
       doc="The compaction request is itself too long.", cite="spec E.4"),
    on("summarise", "too_long", "finish", "otherwise", _FAIL),

    # ---- the oldest groups are dropped, never a marker alone; one group remains
    on("truncate", "dropped_one",  "summarise", action="dropped += 1"),
    on("truncate", "dropped_more", "summarise", action="dropped += 2"),

    # ---- what did it free?
    on("weigh", "gained",     "finish", action="outcome = 'compacted'"),
    on("weigh", "too_little", "finish", action=_NO_GAIN),
    on("weigh", "nothing",    "finish", action=_NO_GAIN),
    on("weigh", "inflated",   "finish", action=_NO_GAIN, doc="Longer than before."),
    on("weigh", "stale_size", "finish", action=_NO_GAIN,
       doc="Shrunk, but the old size is still believed."),
    on("weigh", "aborted",    "finish", action="outcome = 'aborted'",
       doc="Aborted while the new history was committed."),

    # ---- status null, success or not; the breaker is told
    when("finish", "outcome == 'compacted'", "track", "compact_failures = 0",
         name="gained"),
    when("finish", "outcome == 'compacted_no_gain' and not measured_gain", "track",
         "compact_failures = 0", name="no_gain_trusted",
         doc="A summary was made, so the breaker closes: sizes are not compared."),
    when("finish", "outcome == 'compacted_no_gain'", "track",
         "compact_failures += 1", name="no_gain_charged"),
    when("finish", "outcome == 'aborted'", "aborted", "compact_failures += 1",
         name="abort_charged", doc="An abort by the user counts.", cite="spec E.3"),
    when("finish", "otherwise", "failed", "compact_failures += 1",
         name="failure_charged"),

    # ---- compactions that follow each other too fast
    when("track", f"{_SOON} and rapid_refills + 1 >= max_rapid_refills", "thrashing",
         "turns_since_compact = 0", name="thrashes", cite="law 58",
         doc="Later builds: the third in a row ends the run."),
    when("track", _SOON, "report", "rapid_refills += 1; turns_since_compact = 0",
         name="refilled_soon"),
    when("track", "otherwise", "report", name="refilled_late", action=_FIRST),
    when("report", "outcome == 'compacted'", "compacted", name="report_gain"),
    when("report", "otherwise", "compacted_no_gain", name="report_no_gain"),
)
# fmt: on


def _events(phase: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row.event for row in _ROWS if row.source == phase))


COMPACTION = Machine(
    name="compaction",
    doc="Whether to compact, the summary request, and the breaker of failures.",
    source="spec E.3, E.4",
    phases=(
        Phase("decide", doc="Guards that need no measuring.", source="spec E.3"),
        Phase(
            "measure",
            events=_events("measure"),
            doc="The estimated size, less what snipping freed, against the threshold.",
        ),
        Phase(
            "session_memory",
            events=_events("session_memory"),
            doc="The running notes of the session, tried as the summary.",
        ),
        Phase("announce", doc="Status `compacting`.", source="spec E.7"),
        Phase("pre_compact", events=_events("pre_compact"), doc="Hooks may veto."),
        Phase(
            "summarise",
            events=_events("summarise"),
            cost={"model_calls": 1, "compactions": 1},
            doc="One model call that writes the summary.",
        ),
        Phase(
            "truncate",
            events=(
                Event("dropped_one"),
                Event("dropped_more", "dropped + 2 < history_groups"),
            ),
            doc="Drop the oldest rounds of the conversation from the request.",
        ),
        Phase("weigh", events=_events("weigh"), doc="Size after against size before."),
        Phase("finish", doc="Status null.", source="spec E.7"),
        Phase("track", doc="How soon after the last one?", source="spec E.1"),
        Phase("report", doc="Say whether something was gained."),
    ),
    terminals=(
        Terminal("not_needed", doc="Nothing was done."),
        Terminal("compacted", doc="The history is a summary, and shorter."),
        Terminal("compacted_no_gain", doc="The history is a summary, and no shorter."),
        Terminal("thrashing", "limit", doc="Compacted again and again, too soon."),
        Terminal("failed", "error", doc="The history is as it was."),
        Terminal("aborted", "abort", doc="The user stopped it."),
    ),
    transitions=_ROWS,
    memory=(
        Counter(
            "compact_failures",
            high="max_compact_failures",
            shared=True,
            doc="Consecutive failures; a success resets it.",
            source="spec E.3",
        ),
        Flag(
            "compacted",
            shared=True,
            doc="A compaction happened in this run.",
            source="spec A.1",
        ),
        Counter(
            "turns_since_compact",
            high="rapid_refill_turns",
            shared=True,
            unit="turns",
            doc="Turns since the last compaction, as far as they are counted.",
            source="spec A.1",
        ),
        Counter(
            "rapid_refills",
            high="max_rapid_refills",
            shared=True,
            unit="compactions",
            doc="Length of the present series of compactions close to each other.",
            source="spec E.1, later builds",
        ),
        Counter(
            "retries",
            high="max_compact_retries",
            doc="Repeats of this summary request with a shorter history.",
        ),
        Counter(
            "dropped",
            high="history_groups",
            unit="groups",
            doc="Groups of messages dropped from the request.",
        ),
        Choice(
            "outcome",
            ("failed", "compacted", "compacted_no_gain", "aborted"),
            doc="What `finish` has to report.",
        ),
    ),
    limits=(
        Limit(
            "max_compact_failures",
            3,
            unit="consecutive failures",
            source="spec E.1: analyses agree",
            doc="Then the breaker opens, for the rest of the session.",
            values=(1, 3, UNLIMITED),
        ),
        Limit(
            "max_compact_retries",
            3,
            unit="requests",
            source="spec E.4",
            doc="Repeats of a summary request that was itself too long.",
            values=(0, 1, 3),
        ),
        Limit(
            "history_groups",
            6,
            unit="groups",
            source="ours: any history",
            doc="Rounds of the conversation there are to summarise; one must remain.",
            values=(1, 2, 6),
        ),
        Limit(
            "max_rapid_refills",
            UNLIMITED,
            unit="compactions",
            source="spec E.1, law 58: later builds have 3",
            doc="So many compactions in a row, each soon after the last, end the run.",
            values=(UNLIMITED, 1, 3),
        ),
        Limit(
            "rapid_refill_turns",
            3,
            unit="turns",
            source="spec E.1",
            doc="Fewer turns than these since the last compaction are `soon`.",
            values=(1, 3),
        ),
        Limit(
            "measured_gain",
            default=False,
            source="guard G03",
            doc="A summary that frees nothing counts as a failure.",
        ),
        Limit(
            "autocompact_on",
            default=True,
            source="spec E.3",
            doc="Compaction before the window is full is enabled.",
        ),
        Limit(
            "context_collapse",
            default=False,
            source="spec B.2",
            doc="Old parts are folded away instead, so nothing is compacted here.",
        ),
        Limit(
            "query_source",
            "main",
            values=("main", "compact", "session_memory", "collapse"),
            source="spec E.3",
            doc="Who asks: the conversation, or one of its own side tasks.",
        ),
    ),
    laws=LAWS,
    editions=(
        Edition("published", doc="A summary is a success, whatever it frees."),
        Edition("hardened", {"measured_gain": True}, doc="Only a gain is a success."),
    ),
)
