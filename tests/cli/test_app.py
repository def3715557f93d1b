"""How the command line begins and how every failure ends."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from unspiral.engine.cli.app import COMMANDS
from unspiral.engine.core.template import machine_text
from unspiral.version import __version__

Invoke = Callable[..., Result]
Program = Callable[..., "subprocess.CompletedProcess[str]"]


def test_help_lists_every_command(invoke: Invoke) -> None:
    result = invoke("--help")

    assert result.exit_code == 0
    assert [name for name in COMMANDS if f"  {name} " not in result.output] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(invoke: Invoke, name: str) -> None:
    result = invoke(name, "--help")

    assert result.exit_code == 0
    assert result.output.startswith(f"Usage: unspiral {name}")


def test_the_version_is_told(invoke: Invoke) -> None:
    assert invoke("--version").output == f"unspiral, version {__version__}\n"


def test_a_mistyped_command_gets_the_nearest(invoke: Invoke) -> None:
    result = invoke("chekc", "turnstile")

    assert result.exit_code == 2
    assert "did you mean 'check'?" in result.stderr
    assert result.stdout == ""


def test_a_mistyped_machine_gets_the_nearest(invoke: Invoke) -> None:
    result = invoke("check", "turnstil")

    assert result.exit_code == 2
    assert "did you mean 'turnstile'?" in result.stderr


def test_a_missing_argument_is_bad_usage(invoke: Invoke) -> None:
    result = invoke("check")

    assert result.exit_code == 2
    assert "Missing argument 'MACHINE'" in result.stderr


def test_an_unknown_option_is_bad_usage(invoke: Invoke) -> None:
    assert invoke("check", "turnstile", "--fulll").exit_code == 2


@pytest.mark.parametrize(
    ("subject", "said"),
    [
        ("loops:NUMBER", "it must be a Machine"),
        ("loops:BOUNDE", "did you mean 'BOUNDED'?"),
        ("nowhere:LOOP", "No module named 'nowhere'"),
        ("broken_module:LOOP", "ZeroDivisionError"),
        ("leaving:LOOP", "SystemExit"),
        ("loops.py", "a file whose name ends in .toml"),
        ("missing.toml", "missing.toml"),
        ("", "no machine ''"),
        ("\x1b[31mred", "\\x1b[31mred"),
    ],
)
def test_each_bad_machine_is_one_message(
    program: Program, subject: str, said: str
) -> None:
    result = program("check", subject)

    assert result.returncode == 2
    assert said in result.stderr
    assert result.stderr.startswith("Error: ")
    assert "Traceback" not in result.stderr
    assert "\x1b" not in result.stderr
    assert result.stdout == ""


def test_a_machine_of_a_module_in_the_current_folder_is_found(
    program: Program,
) -> None:
    result = program("show", "loops:BOUNDED", "--json")

    assert result.returncode == 0
    assert '"machine": "bounded"' in result.stdout


def test_a_machine_file_is_loaded(program: Program, folder: Path) -> None:
    (folder / "loop.toml").write_text(machine_text("loop"), "utf-8")

    result = program("check", "loop.toml")

    assert result.stdout.startswith("PROVED: loop")
    assert result.returncode == 0


@pytest.mark.parametrize(
    "text", ["name = ", "name = 'x'", "[phases]\n", "\0", "name = '\\u001b[2J'"]
)
def test_a_broken_machine_file_is_one_message(
    program: Program, folder: Path, text: str
) -> None:
    (folder / "loop.toml").write_text(text, "utf-8")

    result = program("check", "loop.toml")

    assert result.returncode == 2
    assert result.stderr.startswith("Error: loop.toml")
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("show", "loop.toml"),
        ("check", "loop.toml"),
        ("explain", "loop", "--machine", "loop.toml"),
        ("draw", "loop.toml", "-o", "-", "--format", "text"),
    ],
)
def test_no_control_sequence_of_a_machine_file_reaches_the_terminal(
    program: Program, folder: Path, command: tuple[str, ...]
) -> None:
    hostile = '"\\u001b[2J\\u0007\\u202e[red]x[/red]"'
    text = machine_text("loop").replace('unit = "turns"', f"unit = {hostile}")
    text = text.replace('doc = "Call the', f'source = {hostile}\ndoc = "\\u001b[2J')
    text = text.replace(
        'guard = "otherwise"', f'guard = "otherwise"\ncite = {hostile}', 1
    )
    (folder / "loop.toml").write_text(text, "utf-8")

    result = program(*command)

    assert result.returncode == 0, result.stderr
    said = result.stdout + result.stderr
    assert all(char == "\n" or char.isprintable() for char in said)


def test_the_help_page_imports_nothing_heavy(variables: dict[str, str]) -> None:
    heavy = "numpy", "scipy", "rich", "graphviz", "anthropic", "transitions"
    code = (
        "import sys, unspiral\n"
        "from unspiral.engine.cli import app\n"
        "try: app.main(['--help'])\n"
        "except SystemExit: pass\n"
        f"print([name for name in {heavy!r} if name in sys.modules])\n"
    )

    result = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", code],
        env=variables,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )

    assert result.stdout.splitlines()[-1] == "[]"
