"""Verdicts for reports to tell: built by hand from steps of small real machines."""

from collections.abc import Callable, Sequence

import pytest

from unspiral.engine.check.verdict import Bounds, Lasso, LawVerdict, Outcome, Verdict
from unspiral.engine.core.declare import (
    REASONS,
    Assumption,
    Choice,
    Counter,
    Edition,
    Law,
    Limit,
    Machine,
    Phase,
    Terminal,
    Transition,
)
from unspiral.engine.core.language import UNLIMITED
from unspiral.engine.core.step import Snapshot, Step, initial_snapshot, step
from unspiral.engine.core.table import Table, compile_table


def blocked_machine(doc: str = "") -> Machine:
    """Return a loop that spirals when its hook always blocks."""
    return Machine(
        name="blocked",
        doc=doc or "A loop with a hook that may block.",
        phases=(
            Phase("shape", events=("fits",)),
            Phase("call", events=("answered", "tools"), cost={"model_calls": 1}),
            Phase("tools", events=("executed",)),
            Phase("hook", events=("accept", "block")),
            Phase("decide"),
        ),
        terminals=(Terminal("done"), Terminal("spent", kind="limit")),
        memory=(
            Counter("blocks", high="cap", doc="consecutive blocks"),
            Choice("last", REASONS),
        ),
        limits=(
            Limit("cap", 8, unit="blocks", source=doc or "official hooks reference"),
            Limit("max_turns", UNLIMITED, unit="turns", doc="turns of a run"),
            Limit(
                "kept",
                default=True,
                reading="the sources are silent",
                values=(True, False),
            ),
        ),
        transitions=(
            Transition("shape", "call", "fits"),
            Transition("call", "hook", "answered"),
            Transition("call", "tools", "tools"),
            Transition(
                "tools",
                "shape",
                "executed",
                action="last = 'next_turn'",
                reason="next_turn",
                progress=True,
            ),
            Transition("hook", "done", "accept"),
            Transition("hook", "decide", "block"),
            Transition("decide", "spent", guard="blocks >= 1000"),
            Transition(
                "decide",
                "shape",
                guard="otherwise",
                action="blocks = min(blocks + 1, cap); last = 'stop_hook_blocking'",
                reason="stop_hook_blocking",
                layer="hooks",
            ),
        ),
        assumptions=(
            Assumption(
                "hooks_accept", "hook", "block", doc=doc or "hooks accept answers"
            ),
        ),
        laws=(
            Law("blocks_end", "bounded", "reason == 'stop_hook_blocking'", doc="few"),
            Law("starts", "absence", "event == 'fits' and blocks > 2", doc="never"),
        ),
        editions=(
            Edition("published", doc="as told"),
            Edition("short", {"cap": 2}, doc="two blocks"),
        ),
    )


def walk(table: Table, events: Sequence[str | None]) -> list[Step]:
    """Step a table through events from its start."""
    at: Snapshot = initial_snapshot(table)
    steps: list[Step] = []
    for event in events:
        steps.append(step(table, at, event))
        at = steps[-1].after
    return steps


@pytest.fixture
def blocked() -> Machine:
    return blocked_machine()


@pytest.fixture
def blocked_with() -> Callable[[str], Machine]:
    """Return the machine with a text in each place for prose."""
    return blocked_machine


@pytest.fixture
def table(blocked: Machine) -> Table:
    return compile_table(blocked)


@pytest.fixture
def lasso(table: Table) -> Lasso:
    once: list[str | None] = ["fits", "answered", "block", None]
    steps = walk(table, once * 9)
    return Lasso(tuple(steps[:32]), tuple(steps[32:]))


@pytest.fixture
def refuted(table: Table, lasso: Lasso) -> Verdict:
    turn = walk(table, ["fits", "tools", "executed"] * 2)
    return Verdict(
        table=table,
        verdict=Outcome.REFUTED,
        states=1234,
        transitions=5678,
        seconds=0.123456789,
        spirals=(lasso,),
        open_ended=(Lasso(tuple(turn[:3]), tuple(turn[3:])),),
        laws=(
            LawVerdict("blocks_end", Outcome.REFUTED, lasso),
            LawVerdict("starts", Outcome.PROVED),
        ),
        notes=("a note",),
    )


@pytest.fixture
def proved(table: Table) -> Verdict:
    return Verdict(
        table=table,
        verdict=Outcome.PROVED,
        states=10,
        transitions=20,
        seconds=0.5,
        bounds=Bounds(9, None, {"stop_hook_blocking": 8, "next_turn": None}),
    )
