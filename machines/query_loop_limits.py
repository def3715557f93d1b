"""The limits, readings, editions and assumptions of the query loop.

A limit with a `reading` decides what the sources leave open or tell differently; its
text names them and says why the default was chosen.
"""

from unspiral.engine.core.declare import Assumption, Edition, Limit
from unspiral.engine.core.language import UNLIMITED

__all__ = ["ASSUMPTIONS", "EDITIONS", "LIMITS"]

_CAPS = (
    Limit(
        "max_turns",
        UNLIMITED,
        unit="turns",
        source="spec B.9; official loop page: unlimited by default",
        doc="Turns that use tools.",
        values=(UNLIMITED, 1, 3),
    ),
    Limit(
        "max_output_recoveries",
        3,
        unit="recoveries",
        source="spec C.1: all analyses agree",
        doc="How often a truncated answer is resumed.",
        values=(1, 3),
    ),
    Limit(
        "stop_block_cap",
        UNLIMITED,
        unit="blocks",
        source="spec G.2: none in the snapshot, later 8",
        doc="Blocks of stop hooks that are obeyed; the next one is overridden.",
        values=(UNLIMITED, 2, 8),
    ),
    Limit(
        "recovery_budget",
        UNLIMITED,
        unit="continues",
        source="guards G01, G02",
        doc="Recoveries that a run may have open at a time.",
        values=(UNLIMITED, 2, 8),
    ),
    Limit(
        "recovery_refund",
        2,
        unit="continues",
        source="guard G01",
        doc="What one turn of tools that did something pays back.",
        values=(1, 2),
    ),
    Limit(
        "staged_folds",
        3,
        unit="drains",
        source="spec J4",
        doc="Read by an assumption: drains that find something between progress.",
        values=(0, 3),
    ),
    Limit(
        "output_cap",
        8_000,
        unit="tokens",
        source="spec A.4, K8",
        doc="The output limit of a request.",
        values=(8_000, 64_000),
    ),
    Limit(
        "escalated_output",
        64_000,
        unit="tokens",
        source="spec C.1",
        doc="The output limit after an escalation.",
        values=(64_000,),
    ),
)

_SWITCHES = (
    Limit(
        "context_collapse",
        default=True,
        source="spec B.2",
        doc="Old parts are folded away, and staged folds can be drained.",
    ),
    Limit(
        "reactive_compact",
        default=True,
        source="spec E.5",
        doc="A refused history is compacted and sent again.",
    ),
    Limit(
        "output_escalation",
        default=True,
        source="spec C.1",
        doc="A truncated request is repeated with the higher output limit.",
    ),
    Limit(
        "output_limit_set",
        default=False,
        source="spec B.8 row 4",
        doc="The user has fixed the output limit, so it is not raised.",
    ),
    Limit(
        "measured_progress",
        default=False,
        source="guard G11",
        doc="A turn of tools that did nothing new is no progress.",
    ),
    Limit(
        "api_error_ends",
        default=False,
        source="spec C.2, later builds",
        doc="An API error ends the run as `api_error`, not as `completed`.",
    ),
    Limit(
        "cap_ends_apart",
        default=False,
        source="guard G21",
        doc="A stop hook at its cap ends the run as `stop_hook_cap`.",
    ),
)

_READINGS = (
    Limit(
        "override_kept",
        default=False,
        source="spec A.4 note 1, L.7",
        doc="The raised output limit survives every continue but a turn of tools.",
        reading="One analysis has it cleared after use, two others speak of a single "
        "escalation in a run of recoveries. The matrix says cleared, and cleared is "
        "the reading with the longer runs.",
    ),
    Limit(
        "recoveries_kept_by_block",
        0,
        unit="recoveries",
        source="spec A.4",
        doc="Resumed truncations still counted after a stop hook has blocked.",
        values=(0, UNLIMITED),
        reading="No source says what a block does to the count. 0, as after the "
        "other continues that follow a valid answer.",
    ),
    Limit(
        "blocks_kept_by_recovery",
        0,
        unit="blocks",
        source="spec A.1 field 11, G.2",
        doc="Blocks still counted after one of the five other recoveries.",
        values=(0, UNLIMITED),
        reading="A field report has the count written back by the six other "
        "continues, the same report's account of the cap by tool work only. The "
        "former is about the code, so it is the default.",
    ),
    Limit(
        "tracking_kept",
        0,
        unit="failures",
        source="spec A.4",
        doc="What of the tracking of compactions survives a reactive one.",
        values=(0, UNLIMITED),
        reading="No source says it. A reactive compaction builds a new history, so "
        "the tracking starts anew, and with it the breaker of failures.",
    ),
    Limit(
        "active_kept",
        default=False,
        source="spec A.4 note 2, L.8",
        doc="`stop_hook_active` survives the recoveries, not only a turn of tools.",
        reading="Sources show only that a turn of tools keeps it; a field report saw "
        "it false on a later block. Cleared explains that report.",
    ),
    Limit(
        "truncated_tools_run",
        default=True,
        source="spec C.4",
        doc="A complete tool call in a truncated reply is run.",
        reading="Recovery is described for replies without tool calls, and the tool "
        "path is taken on any call found, so the call is run. Guard G06 would not.",
    ),
)

LIMITS = (
    *_CAPS,
    Limit(
        "blocks_kept_by_tools",
        0,
        unit="blocks",
        source="spec G.2; guard G10",
        doc="Blocks still counted after a turn of tools: none, or all (then the cap "
        "is one of the whole human message).",
        values=(0, UNLIMITED),
    ),
    *_SWITCHES,
    *_READINGS,
)

EDITIONS = (
    Edition("published", doc="As analyses describe the snapshot of March 2026."),
    Edition(
        "documented",
        {
            "stop_block_cap": 8,
            "max_rapid_refills": 3,
            "context_collapse": False,
            "api_error_ends": True,
        },
        doc="As official pages and field reports describe later builds: a cap on "
        "stop blocks and a breaker for thrashing; collapse is not documented.",
    ),
    Edition(
        "hardened",
        {
            "stop_block_cap": 8,
            "blocks_kept_by_recovery": UNLIMITED,
            "blocks_kept_by_tools": UNLIMITED,
            "max_rapid_refills": 3,
            "recovery_budget": 8,
            "measured_progress": True,
            "measured_gain": True,
            "truncated_tools_run": False,
            "api_error_ends": True,
            "cap_ends_apart": True,
        },
        doc="Ours: every recovery is paid from one budget that only measured "
        "progress renews.",
    ),
)

ASSUMPTIONS = (
    Assumption(
        "stop_hooks_accept_valid_answers",
        phase="stop_hooks",
        event="block",
        when="reply == 'answer'",
        doc="A stop hook never blocks an answer that is one.",
        source="spec L.8",
    ),
    Assumption(
        "staged_folds_are_finite",
        phase="drain",
        event="committed",
        at_most="staged_folds",
        doc="New folds are staged only by new work.",
        source="spec J4",
    ),
    Assumption(
        "stop_hooks_heed_the_flag",
        phase="stop_hooks",
        event="block",
        when="stop_hook_active",
        doc="A stop hook that is told that it made the run go on does not block again.",
        source="spec G.1",
    ),
)
