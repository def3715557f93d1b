"""Compaction that somebody has ordered: the summary and what becomes of it, no more.

Where a history was refused, or a circle of tools is to be broken, nobody asks whether
to compact, and no breaker is charged. What is left is the middle of `compaction`: ask
the hooks, ask the model, ask again with less if the request itself is too long, weigh.
Its rows, counters, limits and laws are taken from there; where that would report an
outcome, this ends.

Two answers cost nothing, since nothing was sent: `over_budget`, and `irreducible`.
"""

from collections.abc import Iterable
from typing import TypeVar

import attrs

from unspiral.engine.core.declare import (
    Choice,
    Law,
    Limit,
    Machine,
    Memory,
    Scope,
    Terminal,
    Transition,
)
from unspiral.machines.compaction import COMPACTION
from unspiral.machines.compaction_laws import OUTCOMES
from unspiral.machines.extending import charge_rows, extend
from unspiral.machines.notation import on

__all__ = ["IRREDUCIBLE", "OVER", "RECOMPACTION", "UNSENT"]

OVER = "over_budget"  #: nothing may be spent any more
IRREDUCIBLE = "irreducible"  #: no summary could be small enough, so none is asked for
UNSENT = (OVER, IRREDUCIBLE)  #: answers of `summarise` that no request stands behind

_PHASES = ("pre_compact", "summarise", "truncate", "weigh")
_MEMORY = ("retries", "dropped")
_LIMITS = ("max_compact_retries", "history_groups")
_LAWS = (
    "few_summary_retries",
    "a_group_remains",
    "each_retry_drops_a_group",
    "a_veto_means_no_summary",
    "only_summaries_are_weighed",
    "hooks_that_do_not_veto_let_it_pass",
)
_ENDS = ("compacted", "compacted_no_gain", "failed", "aborted")

_Part = TypeVar("_Part", Terminal, Memory, Limit, Law)


def _named(parts: Iterable[_Part], names: Iterable[str]) -> tuple[_Part, ...]:
    known = {each.name: each for each in parts}
    return tuple(known[name] for name in names)


def _reports() -> dict[str, str]:
    """Return what `finish` is told to report, by the action that tells it."""
    outcome = next(each for each in COMPACTION.memory if each.name == "outcome")
    assert isinstance(outcome, Choice)  # noqa: S101 - as declared
    return {f"outcome = '{value}'": value for value in outcome.values}


def _ending(row: Transition) -> Transition:
    """Return a row that ends where the other machine would report."""
    if row.target != "finish":
        return row
    return attrs.evolve(row, target=_reports()[row.action], action="")


_MIDDLE = Machine(
    name="middle_of_compaction",
    phases=[COMPACTION.phase(name) for name in _PHASES],
    terminals=_named(COMPACTION.terminals, _ENDS),
    transitions=[_ending(r) for r in COMPACTION.transitions if r.source in _PHASES],
    memory=_named(COMPACTION.memory, _MEMORY),
    limits=_named(COMPACTION.limits, _LIMITS),
    laws=_named(COMPACTION.laws, _LAWS),
)

#: where it ends, by what was answered
_CAME = {
    row.event: end
    for row in _MIDDLE.transitions
    for end, events in OUTCOMES.items()
    if row.event in events
} | {OVER: OVER, IRREDUCIBLE: "failed"}

RECOMPACTION = extend(
    charge_rows(_MIDDLE, "summarise", free=UNSENT),
    "recompaction",
    [
        on("summarise", OVER, OVER, doc="Nothing was sent."),
        on("summarise", IRREDUCIBLE, "failed", cite="guard G07",
           doc="Nothing was sent: what must stay fills the window by itself."),
    ],
    terminals=[Terminal(OVER, "limit", doc="Nothing may be spent any more.")],
    laws=[
        Law(
            "one_end",
            "bounded",
            what=f"target in {(*_ENDS, OVER)}",
            at_most="1",
            doc="It ends once.",
            source="law 10",
        ),
        Law(
            "no_request_after_abort",
            "absence",
            what="phase == 'summarise'",
            scope=Scope("after", start="event == 'aborted'"),
            source="law 14",
        ),
        Law(
            "the_end_is_what_came",
            "absence",
            what=" or ".join(
                f"event == '{event}' and target != '{end}'"
                for event, end in _CAME.items()
            ),
            doc="Whoever ordered it hears what became of it.",
            source="spec E.4",
        ),
        Law(
            "a_gain_is_weighed",
            "precedence",
            what="target in ('compacted', 'compacted_no_gain')",
            other="phase == 'weigh'",
            doc="No summary is a success before its size was looked at.",
            source="guard G03",
        ),
        Law(
            "nothing_is_sent_over_budget",
            "absence",
            what="phase == 'summarise'",
            scope=Scope("after", start="event == 'over_budget'"),
            doc="Where nothing is left, no call of a model follows.",
            source="law 76",
        ),
    ],
    doc="The summary of a history that is compacted whatever its size.",
    source="spec E.4, E.5",
)  # fmt: skip
