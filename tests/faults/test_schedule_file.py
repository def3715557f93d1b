"""A schedule survives the way through a file; its printing and its page are right."""

import json
import re
from pathlib import Path

import attrs
import pytest
from hypothesis import given

from tests.faults.scheduling import FAULTS, SCHEDULES
from unspiral.engine.errors import ScheduleError
from unspiral.engine.faults.acts import Answer
from unspiral.engine.faults.catalogue import CATALOGUE
from unspiral.engine.faults.journal import MemoryJournal
from unspiral.engine.faults.player import Player
from unspiral.engine.faults.reply import Compaction, Reply, Text, Thinking, ToolUse
from unspiral.engine.faults.request import Incoming
from unspiral.engine.faults.schedule import (
    DONE,
    Context,
    Pattern,
    Play,
    Rule,
    Schedule,
    Step,
    call,
    fail,
    say,
)
from unspiral.engine.faults.schedule_file import (
    load_schedule,
    schedule_from_toml,
    schedule_to_toml,
)
from unspiral.engine.faults.schedule_text import schedule_lines

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "schedule-file.md"

STORM = """\
name = "storm"
seed = 7
then = "Done."
side = "A short title"

[context]
window = 50_000
overflow = "error"

[rates]
overloaded = 0.1

[[step]]
reply = ["I will look.", { tool = "read", input = { path = "a.txt" } }]

[[step]]
fault = "rate_limited"
seconds = 20
times = 3

[[step]]
reply = { content = [{ thinking = "So" }], stop_reason = false, output_tokens = 9 }

[[step]]
fault = "reset_mid_stream"
reply = "The text that is broken."
forever = true

[[rule]]
when = { has_tools = true, since_progress = 3, model = "claude-haiku-*" }
fault = "prompt_too_long"
times = 2
then = "fine again"
"""


def text_play(text: str, fault: str = "") -> Play:
    return Play(fault, Reply((Text(text),)))


def test_a_file_says_what_the_values_say() -> None:
    calling = Reply((Text("I will look."), ToolUse("read", {"path": "a.txt"})))
    thinking = Reply((Thinking("So"),), stop_reason=None, output_tokens=9)

    assert schedule_from_toml(STORM) == Schedule(
        steps=(
            Step(Play(reply=calling)),
            fail("rate_limited", times=3, seconds=20),
            Step(Play(reply=thinking)),
            Step(text_play("The text that is broken.", "reset_mid_stream"), None),
        ),
        rules=(
            Rule(
                Pattern(has_tools=True, since_progress=3, model="claude-haiku-*"),
                Play("prompt_too_long"),
                2,
                text_play("fine again"),
            ),
        ),
        then=DONE,
        side=text_play("A short title"),
        rates={"overloaded": 0.1},
        seed=7,
        context=Context(50_000, "error"),
        name="storm",
    )


@given(SCHEDULES)
def test_what_is_written_gives_the_schedule_back(schedule: Schedule) -> None:
    assert schedule_from_toml(schedule_to_toml(schedule)) == schedule


@given(SCHEDULES)
def test_what_is_written_has_one_text(schedule: Schedule) -> None:
    text = schedule_to_toml(schedule)

    assert schedule_to_toml(schedule_from_toml(text)) == text


def test_false_says_that_there_is_none() -> None:
    schedule = schedule_from_toml("side = false\ncontext.window = false")

    assert schedule == Schedule(side=None, context=Context(window=None))


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        (call("read", {"a": None}), "null has no form"),
        (call("read", {"a": b"b"}), "such a value (bytes) has no form"),
        (call("read", {"a": 2**63}), "such a value (int) has no form"),
        (call("read", {"a": 10**5_000}), "such a value (int) has no form"),
        (call("read", {"a": float("nan")}), "such a value (float) has no form"),
        (call("read", {"a": (1,)}), "would not give the schedule back"),
        (say("\ud800"), "no valid TOML"),
    ],
)
def test_what_no_file_gives_back_is_not_written(step: Step, problem: str) -> None:
    with pytest.raises(ScheduleError, match=re.escape(problem)):
        schedule_to_toml(Schedule((step,)))


def test_a_key_of_a_step_is_no_parameter_of_a_fault() -> None:
    keys = {"fault", "reply", "times", "forever", "when", "then"}

    assert [f.name for f in CATALOGUE.values() if keys & f.parameters.keys()] == []


# -- printing --------------------------------------------------------------------------


def test_the_order_of_the_lines_is_that_of_the_decisions() -> None:
    assert [
        line[:40].rstrip() for line in schedule_lines(schedule_from_toml(STORM))
    ] == [
        "storm: 4 steps, 1 rule, 1 random fault",
        "  refused   malformed requests, historie",
        "  rule 1    prompt_too_long",
        "            when has_tools yes, model cl",
        '            then "fine again"',
        '  no tools  "A short title"',
        "  random    overloaded",
        "            drawn with seed 7, for each",
        '  step 1    "I will look." + call read {',
        "  step 2    rate_limited (seconds 20)",
        '  step 3    thinking "So" (stop reason n',
        '  step 4    reset_mid_stream of "The tex',
        '  then      "Done."',
    ]


def test_a_line_says_how_often_and_what_it_tests() -> None:
    _, _, _, step, *_ = schedule_lines(Schedule((fail("overloaded", times=3),)))

    rule = CATALOGUE["overloaded"].rule
    assert step == f"  step 1    overloaded  3 times   tests {rule}"


@given(SCHEDULES)
def test_every_line_can_be_shown_on_a_terminal(schedule: Schedule) -> None:
    assert [line for line in schedule_lines(schedule) if not line.isprintable()] == []


def test_long_schedules_are_told_in_short() -> None:
    lines = schedule_lines(Schedule((say("x" * 900),) * 2_000))

    assert len(lines) == 45
    assert max(map(len, lines)) < 120
    assert "  ...       and 1,960 more steps" in lines


# -- playing ---------------------------------------------------------------------------


def play(schedule: Schedule) -> list[Answer]:
    """Play a schedule to requests of four kinds."""
    player = Player(schedule, MemoryJournal(), wall=lambda: 0)
    said = [{"role": "user", "content": "x"}]
    body = {"model": "m", "max_tokens": 50, "messages": said}
    tools = [{"name": "read", "input_schema": {"type": "object"}}]
    answers: list[Answer] = []
    for stream in (True, False):
        for more in ({}, {"tools": tools}):
            data = json.dumps({**body, "stream": stream, **more}).encode()
            player.closed_for(0)
            asked = Incoming("POST", "/v1/messages", {}, data, len(data))
            answers.append(player.receive(asked, 0).answer)
    return answers


@given(SCHEDULES)
def test_whatever_a_file_can_say_can_be_played(schedule: Schedule) -> None:
    assert all(answer.acts for answer in play(schedule))


AWKWARD = [
    Reply((Text(""),)),
    Reply((Compaction(""),)),
    Reply((Thinking("", ""),)),
    Reply((ToolUse(raw=""),)),
    Reply((Text(""), ToolUse(input={}))),
    Reply((ToolUse(raw=""), Text("x")), pieces=10_000),
]


@pytest.mark.parametrize("reply", AWKWARD, ids=str)
def test_every_fault_can_break_an_awkward_reply(reply: Reply) -> None:
    calls = any(isinstance(block, ToolUse) for block in reply.blocks)
    faults = [f for f in FAULTS if not f.speaks and (calls or not f.calls)]

    for fault in faults:
        step = Step(Play(fault.name, reply), None)

        assert all(each.acts for each in play(Schedule((step,), side=None)))


# -- the page --------------------------------------------------------------------------


def examples() -> list[str]:
    text = PAGE.read_text("utf-8")
    return re.findall(r"^```toml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("text", examples())
def test_an_example_of_the_page_is_a_schedule(text: str, tmp_path: Path) -> None:
    path = tmp_path / "example.toml"
    path.write_text(text, "utf-8")

    assert load_schedule(path) != Schedule()


def test_the_page_has_every_key() -> None:
    text = PAGE.read_text("utf-8")
    keys = {
        *(field.name for field in attrs.fields(Pattern)),
        *(field.name for field in attrs.fields(Context)),
        *(field.name for field in attrs.fields(Reply)),
        *(field.name for field in attrs.fields(Schedule)),
        *("step", "rule", "when", "fault", "reply", "times", "forever", "content"),
        *("tool", "input", "id", "raw", "wrong", "thinking", "signature", "compaction"),
    } - {"steps", "rules", "blocks"}

    assert [
        key for key in sorted(keys) if not re.search(rf"`(\{{ )?{key}\b", text)
    ] == []
