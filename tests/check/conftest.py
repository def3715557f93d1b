"""A machine that has all that a certificate speaks of."""

import pytest

from unspiral.engine.core.declare import (
    Assumption,
    Choice,
    Counter,
    Edition,
    Flag,
    Limit,
    Machine,
    Phase,
    Terminal,
    Transition,
)

CALL = {"model_calls": 1}

ATTEMPT = Machine(
    "attempt",
    phases=(Phase("ask", ("fine", "busy"), cost=CALL), Phase("wait")),
    terminals=(Terminal("answered"), Terminal("gave_up", "error")),
    memory=(Counter("tries", "max_tries"), Flag("fallback", shared=True)),
    limits=(Limit("max_tries", 2),),
    transitions=(
        Transition("ask", "answered", "fine"),
        Transition("ask", "wait", "busy", "tries < max_tries", "tries += 1"),
        Transition("ask", "ask", "busy", "not fallback", "fallback = True; tries = 0"),
        Transition("ask", "gave_up", "busy", "otherwise"),
        Transition("wait", "ask"),
    ),
)

LOOP = Machine(
    "loop",
    phases=(Phase("model", runs=ATTEMPT), Phase("judge", ("more", "stop", "bad"))),
    terminals=(Terminal("completed"), Terminal("failed", "error")),
    memory=(
        Counter("turn", "max_turns", low=1),
        Counter("budget", "max_budget"),
        Flag("fallback"),
        Choice("last", ("none", "turn", "repair")),
    ),
    limits=(
        Limit("max_turns", 5),
        Limit("max_budget", 3),
        Limit("patient", default=False),
    ),
    assumptions=(Assumption("no_bad", "judge", "bad"),),
    editions=(
        Edition("short"),
        Edition("long", {"max_budget": 9}),
        Edition("patient", {"patient": True}),
    ),
    transitions=(
        Transition("model", "judge", "answered"),
        Transition("model", "failed", "gave_up"),
        Transition(
            "judge",
            "model",
            "more",
            "turn < max_turns",
            "turn += 1; budget = 0; last = 'turn'",
            "next_turn",
            progress=True,
        ),
        Transition("judge", "completed", "more", "otherwise"),
        Transition("judge", "completed", "stop"),
        Transition(
            "judge",
            "model",
            "bad",
            "budget < max_budget",
            "budget += 1; last = 'repair'",
            "repair",
        ),
        Transition("judge", "model", "bad", "patient", reason="again"),
        Transition("judge", "failed", "bad", "otherwise"),
    ),
)


@pytest.fixture
def retrying_loop() -> Machine:
    """Return a loop with a budget of repairs around a loop of attempts."""
    return LOOP
