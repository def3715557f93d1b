"""A trace is read back only as what it was, on the table on which it was made."""

import json
from collections.abc import Callable
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspiral.engine import fuzz
from unspiral.engine.core import trace as module
from unspiral.engine.core.declare import Machine
from unspiral.engine.core.environments import Random, Scripted
from unspiral.engine.core.language import UNLIMITED
from unspiral.engine.core.library import drive
from unspiral.engine.core.table import Table, compile_table
from unspiral.engine.core.trace import Trace, dump, load, record, table_of
from unspiral.engine.errors import IllegalEvent, TraceError

Line = dict[str, object]


def inner(line: Line, key: str) -> Line:
    return cast("Line", line[key])


@pytest.fixture(scope="module")
def story(loop: Machine) -> Trace:
    script = Scripted(["good", "done", "busy", "good", "stop"])
    return drive(compile_table(loop), script)


@pytest.fixture(scope="module")
def text(story: Trace) -> str:
    return dump(story)


def edit(text: str, number: int, change: Callable[[Line], object]) -> str:
    """Return the text with one line, counted from 1, changed."""
    lines = text.splitlines()
    found: Line = json.loads(lines[number - 1])
    change(found)
    lines[number - 1] = json.dumps(found)
    return "\n".join(lines) + "\n"


def test_a_trace_is_one_line_for_the_machine_and_one_a_step(
    story: Trace, text: str
) -> None:
    head, first, *rest = [json.loads(line) for line in text.splitlines()]

    assert head == {
        "format": "unspiral.trace",
        "version": 1,
        "machine": "loop",
        "edition": "",
        "digest": story.digest,
        "limits": {"max_turns": 4, "patient": True, "max_tries": 2},
        "assumptions": [],
        "steps": 6,
    }
    assert first == {
        "phase": "call.ask",
        "event": "good",
        "row": "call.ask:good",
        "reason": "",
        "target": "tools",
        "memory": {
            "turn": 1,
            "fragile": False,
            "last": "none",
            "recoveries": 0,
            "call.tries": 0,
        },
        "asked": [["call.ask:good", True]],
    }
    assert len(rest) == 5


def test_what_is_read_is_what_was_written(story: Trace, text: str) -> None:
    again = load(text, story.table)

    assert again.steps == story.steps
    assert dump(again) == text


def test_a_trace_without_steps_is_a_trace(story: Trace) -> None:
    empty = Trace(story.table, ())

    assert load(dump(empty), story.table).steps == ()
    assert (empty.terminal, empty.last.phase) == ("", "call.ask")


def test_a_trace_says_of_which_machine_it_is(loop: Machine) -> None:
    table = compile_table(loop, limits={"max_turns": UNLIMITED, "patient": False})
    text = dump(drive(table, Random(3), max_steps=9))

    found = table_of(text, loop)

    assert found.digest == table.digest
    assert load(text, found).steps[0].row.name == load(text, table).steps[0].row.name


def test_a_list_of_events_makes_a_trace(story: Trace) -> None:
    again = record(story.table, [each.event for each in story.steps])

    assert again.steps == story.steps
    assert (again.machine, again.edition) == ("loop", "")
    with pytest.raises(IllegalEvent):
        record(story.table, ["god"])


def test_a_trace_of_another_machine_is_refused(
    text: str, loop: Machine, attempt: Machine
) -> None:
    for refuse in (
        lambda: load(text, compile_table(attempt)),
        lambda: table_of(text, attempt),
    ):
        with pytest.raises(TraceError, match="machine 'loop', not of 'attempt'"):
            refuse()
    changed = compile_table(loop.amend("tools:done#1", guard="turn <= max_turns"))
    with pytest.raises(TraceError, match="another version of machine 'loop'"):
        load(text, changed)


def test_a_trace_at_other_limits_is_refused_and_the_limit_named(
    text: str, loop: Machine
) -> None:
    table = compile_table(loop, limits={"max_turns": UNLIMITED})

    with pytest.raises(
        TraceError, match="line 1: limit 'max_turns' is 4 there and UNLIMITED here"
    ):
        load(text, table)


TAMPERED: list[tuple[int, str, Callable[[Line], object]]] = [
    (1, "does not say format", lambda line: line.pop("format")),
    (1, "only version 1", lambda line: line.update(version=1.0)),
    (1, "'edition' is missing", lambda line: line.pop("edition")),
    (1, "unknown key 'step'.*'steps'", lambda line: line.update(step=1)),
    (1, "6 steps follow, not 7", lambda line: line.update(steps=7)),
    (1, "6 steps follow, not True", lambda line: line.update(steps=True)),
    (1, "limits must be an object", lambda line: line.update(limits=[1])),
    (1, "limit 'max_turns' is missing", lambda line: line.update(limits={})),
    (1, "unknown limit 'x'", lambda line: inner(line, "limits").update(x=1)),
    (1, "assumptions", lambda line: line.update(assumptions=["luck"])),
    (1, "another version", lambda line: line.update(digest="")),
    (3, "the run stands in 'tools'", lambda line: line.update(phase="call.ask")),
    (3, "takes no event 'stop' now", lambda line: line.update(event="stop")),
    (3, "takes no event ''", lambda line: line.update(event=None)),
    (3, "event must be a string", lambda line: line.update(event=["done"])),
    (3, "row is not", lambda line: line.update(row="tools:done#2")),
    (3, "reason is not", lambda line: line.update(reason="recovered")),
    (3, "target is not", lambda line: line.update(target="tools")),
    (3, "memory is not", lambda line: inner(line, "memory").update(turn=3)),
    (3, "memory is not", lambda line: inner(line, "memory").update(fragile=0)),
    (3, "asked is not", lambda line: line.update(asked=[["tools:done#1", False]])),
    (3, "'asked' is missing", lambda line: line.pop("asked")),
    (7, "unknown key", lambda line: line.update(extra=None)),
]


@pytest.mark.parametrize(("number", "message", "change"), TAMPERED)
def test_a_tampered_trace_is_refused_and_the_line_named(
    story: Trace,
    text: str,
    number: int,
    message: str,
    change: Callable[[Line], object],
) -> None:
    with pytest.raises(TraceError, match=message) as caught:
        load(edit(text, number, change), story.table)

    assert caught.value.line == number
    assert str(caught.value).startswith(f"line {number}: ")


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ("", "empty"),
        ("\n", "not valid JSON"),
        ("{}\n", "does not say format"),
        ("[]\n", "a JSON object is needed"),
        ("nonsense\n", "not valid JSON"),
        ('{"format": NaN}\n', "NaN is not a value"),
        ('{"a": 1, "a": 2}\n', "'a' stands twice"),
        ("[" * 50_000 + "\n", "not valid JSON"),
        ("7" * 9_999 + "\n", "not valid JSON"),
        ("\ud800\0\n", "not valid JSON"),
        ("x" * 100_001 + "\n", "100,001 characters"),
        ("no end", "the trace was cut"),
    ],
)
def test_what_is_no_trace_is_refused(story: Trace, broken: str, message: str) -> None:
    with pytest.raises(TraceError, match=message):
        load(broken, story.table)


def test_a_trace_that_was_cut_anywhere_is_refused(story: Trace, text: str) -> None:
    for length in range(len(text)):
        with pytest.raises(TraceError):
            load(text[:length], story.table)


def test_a_trace_with_lines_dropped_or_repeated_is_refused(
    story: Trace, text: str
) -> None:
    lines = text.splitlines(keepends=True)

    for at in range(len(lines)):
        with pytest.raises(TraceError):
            load("".join(lines[:at] + lines[at + 1 :]), story.table)
        with pytest.raises(TraceError):
            load("".join(lines[:at] + lines[at:] + lines[at:]), story.table)


def test_a_trace_too_long_is_refused_before_it_is_read(story: Trace) -> None:
    with pytest.raises(TraceError, match="at most 1,000,000 are read"):
        load("\n" * (module.MAX_STEPS + 2), story.table)
    with pytest.raises(TraceError, match="at most 268,435,456 are read"):
        load(" " * (module.MAX_CHARACTERS + 1), story.table)


@given(data=st.data())
def test_no_edit_of_the_text_gives_another_kind_of_error(
    story: Trace, text: str, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(text)))
    gone = data.draw(st.integers(0, 9))
    put = data.draw(st.text(max_size=9) | st.sampled_from(["1e999", "{}", "null"]))
    edited = text[:at] + put + text[at + gone :]

    try:
        again = load(edited, story.table)
    except TraceError:
        return
    assert again.steps == story.steps


@given(table=fuzz.machines().map(compile_table), seed=st.integers(0, 2**32))
def test_the_trace_of_any_run_survives_its_text(table: Table, seed: int) -> None:
    trace = drive(table, Random(seed), max_steps=30)

    assert load(dump(trace), table).steps == trace.steps
    assert load(dump(trace), table_of(dump(trace), table.machine)).digest == (
        table.digest
    )
