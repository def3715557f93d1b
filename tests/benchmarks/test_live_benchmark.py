"""The benchmark of the live loop runs all turns in every way, and shows all."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.live import OTHERS, OURS, growth, main, measure


def test_every_way_of_ours_is_measured_at_every_length() -> None:
    rows = measure([3, 5], rounds=1)

    assert [(row.way, row.turns) for row in rows] == [
        (way, turns) for turns in (3, 5) for way in OURS
    ]
    assert all(row.milliseconds is not None for row in rows)
    assert all((growth(rows, way) or 0) > 0 for way in OURS)


def test_libraries_that_are_not_there_are_said_to_be_missing() -> None:
    rows = measure([2], rounds=1, python=sys.executable)
    notes = {row.way: row.note for row in rows if row.way in OTHERS}

    assert set(notes) == set(OTHERS)
    for row in rows:
        if row.way in OTHERS and row.milliseconds is None:
            assert row.note.startswith("missing: ")


def test_a_python_that_is_not_there_leaves_the_others_out(tmp_path: Path) -> None:
    rows = measure([2], rounds=1, python=str(tmp_path / "none"))

    assert {row.note[:9] for row in rows if row.way in OTHERS} == {"left out:"}


def test_the_rows_can_be_had_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--turns", "2", "--rounds", "1", "--json"])

    assert [row["way"] for row in json.loads(capsys.readouterr().out)] == list(OURS)


def test_the_program_runs_by_itself() -> None:
    command = [sys.executable, "benchmarks/live.py", "--turns", "2", "--rounds", "1"]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, check=True)  # noqa: S603 - ours

    assert b"2 turns" in done.stdout
