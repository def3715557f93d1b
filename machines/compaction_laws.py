"""The laws of compaction: what each answer leads to, and what the breaker counts.

`law N` is the number of the rule in the specification.
"""

from unspiral.engine.core.declare import Law, Scope

__all__ = ["LAWS", "OUTCOMES"]

_SOON = "compacted and turns_since_compact < rapid_refill_turns"
_FULL = "rapid_refills + 1 >= max_rapid_refills"
_FAILURES = ("empty", "cut_off", "stalled", "refused", "vetoed")
_NO_GAIN = ("too_little", "nothing", "inflated", "stale_size")
#: the outcome that `finish` has to report, by what was answered
OUTCOMES = {
    "compacted": ("gained", "small_enough"),
    "compacted_no_gain": _NO_GAIN,
    "failed": _FAILURES,
    "aborted": ("aborted",),
}


def _never(name: str, what: str, doc: str, source: str) -> Law:
    return Law(name, "absence", what, doc=doc, source=source)


def _any(*texts: str) -> str:
    return " or ".join(texts)


_ANSWERS = (
    _never(
        "the_outcome_is_what_came",
        _any(
            *(
                f"event in {events} and "
                f"(after.outcome != '{outcome}' or target != 'finish')"
                if len(events) > 1
                else f"event == '{events[0]}' and "
                f"(after.outcome != '{outcome}' or target != 'finish')"
                for outcome, events in OUTCOMES.items()
            )
        ),
        "Whatever ends the work is reported as what it was, with the status cleared.",
        "spec E.3, E.4",
    ),
    _never(
        "only_summaries_are_weighed",
        "(target == 'weigh') != (event == 'summary')",
        "And every summary is: none is taken for a success unseen.",
        "guard G03",
    ),
    _never(
        "hooks_that_do_not_veto_let_it_pass",
        "event in ('allowed', 'crashed') and target != 'summarise'",
        "A hook that fails does not block.",
        "spec G.1",
    ),
    _never(
        "the_end_tells_the_outcome",
        _any(
            *(
                f"target == '{end}' and outcome != '{end}'"
                for end in ("compacted", "compacted_no_gain", "failed", "aborted")
            ),
            "phase == 'report' and outcome == 'compacted' and target != 'compacted'",
            "phase == 'finish' and outcome in ('compacted', 'compacted_no_gain') and "
            "target != 'track'",
        ),
        "Whoever asked hears what became of it.",
        "spec E.3",
    ),
)
_BREAKER = (
    _never(
        "failures_are_counted",
        "phase == 'finish' and (outcome in ('failed', 'aborted') or "
        "outcome == 'compacted_no_gain' and measured_gain) and "
        "after.compact_failures != compact_failures + 1",
        "Each one once, an abort too; and no gain, where gains are measured.",
        "law 44, guard G03",
    ),
    _never(
        "a_summary_is_trusted_unless_measured",
        "phase == 'finish' and outcome == 'compacted_no_gain' and "
        "not measured_gain and after.compact_failures != 0",
        "Where gains are not measured any summary closes the breaker.",
        "law 44",
    ),
    _never(
        "thrashing_means_that",
        f"phase == 'track' and (target == 'thrashing') != ({_SOON} and {_FULL})",
        "The run ends so if and only if the series is as long as is allowed.",
        "law 58",
    ),
    _never(
        "a_series_counts_what_follows_soon",
        f"target == 'report' and ({_SOON}) and "
        "after.rapid_refills != rapid_refills + 1 or "
        f"target == 'report' and not ({_SOON}) and "
        "(not after.compacted or after.rapid_refills != min(1, max_rapid_refills))",
        "A compaction soon after another one is one more; any other begins a series.",
        "spec E.1",
    ),
)
_RULES = (
    Law(
        "breaker_stops_compaction",
        "absence",
        what="phase == 'summarise' and compact_failures >= max_compact_failures",
        doc="After max_compact_failures failures in a row nothing is summarised.",
        source="law 44",
    ),
    Law(
        "success_closes_the_breaker",
        "absence",
        what="phase == 'finish' and outcome == 'compacted' and "
        "after.compact_failures > 0",
        doc="One success sets the count to 0.",
        source="law 44",
    ),
    Law(
        "side_tasks_never_compact",
        "absence",
        what="phase == 'summarise' and query_source != 'main'",
        doc="A compaction never starts a compaction.",
        source="law 45",
    ),
    Law(
        "collapse_excludes_compaction",
        "absence",
        what="phase == 'summarise' and context_collapse",
        source="law 46",
    ),
    Law(
        "compaction_only_over_the_threshold",
        "precedence",
        what="phase == 'announce'",
        other="event == 'over_threshold'",
        source="law 47",
    ),
    Law(
        "status_is_cleared",
        "response",
        what="phase == 'announce'",
        other="phase == 'finish'",
        doc="Status `compacting` is followed by null, success or not.",
        source="law 48",
    ),
    Law(
        "status_is_not_nested",
        "absence",
        what="phase == 'announce'",
        scope=Scope("between", start="phase == 'announce'", end="phase == 'finish'"),
        source="law 48",
    ),
    Law(
        "few_summary_retries",
        "bounded",
        what="phase == 'summarise'",
        at_most="max_compact_retries + 1",
        source="law 51",
    ),
    Law(
        "a_group_remains",
        "absence",
        what="after.dropped > 0 and after.dropped >= history_groups",
        source="law 51",
    ),
    Law(
        "each_retry_drops_a_group",
        "absence",
        what="phase == 'truncate' and after.dropped <= dropped",
        source="law 51",
    ),
    Law(
        "a_veto_means_no_summary",
        "absence",
        what="phase == 'summarise'",
        scope=Scope("after", start="event == 'vetoed'"),
        source="law 57",
    ),
)

LAWS = (*_RULES, *_ANSWERS, *_BREAKER)
