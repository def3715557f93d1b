"""Strategies of plans: whatever can happen to a run, small plans first."""

from typing import Any, get_args

from hypothesis import strategies as st

from tests.live.any_parts import NAMES, POINTS, Acts, Says, Speaks
from tests.live.any_plan import Plan, Stop
from unspiral.engine.faults.catalogue import CATALOGUE
from unspiral.engine.faults.reply import Reply, Text, Thinking, ToolUse
from unspiral.engine.faults.schedule import DONE, Play, Step
from unspiral.engine.live.budgets import Budgets
from unspiral.engine.live.result_budget import ResultLimits

__all__ = ["PLANS"]

FEW = [0, 0.1, 1.0, 30.0]
_BROKEN = [name for name in CATALOGUE if name != "huge_event"]


@st.composite
def replies(draw: st.DrawFn, number: int) -> Reply:
    """An answer: words, or calls, of which some are wrong."""
    words = Text(f"Answer {number}. " + "Words. " * draw(st.sampled_from([1, 1, 300])))
    blocks: list[Any] = [words]
    if draw(st.booleans()):
        blocks.insert(0, Thinking(f"Thought {number}."))
    if draw(st.integers(0, 3)):
        same = draw(st.integers(0, 4)) == 0  # rounds that are alike trip the fuse
        for k in range(draw(st.integers(1, 4))):
            name = draw(st.sampled_from([*NAMES, *NAMES, "elk"]))
            given = {"n": 7 if same else number * 10 + k}
            raw = draw(st.sampled_from([None] * 8 + ['{"n": ', "[1]", '{"n": "x"}']))
            blocks.append(ToolUse(name, given, raw=raw))
    return Reply(tuple(blocks))


@st.composite
def steps(draw: st.DrawFn) -> tuple[Step, ...]:
    """What the server does, request by request."""
    made: list[Step] = []
    for number in range(1, draw(st.integers(0, 9)) + 1):
        reply = draw(replies(number))
        name = draw(st.sampled_from([""] * len(_BROKEN) + _BROKEN))
        times = draw(st.sampled_from([1, 1, 1, 2, 3, 6]))
        if not name:
            made.append(Step(Play(reply=reply), times if times > 2 else 1))
            continue
        entry = CATALOGUE[name]
        calls = any(isinstance(block, ToolUse) for block in reply.blocks)
        if entry.speaks or (entry.calls and not calls):
            made.append(Step(Play(name), times))
        else:
            made.append(Step(Play(name, reply), times))
    return tuple(made)


ACTS = st.builds(
    Acts,
    ends=st.sampled_from(
        ["says"] * 6 + ["fails", "raises", "stops", "hangs", "lingers"]
    ),
    seconds=st.sampled_from(FEW),
    size=st.sampled_from([1, 20, 3_000, 60_000]),
    safe=st.booleans(),
    shell=st.booleans(),
    interruptible=st.booleans(),
)
SPEAKS = st.builds(
    Speaks,
    says=st.sampled_from(get_args(Says)),
    points=st.lists(st.sampled_from(POINTS), min_size=1, max_size=3).map(tuple),
    times=st.sampled_from([1, 2, 99]),
)
STOPS = st.one_of(
    st.none(),
    st.builds(
        Stop,
        how=st.sampled_from(["user", "interrupt", "cancel"]),
        seconds=st.one_of(st.floats(0, 4), st.floats(0, 120)),
    ),
    st.builds(
        Stop,
        how=st.sampled_from(["user", "interrupt", "cancel", "close"]),
        events=st.integers(1, 80),
    ),
)
BUDGETS = st.one_of(
    st.just(Budgets()),
    st.builds(
        Budgets,
        model_calls=st.none() | st.integers(1, 8),
        tool_calls=st.none() | st.integers(1, 8),
        tokens=st.none() | st.integers(1, 20_000),
        micro_dollars=st.none() | st.integers(1, 50_000),
        seconds=st.none() | st.floats(1, 100),
    ),
)
PLANS = st.builds(
    Plan,
    steps=steps(),
    side=st.sampled_from([DONE, DONE, None]),
    tools=st.tuples(ACTS, ACTS, ACTS, ACTS),
    hooks=st.lists(SPEAKS, max_size=4).map(tuple),
    rules=st.dictionaries(
        st.sampled_from(NAMES), st.sampled_from(["allow", "ask", "deny"]), max_size=2
    ),
    person=st.sampled_from(["yes", "no", "fails", "nobody"]),
    stop=STOPS,
    again=STOPS,
    budgets=BUDGETS,
    window=st.sampled_from([200_000, 200_000, 20_000, 6_000]),
    results=st.sampled_from(
        [ResultLimits(), ResultLimits(result=5_000, message=20_000)]
    ),
    cap=st.sampled_from([10, 1, 2]),
    slow=st.sampled_from([0.0, 0.0, 0.4]),
    machine=st.sampled_from([0, 0, 0, 1, 2, 3]),
    goes_on=st.booleans(),
    early=st.booleans(),
)
