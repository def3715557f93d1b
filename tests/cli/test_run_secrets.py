"""A secret of the environment is nowhere after a run, whatever told it.

It is in files that tools read and write, in inputs and outputs of tools, in words of
the model, in what hooks say. Every byte that a run leaves is looked at.
"""

import base64
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.live.forked import Ran, command
from unspiral.engine.faults.reply import Reply, Text, ToolUse
from unspiral.engine.faults.schedule import Play, Schedule, Step, say
from unspiral.engine.faults.serving import ServerThread

SECRET = "gh9-Zx81kQ/pw+77Lm2==vW"  # noqa: S105 - opens nothing
OTHER = "correct-horse-battery-staple"
SECRETS: Mapping[str, str] = {"GITHUB_TOKEN": SECRET, "DB_PASSWORD": OTHER}
FORMS = (
    SECRET,
    OTHER,
    base64.b64encode(SECRET.encode()).decode(),
    quote(SECRET, safe=""),
    json.dumps(f'"{SECRET}"')[3:-3],
)
TELLS = (
    "cat notes.txt",
    "cat notes.txt >&2; false",
    "base64 -w0 token.txt",
    "env",
    "echo $GITHUB_TOKEN $DB_PASSWORD",
    "cat /proc/self/environ | tr '\\0' ' '",
)

Run = Callable[..., Ran]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run `unspiral` with secrets in its environment."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "notes.txt").write_text(f"key: {SECRET}, {OTHER}\n", "utf-8")
    (folder / "token.txt").write_text(SECRET, "utf-8")

    def ran(*words: str, server: ServerThread | None = None) -> Ran:
        known = {**SECRETS, "UNSPIRAL_SESSIONS": str(tmp_path / "sessions")}
        if server is not None:
            known |= {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "run-main"}
        complaints = tmp_path / "complaints"
        return command(words, folder, complaints, environment=known).end()

    return ran


def found(text: bytes) -> list[str]:
    """The forms of secrets in some bytes."""
    return [form for form in FORMS if form.encode() in text]


def story() -> Schedule:
    words = Text(f"I use {SECRET} and {quote(SECRET, safe='')}.")
    bash = [ToolUse("bash", {"command": text}) for text in TELLS]
    files = [
        ToolUse("read", {"path": "notes.txt"}),
        ToolUse("grep", {"pattern": SECRET, "path": "."}),
        ToolUse("write", {"path": "copy.txt", "content": SECRET}),
        ToolUse("no_such_tool", {"x": SECRET}),
    ]
    return Schedule(
        (
            Step(Play(reply=Reply((words, *bash)))),
            Step(Play(reply=Reply((Text(OTHER), *files)))),
            Step(Play(reply=Reply((Text(f"{OTHER} is"),), stop_reason="max_tokens"))),
            say(f"Done with {SECRET}."),
        )
    )


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_no_secret_is_in_anything_that_a_run_leaves(
    run: Run, tmp_path: Path, more: tuple[str, ...]
) -> None:
    hook = f"sh -c 'cat {tmp_path}/work/notes.txt; cat {tmp_path}/work/notes.txt >&2'"
    stop = f"sh -c 'cat {tmp_path}/work/notes.txt >&2; exit 2'"
    words = ("run", f"Use {OTHER}.", "--permission", "bypass", "--trace", "trace.jsonl")
    hooks = ("--hook", "PostToolUse", hook, "--hook", "Stop", stop)
    with ServerThread(story()) as server:
        ran = run(*words, *hooks, *more, server=server)
    told = [run("why", "last"), run("sessions"), run("sessions", "--export", "last")]

    outputs = [ran, *told]
    assert ran.code in {0, 1}, ran.complaint
    assert [found(each.out) for each in outputs] == [[]] * 4
    assert [found(each.complaint.encode()) for each in outputs] == [[]] * 4
    left = [tmp_path / "work" / "trace.jsonl", *(tmp_path / "sessions").rglob("*")]
    kept = {each.name: each.read_bytes() for each in left if each.is_file()}
    assert [name for name, text in kept.items() if found(text)] == []
    assert len(kept) >= 2


def test_the_tools_have_the_secret_though(run: Run, tmp_path: Path) -> None:
    with ServerThread(story()) as server:
        run("run", "Go.", "--permission", "bypass", server=server)

    assert (tmp_path / "work" / "copy.txt").read_text("utf-8") == SECRET


def test_a_command_does_not_see_the_environment(run: Run, tmp_path: Path) -> None:
    step = Step(
        Play(reply=Reply((ToolUse("bash", {"command": "printenv > env.txt"}),)))
    )
    with ServerThread(Schedule((step, say("Done.")))) as server:
        run("run", "Go.", "--permission", "bypass", server=server)

    seen = (tmp_path / "work" / "env.txt").read_bytes()
    assert b"PATH=" in seen
    assert found(seen) == []
    assert b"ANTHROPIC" not in seen
