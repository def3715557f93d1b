"""The page on the scenario file: its example is played, and its tables are complete."""

import re
from pathlib import Path
from typing import get_args

import attrs

from tests.scenarios.playing import play
from unspiral.engine.faults.schedule_reader import KEYS
from unspiral.engine.live.budgets import BUDGETS
from unspiral.engine.live.ports import HookPoint
from unspiral.engine.live.ruling import Mode
from unspiral.engine.scenarios.scenario import MAX_FILES, MAX_HOOKS, Scenario
from unspiral.engine.scenarios.scenario_file import scenario_from_toml

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "scenario-file.md"
TEXT = PAGE.read_text("utf-8")
EXAMPLE = re.findall(r"^```toml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def test_the_example_of_the_page_comes_as_it_says(tmp_path: Path) -> None:
    (example,) = EXAMPLE

    assert play(scenario_from_toml(example), tmp_path).wrong == ()


def test_the_page_names_every_key_and_word() -> None:
    fields = {field.name for field in attrs.fields(Scenario)}
    names = {
        *(fields - {"schedule", "rules", "hooks", "expected"}),
        *("permission", "allow", "ask", "deny", "hook", "point", "command"),
        *("loop", "expect", "terminal", "contains", *KEYS, *BUDGETS),
        *get_args(HookPoint),
        *get_args(Mode),
    }

    assert [
        name
        for name in sorted(names)
        if not re.search(rf"`(\{{ |\[\[|\[|\")?{name}\b", TEXT)
    ] == []


def test_the_page_says_how_much_is_read() -> None:
    assert f"texts of the project, at most {MAX_FILES} |" in TEXT
    assert f"`hook` | tables, at most {MAX_HOOKS}" in TEXT
