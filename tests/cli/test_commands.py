"""The smaller commands: list, show, draw, explain, recheck, new."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from unspiral.machines import names

Invoke = Callable[..., Result]
Program = Callable[..., "subprocess.CompletedProcess[str]"]


def test_list_names_every_shipped_machine(invoke: Invoke) -> None:
    lines = invoke("list").stdout.splitlines()

    assert [line.split()[0] for line in lines[1:] if line[0] != " "] == list(names())


def test_list_is_json_too(invoke: Invoke) -> None:
    told = json.loads(invoke("list", "--json").stdout)

    assert [each["name"] for each in told] == list(names())
    assert told[0]["editions"] == ["guarded", "unguarded"]


def test_show_prints_every_row(invoke: Invoke) -> None:
    text = invoke("show", "turnstile").stdout

    assert "shakes < max_shakes" in text
    assert text.count("push") == 3


def test_show_puts_limits_in(invoke: Invoke) -> None:
    text = invoke("show", "turnstile", "--set", "max_shakes=7").stdout

    assert "shakes < 7" in text


def test_show_is_json_too(invoke: Invoke) -> None:
    told = json.loads(invoke("show", "turnstile", "--json").stdout)

    assert told["machine"] == "turnstile"
    assert [row["guard"] for row in told["rows"]][1:3] == ["shakes < 3", "otherwise"]
    assert told["limits"][0]["alternatives"] == ["3", "1", "UNLIMITED"]


@pytest.mark.parametrize("name", names())
def test_every_shipped_machine_is_shown(invoke: Invoke, name: str) -> None:
    assert invoke("show", name).exit_code == 0
    assert json.loads(invoke("show", name, "--json").stdout)["machine"] == name


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("a.svg", b"<svg"),
        ("a.png", b"\x89PNG"),
        ("a.dot", b"digraph"),
        ("a.mmd", b""),
        ("a.md", b""),
        ("a.txt", b""),
    ],
)
def test_the_suffix_says_the_format(
    invoke: Invoke, tmp_path: Path, name: str, begins: bytes
) -> None:
    path = tmp_path / name

    assert invoke("draw", "turnstile", "-o", str(path)).exit_code == 0

    assert path.read_bytes().startswith(begins)
    assert path.stat().st_size > 100


def test_a_drawing_can_go_to_standard_output(invoke: Invoke) -> None:
    result = invoke("draw", "turnstile", "-o", "-", "--format", "mermaid")

    assert result.exit_code == 0
    assert "stateDiagram-v2" in result.stdout


@pytest.mark.parametrize("output", ["picture.jpg", "picture", "-"])
def test_an_unknown_suffix_is_a_clear_error(invoke: Invoke, output: str) -> None:
    result = invoke("draw", "turnstile", "-o", output)

    assert result.exit_code == 2
    assert ".svg" in result.stderr


def test_a_picture_that_cannot_be_written_is_a_clear_error(
    invoke: Invoke, tmp_path: Path
) -> None:
    path = tmp_path / "missing" / "a.svg"

    result = invoke("draw", "turnstile", "-o", str(path))

    assert result.exit_code == 2
    assert "cannot be written: no such file or directory" in result.stderr


def test_a_word_is_explained(invoke: Invoke) -> None:
    result = invoke("explain", "max_shakes")

    assert result.exit_code == 0
    assert "max_shakes: limit of turnstile" in result.stdout
    assert "editions: guarded 3, unguarded UNLIMITED" in result.stdout


def test_the_code_of_a_finding_is_explained(invoke: Invoke) -> None:
    assert "unknown_name: finding" in invoke("explain", "unknown_name").stdout


def test_a_mistyped_word_gets_the_nearest(invoke: Invoke) -> None:
    result = invoke("explain", "max_shake")

    assert result.exit_code == 2
    assert "did you mean 'max_shakes'?" in result.stderr


def test_a_word_of_one_machine_only(invoke: Invoke) -> None:
    args = ("explain", "push", "--machine", "turnstile", "--json")

    told = json.loads(invoke(*args).stdout)

    assert [(each["machine"], each["kind"]) for each in told] == [
        ("turnstile", "event")
    ]


def test_a_word_of_another_machine_is_unknown_there(invoke: Invoke) -> None:
    result = invoke("explain", "max_shakes", "--machine", "tool_call")

    assert result.exit_code == 2


def test_a_certificate_of_another_machine_is_refused(
    invoke: Invoke, tmp_path: Path
) -> None:
    path = tmp_path / "proof.json"
    invoke("check", "turnstile", "--certificate", str(path))

    result = invoke("recheck", str(path), "tool_call")

    assert result.exit_code == 2
    assert "certificate refused" in result.stderr


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"[" * 100_000, b"\xff\xfe", b"null", b'{"format": NaN}', b"\0"],
)
def test_a_hostile_certificate_is_one_message(
    invoke: Invoke, tmp_path: Path, data: bytes
) -> None:
    path = tmp_path / "proof.json"
    path.write_bytes(data)

    result = invoke("recheck", str(path))

    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
    assert isinstance(result.exception, SystemExit)


@pytest.mark.parametrize("name", ["missing", "."])
def test_a_certificate_that_cannot_be_read_is_one_message(
    invoke: Invoke, tmp_path: Path, name: str
) -> None:
    result = invoke("recheck", str(tmp_path / name))

    assert result.exit_code == 2
    assert "cannot be read" in result.stderr


def test_a_new_machine_is_proved_and_its_test_passes(
    program: Program, folder: Path, variables: dict[str, str]
) -> None:
    assert program("new", "my_loop").returncode == 0
    assert program("check", "my_loop.toml").returncode == 0

    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=folder,
        env=variables,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert tested.returncode == 0, tested.stdout


def test_nothing_is_overwritten(program: Program, folder: Path) -> None:
    (folder / "test_my_loop.py").write_text("mine", "utf-8")

    result = program("new", "my_loop")

    assert result.returncode == 2
    assert "test_my_loop.py cannot be written: it exists already" in result.stderr
    assert not (folder / "my_loop.toml").exists()
    assert (folder / "test_my_loop.py").read_text("utf-8") == "mine"


@pytest.mark.parametrize("name", ["../up", "My Loop", "", "class", "a/b", "x" * 101])
def test_a_bad_name_writes_nothing(program: Program, folder: Path, name: str) -> None:
    before = sorted(folder.iterdir())

    result = program("new", name)

    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert sorted(folder.iterdir()) == before
