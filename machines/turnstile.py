"""The tutorial's machine: small enough for a blackboard, with one of everything.

A locked turnstile can be shaken; after a few times it calls the attendant. Where that
limit is taken away (edition `unguarded`), it can be shaken for ever: the simplest
death spiral there is.
"""

from unspiral.engine.core.declare import (
    Counter,
    Edition,
    Law,
    Limit,
    Machine,
    Phase,
    Scope,
    Terminal,
)
from unspiral.engine.core.language import UNLIMITED
from unspiral.machines.notation import on

__all__ = ["TURNSTILE"]

# fmt: off
_ROWS = (
    on("locked", "coin",  "open"),
    on("locked", "push",  "locked", "shakes < max_shakes", "shakes += 1", "shaken",
       cost={"shakes": 1}),
    on("locked", "push",  "alarm",  "otherwise"),
    on("locked", "close", "closed"),

    on("open",   "coin",  "open", doc="A second coin is swallowed."),
    on("open",   "push",  "locked", "", "shakes = 0", "passed", progress=True),
)
# fmt: on

TURNSTILE = Machine(
    name="turnstile",
    doc="A coin opens the arm for one passer; a locked arm can only be shaken.",
    phases=(
        Phase("locked", events=("coin", "push", "close"), doc="The arm is fixed."),
        Phase("open", events=("coin", "push"), doc="One passer is paid for."),
    ),
    terminals=(
        Terminal("closed", doc="The day is over."),
        Terminal("alarm", "limit", doc="The arm was shaken too often."),
    ),
    transitions=_ROWS,
    memory=(Counter("shakes", high="max_shakes", doc="Pushes since somebody passed."),),
    limits=(
        Limit(
            "max_shakes",
            3,
            unit="pushes",
            doc="How often a locked arm may be pushed before the alarm.",
            values=(1, 3, UNLIMITED),
        ),
    ),
    laws=(
        Law(
            "nobody_passes_without_a_coin",
            "precedence",
            what="reason == 'passed'",
            other="event == 'coin'",
            doc="Before the first passer a coin is put in.",
        ),
        Law(
            "few_shakes_between_passers",
            "bounded",
            what="reason == 'shaken'",
            at_most="max_shakes",
            scope=Scope("between", end="progress"),
            doc="The arm is shaken at most max_shakes times from passer to passer.",
        ),
    ),
    editions=(
        Edition("guarded", doc="As built: the alarm rings at the fourth push."),
        Edition("unguarded", {"max_shakes": UNLIMITED}, doc="Without the alarm."),
    ),
)
