"""The forms that the reference of the machine file shows can be loaded."""

import re
import tomllib
from pathlib import Path

import pytest

from docs.console import PAGES
from unspiral.engine.core.files import machine_from_toml

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "machine-file.md"
SECTIONS = {
    "limit": "limits",
    "counter": "memory",
    "flag": "memory",
    "choice": "memory",
    "reason memory": "memory",
    "acting phase": "phases",
    "deciding phase": "phases",
    "terminal": "terminals",
}


def forms() -> list[tuple[str, str, str]]:
    """Return each part with its short and its long form."""
    rows = re.findall(
        r"^\| ([a-z ]+) \| `(.*?)` \| `(.*?)` \|$",
        PAGE.read_text("utf-8"),
        re.MULTILINE,
    )
    return [row for row in rows if row[0] in SECTIONS]


def load(part: str, form: str) -> object:
    whole = {"phases": 'start = ["go"]', "limits": "", "memory": "", "terminals": ""}
    section = SECTIONS[part]
    whole[section] = f"{whole[section]}\n{form}"
    texts = [f"[{name}]\n{text}" for name, text in whole.items()]
    return machine_from_toml('name = "shown"\n' + "\n".join(texts))


def test_every_part_is_shown() -> None:
    assert {part for part, _, _ in forms()} == set(SECTIONS)


@pytest.mark.parametrize(("part", "short", "long"), forms())
def test_the_forms_of_a_part_can_be_loaded(part: str, short: str, long: str) -> None:
    assert load(part, short) != load(part, long)  # the long form says more


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_toml_block_of_a_page_is_toml(page: Path) -> None:
    blocks = re.findall(
        r"^```toml\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )

    assert [block for block in blocks if not tomllib.loads(block)] == []
