"""Machines without a fault give no findings; the shipped ones none that are errors."""

import pytest

from unspiral.engine.core.declare import (
    REASONS,
    Assumption,
    Choice,
    Counter,
    Edition,
    Event,
    Flag,
    Law,
    Limit,
    Machine,
    Phase,
    Scope,
    Terminal,
    Transition,
)
from unspiral.engine.core.language import UNLIMITED
from unspiral.engine.core.validate import validate
from unspiral.machines import load, names

Row = Transition

LIGHT = Machine(
    "light",
    [Phase("red", ["tick", "off"]), Phase("green", ["tick", "off"])],
    [Terminal("dark")],
    [
        Row("red", "green", "tick"),
        Row("red", "dark", "off"),
        Row("green", "red", "tick", reason="stop_again"),
        Row("green", "dark", "off"),
    ],
)
# Each recovery has a budget: the blocks are counted for ever, the retries between them.
LADDER = Machine(
    "ladder",
    [
        Phase("ask", ["answered", "cut", "failed"], cost={"model_calls": 1}),
        Phase("check", ["accepted", "blocked"]),
    ],
    [Terminal("done"), Terminal("gave_up", "error"), Terminal("capped", "limit")],
    [
        Row("ask", "check", "answered"),
        Row("ask", "ask", "cut", "not escalated", "escalated = True",
            reason="escalate", raises=("small", "large")),
        Row("ask", "gave_up", "cut", "otherwise"),
        Row("ask", "ask", "failed", "retries < max_retries", "retries += 1",
            reason="retry"),
        Row("ask", "gave_up", "failed", "otherwise"),
        Row("check", "done", "accepted"),
        Row("check", "ask", "blocked", "blocks < max_blocks",
            "blocks += 1; retries = 0; escalated = False", reason="block"),
        Row("check", "capped", "blocked", "otherwise"),
    ],
    [
        Counter("retries", "max_retries"),
        Counter("blocks", "max_blocks"),
        Flag("escalated"),
    ],
    [
        Limit("max_retries", 3, values=(0, 3, 10)),
        Limit("max_blocks", 8, values=(1, 8)),
        Limit("small", 8_000),
        Limit("large", 64_000),
    ],
    [Assumption("kind", "check", "blocked", at_most="max_blocks")],
    [
        Law("few_blocks", "bounded", "reason == 'block'", at_most="max_blocks"),
        Law("no_late_retry", "absence", "reason == 'retry'",
            scope=Scope("after", "target == 'capped'")),
    ],
    [Edition("usual"), Edition("strict", {"max_blocks": 1})],
)  # fmt: skip
# Progress gives budgets back, and turns are open-ended unless limited.
TURNS = Machine(
    "turns",
    [
        Phase("ask", ["tools", "text", "too_long"], cost={"model_calls": 1}),
        Phase("drain"),
        Phase("act", [Event("done"), Event("denied", "asks")]),
    ],
    [Terminal("completed"), Terminal("max_turns", "limit"), Terminal("too_long")],
    [
        Row("ask", "act", "tools"),
        Row("ask", "completed", "text"),
        Row("ask", "drain", "too_long"),
        Row("drain", "ask", guard="not drained and last != 'drained'",
            action="drained = True; last = 'drained'", reason="drained"),
        Row("drain", "too_long", guard="otherwise"),
        Row("act", "ask", "done", "turn < turn_limit",
            "turn += 1; drained = False; last = 'next_turn'",
            reason="next_turn", progress=True),
        Row("act", "max_turns", "done", "otherwise"),
        Row("act", "completed", "denied"),
    ],
    [Counter("turn", "turn_limit", low=1), Flag("drained"), Choice("last", REASONS)],
    [
        Limit("turn_limit", UNLIMITED, values=(UNLIMITED, 1, 100_000)),
        Limit("asks", default=True),
    ],
)  # fmt: skip
NESTED = Machine(
    "nested",
    [Phase("call", runs=LADDER), Phase("again", ["yes", "no"])],
    [Terminal("good"), Terminal("bad", "error")],
    [
        Row("call", "again", "done"),
        Row("call", "bad", "gave_up"),
        Row("call", "bad", "capped"),
        Row("again", "call", "yes", reason="more", progress=True),
        Row("again", "good", "no"),
    ],
)
SHARING = Machine(
    "sharing",
    [Phase("first", runs=Machine(
        "step",
        [Phase("attempt", ["well", "badly"])],
        [Terminal("fine"), Terminal("poor")],
        [
            Row("attempt", "fine", "well", action="bad = False"),
            Row("attempt", "poor", "badly", action="bad = True"),
        ],
        [Flag("bad", shared=True)],
    )), Phase("judge")],
    [Terminal("good"), Terminal("lost", "error")],
    [
        Row("first", "judge", "fine"),
        Row("first", "judge", "poor"),
        Row("judge", "lost", guard="bad"),
        Row("judge", "good", guard="not bad"),
    ],
    [Flag("bad")],
)  # fmt: skip
CLEAN = [LIGHT, LADDER, TURNS, NESTED, SHARING]


@pytest.mark.parametrize("machine", CLEAN, ids=lambda machine: machine.name)
def test_a_clean_machine_gives_no_findings(machine: Machine) -> None:
    assert validate(machine) == ()


@pytest.mark.parametrize("name", names())
def test_a_shipped_machine_gives_nothing_but_warnings_of_spirals(name: str) -> None:
    # Some editions and readings are shipped because they spiral: the proof shows it.
    assert {finding.code for finding in validate(load(name))} <= {"unbudgeted"}
