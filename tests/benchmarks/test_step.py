"""What is compared for speed takes the same walk."""

import pytest

from benchmarks.reference_loop import reference_loop
from benchmarks.step import WAYS, main, walk
from unspiral.engine.core.table import compile_table


@pytest.mark.parametrize("way", WAYS)
def test_every_way_ends_where_the_walk_ends(way: str) -> None:
    table = compile_table(reference_loop(2, 2, 1))
    steps = walk(table, 500)
    last = steps[-1].after.phase

    ended = WAYS[way](table, steps)()

    assert ended == (table.initial if last in table.terminals else last)


def test_the_benchmark_prints_one_line_for_each_way(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(100)

    printed = capsys.readouterr().out
    assert [way for way in WAYS if way not in printed] == []
