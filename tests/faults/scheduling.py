"""Schedules of every shape, for Hypothesis."""

from collections.abc import Mapping

from hypothesis import strategies as st

from unspiral.engine.faults.catalogue import CATALOGUE
from unspiral.engine.faults.fault import Fault
from unspiral.engine.faults.plans import Outage
from unspiral.engine.faults.reply import (
    DERIVED,
    Block,
    Compaction,
    Reply,
    Text,
    Thinking,
    ToolUse,
)
from unspiral.engine.faults.schedule import (
    DONE,
    Context,
    Pattern,
    Play,
    Rule,
    Schedule,
    Step,
)

TEXTS = st.text(max_size=40) | st.sampled_from(
    ["a." * 50, "'a' . " * 45, '"""', "# [x]\n[[step]]\n", "\x00\x1b[2J\u202e", "\\"]
)
NAMES = st.text(min_size=1, max_size=20)
JSON = st.recursive(
    TEXTS
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)
    ),
    max_leaves=8,
)
OBJECTS = st.dictionaries(TEXTS, JSON, max_size=3)
COUNTS = st.integers(0, 10**9)
TIMES = st.integers(1, 10**9)

CALLS = st.builds(
    ToolUse,
    name=st.just("") | NAMES,
    input=st.none() | OBJECTS,
    id=st.just("") | NAMES,
    raw=st.none() | TEXTS,
    wrong=st.booleans(),
)
BLOCKS: st.SearchStrategy[Block] = st.one_of(
    st.builds(Text, TEXTS),
    st.builds(Thinking, TEXTS),
    st.builds(Thinking, TEXTS, TEXTS),
    st.builds(Compaction, TEXTS),
    CALLS,
)


def replies(least: int = 0, *, calls: bool = False) -> st.SearchStrategy[Reply]:
    """Return replies of at least so many blocks, perhaps with a call at their end."""
    blocks = st.lists(BLOCKS, min_size=least, max_size=3)
    return st.builds(
        Reply,
        blocks=st.tuples(blocks, CALLS).map(lambda two: (*two[0], two[1]))
        if calls
        else blocks.map(tuple),
        stop_reason=st.just(DERIVED) | st.none() | NAMES,
        stop_sequence=st.none() | TEXTS,
        stop_details=st.none() | OBJECTS,
        input_tokens=st.none() | COUNTS,
        output_tokens=st.none() | COUNTS,
        pieces=st.integers(1, 10_000),
    )


def numbers(fault: Fault) -> st.SearchStrategy[Mapping[str, int | float]]:
    """Return parameters of a fault, each or not."""
    return st.fixed_dictionaries(
        {},
        optional={
            name: whole if each.whole else whole | st.floats(each.low, each.high)
            for name, each in fault.parameters.items()
            for whole in (st.integers(-int(-each.low // 1), int(each.high)),)
        },
    )


def broken(fault: Fault) -> st.SearchStrategy[Play]:
    """Return all ways in which a fault can be played."""
    own = st.builds(Play, st.just(fault.name), st.none(), numbers(fault))
    if fault.speaks:
        return own
    given = replies(1, calls=fault.calls)
    return own | st.builds(Play, st.just(fault.name), given, numbers(fault))


FAULTS = [each for each in CATALOGUE.values() if not isinstance(each.plan, Outage)]
OUTAGES = [each for each in CATALOGUE.values() if isinstance(each.plan, Outage)]

GOOD = st.builds(Play, reply=replies())
BROKEN = st.sampled_from(FAULTS).flatmap(broken)
PLAYS = GOOD | BROKEN
STEPS = st.builds(Step, PLAYS, TIMES) | st.builds(
    Step, st.sampled_from(OUTAGES).flatmap(broken), TIMES
)
ENDLESS = st.builds(Step, PLAYS, st.none())

PATTERNS = st.builds(
    Pattern,
    has_tools=st.none() | st.booleans(),
    tool=st.none() | TEXTS,
    model=st.none() | TEXTS,
    stream=st.none() | st.booleans(),
    min_tokens=st.none() | COUNTS,
    max_tokens=st.none() | COUNTS,
    min_messages=st.none() | COUNTS,
    text=st.none() | TEXTS,
    nth=st.none() | TIMES,
    every=st.none() | TIMES,
    since_progress=st.none() | TIMES,
    repeated=st.none() | st.booleans(),
)
ANYWHERE = st.sampled_from(
    [each.name for each in FAULTS if each.group in {"status", "connection"}]
).flatmap(lambda name: broken(CATALOGUE[name]))
COUNTING = st.builds(Pattern, endpoint=st.sampled_from(["count_tokens", "models"]))
RULES = st.one_of(
    st.builds(Rule, PATTERNS, PLAYS, st.none() | TIMES),
    st.builds(Rule, PATTERNS, PLAYS, TIMES, PLAYS),
    st.builds(Rule, COUNTING, ANYWHERE, st.none() | TIMES),
)

SCHEDULES = st.builds(
    Schedule,
    steps=st.tuples(st.lists(STEPS, max_size=3), st.lists(ENDLESS, max_size=1)).map(
        lambda two: (*two[0], *two[1])
    ),
    rules=st.lists(RULES, max_size=2).map(tuple),
    then=st.just(DONE) | PLAYS,
    side=st.just(DONE) | st.none() | PLAYS,
    rates=st.dictionaries(
        st.sampled_from([each.name for each in FAULTS]),
        st.floats(0, 0.25) | st.sampled_from([0, 0.25]),
        max_size=4,
    ),
    seed=st.integers(-(10**9), 10**9),
    context=st.builds(
        Context, st.none() | TIMES, overflow=st.sampled_from(["stop", "error"])
    ),
    strict=st.booleans(),
    name=TEXTS,
)
