"""Scenarios as TOML, read strictly.

The keys are judged by `scenario_reader`, the values by the scenario itself. The one
function with I/O here is `load_scenario`.
"""

import os

from unspiral.engine.errors import ScenarioError
from unspiral.engine.scenarios.scenario import Scenario
from unspiral.engine.scenarios.scenario_reader import read_scenario
from unspiral.engine.toml.disk import read_text
from unspiral.engine.toml.text import MAX_FILE, read_tables

__all__ = ["load_scenario", "scenario_from_toml"]

_MAX_SHOWN = 200


def scenario_from_toml(text: str, path: str = "scenario") -> Scenario:
    """Return the scenario that a text holds.

    Args:
        text: the TOML text.
        path: what errors call it.

    Raises:
        ScenarioError: it is no TOML or no scenario: place, line and problem are told.
    """
    return read_scenario(read_tables(text, path, ScenarioError))


def load_scenario(path: str | os.PathLike[str]) -> Scenario:
    """Return the scenario of a file of at most 1,000,000 bytes.

    Raises:
        ScenarioError: the file cannot be read, or is no scenario.
    """
    name = os.fspath(path)
    shown = name if len(name) <= _MAX_SHOWN else "..." + name[-_MAX_SHOWN:]
    text = read_text(
        path, MAX_FILE, lambda problem, line: ScenarioError(shown, "", problem, line)
    )
    return scenario_from_toml(text, shown)
