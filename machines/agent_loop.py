"""The loop that `unspiral run` runs: the query loop with budgets and a fuse.

It is derived from `query_loop`: no row of that is repeated, and none is changed. Three
kinds of facts are added. `over_budget`: nothing is left of what the user allows, which
is looked at before every call of a model, side tasks included; the run then ends, and
says by its terminal which budget it was. `cycled`: the last rounds of tools are one
cycle, several times over; the context is compacted and the model warned, once, and if
nothing but the same comes again, the run ends. `paused`: the server has put its answer
down, at the limit of its own tools or behind a summary of its own; it is sent back, to
hear the rest of it, as often as a recovery is left.

Where the query loop says of a compaction only what came of it, here is what it does:
the machine `recompaction` runs these phases, so that each request is a row of its own,
and no model call is made that no row has counted.

Budgets and fuse are no memory of the table: what is spent, and which rounds were alike,
whoever runs it knows. What follows from it is here.
"""

import attrs

from unspiral.engine.core.declare import Choice, Machine, Phase, Terminal, Transition
from unspiral.machines.agent_loop_laws import ASSUMPTIONS, BUDGET_ENDS, LAWS
from unspiral.machines.api_attempt import API_ATTEMPT
from unspiral.machines.compaction import COMPACTION
from unspiral.machines.extending import charge_rows, extend
from unspiral.machines.notation import on, when
from unspiral.machines.query_loop import QUERY_LOOP
from unspiral.machines.query_loop_laws import laws_of
from unspiral.machines.recompaction import IRREDUCIBLE, OVER, RECOMPACTION, UNSENT

__all__ = ["AGENT_LOOP"]

_GATE = "recovery_spent < recovery_budget"
_CHARGE = "recovery_spent += 1"

_ATTEMPT = extend(
    charge_rows(API_ATTEMPT, "request", free=[OVER]),
    "budgeted_attempt",
    [on("request", OVER, OVER, doc="Nothing was sent.")],
    terminals=[Terminal(OVER, "limit", doc="Nothing may be spent any more.")],
)


def _with_outcome(machine: Machine, value: str) -> Choice:
    """Return the memory of what `finish` reports, with one more value."""
    outcome = next(m for m in machine.memory if m.name == "outcome")
    assert isinstance(outcome, Choice)  # noqa: S101 - as declared
    return Choice(outcome.name, (*outcome.values, value), doc=outcome.doc)


_COMPACTION = extend(
    charge_rows(COMPACTION, "summarise", free=UNSENT),
    "budgeted_compaction",
    [
        on("summarise", OVER, "finish", action=f"outcome = '{OVER}'",
           doc="Nothing was sent, but the status is to be cleared."),
        on("summarise", IRREDUCIBLE, "finish", action="outcome = 'failed'",
           cite="guard G07", doc="Nothing was sent, and it is a failure."),
        when("finish", f"outcome == '{OVER}'", OVER, name="nothing_left",
             doc="No failure of compaction: the breaker is not charged."),
    ],
    terminals=[Terminal(OVER, "limit", doc="Nothing may be spent any more.")],
    memory=[_with_outcome(COMPACTION, OVER)],
)  # fmt: skip

_REPLY = next(each for each in QUERY_LOOP.memory if each.name == "reply")

# What was refused may be the media in it; then there is nothing to summarise.
_MENDING = attrs.evolve(
    extend(
        RECOMPACTION,
        "mending",
        [
            when("cause", "reply == 'media_too_large'", "strip", name="media_refused",
                 doc="No request is made."),
            when("cause", "otherwise", "pre_compact", name="length_refused"),
            on("strip", "gained",   "compacted"),
            on("strip", "nothing",  "compacted_no_gain", doc="Gone, but no shorter."),
            on("strip", "no_media", "failed",
               doc="The API has refused what is not there."),
        ],
        phases=[
            Phase("cause", doc="Were media refused, or the length?"),
            Phase("strip", doc="Put a word in the place of each image and document."),
        ],
        memory=[attrs.evolve(_REPLY, shared=True)],
    ),
    initial="cause",
)  # fmt: skip

# A forced compaction stands between two turns: the tools of the first have run.
_TURN = QUERY_LOOP.row("next_turn_unproductive").action


def _broken(event: str, doc: str) -> Transition:
    return on(
        "break_cycle", event, "shape", "", _TURN, "next_turn", layer="context", doc=doc
    )


# fmt: off
_ROWS = (
    # ---- nothing is left of a budget: say of which, and end
    on("autocompact",        OVER, "which_budget"),
    on("call_model",         OVER, "which_budget"),
    on("compact_reactively", OVER, "which_budget"),
    on("break_cycle",        OVER, "which_budget"),
    *(on("which_budget", budget, end) for budget, end in BUDGET_ENDS.items()),

    # ---- the rounds of tools turn in a circle: break it once, else end
    on("run_tools", "cycled", "max_turns", "turn >= max_turns"),
    on("run_tools", "cycled", "break_cycle", _GATE, name="may_break_cycle",
       layer="context", cite="law 79"),
    on("run_tools", "cycled", "stuck_loop", "otherwise", name="cycles_for_good"),
    on("run_tools", "cycled_again", "stuck_loop",
       doc="Since the warning nothing but the same cycle has come."),
    _broken("compacted", "The next request is shorter, and warns of the circle."),
    _broken("compacted_no_gain", "It is warned all the same."),
    _broken("failed", "The history is as it was, but for the warning."),
    on("break_cycle", "aborted", "aborted_tools"),

    # ---- the server has paused its answer: send it back, to hear the rest of it
    on("read_reply", "paused", "shape", _GATE, f"last = 'server_pause'; {_CHARGE}",
       "server_pause", name="resume_paused", layer="output",
       doc="Nothing is reset: it is one answer, in parts."),
    on("read_reply", "paused", "recovery_exhausted", "otherwise",
       name="paused_for_good"),

    # ---- nobody waits for a hook who wants to stop
    on("stop_hooks", "aborted", "aborted_streaming"),
)
# fmt: on

_TERMINALS = (
    Terminal("max_model_calls", "limit", doc="No call of a model is left."),
    Terminal("max_tool_calls", "limit", doc="No call of a tool is left."),
    Terminal("max_tokens_spent", "limit", doc="No token is left to spend."),
    Terminal("max_cost", "limit", doc="No money is left to spend."),
    Terminal("max_time", "limit", doc="No time is left."),
    Terminal("stuck_loop", "limit", doc="Rounds of tools turn in a circle."),
)
_ENDS = tuple(each.name for each in (*QUERY_LOOP.terminals, *_TERMINALS))
_CONTINUES = dict.fromkeys(
    (*QUERY_LOOP.reasons, *(row.reason for row in _ROWS if row.reason))
)

AGENT_LOOP = extend(
    QUERY_LOOP,
    "agent_loop",
    _ROWS,
    doc="The query loop with budgets, a fuse for circles, and pauses of the server.",
    source="spec A-G; budgets: law 76; fuse: law 79",
    phases=(
        attrs.evolve(QUERY_LOOP.phase("autocompact"), runs=_COMPACTION),
        attrs.evolve(QUERY_LOOP.phase("call_model"), runs=_ATTEMPT),
        attrs.evolve(
            QUERY_LOOP.phase("compact_reactively"), runs=_MENDING, events=(), cost={}
        ),
        Phase(
            "which_budget",
            group="decision",
            doc="Nothing is left of one of the budgets: which?",
            source="law 76",
        ),
        Phase(
            "break_cycle",
            runs=RECOMPACTION,
            group="tools",
            doc="Compact, however short the history is, and warn the model.",
            source="law 79",
        ),
    ),
    terminals=_TERMINALS,
    assumptions=ASSUMPTIONS,
    laws=(*LAWS, *laws_of(_ENDS, tuple(_CONTINUES))),
)
