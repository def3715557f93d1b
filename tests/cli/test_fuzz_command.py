"""`unspiral fuzz` says what failed, how to see it again, and what was covered."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from unspiral import save_machine
from unspiral.machines import load

Invoke = Callable[..., Result]
Program = Callable[..., "subprocess.CompletedProcess[str]"]
FEW = ("--examples", "60")


def test_a_sound_machine_exits_with_0_and_shows_its_coverage(invoke: Invoke) -> None:
    result = invoke("fuzz", "turnstile", *FEW)

    assert result.stdout.startswith("NO FAILURE: turnstile, edition guarded (60 runs, ")
    assert "seed 0" in result.stdout
    assert result.stdout.splitlines()[2:] == [
        "coverage 100.0%: 6 of 6 guard verdicts that the explorer says can be reached",
        "  phase   shown  of",
        "  locked  4      4",
        "  open    2      2",
    ]
    assert result.stderr == ""
    assert result.exit_code == 0


def test_a_failure_exits_with_1_and_shows_how_to_see_it_again(invoke: Invoke) -> None:
    result = invoke("fuzz", "turnstile", "--edition", "unguarded", *FEW)

    assert result.exit_code == 1
    assert "FAILURE 1 of 1: a death spiral: through shaken" in result.stdout
    assert "LOOP, again and again" in result.stdout
    assert "unspiral fuzz turnstile --edition unguarded --replay push" in result.stdout
    assert "def test_turnstile_spiral_shaken():" in result.stdout


def told(invoke: Invoke, *args: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(invoke("fuzz", *args, "--json").stdout)
    return found


def test_the_command_of_a_failure_plays_it_again(
    program: Program, folder: Path
) -> None:
    (folder / "shaky.py").write_text(
        "from unspiral.machines import load\nSHAKY = load('turnstile')\n", "utf-8"
    )
    first = program("fuzz", "shaky:SHAKY", "--set", "max_shakes=UNLIMITED", *FEW)
    line = next(line for line in first.stdout.splitlines() if "--replay" in line)

    again = program(*line.split()[1:])

    assert again.returncode == 1
    assert again.stdout.startswith("a death spiral: through shaken")
    assert again.stderr == ""


@pytest.mark.parametrize(
    "args",
    [
        ("turnstile", "--set", "max_shakes=UNLIMITED"),
        ("gate.toml", "--edition", "unguarded"),
    ],
)
def test_the_test_of_a_failure_fails_as_it_stands(
    invoke: Invoke, tmp_path: Path, args: tuple[str, ...]
) -> None:
    save_machine(load("turnstile"), tmp_path / "gate.toml")
    machine = str(tmp_path / args[0]) if args[0].endswith("toml") else args[0]
    (failure,) = told(invoke, machine, *args[1:], *FEW)["failures"]
    space: dict[str, Any] = {}

    exec(failure["test"], space)  # noqa: S102 - our own test

    (test,) = [value for name, value in space.items() if name.startswith("test_")]
    with pytest.raises(AssertionError):
        test()


def test_the_test_of_a_failure_is_one_that_pytest_takes(
    program: Program, folder: Path, variables: dict[str, str]
) -> None:
    found = program("fuzz", "loops:SPIRAL", *FEW, "--json")
    failure = json.loads(found.stdout)["failures"][0]
    (folder / "test_it.py").write_text(failure["test"], "utf-8")

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"],
        cwd=folder,
        env=variables,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )

    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed" in done.stdout
    assert f"subject='{failure['subject']}'" in done.stdout


def test_json_says_what_the_text_says(invoke: Invoke) -> None:
    found = told(invoke, "turnstile", "--edition", "unguarded", "--seed", "7", *FEW)

    assert (found["seed"], found["runs"], found["stopped"]) == (7, 60, None)
    assert found["coverage"]["shown"] == found["coverage"]["reachable"] == 5
    (failure,) = found["failures"]
    assert (failure["kind"], failure["events"]) == ("spiral", ["push"])
    assert [step["row"] for step in failure["trace"]["loop"]] == ["locked:push#1"]


def test_equal_seeds_say_the_same(invoke: Invoke) -> None:
    args = ("api_attempt", "--seed", "5", *FEW)
    first, second = (told(invoke, *args) for _ in range(2))

    assert first | {"seconds": 0} == second | {"seconds": 0}
    assert first["coverage"]["shown"]


def test_what_is_not_covered_is_listed(invoke: Invoke) -> None:
    args = ("api_attempt", "--no-paths", "--examples", "3")
    found = told(invoke, *args)
    text = invoke("fuzz", *args).stdout

    coverage = found["coverage"]
    assert coverage["shown"] + len(coverage["not_shown"]) == coverage["reachable"]
    assert len(coverage["not_shown"]) > 3
    assert "not shown:" in text
    assert coverage["not_shown"][0]["row"] in text


def test_one_run_can_be_played(invoke: Invoke) -> None:
    result = invoke("fuzz", "turnstile", "--replay", "coin, push, close")

    assert result.stdout.startswith("nothing is wrong with this run; closed\n")
    assert result.exit_code == 0


def test_it_can_end_soon_after_the_first_failure(invoke: Invoke) -> None:
    found = told(invoke, "turnstile", "--edition", "unguarded", "-x")
    text = invoke("fuzz", "turnstile", "--edition", "unguarded", "-x").stdout

    assert (found["stopped"], len(found["failures"])) == ("failure", 1)
    assert found["runs"] < 1_000
    assert "ended by failure, not all runs made" in text


def test_the_time_can_be_limited(invoke: Invoke) -> None:
    found = told(invoke, "turnstile", "--time", "0.000001")

    assert found["stopped"] == "time"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--edition", "guarde"), "did you mean 'guarded'?"),
        (("--set", "max_shakes=-1"), "whole number"),
        (("--assume", "nothing"), "no assumption 'nothing'"),
        (("--examples", "0"), "examples cannot be '0': it must be 1 or more"),
        (("--examples", "many"), "'many' is not a valid integer"),
        (("--seed", "-1"), "0 or more"),
        (("--time", "0"), "more than 0 seconds"),
        (("--time", "nan"), "more than 0 seconds"),
        (("--replay", "coin,close"), "must be coin, push"),
        (("--replay", "close,coin"), "event 2 of --replay cannot be 'coin'"),
    ],
)
def test_bad_options_are_one_message_and_exit_with_2(
    invoke: Invoke, args: tuple[str, ...], said: str
) -> None:
    result = invoke("fuzz", "turnstile", *args)

    assert result.exit_code == 2
    assert said in result.stderr
    assert isinstance(result.exception, SystemExit)


def test_a_machine_that_is_not_there_is_one_message(invoke: Invoke) -> None:
    result = invoke("fuzz", "turnstil")

    assert result.exit_code == 2
    assert "did you mean 'turnstile'?" in result.stderr
