"""The query loop with one fault each, as people make them: guards gone, off by one, ...

Every fault stands in the hardened loop, which is proved, with small limits; so whatever
is found is the fault. What a fault does is not written down here: who finds it says so.

    python -m tests.quality.planted_loops --seed S

plants them all, one after the other, and says how soon a fuzzer that knows nothing of
the explorer finds each, and what the checker says; minutes.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence

import attrs

from unspiral.engine.check.check import check_law, check_table
from unspiral.engine.check.coverage import Reach
from unspiral.engine.check.verdict import Outcome
from unspiral.engine.core.declare import LimitValue, Machine, Transition
from unspiral.engine.core.points import points_of
from unspiral.engine.core.table import Table, compile_table
from unspiral.engine.fuzz import Campaign, Failure, fuzz
from unspiral.machines.query_loop import QUERY_LOOP

__all__ = [
    "HARD",
    "PLANTED",
    "Planted",
    "alone",
    "refuted",
    "refutes",
    "table_of",
]

EXAMPLES = 2_000
Change = Callable[[Machine], Machine]

LIMITS: Mapping[str, LimitValue] = {
    "max_turns": 3,
    "recovery_budget": 6,
    "max_output_recoveries": 2,
    "stop_block_cap": 2,
}


@attrs.frozen
class Planted:
    """One fault.

    Attributes:
        kind: what sort of slip it is.
        change: plants it.
    """

    kind: str
    change: Change


def table_of(planted: Planted | None) -> Table:
    """The loop with a fault, compiled; without one if there is none."""
    machine = QUERY_LOOP if planted is None else planted.change(QUERY_LOOP)
    return compile_table(machine, "hardened", LIMITS)


def alone(table: Table, seed: int = 0, examples: int = EXAMPLES) -> Campaign:
    """Fuzz until something is found, with no help of the explorer at all."""
    every = tuple(point for row in table.rows for point in points_of(row))
    unknown = Reach({}, every)
    return fuzz(table, unknown, examples=examples, seed=seed, paths=False, first=True)


def refutes(table: Table, failure: Failure) -> bool:
    """Tell whether the checker refutes what a failure breaks."""
    if failure.kind == "law":
        (law,) = [law for law in table.machine.laws if law.name == failure.subject]
        return check_law(table, law).verdict is Outcome.REFUTED
    verdict = check_table(table, laws=False)
    return bool(verdict.spirals if failure.kind == "spiral" else verdict.out_of_range)


def refuted(table: Table) -> bool:
    """Tell whether the checker refutes anything; slow, for it looks at all laws."""
    return check_table(table).refuted


def _edit(row: str, field: str, old: str, new: str = "") -> Change:
    """Put another text in the place of a part of a row."""

    def change(machine: Machine) -> Machine:
        text: str = getattr(machine.row(row), field)
        assert old in text, (row, field, old)
        return machine.amend(row, **{field: text.replace(old, new)})

    return change


def _inside(phase: str, change: Change) -> Change:
    """Plant it in the machine that runs a phase."""

    def outer(machine: Machine) -> Machine:
        phases = [
            attrs.evolve(each, runs=change(each.runs))
            if each.name == phase and each.runs is not None
            else each
            for each in machine.phases
        ]
        assert phases != list(machine.phases)
        return attrs.evolve(machine, phases=phases)

    return outer


def _ahead(row: str, of: str) -> Change:
    """Ask one alternative before another that should come first."""

    def change(machine: Machine) -> Machine:
        rows: list[Transition] = list(machine.rows)
        moved = machine.row(row)
        rows.remove(moved)
        rows.insert(rows.index(machine.row(of)), moved)
        return attrs.evolve(machine, transitions=rows)

    return change


_GATE = " and recovery_spent < recovery_budget"
_REQUEST = "call_model"

PLANTED: Mapping[str, Planted] = {
    # -- a guard is gone
    "last_forgotten": Planted(
        "guard gone", _edit("may_drain", "guard", " and last != 'collapse_drain_retry'")
    ),
    "drain_ungated": Planted("guard gone", _edit("may_drain", "guard", _GATE)),
    "tried_forgotten": Planted(
        "guard gone", _edit("may_compact", "guard", " and not reactive_tried")
    ),
    "compaction_ungated": Planted("guard gone", _edit("may_compact", "guard", _GATE)),
    "escalation_ungated": Planted("guard gone", _edit("escalate", "guard", _GATE)),
    "resumed_for_ever": Planted(
        "guard gone",
        _edit("resume", "guard", " and output_recoveries < max_output_recoveries"),
    ),
    "resume_ungated": Planted("guard gone", _edit("resume", "guard", _GATE)),
    "blocks_uncounted": Planted(
        "guard gone", _edit("block", "guard", "stop_blocks < stop_block_cap and ")
    ),
    "block_ungated": Planted("guard gone", _edit("block", "guard", _GATE)),
    "nudge_ungated": Planted(
        "guard gone",
        _edit("nudge", "guard", "recovery_spent < recovery_budget", "True"),
    ),
    "turns_uncounted": Planted(
        "guard gone", _edit("next_turn", "guard", "turn < max_turns", "True")
    ),
    "idle_turns_ungated": Planted(
        "guard gone",
        _edit(
            "next_turn_unproductive",
            "guard",
            "recovery_spent < recovery_budget",
            "True",
        ),
    ),
    "attempts_uncounted": Planted(
        "guard gone",
        _inside(
            _REQUEST,
            _edit("request:server_error#1", "guard", "attempts < max_retries", "True"),
        ),
    ),
    "fallback_again": Planted(
        "guard gone",
        _inside(_REQUEST, _edit("switch_model", "guard", " and not on_fallback")),
    ),
    # -- off by one
    "one_turn_more": Planted("off by one", _edit("next_turn", "guard", "<", "<=")),
    "one_resume_more": Planted(
        "off by one",
        _edit("resume", "guard", "output_recoveries < max", "output_recoveries <= max"),
    ),
    "one_block_more": Planted(
        "off by one", _edit("block", "guard", "stop_blocks <", "stop_blocks <=")
    ),
    "one_recovery_more": Planted(
        "off by one", _edit("nudge", "guard", "recovery_spent <", "recovery_spent <=")
    ),
    "one_attempt_more": Planted(
        "off by one",
        _inside(_REQUEST, _edit("request:stream_died#1", "guard", "<", "<=")),
    ),
    "fallback_too_early": Planted(
        "off by one",
        _inside(
            _REQUEST, _edit("switch_model", "guard", "overloads + 1", "overloads + 2")
        ),
    ),
    # -- wrong order
    "give_up_before_compact": Planted(
        "wrong order", _ahead("prompt_stays_too_long", "may_compact")
    ),
    # -- reset at the wrong place
    "block_renews_compaction": Planted(
        "wrong reset",
        _edit(
            "block",
            "action",
            "stop_hook_active = True",
            "stop_hook_active = True; reactive_tried = False",
        ),
    ),
    "resume_renews_itself": Planted(
        "wrong reset",
        _edit("resume", "action", "output_recoveries += 1", "output_recoveries = 0"),
    ),
    "compaction_not_noted": Planted(
        "wrong reset",
        _edit("compact_reactively:compacted", "action", "reactive_tried = True; "),
    ),
    "drain_renews_the_budget": Planted(
        "wrong reset",
        _edit("drain:committed", "action", "recovery_spent += 1", "recovery_spent = 0"),
    ),
    "block_forgets_the_budget": Planted(
        "wrong reset", _edit("block", "action", "; recovery_spent += 1")
    ),
    "retries_forget_overloads": Planted(
        "wrong reset",
        _inside(_REQUEST, _edit("request:server_error#1", "action", "; overloads = 0")),
    ),
    "turn_keeps_recoveries": Planted(
        "wrong reset", _edit("next_turn", "action", "output_recoveries = 0; ")
    ),
    "last_not_written": Planted(
        "wrong reset",
        _edit("resume", "action", "last = 'max_output_tokens_recovery'; "),
    ),
    # -- an error is swallowed, or lost
    "error_swallowed": Planted(
        "swallowed error", _edit("told_as_error", "target", "api_error", "shape")
    ),
    "refusal_lost": Planted(
        "lost withheld error",
        _edit(
            "call_model:prompt_too_long",
            "action",
            "reply = 'prompt_too_long'",
            "reply = 'answer'",
        ),
    ),
    "abort_goes_on": Planted(
        "swallowed error",
        _edit(
            "compact_reactively:aborted", "target", "aborted_streaming", "reactive_gate"
        ),
    ),
    # -- a result twice, or not at all
    "turn_counted_twice": Planted(
        "double result", _edit("next_turn", "action", "turn += 1", "turn += 2")
    ),
    "recovery_counted_twice": Planted(
        "double result",
        _edit("resume", "action", "output_recoveries += 1", "output_recoveries += 2"),
    ),
    # -- a hook judges an error
    "hook_on_error": Planted(
        "hook on error", _edit("told_as_error", "target", "api_error", "stop_hooks")
    ),
    "hook_on_too_long": Planted(
        "hook on error",
        _edit("prompt_stays_too_long", "target", "prompt_too_long", "stop_hooks"),
    ),
    "hook_on_crash": Planted(
        "hook on error",
        _edit("call_model:model_error", "target", "model_error", "stop_hooks"),
    ),
}

#: Found by the checker, and by runs alone with some seeds and not with others: they
#: need many answers of one kind, with something else in between.
HARD = ("block_ungated", "fallback_again", "refusal_lost")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0, metavar="S")
    chosen = parser.parse_args(arguments)
    missed = len(alone(table_of(None), chosen.seed).findings)
    for name, planted in PLANTED.items():
        table = table_of(planted)
        campaign = alone(table, chosen.seed)
        missed += not campaign.findings and name not in HARD
        said = "not found"
        if not campaign.findings:
            said += f" (checker: {'REFUTED' if refuted(table) else 'PROVED'})"
        if campaign.findings:
            first = min(campaign.findings, key=lambda each: each.first)
            agreed = "REFUTED" if refutes(table, first.failure) else "DENIED"
            said = f"run {first.first:,}: {first.failure} (checker: {agreed})"
        sys.stdout.write(f"{planted.kind}, {name}: {said}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{len(PLANTED)} planted; {missed} missed\n")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
