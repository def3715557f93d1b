"""The shipped scenarios by name: whatever lies in the folder `shipped` of the package.

Listing them reads none of them.
"""

from importlib.resources import files

from unspiral.engine.errors import UnknownName
from unspiral.engine.scenarios.scenario import Scenario
from unspiral.engine.scenarios.scenario_file import load_scenario, scenario_from_toml

__all__ = ["load", "names"]

_ENDING = ".toml"
_FOLDER = files("unspiral.engine.scenarios") / "shipped"


def names() -> tuple[str, ...]:
    """Return the names of the shipped scenarios."""
    found = (each.name for each in _FOLDER.iterdir() if each.name.endswith(_ENDING))
    return tuple(sorted(each.removesuffix(_ENDING) for each in found))


def load(name: str) -> Scenario:
    """Return a shipped scenario, or that of a file.

    Args:
        name: of one that is shipped, or a path that ends in `.toml`.

    Raises:
        UnknownName: no such scenario is shipped.
        ScenarioError: the file cannot be read, or is no scenario.
    """
    if name.endswith(_ENDING):
        return load_scenario(name)
    known = names()
    if name not in known:
        raise UnknownName("scenario", name, (*known, f"FILE{_ENDING}"))
    text = (_FOLDER / f"{name}{_ENDING}").read_text("utf-8")
    return scenario_from_toml(text, f"{name}{_ENDING}")
