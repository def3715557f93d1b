"""`unspiral check` answers with a report, an object, and an exit code."""

import contextlib
import io
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from unspiral.engine.check.verdict import LawVerdict, Outcome, Verdict
from unspiral.engine.cli.commands.check import exit_code
from unspiral.engine.core.table import compile_table
from unspiral.machines import load

Invoke = Callable[..., Result]
Program = Callable[..., "subprocess.CompletedProcess[str]"]
PROVED, REFUTED, UNDETERMINED = Outcome


def verdict_of(outcome: Outcome, *laws: Outcome) -> Verdict:
    table = compile_table(load("turnstile"))
    told = tuple(LawVerdict(f"law{i}", law) for i, law in enumerate(laws))
    return Verdict(table, outcome, 1, 1, 0.0, laws=told)


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ([verdict_of(PROVED)], 0),
        ([verdict_of(PROVED, PROVED)], 0),
        ([verdict_of(REFUTED)], 1),
        ([verdict_of(PROVED, REFUTED)], 1),
        ([verdict_of(UNDETERMINED, REFUTED)], 1),
        ([verdict_of(UNDETERMINED)], 3),
        ([verdict_of(PROVED, UNDETERMINED)], 3),
        ([verdict_of(UNDETERMINED), verdict_of(REFUTED)], 1),
        ([], 0),
    ],
)
def test_the_worst_answer_decides_the_exit_code(
    verdicts: list[Verdict], code: int
) -> None:
    assert exit_code(verdicts) == code


def test_a_proved_machine_exits_with_0(invoke: Invoke) -> None:
    result = invoke("check", "turnstile")

    assert result.stdout.startswith("PROVED: turnstile, edition guarded (")
    assert result.stderr == ""
    assert result.exit_code == 0


def test_a_refuted_machine_exits_with_1_and_tells_the_story(invoke: Invoke) -> None:
    result = invoke("check", "turnstile", "--edition", "unguarded")

    assert result.stdout.startswith("REFUTED: turnstile, edition unguarded (")
    assert "SPIRAL 1 of 1: through shaken" in result.stdout
    assert result.exit_code == 1


def test_a_limit_can_be_set(invoke: Invoke) -> None:
    result = invoke("check", "turnstile", "--set", "max_shakes=1", "--json")

    assert json.loads(result.stdout)["limits"] == {"max_shakes": 1}


def test_a_limit_can_be_set_to_unlimited(invoke: Invoke) -> None:
    result = invoke("check", "turnstile", "--set", "max_shakes=UNLIMITED", "--json")

    assert json.loads(result.stdout)["limits"] == {"max_shakes": "UNLIMITED"}
    assert result.exit_code == 1


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--edition", "guarde"), "did you mean 'guarded'?"),
        (("--set", "max_shake=1"), "did you mean 'max_shakes'?"),
        (("--set", "max_shakes"), "limit=value"),
        (("--set", "max_shakes=-1"), "whole number"),
        (("--set", "max_shakes="), "whole number"),
        (("--set", "max_shakes=1e9"), "whole number"),
        (("--assume", "nothing"), "no assumption 'nothing'"),
        (("--readings", "--full"), "used without it"),
        (("--readings", "--draw", "x"), "used without it"),
        (("--certificate", "missing/folder/file"), "cannot be written"),
        (("--draw", "/dev/null/folder"), "cannot be written"),
    ],
)
def test_bad_options_are_one_message_and_exit_with_2(
    invoke: Invoke, args: tuple[str, ...], said: str
) -> None:
    result = invoke("check", "turnstile", *args)

    assert result.exit_code == 2
    assert said in result.stderr
    assert isinstance(result.exception, SystemExit)


def test_json_is_one_object_and_the_same_every_time(invoke: Invoke) -> None:
    args = ("check", "turnstile", "--edition", "unguarded", "--json")

    first, second = (json.loads(invoke(*args).stdout) for _ in range(2))

    assert first["verdict"] == "REFUTED"
    assert first | {"seconds": 0} == second | {"seconds": 0}


def test_the_full_search_gives_the_same_answer(invoke: Invoke) -> None:
    result = invoke("check", "turnstile", "--full", "--json")

    assert json.loads(result.stdout)["verdict"] == "PROVED"


def test_laws_can_be_left_out(invoke: Invoke) -> None:
    result = invoke("check", "turnstile", "--no-laws", "--json")

    assert json.loads(result.stdout)["laws"] == []


def test_a_certificate_is_written_and_holds(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "proof.json"

    assert invoke("check", "turnstile", "--certificate", str(path)).exit_code == 0

    result = invoke("recheck", str(path))
    assert result.exit_code == 0
    assert "The certificate holds: turnstile, edition guarded" in result.stdout


def test_no_certificate_of_a_refuted_machine_is_written(
    invoke: Invoke, tmp_path: Path
) -> None:
    path = tmp_path / "proof.json"
    args = ("--edition", "unguarded", "--certificate", str(path))

    result = invoke("check", "turnstile", *args)

    assert result.exit_code == 1
    assert "no certificate was found" in result.stderr
    assert not path.exists()


def test_pictures_of_the_machine_and_each_counterexample_are_drawn(
    invoke: Invoke, tmp_path: Path
) -> None:
    args = ("--edition", "unguarded", "--draw", str(tmp_path / "new" / "pictures"))

    result = invoke("check", "turnstile", *args)

    names = {path.name for path in (tmp_path / "new" / "pictures").iterdir()}
    assert result.exit_code == 1
    assert names >= {
        "turnstile.svg",
        "turnstile-open-ended-1.svg",
        "turnstile-spiral-1.svg",
    }


def test_readings_of_a_machine_without_any_are_its_one_verdict(
    invoke: Invoke,
) -> None:
    result = invoke("check", "turnstile", "--readings", "--json")

    told = json.loads(result.stdout)
    assert result.exit_code == 0
    assert told["verdict"] == "PROVED"
    assert [each["changes"] for each in told["readings"]] == [{}]


def test_readings_are_compared_and_the_worst_decides(program: Program) -> None:
    result = program("check", "loops:READING", "--readings")

    assert result.stdout.splitlines() == [
        "reading: 2 choices of readings, 1 PROVED, 1 REFUTED (assumptions: none)",
        "  PROVED   (the defaults)",
        "  REFUTED  capped = false",
        "             spiral through retry (stem 2, loop 1)",
    ]
    assert result.returncode == 1


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_ends_a_check_with_130_and_says_how_far_it_got(
    folder: Path, variables: dict[str, str]
) -> None:
    (folder / "endless.py").write_text(ENDLESS, "utf-8")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "unspiral", "check", "endless:LOOP", "--full"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**variables, "TERM": "xterm"},
        encoding="utf-8",
    )
    os.close(theirs)
    with os.fdopen(ours, "rb", buffering=0) as screen:
        seen = read_until(screen, b"states explored")
        process.send_signal(signal.SIGINT)
        seen += read_until(screen, None)
        told, _ = process.communicate()

    assert b"states explored" in seen
    assert b"Traceback" not in seen
    assert told.startswith("UNDETERMINED: endless")
    assert "interrupted" in told
    assert process.returncode == 130


def read_until(screen: io.RawIOBase, wanted: bytes | None) -> bytes:
    """Read a terminal until it shows something, or until it is closed."""
    seen = b""
    with contextlib.suppress(OSError):  # Linux says so when the other side is closed
        while part := screen.read(4096):
            seen += part
            if wanted is not None and wanted in seen:
                break
    return seen


# A state space of 12**7 valuations, so that the search is still on when ctrl-C comes.
ENDLESS = """
from unspiral import Counter, Machine, Phase, Terminal, Transition

NAMES = [f"n{i}" for i in range(7)]
LOOP = Machine(
    name="endless",
    phases=(Phase("call", events=(*NAMES, "end")),),
    terminals=(Terminal("done"),),
    transitions=(
        Transition("call", "done", "end"),
        *(
            row
            for n in NAMES
            for row in (
                Transition("call", "call", n, f"{n} < 11", f"{n} += 1", "again"),
                Transition("call", "done", n, "otherwise"),
            )
        ),
    ),
    memory=tuple(Counter(n, high=11) for n in NAMES),
)
"""


def on_a_terminal(folder: Path, env: dict[str, str]) -> str:
    """Return what the command writes when its output is a terminal."""
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as screen:
        process = subprocess.Popen(
            [sys.executable, "-m", "unspiral", "check", "loops:SPIRAL"],
            cwd=folder,
            stdout=theirs,
            stderr=subprocess.PIPE,
            env=env,
        )
        os.close(theirs)
        written = read_until(screen, None)
        process.communicate()
    return written.decode()


def test_a_terminal_gets_colours_unless_no_color_is_set(
    folder: Path, variables: dict[str, str]
) -> None:
    env = {**variables, "TERM": "xterm"}

    assert "\x1b[31m" in on_a_terminal(folder, env)
    assert "\x1b" not in on_a_terminal(folder, {**env, "NO_COLOR": "1"})
    assert "\x1b" not in on_a_terminal(folder, {**env, "TERM": "dumb"})
