"""Small machines with one thing wrong each, for tests of the fuzzer."""

import attrs

from unspiral.engine.core.declare import (
    Counter,
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

Row = Transition

SOUND = Machine(
    name="sound",
    phases=(
        Phase("call", ("answer", "use", "fail"), cost={"model_calls": 1}),
        Phase("judge"),
        Phase("act", ("done", "nothing")),
    ),
    terminals=(Terminal("completed"), Terminal("gave_up", "error")),
    memory=(Counter("tries", "most"), Counter("turns", "turns_most")),
    limits=(Limit("most", 2), Limit("turns_most", 3, values=(3, UNLIMITED))),
    transitions=(
        Row("call", "completed", "answer"),
        Row("call", "act", "use"),
        Row("call", "judge", "fail"),
        Row("judge", "call", "", "tries < most", "tries += 1", "retry"),
        Row("judge", "gave_up", "", "otherwise"),
        Row(
            "act",
            "call",
            "done",
            "turns < turns_most",
            "turns += 1; tries = 0",
            "next_turn",
            progress=True,
        ),
        Row("act", "gave_up", "done", "otherwise"),
        Row("act", "completed", "nothing"),
    ),
    laws=(
        Law(
            "few_retries",
            "bounded",
            "reason == 'retry'",
            at_most="most",
            scope=Scope("between", end="progress"),
        ),
        Law("retries_end", "bounded", "reason == 'retry'", scope=Scope("globally")),
    ),
)  #: `retries_end` does not hold where turns have no limit: each turn may have some


def amended(row: str, **changes: object) -> Machine:
    """The sound machine with one row changed."""
    return SOUND.amend(row, **changes)


UNGUARDED = amended("judge#1", guard="True")  # leaves the domain at the third failure
STUCK = attrs.evolve(
    SOUND,
    transitions=[row for row in SOUND.transitions if row.target != "gave_up"],
)
SPIRAL = amended("judge#1", action="", guard="tries == 0")
GREEDY = amended("judge#1", action="tries = min(tries + 1, 1)", guard="tries < 2")
SILENT = attrs.evolve(
    SOUND,
    phases=(
        SOUND.phases[0],
        SOUND.phases[1],
        Phase("act", (Event("done", "turns < 2"), Event("nothing", "turns < 2"))),
    ),
)
ROUND = Machine(
    name="turning",
    phases=(Phase("ask", ("yes", "no")), Phase("one"), Phase("two")),
    terminals=(Terminal("end"),),
    memory=(Flag("told"),),
    transitions=(
        Row("ask", "end", "no"),
        Row("ask", "one", "yes"),
        Row("one", "two", "", "not told"),
        Row("one", "end", "", "otherwise"),
        Row("two", "one"),
        Row("ask", "end", "no", "told", "told = True"),
    ),
)
DUTY = Machine(
    name="duty",
    phases=(Phase("ask", ("again", "promise", "keep", "stop")),),
    terminals=(Terminal("end"),),
    transitions=(
        Row("ask", "ask", "again"),
        Row("ask", "ask", "promise"),
        Row("ask", "ask", "keep", progress=True),
        Row("ask", "end", "stop"),
    ),
    laws=(Law("promises", "response", "event == 'promise'", other="event == 'keep'"),),
)
