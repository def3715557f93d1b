"""What is shipped: a package that setup.cfg forgets works here, but not installed."""

import ast
import re
import tomllib
from configparser import ConfigParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("engine", "machines", "diagrams")
NOT_IMPORTED_YET = {"anthropic", "hypothesis"}  # the live loop and the strategies


def setup_cfg() -> ConfigParser:
    config = ConfigParser()
    config.read(ROOT / "setup.cfg", "utf-8")
    return config


def word(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9_-]", requirement, maxsplit=1)[0].replace("-", "_")


def imported() -> set[str]:
    """Return every library that a module of ours names, however it is imported."""
    names: set[str] = set()
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                match node:
                    case ast.Import(names=aliases):
                        names |= {alias.name for alias in aliases}
                    case ast.ImportFrom(module=str(module)):
                        names.add(module)
                    case ast.Call(args=[ast.Constant(value=str(name)), *_]):
                        names.add(name)  # importlib.import_module("name")
                    case _:
                        pass
    return {name.partition(".")[0].replace("-", "_") for name in names}


def test_every_package_is_listed() -> None:
    listed = setup_cfg()["options"]["packages"].split()

    found = {
        f"unspiral.{init.parent.relative_to(ROOT).as_posix().replace('/', '.')}"
        for folder in FOLDERS
        for init in (ROOT / folder).rglob("__init__.py")
    }
    assert sorted(listed) == sorted(found | {"unspiral"})


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_folder_of_modules_is_a_package(folder: str) -> None:
    folders = {path.parent for path in (ROOT / folder).rglob("*.py")}

    assert [each for each in folders if not (each / "__init__.py").exists()] == []


def test_every_file_that_is_no_module_is_listed() -> None:
    data = dict(setup_cfg()["options.package_data"])
    del data["*"]
    listed = {
        path
        for package, patterns in data.items()
        for pattern in patterns.split()
        for path in (ROOT / package.removeprefix("unspiral.").replace(".", "/")).glob(
            pattern
        )
    }

    found = {
        path
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.suffix not in {".py", ".pyc"}
    }
    assert sorted(listed) == sorted(found)
    assert found


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_import_name_links_to_each_folder(folder: str) -> None:
    link = ROOT / "unspiral" / folder

    assert link.is_symlink()
    assert link.readlink() == Path("..") / folder


def test_no_plain_top_level_name_is_installed() -> None:
    listed = setup_cfg()["options"]["packages"].split()

    assert [name for name in listed if name.partition(".")[0] != "unspiral"] == []


def test_every_base_dependency_is_used() -> None:
    needed = {word(line) for line in setup_cfg()["options"]["install_requires"].split()}

    assert needed - imported() - NOT_IMPORTED_YET == set()


def test_pyproject_leaves_every_value_to_setup_cfg() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    assert set(project) == {"name", "dynamic"}
