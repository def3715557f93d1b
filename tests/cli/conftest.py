"""The command line as tests call it: in this process, and as a program."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from unspiral.engine.cli import app

ROOT = Path(__file__).parents[2]

MODULE = """
from unspiral import Counter, Edition, Limit, Machine, Phase, Terminal, Transition

BOUNDED = Machine(
    name="bounded",
    phases=(Phase("call", events=("ok", "fail"), cost={"model_calls": 1}),),
    terminals=(Terminal("done"), Terminal("failed", "error")),
    transitions=(
        Transition("call", "done", "ok"),
        Transition("call", "call", "fail", "tries < most", "tries += 1", "retry"),
        Transition("call", "failed", "fail", "otherwise"),
    ),
    memory=(Counter("tries", high="most"),),
    limits=(Limit("most", 2, unit="retries"),),
    editions=(Edition("few"), Edition("more", {"most": 5})),
)
SPIRAL = Machine(
    name="spiral",
    phases=(Phase("call", events=("ok", "fail"), cost={"model_calls": 1}),),
    terminals=(Terminal("done"),),
    transitions=(
        Transition("call", "done", "ok"),
        Transition("call", "call", "fail", reason="retry"),
    ),
)
READING = Machine(
    name="reading",
    phases=(Phase("call", events=("ok", "fail"), cost={"model_calls": 1}),),
    terminals=(Terminal("done"),),
    transitions=(
        Transition("call", "done", "ok"),
        Transition("call", "done", "fail", "capped and tries >= 2"),
        Transition(
            "call", "call", "fail", "otherwise", "tries = min(tries + 1, 2)", "retry"
        ),
    ),
    memory=(Counter("tries", high=2),),
    limits=(Limit("capped", True, reading="the sources are silent"),),
)
NUMBER = 3
"""


@pytest.fixture
def invoke() -> Callable[..., Result]:
    """Run a command in this process."""

    def run(*args: str) -> Result:
        return CliRunner().invoke(app, args)

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a Python module that holds machines."""
    (tmp_path / "loops.py").write_text(MODULE, "utf-8")
    (tmp_path / "broken_module.py").write_text("1 / 0\n", "utf-8")
    (tmp_path / "leaving.py").write_text("raise SystemExit(0)\n", "utf-8")
    return tmp_path


@pytest.fixture
def variables() -> dict[str, str]:
    """Return an environment in which a program finds this package."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    kept = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    return {**kept, "PYTHONPATH": path.strip(os.pathsep)}


@pytest.fixture
def program(
    folder: Path, variables: dict[str, str]
) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Run the command as a program, in the folder with the module."""

    def run(
        *args: str, env: dict[str, str] | None = None
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-m", "unspiral", *args],
            cwd=folder,
            env={**variables, **(env or {})},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )

    return run


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Listen to ctrl-C, which a shell has its programs in the background ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
