import os
import subprocess
import sys
from pathlib import Path

import pytest

from unspiral.diagrams import FORMATS, render
from unspiral.engine.core.declare import Machine

_PROGRAM = """
import hashlib
from unspiral.diagrams import FORMATS, render
from unspiral.engine.core.table import compile_table
from unspiral.machines import load
machine = load("turnstile")
for form in ("svg", "png", "dot", "mermaid", "markdown", "text"):
    for source in (machine, compile_table(machine)):
        for level in ("overview", "policy", "full"):
            made = render(source, form, level)
            print(form, level, hashlib.sha256(made).hexdigest())
"""


def output(seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", _PROGRAM],
        env=environment,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_two_processes_with_other_hash_seeds_write_the_same_bytes() -> None:
    first = output("1")

    assert len(first.splitlines()) == 36
    assert first == output("2")


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_graph_gives_the_same_bytes(loop: Machine, form: str) -> None:
    if form == "pdf":
        pytest.importorskip("svglib")

    assert render(loop, form) == render(loop, form)


def test_no_version_or_date_is_in_a_picture(gate: Machine) -> None:
    picture = render(gate, "svg")

    assert b"<!--" not in picture
    assert b"graphviz" not in picture.lower()


def test_importing_diagrams_loads_neither_graphviz_nor_rich() -> None:
    code = (
        "import sys, unspiral.diagrams; "
        "print([m for m in ('graphviz', 'rich', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "[]\n"
