"""The walls between folders: who may import whom, which library stands behind which.

Modules are read, not imported, so that an import inside a function counts as well.
"""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("engine", "machines", "diagrams")
EVERYTHING = frozenset(FOLDERS)
LONGEST = 400

# The longest prefix of a module's name decides. `engine.errors` is open to all others.
NEIGHBOURS: dict[str, frozenset[str]] = {
    "engine": frozenset(),
    "engine.error_base": frozenset(),
    "engine.run_errors": frozenset({"engine.error_base"}),
    "engine.errors": frozenset({"engine.error_base", "engine.run_errors"}),
    "engine.toml": frozenset({"engine.toml"}),
    "engine.core": frozenset({"engine.core", "engine.toml"}),
    "engine.check": frozenset({"engine.core", "engine.check"}),
    "engine.check.recheck": frozenset({"engine.core", "engine.check.certificate"}),
    "engine.fuzz": frozenset(
        {"engine.core", "engine.check", "engine.faults", "engine.fuzz"}
    ),
    # Hooks and tools at random, for tests of a loop that runs; the rest needs none.
    "engine.fuzz.live": frozenset({"engine.fuzz", "engine.live"}),
    "engine.chance": frozenset({"engine.core", "engine.chance"}),
    "engine.replay": frozenset({"engine.core", "engine.replay"}),
    "engine.export": frozenset({"engine.core", "engine.export"}),
    "engine.live": frozenset({"engine.core", "engine.live", "engine.toml", "machines"}),
    # It plays the outside world and must not share our view of it.
    "engine.faults": frozenset({"engine.faults", "engine.toml"}),
    "engine.blackbox": frozenset({"engine.core", "engine.faults", "engine.blackbox"}),
    # Its files say both what is played and what is run; the run itself is elsewhere.
    "engine.scenarios": frozenset(
        {
            "engine.core",
            "engine.faults",
            "engine.live",
            "engine.scenarios",
            "engine.toml",
            "machines",
        }
    ),
    "engine.report": EVERYTHING,
    "engine.cli": EVERYTHING,
    "engine.pytest_plugin": EVERYTHING,
    "machines": frozenset({"engine.core", "machines"}),
    "diagrams": frozenset({"engine.core", "diagrams"}),
}

ERRORS = ("engine.error_base", "engine.run_errors", "engine.errors")

# Libraries of others: the packages and modules that may import each.
HOMES: dict[str, frozenset[str]] = {
    "attr": frozenset(),  # the old name of attrs
    "attrs": EVERYTHING,
    "anthropic": frozenset({"engine.live.client"}),
    "click": frozenset({"engine.cli", "engine.report"}),
    "graphviz": frozenset({"diagrams.svg"}),
    "h11": frozenset({"engine.faults.http"}),
    "graphviz_pure": frozenset({"diagrams.svg"}),
    "httpx2": frozenset({"engine.live.client", "engine.faults.transport"}),
    "hypothesis": frozenset({"engine.fuzz", "engine.pytest_plugin"}),
    "jsonschema_rs": frozenset({"engine.live.tools.schema"}),
    "numpy": frozenset({"engine.check", "engine.chance"}),
    "pytest": frozenset({"engine.pytest_plugin"}),
    "reportlab": frozenset({"diagrams.svg"}),
    "rich": frozenset({"engine.cli", "engine.report", "diagrams.table"}),
    "scipy": frozenset({"engine.check", "engine.chance"}),
    "svglib": frozenset({"diagrams.svg"}),
    "transitions": frozenset({"engine.core.library"}),
}

MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(
        ".__init__"
    ): path
    for folder in FOLDERS
    for path in sorted((ROOT / folder).rglob("*.py"))
}


def within(name: str, prefixes: frozenset[str]) -> bool:
    return any(f"{name}.".startswith(f"{prefix}.") for prefix in prefixes)


def names_in(node: ast.AST) -> list[str]:
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=module, names=names, level=0):
            return [f"{module}.{alias.name}" for alias in names]
        case ast.ImportFrom():
            return ["."]  # a relative import: within nothing
        case ast.Call(
            func=ast.Attribute(attr="import_module") | ast.Name(id="import_module"),
            args=[ast.Constant(value=str(name)), *_],
        ):
            return [name]
        case _:
            return []


def imports_of(source: str) -> frozenset[str]:
    tree = ast.parse(source)
    return frozenset(name for node in ast.walk(tree) for name in names_in(node))


def rule_of(module: str) -> frozenset[str]:
    prefix = max((p for p in NEIGHBOURS if within(module, frozenset({p}))), key=len)
    return (
        NEIGHBOURS[prefix]
        if prefix in ERRORS
        else NEIGHBOURS[prefix] | {"engine.errors"}
    )


def breaches(module: str, source: str) -> list[str]:
    """Return the imports of a module that go through a wall."""
    wrong: list[str] = []
    for name in sorted(imports_of(source)):
        root = name.partition(".")[0]
        inner = name.removeprefix("unspiral.")
        if root == "unspiral":
            face = inner.partition(".")[0] not in FOLDERS  # unspiral itself
            if not within(inner, rule_of(module)) and not (
                face and within(module, CLI)
            ):
                wrong.append(name)
        elif root not in sys.stdlib_module_names and not within(
            module, HOMES.get(root, frozenset())
        ):
            wrong.append(name)
    return wrong


CLI = frozenset({"engine.cli", "engine.report"})


@pytest.mark.parametrize("module", MODULES)
def test_no_import_goes_through_a_wall(module: str) -> None:
    assert breaches(module, MODULES[module].read_text("utf-8")) == []


@pytest.mark.parametrize("module", MODULES)
def test_a_module_can_be_read_in_one_sitting(module: str) -> None:
    lines = MODULES[module].read_text("utf-8").count("\n")

    assert lines <= LONGEST


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("engine.core.step", "import numpy as np"),
        ("engine.core.step", "from unspiral.engine.check import check"),
        ("engine.core.step", "from unspiral.machines import turnstile"),
        ("engine.core.step", "from . import table"),
        ("engine.core.step", "import engine.errors"),
        ("engine.core.run", "def f():\n    import transitions"),
        ("engine.errors", "from unspiral.engine.core import step"),
        ("engine.check.recheck", "from unspiral.engine.check.explore import explore"),
        ("engine.check.spiral", "from unspiral import diagrams"),
        ("engine.faults.server", "from unspiral.engine.core.step import step"),
        ("engine.fuzz.strategies", "import anthropic"),
        ("engine.fuzz.wire", "from unspiral.engine.live.hooks import Hook"),
        ("engine.fuzz.live", "from unspiral.engine.check import check"),
        ("machines.turnstile", "from unspiral.engine.check import check"),
        ("diagrams.dot", "from unspiral.engine.check.verdict import Verdict"),
        ("diagrams.dot", "import importlib\nimportlib.import_module('graphviz')"),
        ("engine.cli", "import unheard_of"),
    ],
)
def test_a_planted_breach_is_found(module: str, line: str) -> None:
    assert breaches(module, line) != []


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("engine.core.library", "import transitions"),
        ("engine.check.explore", "import numpy as np\nimport attrs"),
        ("engine.live.loop", "from unspiral.machines import query_loop"),
        ("engine.cli.check", "from unspiral.engine.check import check"),
        ("diagrams.svg", "import graphviz"),
        ("diagrams.svg", "from unspiral.engine.errors import MissingTool"),
    ],
)
def test_what_the_walls_allow_is_no_breach(module: str, line: str) -> None:
    assert breaches(module, line) == []
