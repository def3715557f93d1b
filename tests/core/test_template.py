"""A machine that was just begun is sound, and so is its test."""

import subprocess
import sys
from pathlib import Path

import pytest

from unspiral.engine.check import check
from unspiral.engine.core import template
from unspiral.engine.core.files import machine_from_toml, machine_to_toml
from unspiral.engine.core.validate import validate
from unspiral.engine.errors import BadDeclaration, BadValue


def test_a_new_machine_has_no_findings_and_is_proved() -> None:
    machine = machine_from_toml(template.machine_text("my_loop"))

    assert machine.name == "my_loop"
    assert list(validate(machine)) == []
    verdict = check(machine)
    assert verdict.passed
    assert verdict.bounds is not None
    assert verdict.bounds.model_calls_between_progress == 3


def test_a_new_machine_survives_saving() -> None:
    machine = machine_from_toml(template.machine_text("my_loop"))

    assert machine_from_toml(machine_to_toml(machine)) == machine


def test_the_test_of_a_new_machine_passes_beside_it(tmp_path: Path) -> None:
    (tmp_path / "my_loop.toml").write_text(template.machine_text("my_loop"))
    (tmp_path / "test_my_loop.py").write_text(template.test_text("my_loop"))

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "4 passed" in done.stdout, done.stdout


def test_the_test_of_a_new_machine_fails_when_the_budget_is_gone(
    tmp_path: Path,
) -> None:
    text = template.machine_text("my_loop")
    broken = text.replace('guard = "compactions < max_compactions"\n', "", 1)
    broken = broken.replace('action = "compactions += 1"\n', "", 1)
    (tmp_path / "my_loop.toml").write_text(broken)
    (tmp_path / "test_my_loop.py").write_text(template.test_text("my_loop"))

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1


@pytest.mark.parametrize(
    "name", ["My", "a-b", "", "1st", "a/b", "../x", "class", "{x}"]
)
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(BadDeclaration):
        template.machine_text(name)


@pytest.mark.parametrize("name", ["a.b", "a" * 61])
def test_what_is_no_name_of_a_file_is_refused(name: str) -> None:
    with pytest.raises(BadValue):
        template.test_text(name)
