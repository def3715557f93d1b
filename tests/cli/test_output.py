"""Results are written whole, or an error says why not."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from unspiral.engine.cli.output import write_new_files, write_whole
from unspiral.engine.errors import FileProblem

Program = Callable[..., "subprocess.CompletedProcess[str]"]
FULL = Path("/dev/full")


def test_a_file_is_replaced_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "out.svg"
    path.write_bytes(b"old and longer")
    path.chmod(0o640)

    write_whole(path, b"new")

    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_followed_not_replaced(tmp_path: Path) -> None:
    target = tmp_path / "target"
    link = tmp_path / "link"
    link.symlink_to(target)

    write_whole(link, b"data")

    assert link.is_symlink()
    assert target.read_bytes() == b"data"


def test_a_device_is_written_and_not_replaced() -> None:
    null = Path("/dev/null")

    write_whole(null, b"data")

    assert null.is_char_device()


@pytest.mark.parametrize("name", ["missing/out", ".", "x" * 300, "nul\0byte"])
def test_a_file_that_cannot_be_written_is_a_clear_error(
    tmp_path: Path, name: str
) -> None:
    with pytest.raises(FileProblem, match="cannot be written"):
        write_whole(tmp_path / name, b"data")

    assert list(tmp_path.iterdir()) == []


def test_new_files_are_all_written_or_none(tmp_path: Path) -> None:
    there = tmp_path / "b"
    there.write_bytes(b"mine")

    with pytest.raises(FileProblem, match="not overwritten"):
        write_new_files([(tmp_path / "a", b"1"), (there, b"2")])

    assert list(tmp_path.iterdir()) == [there]
    assert there.read_bytes() == b"mine"


def test_a_reader_that_goes_away_is_no_error(
    folder: Path, variables: dict[str, str]
) -> None:
    command = f"{sys.executable} -m unspiral check loops:SPIRAL --json"
    script = f"set -o pipefail; {command} | true; echo ${{PIPESTATUS[0]}}"

    result = subprocess.run(  # noqa: S603 - our own program
        ["/bin/bash", "-c", script],
        cwd=folder,
        env=variables,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )

    assert result.stderr == ""
    assert result.stdout == "1\n"


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full here")
def test_a_full_disk_is_a_clear_error(folder: Path, variables: dict[str, str]) -> None:
    with FULL.open("w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "unspiral", "show", "loops:SPIRAL", "--json"],
            cwd=folder,
            env=variables,
            stdout=full,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            check=False,
        )

    assert result.returncode == 2
    assert "standard output cannot be written: no space left" in result.stderr
    assert "Traceback" not in result.stderr


def test_no_colour_goes_into_a_pipe(program: Program) -> None:
    assert "\x1b" not in program("check", "loops:SPIRAL").stdout


def test_a_narrow_encoding_does_not_end_a_report(program: Program) -> None:
    result = program("list", env={"PYTHONIOENCODING": "ascii"})

    assert result.returncode == 0
    assert "turnstile" in result.stdout
