"""The project of a scenario on the disk: unpacked before a run, looked at after it.

Every file is reached as the tools of a run reach it: name by name, following no link.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from unspiral.engine.errors import BadValue
from unspiral.engine.live.tools.problems import PathRefused
from unspiral.engine.live.tools.workspace import Workspace
from unspiral.engine.scenarios.scenario import Scenario, Wanted
from unspiral.engine.toml.fields import shorten

__all__ = ["check", "write"]

_LARGEST = 10_000_000  # bytes of a file that is compared
_SHOWN = 60  # characters of a line that are shown


def write(scenario: Scenario, folder: str | os.PathLike[str]) -> None:
    """Unpack the project of a scenario.

    Args:
        scenario: it.
        folder: that is there, and empty.

    Raises:
        BadValue: there is no such folder, or something is in it.
        PathRefused: a file cannot be written.
    """
    workspace = Workspace(folder)
    if os.listdir(workspace.fd):  # noqa: PTH208 - of the open folder
        raise BadValue("the folder of a scenario", str(Path(folder)), "empty")
    for path, text in scenario.files.items():
        workspace.write(path, text.encode("utf-8"))


def check(
    scenario: Scenario, terminal: str, folder: str | os.PathLike[str]
) -> tuple[str, ...]:
    """Return what has not come as it was expected, a line each.

    Args:
        scenario: what was played.
        terminal: in which the run ended.
        folder: in which it was played.

    Raises:
        BadValue: there is no such folder.
    """
    return tuple(_differences(scenario, terminal, Workspace(folder)))


def _differences(
    scenario: Scenario, terminal: str, workspace: Workspace
) -> Iterator[str]:
    expected = scenario.expected
    if terminal != expected.terminal:
        yield f"it ended in {terminal}, not in {expected.terminal}"
    for path, wanted in expected.files.items():
        yield from _of_file(path, wanted, workspace)


def _of_file(path: str, wanted: Wanted, workspace: Workspace) -> Iterator[str]:
    try:
        data = workspace.read(path, _LARGEST).data
    except PathRefused as error:
        if wanted.how != "absent" or _is_there(path, workspace):
            yield f"{path}: {error.problem}"
        return
    text = data.decode("utf-8", "replace")
    if wanted.how == "absent":
        yield f"{path}: it should not be there"
    elif wanted.how == "exact":
        yield from _unlike(path, text, wanted.texts[0])
    else:
        yield from (
            f"{path}: it does not hold {_shown(each)}"
            for each in wanted.texts
            if each not in text
        )


def _is_there(path: str, workspace: Workspace) -> bool:
    """Tell whether something is there that is no plain file."""
    folder, _, name = path.rpartition("/")
    try:
        with workspace.folder(folder or ".") as fd:
            return name in os.listdir(fd)  # noqa: PTH208 - of an open folder
    except PathRefused:
        return False


def _unlike(path: str, text: str, wanted: str) -> Iterator[str]:
    """Say where a text begins to differ."""
    if text == wanted:
        return
    lines, others = text.split("\n"), wanted.split("\n")
    same = sum(1 for _ in _alike(lines, others))
    given = _shown(lines[same]) if same < len(lines) else "its end"
    other = _shown(others[same]) if same < len(others) else "its end"
    yield f"{path}, line {same + 1}: there is {given}, not {other}"


def _alike(lines: list[str], others: list[str]) -> Iterator[str]:
    for line, other in zip(lines, others, strict=False):
        if line != other:
            return
        yield line


def _shown(text: str) -> str:
    """Return a text as a line may show it: files are written by whoever played."""
    return shorten(ascii(text), _SHOWN)
