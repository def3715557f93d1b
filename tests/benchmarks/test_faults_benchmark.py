"""The benchmark of the faults makes the same calls over every way, and shows all."""

import asyncio
import json

import pytest

from benchmarks.faults import CALLS, WAYS, main, measure

PAIRS = [(call, way) for call in CALLS for way in WAYS]


def test_every_way_is_measured_with_every_call() -> None:
    rows = asyncio.run(measure(calls=1, rounds=1))

    assert [(row.call, row.way) for row in rows] == PAIRS
    assert [row.rate for row in rows if row.rate <= 0] == []
    assert [row.ratio for row in rows if row.way.startswith("httpx2")] == [1, 1]


def test_a_row_is_printed_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--calls", "1", "--rounds", "1"])

    lines = capsys.readouterr().out.splitlines()[1:]
    assert len(lines) == len(PAIRS)
    for (call, way), line in zip(PAIRS, lines, strict=True):
        assert line.split()[0] == call
        assert way in line


def test_the_rows_can_be_had_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--calls", "1", "--rounds", "1", "--json"])

    rows = json.loads(capsys.readouterr().out)
    assert [(row["call"], row["way"]) for row in rows] == PAIRS
    assert all(row["rate"] > 0 for row in rows)
