"""A schedule is checked as soon as it is made."""

from collections.abc import Callable

import pytest

from unspiral.engine.errors import BadDeclaration, UnknownName, UnspiralError
from unspiral.engine.faults.catalogue import CATALOGUE
from unspiral.engine.faults.reply import Reply, Text
from unspiral.engine.faults.schedule import (
    Context,
    Pattern,
    Play,
    Rule,
    Schedule,
    Seen,
    Step,
    call,
    fail,
    say,
)

TALK = Reply((Text("x"),))
OUTAGE = Play("connection_refused")

WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "no answer": (Play, "neither a reply nor a fault"),
    "a parameter of a reply": (
        lambda: Play("", TALK, {"seconds": 1}),
        "a reply has no parameters",
    ),
    "an unknown parameter": (
        lambda: fail("rate_limited", second=1),
        "did you mean 'seconds'?",
    ),
    "a parameter where there is none": (
        lambda: fail("overloaded", seconds=1),
        "there is none",
    ),
    "too few seconds": (lambda: fail("rate_limited", seconds=-1), "between 0 and"),
    "no number": (lambda: fail("rate_limited", seconds=float("nan")), "between 0 and"),
    "a reply of a status": (lambda: Play("overloaded", TALK), "takes no reply"),
    "no call to break": (lambda: Play("malformed_tool_json", TALK), "a tool call"),
    "nothing to break": (lambda: Play("stall", Reply()), "no content"),
    "never": (lambda: say("x", times=0), "between 1 and 1,000,000,000"),
    "too often": (lambda: say("x", times=10**9 + 1), "between 1 and 1,000,000,000"),
    "closed for ever": (lambda: Step(OUTAGE, None), "answers nothing"),
    "closed by a rule": (lambda: Rule(Pattern(), OUTAGE), "make it a step"),
    "closed in the end": (lambda: Schedule(then=OUTAGE), "can only be a step"),
    "closed aside": (lambda: Schedule(side=OUTAGE), "can only be a step"),
    "closed at random": (
        lambda: Schedule(rates={"connection_refused": 0.1}),
        "can only be a step",
    ),
    "what never comes": (
        lambda: Schedule((say("x", times=None), say("y"))),
        "step 1 is for ever",
    ),
    "a rule that is never over": (
        lambda: Rule(Pattern(), Play(reply=TALK), None, Play(reply=TALK)),
        "`then` never comes",
    ),
    "a reply that counts": (
        lambda: Rule(Pattern("count_tokens"), Play(reply=TALK)),
        "has answers of its own",
    ),
    "a reply that counts in the end": (
        lambda: Rule(Pattern("count_tokens"), Play("overloaded"), 1, Play(reply=TALK)),
        "has answers of its own",
    ),
    "a message that counts": (
        lambda: Rule(Pattern("count_tokens"), Play("end_turn")),
        "is about a message, which count_tokens does not give",
    ),
    "a part of a token": (
        lambda: fail("prompt_too_long", tokens=1.5),
        "tokens is 1.5; it must be whole",
    ),
    "an unknown endpoint": (lambda: Pattern("message"), "known: messages"),
    "before the first": (lambda: Pattern(nth=0), "begins at 1"),
    "each none": (lambda: Pattern(every=0), "begins at 1"),
    "fewer than no messages": (lambda: Pattern(min_messages=-1), "begins at 0"),
    "a rate over 1": (lambda: Schedule(rates={"billing": 1.5}), "the rate 1.5"),
    "a rate that is no number": (
        lambda: Schedule(rates={"billing": float("nan")}),
        "the rate nan",
    ),
    "rates over 1": (
        lambda: Schedule(rates={"billing": 0.6, "overloaded": 0.6}),
        "more than 1",
    ),
    "no window": (lambda: Context(0), "window is 0"),
    "an unknown overflow": (lambda: Context(1, "cut"), "'stop' or 'error'"),
}


@pytest.mark.parametrize(("build", "said"), WRONG.values(), ids=WRONG)
def test_what_makes_no_sense_is_refused(build: Callable[[], object], said: str) -> None:
    with pytest.raises(BadDeclaration) as caught:
        build()

    assert said in str(caught.value)


def test_a_whole_number_may_be_written_with_a_point() -> None:
    numbers = fail("prompt_too_long", tokens=2e5).play.all_numbers

    assert str(numbers["tokens"]) == "200000"


def test_rates_that_sum_up_to_one_are_taken_whatever_their_rounding() -> None:
    names = [each for each in CATALOGUE if each != "connection_refused"]
    rates = dict(zip(names, (0.2, 0.4, 0.3, 0.1), strict=False))
    assert sum(rates.values()) > 1  # so that adding one by one would refuse them

    assert Schedule(rates=rates).rates == rates


@pytest.mark.parametrize(
    "build",
    [lambda: fail("overloded"), lambda: Schedule(rates={"overloded": 0.1})],
)
def test_an_unknown_fault_gets_the_nearest(build: Callable[[], object]) -> None:
    with pytest.raises(UnspiralError, match="did you mean 'overloaded'") as caught:
        build()

    assert isinstance(caught.value, UnknownName)


def test_a_parameter_that_is_not_given_has_its_default() -> None:
    play = fail("prompt_too_long", limit=5).play

    assert play.all_numbers == {"tokens": 214_512, "limit": 5}


def test_a_port_is_closed_for_as_long_as_the_step_says() -> None:
    assert OUTAGE.outage == 2
    assert fail("connection_refused", seconds=7).play.outage == 7
    assert call().play.outage == 0


SEEN = Seen(
    endpoint="messages",
    model="claude-haiku-5-5",
    tools=("read", "write"),
    stream=True,
    tokens=100,
    messages=3,
    text="Please read a.txt",
    nth=6,
    since_progress=2,
    repeated=False,
    side=False,
)


@pytest.mark.parametrize(
    ("pattern", "other"),
    [
        (Pattern(), Pattern("models")),
        (Pattern(has_tools=True), Pattern(has_tools=False)),
        (Pattern(tool="write"), Pattern(tool="writ")),
        (Pattern(model="claude-haiku-*"), Pattern(model="claude-opus-*")),
        (Pattern(stream=True), Pattern(stream=False)),
        (Pattern(min_tokens=100), Pattern(min_tokens=101)),
        (Pattern(max_tokens=100), Pattern(max_tokens=99)),
        (Pattern(min_messages=3), Pattern(min_messages=4)),
        (Pattern(text="read a"), Pattern(text="READ a")),
        (Pattern(nth=6), Pattern(nth=5)),
        (Pattern(every=3), Pattern(every=4)),
        (Pattern(since_progress=2), Pattern(since_progress=3)),
        (Pattern(repeated=False), Pattern(repeated=True)),
    ],
)
def test_a_pattern_means_these_requests_and_not_those(
    pattern: Pattern, other: Pattern
) -> None:
    assert pattern.matches(SEEN)
    assert not other.matches(SEEN)
