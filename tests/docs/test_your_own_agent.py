"""The code of the pages runs as it stands, block after block, with the output shown."""

import doctest
import re
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs" / "how-to"
BLOCK = re.compile(r"^```\{(testcode|doctest)\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    "name", ["your-own-agent.md", "transitions.md", "test-your-own-loop.md"]
)
def test_every_block_of_a_page_runs_and_says_what_it_shows(name: str) -> None:
    page = PAGES / name
    text = page.read_text("utf-8")
    space: dict[str, object] = {}
    blocks = list(BLOCK.finditer(text))

    for block in blocks:
        kind, source = block.groups()
        line = text.count("\n", 0, block.start()) + 1
        if kind == "testcode":
            exec(compile(source, f"{page}:{line}", "exec"), space)  # noqa: S102 - our page
            continue
        examples = doctest.DocTestParser().get_doctest(
            source, {}, f"line {line}", str(page), line
        )
        examples.globs = space
        report: list[str] = []
        runner = doctest.DocTestRunner(verbose=False)
        result = runner.run(examples, out=report.append, clear_globs=False)
        if result.failed:
            pytest.fail("".join(report))

    assert len(blocks) == text.count("```{")


def test_both_loops_are_as_short_as_the_page_says() -> None:
    text = (PAGES / "your-own-agent.md").read_text("utf-8")
    loops = [block for _, block in BLOCK.findall(text) if "while " in block]

    assert [len(loop.splitlines()) <= 20 for loop in loops] == [True, True]
