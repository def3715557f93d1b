"""The two traces that the loop was first described with, step by step.

A refactoring in five turns, with the real tools in a real folder; and the same with a
refusal in turn 3, mended by folding old parts of the conversation.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import attrs

from tests.live.histories import answer, call, talk
from tests.live.running import Bench, Ran, Script, refused, said, wrong
from unspiral.engine.live.estimate import rough
from unspiral.engine.live.events import (
    Called,
    Calling,
    Continued,
    Decided,
    LiveEvent,
    ToolsRan,
)
from unspiral.engine.live.hooks import Hook, HookList
from unspiral.engine.live.message import Block
from unspiral.engine.live.ports import HookCall, LoopClock, Outcome
from unspiral.engine.live.restoring import Restored
from unspiral.engine.live.tools.builtin import builtin_tools
from unspiral.engine.live.tools.workspace import Workspace

CONFIG = """\
def parse_config(text):
    pairs = {}
    for line in text.splitlines():
        if "=" in line:
            k = line.split("=")[0]
            v = line.split("=")[1]
            pairs[k] = v
    return pairs
"""
TEST = """\
from config import parse_config

assert parse_config("a=1\\nb=2") == {"a": "1", "b": "2"}
print("all tests pass")
"""
OLD = '            k = line.split("=")[0]\n            v = line.split("=")[1]\n'
NEW = '            k, _, v = line.partition("=")\n'


def tool_use(number: int, *blocks: Block) -> Outcome:
    message = answer(*blocks, id_=f"a{number}")
    return Outcome("answered", message, "tool_use", input_tokens=100, output_tokens=9)


TURNS = (
    tool_use(1, call("1a", "grep", pattern="parse_config")),
    tool_use(
        2,
        call("2a", "read", path="config.py"),
        call("2b", "glob", pattern="**/*.py"),
    ),
    tool_use(3, call("3a", "edit", path="config.py", old=OLD, new=NEW)),
    tool_use(4, call("4a", "bash", command="python3 test_config.py")),
    said("parse_config splits each line once now; the test passes.", "a5"),
)

#: what each turn does, up to its continue: phase and event
SHAPED = (
    ("shape.result_budget", "within"),
    ("shape.snip", "kept"),
    ("shape.microcompact", "kept"),
    ("shape.collapse", "kept"),
    ("preflight", "fits"),
)
ANSWERED = (("call_model.request", "answered"),)
TOOLS = (("read_reply", "tool_use"), ("run_tools", "executed"))
STOPPED = (("read_reply", "answer"), ("stop_hooks", "accept"))


def acted(ran: Ran) -> list[list[tuple[str, str]]]:
    """What was answered in each turn, in order."""
    turns: list[list[tuple[str, str]]] = [[]]
    for each in ran.events:
        if isinstance(each, Decided) and each.step.event is not None:
            turns[-1].append((each.step.before.phase, each.step.event))
        if isinstance(each, Continued):
            turns.append([])
    return turns


def in_folder(folder: Path, script: Script, heard: list[str]) -> Ran:
    """Run with the real tools; time is real."""

    async def stop(call_: HookCall) -> None:
        heard.append(str(call_.facts["last_assistant_message"]))

    (folder / "config.py").write_text(CONFIG)
    (folder / "test_config.py").write_text(TEST)

    async def main() -> Ran:
        tools = builtin_tools(Workspace(folder), {"PATH": "/usr/bin"}, LoopClock())
        hooks = HookList((Hook(stop, ["Stop"]),))
        bench = Bench(script, tools=tools, hooks=hooks)
        agent = bench.agent()
        events = [each async for each in agent.run("Refactor parse_config.")]
        return Ran(events, script, agent)

    return asyncio.run(main())


def between(events: Sequence[LiveEvent], turn: int) -> list[str]:
    """The calls of a turn as they began and ended."""
    told, now = list[str](), 1
    for each in events:
        now += isinstance(each, Continued)
        if now == turn and isinstance(each, Calling | Called):
            told.append(
                f"{'begins' if isinstance(each, Calling) else 'ends'} {each.name}"
            )
    return told


def test_the_refactoring_in_five_turns(tmp_path: Path) -> None:
    heard: list[str] = []
    ran = in_folder(tmp_path, Script(TURNS, seconds=0.0), heard)

    assert wrong(ran) == []
    assert ran.reasons == ["next_turn"] * 4
    assert ran.end == "completed"
    for turn in acted(ran)[:4]:
        assert turn == [*SHAPED, *ANSWERED, *TOOLS]
    assert acted(ran)[4] == [*SHAPED, *ANSWERED, *STOPPED]


def test_what_only_reads_runs_side_by_side_and_what_writes_runs_alone(
    tmp_path: Path,
) -> None:
    ran = in_folder(tmp_path, Script(TURNS, seconds=0.0), [])

    assert between(ran.events, 1) == ["begins grep", "ends grep"]
    assert between(ran.events, 2)[:2] == ["begins read", "begins glob"]
    assert between(ran.events, 3) == ["begins edit", "ends edit"]
    assert between(ran.events, 4) == ["begins bash", "ends bash"]


def test_the_work_is_done_and_each_result_reaches_the_next_turn(tmp_path: Path) -> None:
    script = Script(TURNS, seconds=0.0)
    heard: list[str] = []
    ran = in_folder(tmp_path, script, heard)

    assert NEW in (tmp_path / "config.py").read_text()
    results = [e.message.content for e in ran.events if isinstance(e, ToolsRan)]
    assert [len(each) for each in results] == [1, 2, 1, 1]
    assert "config.py" in str(results[0])
    assert "all tests pass" in str(results[3])
    for number, result in enumerate(results):
        assert script.asks[number + 1].messages[-1].content == result
    assert heard == ["parse_config splits each line once now; the test passes."]


# -- the refusal in turn 3 -------------------------------------------------------------


def test_a_refusal_in_turn_three_is_withheld_and_mended_by_folding() -> None:
    old = talk(16, "y" * 6_000)  # what was talked of before can be folded
    restored = Restored({}, old, old)
    looks = [tool_use(n, call(f"t{n}", "look", path=f"f{n}")) for n in (1, 2)]
    edit = tool_use(3, call("t3", "change"))
    too_long = refused("prompt_too_long", "prompt is too long: 201000 tokens > 200000")
    script = Script([*looks, too_long, edit, said("Done.", "a5")])

    ran = attrs.evolve(Bench(script), restored=restored).run("Refactor it.")

    assert wrong(ran) == []
    assert ran.end == "completed"
    assert ran.shown == []
    assert ran.reasons == [
        "next_turn",
        "next_turn",
        "collapse_drain_retry",
        "next_turn",
    ]
    third, again = acted(ran)[2:4]
    assert third == [
        *SHAPED,
        ("call_model.request", "prompt_too_long"),
        ("drain", "committed"),
    ]
    assert again == [
        *SHAPED[:3],
        ("shape.collapse", "projected"),
        SHAPED[4],
        *ANSWERED,
        *TOOLS,
    ]
    sent, resent = script.asks[2].messages, script.asks[3].messages
    assert rough(resent) < rough(sent) - 10_000
    assert resent[-5:] == sent[-5:]
    assert ran.history[: len(old)] == old  # the stored history is as it was
