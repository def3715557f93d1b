"""Texts of a report are safe to print and wrap as they should."""

import click
import pytest

from unspiral.engine.report.lines import (
    Line,
    clean,
    clean_lines,
    coloured,
    columns,
    plain,
)


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("a\nb\tc", "a b c"),
        ("bell\x07", "bell\\x07"),
        ("right\u202eleft", "right\\u202eleft"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("lone\ud800half", "lone\\ud800half"),
        ("\x9b31m", "\\x9b31m"),
        ("[red]markup[/red]", "[red]markup[/red]"),
        ("plain \u00e9\u4e2d", "plain \u00e9\u4e2d"),
    ],
)
def test_nothing_that_a_terminal_obeys_survives(hostile: str, shown: str) -> None:
    assert clean(hostile) == shown


def test_a_long_text_is_cut() -> None:
    assert clean("x" * 10_000) == "x" * 2000 + "..."


def test_clean_lines_keeps_the_lines_and_their_indent() -> None:
    assert clean_lines("a\n    b\x1b\n") == "a\n    b\\x1b\n"


def test_columns_are_aligned_and_the_last_is_not_padded() -> None:
    assert columns([("a", "b"), ("long", "c")]) == ["a     b", "long  c"]


def test_no_rows_give_no_columns() -> None:
    assert columns([]) == []


def test_a_long_line_wraps_under_its_own_text() -> None:
    text = plain([Line("word " * 30, indent=2, hang=4)], width=60)

    lines = text.splitlines()
    assert len(lines) > 1
    assert lines[0].startswith("  word")
    assert all(line.startswith("      word") for line in lines[1:])
    assert all(len(line) <= 60 for line in lines)


def test_an_empty_line_stays() -> None:
    assert plain([Line("a"), Line(), Line("b")]) == "a\n\nb\n"


def test_colours_change_nothing_but_colours() -> None:
    lines = [Line("PROVED", "good"), Line("text"), Line("dim", "dim", 2)]

    assert "\x1b[" in coloured(lines)
    assert click.unstyle(coloured(lines)) == plain(lines)


def test_no_lines_are_no_text() -> None:
    assert plain([]) == coloured([]) == ""
    assert plain([Line()]) == "\n"
