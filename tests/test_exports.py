"""Public is what `__all__` lists: it is there, sorted, and says no more than exists."""

import ast
import importlib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
MODULES = {
    "unspiral."
    + ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(
        ".__init__"
    ): path
    for folder in ("engine", "machines", "diagrams")
    for path in sorted((ROOT / folder).rglob("*.py"))
} | {"unspiral": ROOT / "unspiral" / "__init__.py"}
PACKAGES = [name for name, path in MODULES.items() if path.name == "__init__.py"]


def listed(path: Path) -> list[str] | None:
    """Return what a module lists in `__all__`, or None if it has none."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(t, ast.Name) and t.id == "__all__" for t in targets):
                assert node.value is not None
                return list(ast.literal_eval(node.value))
    return None


def bound(path: Path) -> set[str]:
    """Return the public names that a package binds, those of its modules left out."""
    names: set[str] = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        match node:
            case ast.ImportFrom(names=aliases) | ast.Import(names=aliases):
                names |= {alias.asname or alias.name for alias in aliases}
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]):
                names.add(name)
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case _:
                pass
    return {name for name in names if not name.startswith("_")}


@pytest.mark.parametrize("module", MODULES)
def test_a_module_says_what_is_public(module: str) -> None:
    assert listed(MODULES[module]) is not None


@pytest.mark.parametrize("module", MODULES)
def test_a_module_says_what_it_is_for(module: str) -> None:
    assert ast.get_docstring(ast.parse(MODULES[module].read_text("utf-8")))


@pytest.mark.parametrize("module", MODULES)
def test_every_listed_name_exists_once(module: str) -> None:
    loaded: ModuleType = importlib.import_module(module)
    names = listed(MODULES[module]) or []

    assert [name for name in names if not hasattr(loaded, name)] == []
    assert len(names) == len(set(names))


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_that_only_gathers_lists_all_that_it_gathers(package: str) -> None:
    path = MODULES[package]
    body = ast.parse(path.read_text("utf-8")).body
    if any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in body):
        return  # it has work of its own to import for

    assert bound(path) - set(listed(path) or []) == set()
