"""The how-to's code runs as it stands, block after block, with the output shown."""

import doctest
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "your-own-agent.md"
BLOCK = re.compile(r"^```\{(testcode|doctest)\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_every_block_of_the_page_runs_and_says_what_it_shows() -> None:
    text = PAGE.read_text("utf-8")
    space: dict[str, object] = {}
    blocks = list(BLOCK.finditer(text))

    for block in blocks:
        kind, source = block.groups()
        line = text.count("\n", 0, block.start()) + 1
        if kind == "testcode":
            exec(compile(source, f"{PAGE}:{line}", "exec"), space)  # noqa: S102 - our page
            continue
        examples = doctest.DocTestParser().get_doctest(
            source, {}, f"line {line}", str(PAGE), line
        )
        examples.globs = space
        report: list[str] = []
        runner = doctest.DocTestRunner(verbose=False)
        result = runner.run(examples, out=report.append, clear_globs=False)
        if result.failed:
            pytest.fail("".join(report))

    assert len(blocks) == text.count("```{")


def test_both_loops_are_as_short_as_the_page_says() -> None:
    text = PAGE.read_text("utf-8")
    loops = [block for _, block in BLOCK.findall(text) if "while " in block]

    assert [len(loop.splitlines()) <= 20 for loop in loops] == [True, True]
