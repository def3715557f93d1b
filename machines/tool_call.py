"""One tool call, from its place in the queue to its one result.

Its status goes queued, executing, completed, yielded, and never back. Whatever happens
on the way, the call ends with exactly one result, or is discarded with none: a history
that holds a call without a result is refused by the model's API.
"""

from unspiral.engine.core.declare import (
    Choice,
    Edition,
    Event,
    Flag,
    Law,
    Limit,
    Machine,
    Phase,
    Scope,
    Terminal,
)
from unspiral.machines.notation import on, when

__all__ = ["TOOL_CALL"]

_AFTER_COMPLETED = Scope("after", start="target == 'completed'")
_AFTER_DISCARD = Scope("after", start="event == 'discarded'")
_REAL = "result = 'real'"
_ERROR = "result = 'error'"
_SIBLING = "result = 'sibling_cancelled'"
_REJECTED = "result = 'user_rejected'"
_INTERRUPTED = "result = 'interrupted'"

# fmt: off
_ROWS = (
    # ---- which tool?
    on("look_up", "known",       "queued"),
    on("look_up", "known_shell", "queued", action="is_shell = True"),
    on("look_up", "unknown",     "completed", action=_ERROR, name="unknown_tool",
       doc="Created completed, with an error that the next turn can read.",
       cite="spec F.1"),

    # ---- waiting for its turn: unsafe calls run alone
    on("queued", "started",        "executing", cost={"tool_runs": 1}),
    on("queued", "invalid",        "completed", action=_ERROR, doc="Bad input."),
    on("queued", "sibling_failed", "completed", action=_SIBLING),
    on("queued", "user_rejected",  "completed", action=_REJECTED),
    on("queued", "interrupted",    "completed", action=_INTERRUPTED),
    on("queued", "discarded",      "discarded"),

    # ---- running
    on("executing", "finished",       "completed", action=_REAL),
    on("executing", "failed",         "completed", action=_ERROR,
       doc="Only the failure of a shell call cancels its siblings.", cite="spec F.4"),
    on("executing", "denied",         "completed", action=_ERROR,
       doc="The text of the denial is the result.", cite="spec F.6"),
    on("executing", "sibling_failed", "completed", action=_SIBLING),
    on("executing", "user_rejected",  "completed", action=_REJECTED,
       doc="Goes up to the query and ends the turn.", cite="spec F.4"),
    on("executing", "interrupted",    "completed", action=_INTERRUPTED,
       doc="Only if the tool may be interrupted; others are waited for.",
       cite="spec F.4"),
    on("executing", "discarded",      "discarded",
       doc="The attempt was thrown away, so its results are too.", cite="spec F.4"),

    # ---- its result waits until those of earlier calls are out
    on("completed", "yielded",   "yielded"),
    on("completed", "discarded", "discarded"),
    when("yielded", "result == 'real'",              "answered", name="give_result"),
    when("yielded", "result == 'sibling_cancelled'", "sibling_cancelled",
         name="give_sibling"),
    when("yielded", "result == 'user_rejected'",     "user_rejected",
         name="give_rejection"),
    when("yielded", "result == 'interrupted'",       "interrupted",
         name="give_interruption"),
    when("yielded", "otherwise",                     "error_result", name="give_error"),
)
# fmt: on

#: where a call ends, by the kind of its result
_RESULTS = {
    "answered": "real",
    "error_result": "error",
    "sibling_cancelled": "sibling_cancelled",
    "user_rejected": "user_rejected",
    "interrupted": "interrupted",
}
_ENDS = (*_RESULTS, "discarded")


_AVAILABLE = {
    ("queued", "sibling_failed"): "cancel_all_siblings or is_shell",
    ("executing", "sibling_failed"): "cancel_all_siblings or is_shell",
    ("executing", "interrupted"): "interruptible",
}


def _events(phase: str) -> tuple[Event, ...]:
    names = dict.fromkeys(row.event for row in _ROWS if row.source == phase)
    return tuple(Event(name, _AVAILABLE.get((phase, name), "")) for name in names)


TOOL_CALL = Machine(
    name="tool_call",
    doc="One call of a reply, run by the streaming executor.",
    source="spec F.1-F.4",
    phases=(
        Phase("look_up", events=_events("look_up"), doc="By name, also by old ones."),
        Phase("queued", events=_events("queued"), doc="Waits until it may run."),
        Phase(
            "executing",
            events=_events("executing"),
            doc="Hooks, permission, and the call itself.",
        ),
        Phase(
            "completed",
            events=_events("completed"),
            doc="The result is there; results are given in the order of the calls.",
        ),
        Phase("yielded", doc="The result is in the history."),
    ),
    terminals=(
        Terminal("answered", doc="The tool's own result."),
        Terminal("error_result", "error", doc="An error the model can mend."),
        Terminal("sibling_cancelled", "abort", doc="A parallel shell call failed."),
        Terminal("user_rejected", "abort", doc="The user said no."),
        Terminal("interrupted", "abort", doc="The user wrote something new."),
        Terminal("discarded", "abort", doc="No result: its attempt does not count."),
    ),
    transitions=_ROWS,
    memory=(
        Flag("is_shell", doc="The call runs a shell command."),
        Choice(
            "result",
            (
                "none",
                "real",
                "error",
                "sibling_cancelled",
                "user_rejected",
                "interrupted",
            ),
            doc="The kind of its one result.",
        ),
    ),
    limits=(
        Limit(
            "interruptible",
            default=False,
            source="spec F.4: `block` is the default",
            doc="The tool may be cancelled by a new message of the user.",
        ),
        Limit(
            "cancel_all_siblings",
            default=False,
            source="spec F.4, L.9",
            doc="A failed shell call cancels all calls that run, not only shells.",
            reading="One analysis cancels parallel shell calls only, three cancel "
            "the whole batch. Cancelling fewer is the default: a failed search or "
            "read cancels nobody in either.",
        ),
    ),
    laws=(
        Law(
            "status_never_goes_back",
            "absence",
            what="phase in ('look_up', 'queued', 'executing')",
            scope=_AFTER_COMPLETED,
            source="law 60",
        ),
        Law(
            "started_before_it_runs",
            "precedence",
            what="phase == 'executing'",
            other="event == 'started'",
            source="law 60",
        ),
        Law(
            "completed_before_yielded",
            "precedence",
            what="phase == 'yielded'",
            other="event == 'yielded'",
            source="law 60",
        ),
        Law(
            "one_result",
            "bounded",
            what="phase == 'yielded'",
            at_most="1",
            doc="Never two results for one call.",
            source="laws 2, 60",
        ),
        Law(
            "a_result_or_discarded",
            "response",
            what="phase == 'look_up'",
            other=f"target in {_ENDS}",
            doc="Each call ends with a result of one kind, or is discarded.",
            source="law 2",
        ),
        Law(
            "discarded_yields_nothing",
            "absence",
            what="phase == 'yielded'",
            scope=_AFTER_DISCARD,
            source="law 4",
        ),
        Law(
            "result_is_set_when_completed",
            "absence",
            what="target == 'completed' and after.result == 'none'",
            source="law 2",
        ),
        Law(
            "only_a_finished_call_has_a_real_result",
            "absence",
            what="after.result == 'real' and result != 'real' and event != 'finished'",
            source="law 2",
        ),
        Law(
            "the_end_tells_the_result",
            "absence",
            what=" or ".join(
                f"target == '{end}' and result != '{result}'"
                for end, result in _RESULTS.items()
            ),
            doc="What the model reads is of the kind that came.",
            source="law 62",
        ),
        Law(
            "nothing_is_thrown_away_unless_told",
            "absence",
            what="target == 'discarded' and event != 'discarded'",
            doc="A result is lost only with the attempt that it belongs to.",
            source="law 4",
        ),
        Law(
            "an_unknown_tool_never_waits",
            "absence",
            what="event == 'unknown' and target != 'completed'",
            doc="It has its error at once.",
            source="law 62, spec F.1",
        ),
        Law(
            "a_shell_is_known_as_one",
            "absence",
            what="event == 'known_shell' and not after.is_shell",
            doc="Its failure cancels siblings, so it must be known.",
            source="law 61",
        ),
    ),
    editions=(Edition("published", doc="As analyses describe it."),),
)
