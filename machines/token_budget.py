"""The token budget: after a valid answer, is there enough budget left to go on?

A user may ask that so many output tokens are spent on a task. The budget and what is
used of it are counted in units of 500 tokens, the size below which an answer counts as
small; so an answer adds nothing, or a unit, or uses the budget up.
"""

from unspiral.engine.core.declare import (
    Counter,
    Law,
    Limit,
    Machine,
    Phase,
    Terminal,
)
from unspiral.machines.notation import on, when

__all__ = ["TOKEN_BUDGET"]

# fmt: off
_ROWS = (
    when("applies",
         "not token_budget_on or token_budget < 1 or not main_agent or "
         "query_source != 'main'",
         "stop", name="no_budget", cite="spec G.4"),
    when("applies", "otherwise", "count"),

    # ---- fewer than 500 tokens since the last look
    on("count", "small", "stop",
       "continuations >= 3 and small_deltas + 1 >= diminishing_deltas",
       name="diminishing", doc="Little came of the last nudges.", cite="spec G.4"),
    on("count", "small", "go_on", "otherwise",
       "continuations = min(continuations + 1, 3); "
       "small_deltas = min(small_deltas + 1, diminishing_deltas)"),

    # ---- 500 tokens or more: stop at 90 % of the budget
    on("count", "big",   "stop",  "10 * (budget_used + 1) >= 9 * token_budget",
       name="used_up"),
    on("count", "big",   "go_on", "otherwise",
       "continuations = min(continuations + 1, 3); small_deltas = 0; budget_used += 1"),
    on("count", "rest",  "stop"),
)
# fmt: on

TOKEN_BUDGET = Machine(
    name="token_budget",
    doc="Whether a valid answer is followed by a nudge to do more.",
    source="spec G.4",
    phases=(
        Phase("applies", doc="Only the main agent, and only if a budget is set."),
        Phase(
            "count",
            events=("small", "big", "rest"),
            doc="Output tokens since the last look: under 500, 500 or more, or all "
            "that was left.",
        ),
    ),
    terminals=(
        Terminal("go_on", doc="There is budget left, and answers still grow."),
        Terminal("stop", doc="No budget, all used, or diminishing."),
    ),
    transitions=_ROWS,
    memory=(
        Counter(
            "budget_used",
            high="token_budget",
            shared=True,
            unit="500 tokens",
            doc="What the answers have used of the budget.",
        ),
        Counter(
            "continuations",
            high="3",
            shared=True,
            doc="Nudges so far; three are enough to know.",
        ),
        Counter(
            "small_deltas",
            high="diminishing_deltas",
            shared=True,
            doc="Consecutive small answers, as far as they are counted.",
        ),
    ),
    limits=(
        Limit(
            "token_budget_on",
            default=True,
            source="spec G.4",
            doc="The user has set a budget.",
        ),
        Limit(
            "token_budget",
            2,
            unit="500 tokens",
            source="ours: small, so that a search is small",
            doc="Output tokens to be spent.",
            values=(2, 4),
        ),
        Limit(
            "main_agent",
            default=True,
            source="spec G.4",
            doc="This is no sub-agent.",
        ),
        Limit(
            "query_source",
            "main",
            values=("main", "compact", "session_memory", "collapse"),
            source="spec E.3",
            doc="Who asks: the conversation, or one of its own side tasks.",
        ),
        Limit(
            "diminishing_deltas",
            2,
            unit="answers",
            source="spec L.17",
            doc="So many small answers in a row, this one included, are too little.",
            values=(2, 3),
            reading="Three analyses have this and the previous one, after three "
            "nudges; two others say three small ones in a row. The first say it in "
            "more detail.",
        ),
    ),
    laws=(
        Law(
            "only_the_main_agent_goes_on",
            "absence",
            what="target == 'go_on' and (not main_agent or not token_budget_on or "
            "10 * after.budget_used >= 9 * token_budget)",
            source="law 72",
        ),
        Law(
            "no_budget_no_question",
            "absence",
            what="phase == 'applies' and (target == 'stop') != (not token_budget_on or "
            "token_budget < 1 or not main_agent or query_source != 'main')",
            doc="It stops at once if and only if there is no budget to spend.",
            source="spec G.4",
        ),
        Law(
            "little_ends_it",
            "absence",
            what="event == 'small' and (target == 'stop') != "
            "(continuations >= 3 and small_deltas + 1 >= diminishing_deltas)",
            doc="Small answers end it after three nudges, and not before.",
            source="spec G.4, L.17",
        ),
        Law(
            "nearly_all_ends_it",
            "absence",
            what="event == 'big' and (target == 'stop') != "
            "(10 * (budget_used + 1) >= 9 * token_budget) or "
            "event == 'rest' and target != 'stop'",
            doc="It stops at nine tenths of the budget, and not before.",
            source="spec G.4",
        ),
        Law(
            "each_nudge_is_counted",
            "absence",
            what="target == 'go_on' and "
            "after.continuations != min(continuations + 1, 3)",
            doc="Up to three.",
            source="spec G.4",
        ),
        Law(
            "what_was_written_is_counted",
            "absence",
            what="target == 'go_on' and (event == 'big' and "
            "(after.budget_used != budget_used + 1 or after.small_deltas != 0) or "
            "event == 'small' and "
            "after.small_deltas != min(small_deltas + 1, diminishing_deltas))",
            doc="A big answer uses of the budget, a small one is one more in a row.",
            source="spec G.4",
        ),
    ),
)
