"""What the pages show is what the commands print; what CI runs is what they say."""

import re
import subprocess
from pathlib import Path

import pytest

from docs.console import PAGES, refreshed

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
CI = (ROOT / ".ci" / "run").read_text("utf-8")
WITH_COMMANDS = [page for page in PAGES if "```console" in page.read_text("utf-8")]


def pasted(mark: str) -> str:
    """Return the one line of the block that follows a mark in the README."""
    found = re.search(rf"<!-- {mark} -->\n```sh\n(.*)\n```\n", README)
    assert found is not None
    return found[1]


@pytest.mark.parametrize(
    "page", WITH_COMMANDS, ids=lambda page: str(page.relative_to(ROOT))
)
def test_a_page_shows_what_its_commands_print(page: Path) -> None:
    assert page.read_text("utf-8") == refreshed(page)


@pytest.mark.parametrize("mark", ["main", "tests"])
def test_each_job_of_the_readme_is_one_line_that_sets_itself_up(mark: str) -> None:
    line = pasted(mark)

    assert line.startswith("python3 -m venv .venv && ")
    assert "git " not in line


def test_ci_runs_the_test_line_of_the_readme() -> None:
    extraction = re.search(r"^line=\$\((.*)\)$", CI, re.MULTILINE)

    assert extraction is not None
    found = subprocess.run(  # noqa: S603 - a line of our own file
        ["bash", "-c", extraction[1]],  # noqa: S607 - as CI has it
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == pasted("tests")
    assert 'bash -euo pipefail -c "$line"' in CI


def test_the_main_line_takes_a_refutation_for_a_success() -> None:
    command = pasted("main").split(" && ", maxsplit=2)[2]
    shell = 'unspiral() { return "$1"; }; '

    def code(answer: int) -> int:
        ran = re.sub(r"\.venv/bin/unspiral run [^&]*", "true ", command)
        told = re.sub(r"\.venv/bin/unspiral check [^|]*", f"unspiral {answer} ", ran)
        return subprocess.run(  # noqa: S603 - the line of the README
            ["bash", "-c", shell + told],  # noqa: S607 - as a reader pastes it
            check=False,
        ).returncode

    assert [code(answer) for answer in (0, 1)] == [0, 0]
    assert code(2) != 0


def test_the_programs_of_the_readme_run() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {}

    for block in blocks:
        exec(block, names)  # noqa: S102 - our own page

    assert len(blocks) > 1
