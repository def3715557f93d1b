"""Mermaid, Markdown, terminal table and DOT: what stands in the text."""

import re

import pytest

from unspiral.diagrams import LEVELS, Level, extract, format_of, render
from unspiral.diagrams.table import plain_text, rich_table
from unspiral.engine.core.declare import Machine
from unspiral.engine.errors import UnknownName

TEXT = r"(?:[A-Za-z0-9 _.,()=+\-/*!?|']|#\d+;|<br/>)*"
MERMAID = re.compile(
    r"stateDiagram-v2"
    rf"|\s*acc(?:Title|Descr): {TEXT}"
    rf'|\s*state "{TEXT}" as [sm]\d+(?: \{{)?'
    rf"|\s*(?:\[\*\]|[sm]\d+) --> (?:\[\*\]|[sm]\d+)(?: : {TEXT})?"
    r"|\s*\}"
    r"|\s*classDef \w+ [\w:#,.\-]+"
    r"|\s*class [s\d,]+ \w+"
)


def test_mermaid_has_one_arrow_a_row_and_marks_start_and_ends(loop: Machine) -> None:
    graph = extract(loop, "full")

    lines = render(loop, "mermaid", "full").decode().splitlines()

    arrows = [line for line in lines if "-->" in line]
    ends = [line for line in arrows if line.endswith("--> [*]")]
    starts = [line for line in arrows if line.strip().startswith("[*]")]
    assert len(ends) == len(loop.terminals)
    assert len(starts) == 2  # the run, and the nested machine
    assert len(arrows) - len(ends) - len(starts) == len(graph.edges)
    assert 'state "call_model, run by attempt" as m0 {' in "\n".join(lines)


@pytest.mark.parametrize("level", LEVELS)
def test_every_line_of_mermaid_is_of_a_known_form(loop: Machine, level: Level) -> None:
    text = render(loop, "mermaid", level).decode()

    assert [line for line in text.splitlines() if not MERMAID.fullmatch(line)] == []


def test_mermaid_never_crosses_the_border_of_a_composite_state(loop: Machine) -> None:
    lines = render(loop, "mermaid", "full").decode().splitlines()
    begin = next(i for i, line in enumerate(lines) if line.endswith("{"))
    end = lines.index("  }")
    inside = set(re.findall(r"as (s\d+)", "\n".join(lines[begin:end])))

    outside = [line for line in lines[:begin] + lines[end:] if "-->" in line]
    for line in outside:
        assert not inside.intersection(re.findall(r"\b(s\d+)\b", line))


def test_markdown_has_one_line_a_row_in_every_column(loop: Machine) -> None:
    graph = extract(loop, "full")

    lines = render(loop, "markdown", "full").decode().splitlines()

    first = next(i for i, line in enumerate(lines) if line.startswith("| phase"))
    last = lines.index("", first)
    assert last - first - 2 == len(graph.edges)
    bars = {len(re.findall(r"(?<!\\)\|", line)) for line in lines[first:last]}
    assert len(bars) == 1


def test_the_terminal_table_has_no_escape_codes_and_fits_its_width(
    loop: Machine,
) -> None:
    text = plain_text(extract(loop, "full"), width=150)

    assert "\x1b" not in text
    assert max(len(line) for line in text.splitlines()) <= 150
    assert "stop_hook_blocking" in text


def test_a_rich_table_has_one_row_an_edge(gate: Machine) -> None:
    assert rich_table(extract(gate, "full")).row_count == 4


def test_the_suffix_of_a_file_chooses_the_format() -> None:
    assert format_of("x.SVG") == "svg"
    assert format_of("a/b.mmd") == "mermaid"
    assert format_of("x.gv") == "dot"
    with pytest.raises(UnknownName, match="suffix"):
        format_of("x.bmp")
