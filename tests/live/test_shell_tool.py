"""bash: it runs in the workspace, with no secrets, not for ever, and leaves nobody."""

import asyncio
import fcntl
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from unspiral.engine.live.ports import LoopClock, ToolOutcome
from unspiral.engine.live.tools.registry import Toolbox
from unspiral.engine.live.tools.shell import MOST, shell_environment, shell_tool
from unspiral.engine.live.tools.workspace import Workspace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


NOTHING: Mapping[str, str] = {}


def box(root: Path, environment: Mapping[str, str] = NOTHING) -> Toolbox:
    own = {"PATH": os.environ["PATH"], **environment}
    return Toolbox([shell_tool(Workspace(root), own, LoopClock())])


def run(
    root: Path,
    command: str,
    seconds: int = 60,
    environment: Mapping[str, str] = NOTHING,
) -> ToolOutcome:
    given = {"command": command, "seconds": seconds}
    return asyncio.run(box(root, environment).run("bash", given))


def test_it_runs_in_the_workspace_and_each_time_anew(root: Path) -> None:
    assert run(root, "pwd; x=1; cd /; echo two >&2; pwd").text == f"{root}\ntwo\n/"
    assert run(root, "pwd; echo $x").text == str(root)
    assert run(root, "true") == ToolOutcome("")


def test_an_exit_status_is_a_failure_and_told(root: Path) -> None:
    assert run(root, "echo x; exit 3") == ToolOutcome("x\n[exit status 3]", error=True)
    assert run(root, "kill -9 $$").text == "[it was ended by signal 9]"
    assert run(root, "if").error


def test_it_has_no_input_and_no_terminal(root: Path) -> None:
    assert run(root, "cat; tty; : </dev/tty").error
    assert "not a tty" in run(root, "cat; tty; true").text


def test_commands_see_no_secrets_of_our_environment(root: Path) -> None:
    secrets = (
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "OPENAI_API_KEY",
        "GITHUB_TOKEN",
        "GH_TOKEN",
        "MY_SECRET",
        "SECRET_SAUCE",
        "AWS_SECRET_ACCESS_KEY",
        "DB_PASSWORD",
        "some_api_key",
    )
    environment = {"HOME": "/home/me", **dict.fromkeys(secrets, "s3cret")}
    said = run(root, "env", environment=environment)

    assert "s3cret" not in said.text
    assert "HOME=/home/me" in said.text


def test_no_other_code_is_run_before_the_command(root: Path) -> None:
    (root / "start").write_text("echo started\n")
    start = str(root / "start")
    odd = {"BASH_ENV": start, "ENV": start, "BASH_FUNC_ls%%": "() { echo hijacked; }"}

    assert run(root, "ls", environment=odd).text == "start"
    assert not {"BASH_ENV", "LD_PRELOAD"} & set(
        shell_environment({"BASH_ENV": "x", "LD_PRELOAD": "y"})
    )


def test_output_without_end_is_bounded_and_its_two_ends_are_kept(root: Path) -> None:
    said = run(root, "echo first; seq 1000000; echo last").text

    assert said.startswith("first\n1\n2\n")
    assert said.endswith("\n1000000\nlast")
    assert "bytes are left out here]" in said
    assert len(said) < MOST + 100


def test_a_character_that_the_bound_cuts_is_no_wrong_encoding(root: Path) -> None:
    for odd in ("", "x", "xx"):
        said = run(root, f"printf '{odd}'; yes '\u20ac' | head -c 300000").text
        assert "\ufffd" not in said
        assert "UTF-8" not in said
    assert run(root, r"printf 'caf\xe9'").text.endswith("caf\ufffd")
    assert run(root, r"printf 'caf\xe9'").text.startswith("[not UTF-8")


def test_what_takes_too_long_is_killed_with_all_that_it_started(root: Path) -> None:
    said = run(root, f"echo begun; {hold('a')} & {hold('b')}; echo never", seconds=1)

    assert said == ToolOutcome(
        "begun\n[it took longer than 1 s and was killed]", error=True
    )
    assert_free(root, "a", "b")


def test_what_is_left_in_the_background_is_ended_with_the_command(root: Path) -> None:
    said = run(root, f"{hold('a')} & {wait_for('a')}; echo done")
    quiet = run(root, f"{hold('b')} >/dev/null 2>&1 & {wait_for('b')}; echo done")

    assert said.text == "done\n[what it had left running was ended]"
    assert not said.error
    assert quiet.text == "done"
    assert_free(root, "a", "b")


def test_a_process_that_ignores_signals_is_killed_as_well(root: Path) -> None:
    run(root, f"trap '' TERM INT HUP; {hold('a')}", seconds=1)

    assert_free(root, "a")


def test_cancelling_the_task_kills_all_that_it_started(root: Path) -> None:
    async def main() -> None:
        command = f"{hold('a')} & {hold('b')}; echo never"
        task = asyncio.create_task(box(root).run("bash", {"command": command}))
        await until(lambda: held(root, "a") and held(root, "b"))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert_free(root, "a", "b")


def test_no_open_file_is_left_behind(root: Path) -> None:
    def count() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    async def main() -> None:
        tools = box(root)
        await tools.run("bash", {"command": "true"})
        before = count()
        for command in ("true", "exit 1", "sleep 50 & true", "yes", "seq 100000"):
            await tools.run("bash", {"command": command, "seconds": 1})
        assert count() == before

    asyncio.run(main())


def test_what_cannot_be_run_is_told(root: Path) -> None:
    assert "cannot be run" in run(root, "x\0y").text
    assert "maxLength" not in run(root, "x" * 200_000).text
    assert "longer than" in run(root, "x" * 200_000).text
    assert "seconds" in run(root, "true", seconds=10_000).text


def test_a_workspace_that_was_replaced_is_not_entered(root: Path) -> None:
    tools = box(root)
    (root.parent / "other").mkdir()
    root.rename(root.with_name("moved"))
    root.symlink_to(root.parent / "other")

    said = asyncio.run(tools.run("bash", {"command": "touch x"}))

    assert "moved or replaced" in said.text
    assert list((root.parent / "other").iterdir()) == []


# -- whether a process is alive is told by the lock that it holds ----------------------


def hold(name: str) -> str:
    """Return a command that locks a file and stays."""
    return f"(exec 9>{name}; flock 9; touch {name}.held; sleep 600)"


def wait_for(name: str) -> str:
    return f"until test -e {name}.held; do sleep 0.01; done"


def held(root: Path, name: str) -> bool:
    return (root / f"{name}.held").exists()


def assert_free(root: Path, *names: str) -> None:
    """Wait until nobody holds the locks; for ever if somebody does."""
    for name in names:
        if (root / name).exists():
            with (root / name).open("w") as file:
                fcntl.flock(file, fcntl.LOCK_EX)


async def until(true: Callable[[], bool]) -> None:
    pause: Callable[[float], Awaitable[Any]] = asyncio.sleep
    while not true():
        await pause(0.01)
