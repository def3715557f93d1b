"""A run as lines: nothing of it is told twice, nothing hostile gets through."""

import json
from collections.abc import Sequence
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.live.sessions import START, TABLE
from unspiral.engine.core.step import step
from unspiral.engine.live.events import (
    Answered,
    Called,
    Calling,
    Continued,
    Decided,
    Ended,
    LiveEvent,
    Refused,
    Said,
    Shown,
    Status,
    Tombstone,
    ToolsRan,
    Waiting,
    Warned,
)
from unspiral.engine.live.message import Message, results_message, user_text
from unspiral.engine.live.secrets import Redaction
from unspiral.engine.report.lines import plain
from unspiral.engine.report.live_lines import LiveLines, digest, dollars, spent_text
from unspiral.engine.report.live_objects import event_to_plain

HOSTILE = "\x1b[2Jred\x07 \u202eright \x9b31m\r\0 [red]x[/red] \ud800"
KEY = "sk-ant-api03-" + "A1b2C3d4" * 8
FACTS = {
    "tokens": 900,
    "spent.turns": 1,
    "spent.model_calls": 3,
    "spent.tool_calls": 1_200,
    "spent.tokens": 45_000,
    "spent.micro_dollars": 123_400,
    "spent.seconds": 7,
}
STEP = step(TABLE, START, TABLE.events[START.phase][0])


def answer(text: str) -> Message:
    return Message("assistant", ({"type": "text", "text": text},), "answer", "a1")


def told(events: Sequence[LiveEvent], redaction: Redaction | None = None) -> str:
    lines = LiveLines(redaction or Redaction())
    return plain([line for each in events for line in lines.see(each)])


def ended(terminal: str = "completed", text: str = "") -> Ended:
    return Ended(terminal, (), text, START)


def events_with(text: str) -> list[LiveEvent]:
    """One event of each kind that holds a text of others, with that text in it."""
    block = {"type": "tool_result", "tool_use_id": text, "content": text}
    return [
        Said("text", text, 1),
        Said("thinking", text, 1),
        Calling(text, text, {text: text, "b": [text]}),
        Called(text, text, text, error=False),
        Called("other", text, text, error=True),
        ToolsRan(results_message([block])),
        Answered(answer(text)),
        Waiting(1.5, text),
        Status(text),
        Warned(text),
        Shown(text),
        Refused(text),
        Decided(STEP, 0.25, {"model": text}),
        Continued(text, (user_text(text),), START),
        Tombstone(1),
        Said("text", text, 2),
        ended(text, text),
    ]


# -- what was said ---------------------------------------------------------------------


def test_an_answer_is_told_once_and_whole_when_it_is_kept() -> None:
    events: list[LiveEvent] = [
        Said("text", "I wi", 1),
        Said("text", "ll look.\n\n  then", 1),
    ]
    kept = Answered(answer("I will look.\n\n  then"))

    assert told(events) == ""
    assert told([*events, kept]) == "  I will look.\n\n    then\n"
    assert told([*events, kept, ended(text="I will look.")]).count("look") == 1


def test_a_withdrawn_answer_leaves_its_length_and_no_text() -> None:
    said: list[LiveEvent] = [
        Said("text", "secret plan", 1),
        Tombstone(1),
        Said("text", "Done", 2),
    ]

    text = told([*said, Answered(answer("Done")), ended()])

    assert text == "withdrawn: 11 characters of an answer\n  Done\nended: completed\n"


def test_an_answer_that_the_loop_goes_round_without_is_withdrawn() -> None:
    again = Continued("max_output_tokens_escalate", (), START)

    assert told([Said("text", "cut of", 1), again]) == (
        "withdrawn: 6 characters of an answer\ngoes on: max_output_tokens_escalate\n"
    )


def test_nothing_withdrawn_is_no_line() -> None:
    assert told([Said("thinking", "hm", 1), Tombstone(1), ended()]) == (
        "ended: completed\n"
    )


def test_what_was_being_said_at_an_abort_is_told_as_not_kept() -> None:
    text = told([Said("text", "half a", 1), ended("aborted_streaming")])

    assert text == ("not finished, and not kept:\n  half a\nended: aborted_streaming\n")


def test_a_line_of_an_answer_without_end_is_cut_in_pieces_and_none_is_lost() -> None:
    text = told([Answered(answer("x" * 4_500))])

    assert [len(line) for line in text.splitlines()] == [2_002, 2_002, 502]


@given(st.text(st.characters(codec=None), max_size=200))
def test_no_text_of_others_can_pass_for_a_line_of_ours(text: str) -> None:
    lines = told([Answered(answer(text))]).splitlines()

    assert [line for line in lines if line and not line.startswith("  ")] == []


# -- what was done ---------------------------------------------------------------------


def test_a_call_and_its_result_are_a_line_each() -> None:
    call = Calling("c1", "bash", {"command": "pytest -q", "timeout": 5})

    assert told([call, Called("c1", "bash", "2 failed\n1 passed\n", error=False)]) == (
        "calls bash command=pytest -q timeout=5\n"
        "done: bash command=pytest -q timeout=5: 2 lines: 2 failed 1 passed\n"
    )


def test_a_call_that_was_refused_before_it_began_is_told_by_its_tool() -> None:
    assert told([Called("c9", "bash", "Denied.", error=True)]) == (
        "failed: bash: Denied.\n"
    )


def test_the_input_of_a_call_is_cut() -> None:
    shown = digest("write", {"path": "a.py", "text": "x" * 10**6, "more": "y" * 10**6})

    assert len(shown) <= 100
    assert shown.startswith("write path=a.py text=xxx")


def test_an_input_that_is_no_json_is_shown_by_its_type() -> None:
    assert digest("t", {"a": object(), "b": None}) == "t a=(object) b=null"


# -- how it went -----------------------------------------------------------------------


def test_an_error_is_shown_once() -> None:
    assert told([Shown("overloaded"), Shown("overloaded")]) == "error: overloaded\n"


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (Waiting(2.04, "529 overloaded"), "waits 2.0 s: 529 overloaded"),
        (Status("compacting"), "compacting ..."),
        (Status(None), ""),
        (Warned("a hook failed"), "warning: a hook failed"),
        (Refused("not today"), "refused: not today"),
        (Refused("too late", stopped=True), "stopped: too late"),
        (Continued("next_turn", (), START), "goes on: next_turn"),
        (Decided(STEP, 1.0, FACTS), ""),
    ],
)
def test_each_event_of_a_run_is_one_line_or_none(event: LiveEvent, line: str) -> None:
    assert told([event]) == (f"{line}\n" if line else "")


def test_the_end_says_what_was_spent() -> None:
    assert told([Decided(STEP, 1.0, FACTS), ended("max_turns")]) == (
        "ended: max_turns; 1 turn, 3 model calls, 1,200 tool calls, 45,000 tokens, "
        "$0.1234, 7.0 s\n"
    )


def test_facts_that_are_no_numbers_are_left_out() -> None:
    facts: dict[str, object] = {
        "spent.turns": "two",
        "spent.tokens": True,
        "spent.seconds": float("inf"),
        "spent.micro_dollars": "2500000",
    }

    assert spent_text(facts) == "$2.50"


@pytest.mark.parametrize(
    ("micro", "shown"),
    [(0, "$0.00"), (45, "$0.0000"), (12_345, "$0.0123"), (1_234_567_890, "$1,234.57")],
)
def test_money_is_told_as_precisely_as_it_is_small(micro: int, shown: str) -> None:
    assert dollars(micro) == shown


# -- hostile texts ---------------------------------------------------------------------


@pytest.mark.parametrize("event", events_with(HOSTILE))
def test_no_line_holds_what_a_terminal_obeys(event: LiveEvent) -> None:
    text = told([Said("text", HOSTILE, 1), event, ended(HOSTILE)])

    assert [char for char in text if char != "\n" and not char.isprintable()] == []


def test_no_line_holds_a_secret() -> None:
    assert KEY not in told(events_with(KEY))
    assert "hunter2hunter2" not in told(
        events_with("hunter2hunter2"), Redaction.of_values(["hunter2hunter2"])
    )


# -- as JSON ---------------------------------------------------------------------------


def test_every_kind_of_event_is_an_object_that_says_which_it_is() -> None:
    events = events_with("x")
    names = {event_to_plain(each)["event"] for each in events}

    assert {type(each) for each in events} == set(get_args(LiveEvent))
    assert len(names) == len(get_args(LiveEvent))


@pytest.mark.parametrize("event", events_with(HOSTILE))
def test_an_object_comes_back_from_json(event: LiveEvent) -> None:
    made = event_to_plain(event)

    line = json.dumps(made)

    assert json.loads(line) == made
    assert line.isascii()


def test_a_decision_says_what_was_refused() -> None:
    row = next(row for row in TABLE.rows if row.earlier)
    taken = STEP._replace(row=row, event=row.event)

    made = event_to_plain(Decided(taken, 0.1234567, {"tokens": 5}))

    assert made["row"] == row.name
    assert made["seconds"] == 0.123457
    assert made["facts"] == {"tokens": 5}
    assert made["refused"] == [
        {"row": each.name, "target": each.target, "guard": each.guard_text}
        for each in row.earlier
    ]


def test_a_history_is_told_by_its_length() -> None:
    made = event_to_plain(Ended("completed", (answer("a"), answer("b")), "b", START))

    assert made == {
        "event": "ended",
        "terminal": "completed",
        "text": "b",
        "messages": 2,
    }


def test_no_object_holds_a_secret() -> None:
    assert KEY not in json.dumps([event_to_plain(each) for each in events_with(KEY)])


def deep(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("value", [float("nan"), object(), deep(100_000)])
def test_an_input_that_json_cannot_hold_is_said_to_be_one(value: object) -> None:
    made = event_to_plain(Calling("c", "t", {"a": value}))

    assert made == {"event": "calling", "problem": "it holds what JSON does not"}
