"""Hooks: all are called, all are heard, and one that fails blocks nothing."""

import asyncio
import contextlib
import fcntl
import itertools
import json
import sys
import threading
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspiral.engine.faults.clock import START, run_virtual
from unspiral.engine.live.hook_commands import MOST, CommandHook, filtered, read_word
from unspiral.engine.live.hooks import Hook, HookFunction, HookList, merge
from unspiral.engine.live.ports import HookCall, HookPoint, Hooks, HookWord

STOP = HookCall("Stop", {"stop_hook_active": False})
POINTS: tuple[HookPoint, ...] = (
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PreCompact",
    "PostCompact",
    "Stop",
    "StopFailure",
    "SessionStart",
)


def says(**word: Any) -> HookFunction:
    async def hook(_: HookCall) -> HookWord:
        return HookWord(**word)

    return hook


def at_stop(*runs: HookFunction, seconds: float = 60.0) -> HookList:
    points: tuple[HookPoint, ...] = ("Stop",)
    hooks = (Hook(run, points, (), seconds, f"h{n}") for n, run in enumerate(runs))
    return HookList(tuple(hooks))


def called(*runs: HookFunction, seconds: float = 60.0) -> HookWord:
    port: Hooks = at_stop(*runs, seconds=seconds)
    return run_virtual(port.call(STOP))


# -- merging ---------------------------------------------------------------------------

WORDS = st.builds(
    HookWord,
    prevent=st.sampled_from(["", "", "end", "stop"]),
    blocks=st.lists(st.text("ab", max_size=2), max_size=2).map(tuple),
    ruling=st.sampled_from([None, "allow", "ask", "deny"]),
    given=st.none() | st.dictionaries(st.text("ab"), st.integers(0, 1), max_size=1),
    context=st.lists(st.text("ab", max_size=2), max_size=2).map(tuple),
    crashes=st.lists(st.text("ab", max_size=2), max_size=1).map(tuple),
)


@given(st.lists(WORDS, max_size=4))
def test_what_is_merged_does_not_depend_on_the_order_but_for_the_order_of_texts(
    words: list[HookWord],
) -> None:
    merged = merge(words)
    for each in itertools.permutations(words):
        other = merge(each)
        assert other.ruling == merged.ruling
        assert sorted(other.blocks) == sorted(merged.blocks)
        assert sorted(other.context) == sorted(merged.context)
        assert sorted(other.crashes) == sorted(merged.crashes)
        assert bool(other.prevent) == bool(merged.prevent)
        assert (other.given is None) == (merged.given is None)


@given(st.lists(WORDS, max_size=3), st.lists(WORDS, max_size=3))
def test_another_hook_never_makes_a_ruling_laxer_or_a_reason_disappear(
    words: list[HookWord], more: list[HookWord]
) -> None:
    strict = [None, "allow", "ask", "deny"]
    before, after = merge(words), merge([*words, *more])

    assert strict.index(after.ruling) >= strict.index(before.ruling)
    assert after.blocks[: len(before.blocks)] == before.blocks
    assert before.prevent in after.prevent


def test_all_reasons_are_kept_in_the_order_of_the_hooks_not_of_their_answers() -> None:
    async def slow(_: HookCall) -> HookWord:
        await asyncio.sleep(5)
        return HookWord(blocks=("slow",))

    word = called(slow, says(blocks=("fast", "faster")), says(prevent="end"))

    assert word.blocks == ("slow", "fast", "faster")
    assert word.prevent == "end"


def test_of_inputs_that_differ_the_first_is_taken_and_that_is_told() -> None:
    word = called(says(given={"a": 1}), says(given={"a": 2}), says(given={"a": 1}))

    assert word.given == {"a": 1}
    assert any("first" in each for each in word.crashes)
    assert called(says(given={"a": 1}), says(given={"a": 1})).crashes == ()


def test_inputs_too_deep_to_be_compared_are_said_to_differ() -> None:
    def deep() -> dict[str, object]:
        value: dict[str, object] = {}
        for _ in range(100_000):
            value = {"a": value}
        return value

    assert merge([HookWord(given=deep()), HookWord(given=deep())]).crashes != ()


def test_without_hooks_nothing_is_said() -> None:
    assert called() == HookWord()


# -- calling ---------------------------------------------------------------------------


def test_hooks_run_side_by_side() -> None:
    async def wait(call: HookCall) -> None:
        del call
        await asyncio.sleep(10)

    async def also(call: HookCall) -> None:
        await wait(call)

    async def main() -> float:
        await at_stop(wait, also).call(STOP)
        return asyncio.get_running_loop().time() - START

    assert run_virtual(main()) == 10


def test_equal_hooks_run_once() -> None:
    calls: list[str] = []

    async def hook(call: HookCall) -> None:
        calls.append(call.point)

    called(hook, hook)

    assert calls == ["Stop"]


def test_a_hook_is_called_at_its_points_and_for_its_tools_only() -> None:
    calls: list[tuple[str, object]] = []

    async def hook(call: HookCall) -> None:
        calls.append((call.point, call.facts.get("tool_name")))

    hooks = HookList((Hook(hook, ("PreToolUse", "Stop"), ("bash",)),))
    for call in (
        HookCall("PreToolUse", {"tool_name": "bash"}),
        HookCall("PreToolUse", {"tool_name": "read"}),
        HookCall("PostToolUse", {"tool_name": "bash"}),
        HookCall("Stop", {}),
    ):
        run_virtual(hooks.call(call))

    assert calls == [("PreToolUse", "bash")]


def test_a_plain_function_may_be_a_hook_and_does_not_hold_up_the_loop() -> None:
    threads: list[str] = []

    def hook(_: HookCall) -> HookWord:
        threads.append(threading.current_thread().name)
        return HookWord(blocks=("plain",))

    assert called(hook).blocks == ("plain",)
    assert threads != [threading.main_thread().name]


def test_a_plain_function_that_hangs_is_left_to_itself() -> None:
    release = threading.Event()

    def hang(_: HookCall) -> None:
        release.wait()

    async def main() -> HookWord:
        return await at_stop(hang, says(blocks=("b",)), seconds=0.05).call(STOP)

    word = asyncio.run(main())
    release.set()

    assert word.blocks == ("b",)
    assert word.crashes == ("h0: it took longer than 0.05 seconds",)


def _raise(error: BaseException) -> HookFunction:
    async def hook(_: HookCall) -> None:
        raise error

    return hook


class Untold(Exception):
    """An error whose text cannot be had."""

    def __str__(self) -> str:
        raise ValueError


def _plain_crash(_: HookCall) -> None:
    raise LookupError


def _returns(value: Any) -> HookFunction:
    async def hook(_: HookCall) -> Any:
        return value

    return hook


@pytest.mark.parametrize(
    "hook",
    [
        _raise(ValueError("no")),
        _raise(SystemExit(2)),
        _raise(asyncio.CancelledError()),
        _raise(RecursionError()),
        _raise(Untold()),
        _plain_crash,
        _returns("block"),
        _returns({"decision": "block"}),
        _returns(HookWord(blocks=["a"])),  # type: ignore[arg-type]
        _returns(HookWord(blocks=(1,))),  # type: ignore[arg-type]
        _returns(HookWord(blocks="a")),  # type: ignore[arg-type]
        _returns(HookWord(prevent=None)),  # type: ignore[arg-type]
        _returns(HookWord(ruling="never")),  # type: ignore[arg-type]
        _returns(HookWord(ruling=[])),  # type: ignore[arg-type]
        _returns(HookWord(given="x")),  # type: ignore[arg-type]
        lambda: None,
    ],
)
def test_a_hook_that_fails_or_talks_nonsense_blocks_nothing(hook: HookFunction) -> None:
    word = called(hook, says(context=("told",)))

    assert len(word.crashes) == 1
    assert word.crashes[0].startswith("h0: ")
    assert attrs.evolve(word, crashes=()) == HookWord(context=("told",))


def test_a_hook_that_takes_too_long_is_ended_and_blocks_nothing() -> None:
    ended: list[bool] = []

    async def slow(_: HookCall) -> HookWord:
        try:
            await asyncio.sleep(1e6)
        finally:
            ended.append(True)
        return HookWord(blocks=("late",))

    word = called(slow, says(blocks=("b",)), seconds=3)

    assert word == HookWord(
        blocks=("b",), crashes=("h0: it took longer than 3 seconds",)
    )
    assert ended == [True]


def test_a_hook_that_will_not_end_does_not_hold_up_the_others() -> None:
    async def stubborn(_: HookCall) -> None:
        for seconds in (1e6, 1e6, 1e6):
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(seconds)

    async def main() -> tuple[HookWord, float]:
        word = await at_stop(stubborn, says(blocks=("b",)), seconds=3).call(STOP)
        return word, asyncio.get_running_loop().time() - START

    word, seconds = run_virtual(main())

    assert word.blocks == ("b",)
    assert seconds < 10


def test_a_hook_cannot_change_what_another_is_told() -> None:
    facts = {"tool_input": {"path": "a"}}
    seen: list[object] = []

    async def change(call: HookCall) -> None:
        call.facts["tool_input"]["path"] = "b"  # type: ignore[index]

    async def look(call: HookCall) -> None:
        await asyncio.sleep(1)
        seen.append(call.facts["tool_input"])

    run_virtual(at_stop(change, look).call(HookCall("Stop", facts)))

    assert seen == [{"path": "a"}]
    assert facts == {"tool_input": {"path": "a"}}


def test_who_is_cancelled_ends_all_hooks() -> None:
    ended: list[str] = []

    def slow(name: str) -> HookFunction:
        async def hook(_: HookCall) -> None:
            try:
                await asyncio.sleep(1e6)
            finally:
                ended.append(name)

        return hook

    async def main() -> None:
        task = asyncio.ensure_future(at_stop(slow("a"), slow("b")).call(STOP))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run_virtual(main())

    assert sorted(ended) == ["a", "b"]


# -- what a command says ---------------------------------------------------------------


def word_of(
    value: object, point: HookPoint = "Stop", status: int = 0, errors: str = ""
) -> HookWord:
    text = value if isinstance(value, str) else json.dumps(value)
    return read_word(point, status, text.encode(), errors.encode())


def test_exit_2_blocks_with_the_error_stream_as_reason_whatever_the_output() -> None:
    for output in ("", "{broken", '{"continue": false}', "text"):
        word = word_of(output, status=2, errors=" not yet \n")
        assert word == HookWord(blocks=("not yet",))


def test_exit_2_without_a_reason_blocks_all_the_same() -> None:
    assert len(word_of("", status=2).blocks) == 1


def test_exit_2_before_a_tool_forbids_it() -> None:
    word = word_of("", "PreToolUse", 2, "no")

    assert (word.ruling, word.blocks) == ("deny", ("no",))


@pytest.mark.parametrize("status", [1, 3, 127, -9])
def test_another_exit_is_a_crash_unless_json_says_something(status: int) -> None:
    crashed = word_of("text", status=status, errors="oh")

    assert attrs.evolve(crashed, crashes=()) == HookWord()
    assert f"exit status {status}: oh" in crashed.crashes
    assert word_of({"decision": "block", "reason": "r"}, status=status).blocks == ("r",)


@pytest.mark.parametrize(
    "output",
    ["{", "{]", '{"a": NaN}', "{" + '"a":{' * 50_000, '{"a": ' + "9" * 5_000 + "}"],
)
def test_json_that_is_none_is_a_crash(output: str) -> None:
    word = word_of(output)

    assert len(word.crashes) == 1
    assert attrs.evolve(word, crashes=()) == HookWord()


def test_output_that_is_too_long_is_a_crash() -> None:
    long = {"decision": "block", "reason": "x" * MOST}

    assert word_of(long).blocks == ()
    assert len(word_of(long).crashes) == 1


@pytest.mark.parametrize(
    ("value", "prevent"),
    [
        ({"continue": False, "stopReason": "enough"}, "enough"),
        ({"continue": False}, "A hook ended the run."),
        ({"continue": True, "stopReason": "enough"}, ""),
        ({"continue": 0}, ""),
        ({"continue": "false"}, ""),
    ],
)
def test_only_a_false_continue_prevents(value: object, prevent: str) -> None:
    assert word_of(value).prevent == prevent


def test_prevent_and_block_are_both_told() -> None:
    word = word_of({"continue": False, "decision": "block", "reason": "r"})

    assert word.prevent
    assert word.blocks == ("r",)


def specific(point: HookPoint = "PreToolUse", **keys: object) -> dict[str, object]:
    return {"hookSpecificOutput": {"hookEventName": point, **keys}}


@pytest.mark.parametrize(
    ("value", "ruling", "blocks"),
    [
        (specific(permissionDecision="allow"), "allow", ()),
        (specific(permissionDecision="ask"), "ask", ()),
        (specific(permissionDecision="defer"), "ask", ()),
        (
            specific(permissionDecision="deny", permissionDecisionReason="r"),
            "deny",
            ("r",),
        ),
        ({"decision": "approve"}, "allow", ()),
        ({"decision": "block", "reason": "r"}, "deny", ("r",)),
        (
            {"decision": "approve", **specific(permissionDecision="deny")},
            "deny",
            ("(a hook gave no reason)",),
        ),
        ({}, None, ()),
    ],
)
def test_a_hook_before_a_tool_rules(
    value: object, ruling: str | None, blocks: tuple[str, ...]
) -> None:
    word = word_of(value, "PreToolUse")

    assert (word.ruling, word.blocks, word.crashes) == (ruling, blocks, ())


def test_a_hook_before_a_tool_may_change_its_input_and_others_may_not() -> None:
    assert word_of(specific(updatedInput={"a": 1}), "PreToolUse").given == {"a": 1}
    assert word_of(specific("Stop", updatedInput={"a": 1})).given is None


def test_context_is_told_and_at_a_stop_it_is_feedback_that_blocks() -> None:
    word = word_of(specific("PostToolUse", additionalContext="c"), "PostToolUse")

    assert (word.context, word.blocks) == (("c",), ())
    word = word_of(specific("Stop", additionalContext="c"))
    assert (word.context, word.blocks) == ((), ("c",))


@pytest.mark.parametrize("point", POINTS)
def test_plain_output_is_context_only_where_a_conversation_begins(
    point: HookPoint,
) -> None:
    word = word_of("hello", point)

    begins = point in {"UserPromptSubmit", "SessionStart"}
    assert word == HookWord(context=("hello",) if begins else ())


@pytest.mark.parametrize(
    ("value", "key"),
    [
        ({"decision": "maybe"}, "decision"),
        ({"decision": ["block"]}, "decision"),
        ({"continue": "no"}, "continue"),
        ({"hookSpecificOutput": "deny"}, "hookSpecificOutput"),
        (specific("Stop", permissionDecision="deny"), "hookSpecificOutput"),
        (specific(permissionDecision={}), "permissionDecision"),
        (specific(updatedInput="x"), "updatedInput"),
    ],
)
def test_what_is_not_understood_is_told_and_does_nothing(
    value: object, key: str
) -> None:
    word = word_of(value, "PreToolUse")

    assert word.crashes == (f"its {key!r} is not understood",)
    assert attrs.evolve(word, crashes=()) == HookWord()


@pytest.mark.parametrize("bad", ["\x1b[2J", "\x9b2J", "\u202e", "\x00", "\x07", "\r"])
def test_no_control_character_of_a_hook_is_repeated(bad: str) -> None:
    text = f"a{bad}b"
    words = [
        word_of("", status=2, errors=text),
        word_of("", status=1, errors=text),
        word_of(text, "SessionStart"),
        word_of({"continue": False, "stopReason": text, "reason": text}),
        word_of({"decision": "block", "reason": text}),
        word_of(specific("PostToolUse", additionalContext=text), "PostToolUse"),
    ]

    told = "".join(
        "".join((word.prevent, *word.blocks, *word.context, *word.crashes))
        for word in words
    )
    assert "a" in told
    assert bad not in told


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=5,
)
KEYS = st.sampled_from(
    [
        *("continue", "stopReason", "decision", "reason", "hookSpecificOutput"),
        *("permissionDecision", "updatedInput", "additionalContext", "hookEventName"),
    ]
)
VALUES = PLAIN | st.sampled_from(["block", "deny", "allow", "PreToolUse", "Stop"])
OBJECTS = st.dictionaries(
    KEYS, VALUES | st.dictionaries(KEYS, VALUES, max_size=4), max_size=4
)


@given(
    st.sampled_from(POINTS),
    st.integers(-64, 255),
    st.binary(max_size=50) | OBJECTS.map(lambda value: json.dumps(value).encode()),
    st.binary(max_size=50),
)
def test_every_output_can_be_read_and_only_exit_2_or_json_blocks(
    point: HookPoint, status: int, output: bytes, errors: bytes
) -> None:
    word = read_word(point, status, output, errors)

    blocks = bool(word.blocks or word.prevent or word.ruling)
    assert not blocks or status == 2 or output.strip().startswith(b"{")
    assert word.blocks or status != 2


# -- running a command -----------------------------------------------------------------


def python(code: str, folder: Path, **environment: str) -> CommandHook:
    return CommandHook((sys.executable, "-c", code), str(folder), environment)


def run(hook: CommandHook, call: HookCall = STOP, seconds: float = 60.0) -> HookWord:
    hooks = HookList((Hook(hook, POINTS, (), seconds, "h"),))
    return asyncio.run(hooks.call(call))


def test_a_command_is_told_the_facts_and_heard(tmp_path: Path) -> None:
    code = (
        "import json, sys, os; v = json.load(sys.stdin); "
        "print(json.dumps({'decision': 'block', 'reason': "
        "f\"{v['hook_event_name']} {v['stop_hook_active']} {os.getcwd()}\"}))"
    )

    assert run(python(code, tmp_path)).blocks == (f"Stop False {tmp_path}",)


def test_a_command_that_exits_2_blocks(tmp_path: Path) -> None:
    code = "import sys; print('why', file=sys.stderr); sys.exit(2)"

    assert run(python(code, tmp_path)).blocks == ("why",)


def test_a_command_that_reads_nothing_is_heard(tmp_path: Path) -> None:
    call = HookCall("Stop", {"text": "x" * 1_000_000})

    assert run(python("raise SystemExit(2)", tmp_path), call).blocks != ()


def test_a_command_sees_only_the_environment_that_it_is_given(tmp_path: Path) -> None:
    code = "import os; print(sorted(k for k in os.environ if k != 'LC_CTYPE'))"
    call = HookCall("SessionStart", {})

    assert run(python(code, tmp_path, A="1"), call).context == ("['A']",)


@pytest.mark.parametrize(
    "name",
    [
        *("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "GITHUB_TOKEN", "MY_SECRET_1"),
        *("AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "GH_PAT", "HTTP_AUTHORIZATION"),
        "x_key",
    ],
)
def test_secrets_are_filtered_by_their_names(name: str) -> None:
    assert filtered({name: "x", "PATH": "/bin", "HOME": "/h", "LANG": "C"}) == {
        "PATH": "/bin",
        "HOME": "/h",
        "LANG": "C",
    }


@pytest.mark.parametrize("arguments", [("/no/such/program",), ("a\0b",), ("",)])
def test_a_command_that_cannot_be_run_blocks_nothing(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    word = run(CommandHook(arguments, str(tmp_path)))

    assert len(word.crashes) == 1
    assert word.blocks == ()


def test_a_folder_that_is_not_there_blocks_nothing(tmp_path: Path) -> None:
    assert len(run(python("", tmp_path / "gone")).crashes) == 1


def test_output_without_end_is_read_to_the_end_and_not_kept(tmp_path: Path) -> None:
    code = "import sys; sys.stdout.write('{' + 'x' * 5_000_000); sys.exit(0)"

    word = run(python(code, tmp_path))

    assert word.crashes == (f"h: it wrote more than {MOST} bytes",)


# A command with a child. Both hold a lock; when both do, the file `ready` is there.
_LOCK = "import fcntl, os, signal, subprocess, sys; f = open('lock', 'w'); "
_CHILD = _LOCK + "fcntl.flock(f, fcntl.LOCK_SH); open('ready', 'w'); signal.pause()"
_FAMILY = (
    _LOCK
    + "fcntl.flock(f, fcntl.LOCK_SH)\n"
    + f"subprocess.Popen([sys.executable, '-c', {_CHILD!r}])\n"
    + "while not os.path.exists('ready'): pass\n"
)


async def ready(folder: Path) -> None:
    while not (folder / "ready").exists():  # noqa: ASYNC110 - a file
        await asyncio.sleep(0.01)


def wait_until_both_are_gone(folder: Path) -> None:
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # comes when nobody else holds it


def test_a_command_whose_time_is_out_is_killed_with_its_children(
    tmp_path: Path,
) -> None:
    hook = python(_FAMILY + "signal.pause()", tmp_path)

    @attrs.define
    class Patient:
        """A clock whose first sleep lasts until the command has begun."""

        first: bool = True

        def now(self) -> float:
            return 0.0

        async def sleep(self, seconds: float) -> None:
            del seconds
            if not self.first:
                await asyncio.Event().wait()
            self.first = False
            await ready(tmp_path)

    hooks = HookList((Hook(hook, POINTS, (), 5, "h"),), Patient())
    word = asyncio.run(hooks.call(STOP))

    assert word == HookWord(crashes=("h: it took longer than 5 seconds",))
    wait_until_both_are_gone(tmp_path)


def test_a_command_that_is_cancelled_is_killed_with_its_children(
    tmp_path: Path,
) -> None:
    hook = python(_FAMILY + "signal.pause()", tmp_path)

    async def main() -> None:
        task = asyncio.ensure_future(HookList((Hook(hook, POINTS),)).call(STOP))
        await ready(tmp_path)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())

    wait_until_both_are_gone(tmp_path)


def test_a_child_that_holds_the_output_does_not_hold_up_the_command(
    tmp_path: Path,
) -> None:
    word = run(python(_FAMILY + "sys.exit(2)", tmp_path))

    assert len(word.blocks) == 1
    wait_until_both_are_gone(tmp_path)


def test_equal_commands_run_once(tmp_path: Path) -> None:
    code = "open('n', 'a').write('x')"
    hooks = HookList(
        tuple(Hook(python(code, tmp_path), POINTS, name=name) for name in "ab")
    )

    asyncio.run(hooks.call(STOP))

    assert (tmp_path / "n").read_text("utf-8") == "x"
