"""The loop that `unspiral run` runs: the query loop with budgets and a fuse.

It is derived from `query_loop`: no row of that is repeated, and none is changed. Two
kinds of facts are added. `over_budget`: nothing is left of what the user allows, which
is looked at before every call of a model, side tasks included; the run then ends, and
says by its terminal which budget it was. `cycled`: the last rounds of tools are one
cycle, several times over; the context is compacted and the model warned, once, and if
nothing but the same comes again, the run ends.

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

__all__ = ["AGENT_LOOP"]

_GATE = "recovery_spent < recovery_budget"
_OVER = "over_budget"

_ATTEMPT = extend(
    charge_rows(API_ATTEMPT, "request", free=[_OVER]),
    "budgeted_attempt",
    [on("request", _OVER, _OVER, doc="Nothing was sent.")],
    terminals=[Terminal(_OVER, "limit", doc="Nothing may be spent any more.")],
)


def _with_outcome(machine: Machine, value: str) -> Choice:
    """Return the memory of what `finish` reports, with one more value."""
    outcome = next(m for m in machine.memory if m.name == "outcome")
    assert isinstance(outcome, Choice)  # noqa: S101 - as declared
    return Choice(outcome.name, (*outcome.values, value), doc=outcome.doc)


_COMPACTION = extend(
    charge_rows(COMPACTION, "summarise", free=[_OVER]),
    "budgeted_compaction",
    [
        on("summarise", _OVER, "finish", action=f"outcome = '{_OVER}'",
           doc="Nothing was sent, but the status is to be cleared."),
        when("finish", f"outcome == '{_OVER}'", _OVER, name="nothing_left",
             doc="No failure of compaction: the breaker is not charged."),
    ],
    terminals=[Terminal(_OVER, "limit", doc="Nothing may be spent any more.")],
    memory=[_with_outcome(COMPACTION, _OVER)],
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
    on("autocompact",        _OVER, "which_budget"),
    on("call_model",         _OVER, "which_budget"),
    on("compact_reactively", _OVER, "which_budget"),
    on("break_cycle",        _OVER, "which_budget"),
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
)
# fmt: on

AGENT_LOOP = extend(
    QUERY_LOOP,
    "agent_loop",
    _ROWS,
    doc="The query loop with budgets for what a run spends, and a fuse for circles.",
    source="spec A-G; budgets: law 76; fuse: law 79",
    phases=(
        attrs.evolve(QUERY_LOOP.phase("autocompact"), runs=_COMPACTION),
        attrs.evolve(QUERY_LOOP.phase("call_model"), runs=_ATTEMPT),
        Phase(
            "which_budget",
            group="decision",
            doc="Nothing is left of one of the budgets: which?",
            source="law 76",
        ),
        Phase(
            "break_cycle",
            cost={"model_calls": 1, "compactions": 1},
            group="tools",
            doc="Compact, however short the history is, and warn the model.",
            source="law 79",
        ),
    ),
    terminals=(
        Terminal("max_model_calls", "limit", doc="No call of a model is left."),
        Terminal("max_tool_calls", "limit", doc="No call of a tool is left."),
        Terminal("max_tokens_spent", "limit", doc="No token is left to spend."),
        Terminal("max_cost", "limit", doc="No money is left to spend."),
        Terminal("max_time", "limit", doc="No time is left."),
        Terminal("stuck_loop", "limit", doc="Rounds of tools turn in a circle."),
    ),
    assumptions=ASSUMPTIONS,
    laws=LAWS,
)
