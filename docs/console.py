"""Console blocks of the pages: each command is run, and its output is what is shown.

A block shows commands after `$ ` and below each its output, standard error included. An
output that ends in a line `...` is cut there. Times, such as `0.012 s`, may differ.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

__all__ = ["PAGES", "refreshed"]

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    *(
        page
        for page in sorted((ROOT / "docs").rglob("*.md"))
        if not {"_build", "_generated"} & set(page.relative_to(ROOT).parts)
    ),
]
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SECONDS = re.compile(r"\b\d+\.\d+ s\b")
_CUT = "..."


def refreshed(page: Path) -> str:
    """Return a page with the output of each command as it is now.

    The commands of one page run in one empty folder, into which the programs, the
    files of machines and schedules, and the journals beside the page are copied.
    """
    text = page.read_text("utf-8")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for beside in sorted(page.parent.iterdir()):
            if page.parent != ROOT and beside.suffix in {".jsonl", ".py", ".toml"}:
                shutil.copy(beside, folder)
        return _BLOCK.sub(lambda match: _block(match[1], folder), text)


def _block(text: str, folder: Path) -> str:
    parts = [
        line
        for command, shown in _commands(text)
        for line in (f"$ {command}", *_now(command, shown, folder))
    ]
    return "\n".join(("```console", *parts, "```"))


def _commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """Give each command of a block with the output that is shown."""
    command, shown = "", list[str]()
    for line in text.splitlines():
        if line.startswith("$ "):
            if command:
                yield command, shown
            command, shown = line[2:], []
        else:
            shown.append(line)
    if command:
        yield command, shown


def _now(command: str, shown: list[str], folder: Path) -> list[str]:
    lines = _run(command, folder)
    if shown[-1:] == [_CUT]:
        lines = [*lines[: len(shown) - 1], _CUT]
    return shown if _timeless(lines) == _timeless(shown) else lines


def _timeless(lines: list[str]) -> list[str]:
    return [_SECONDS.sub("0.0 s", line) for line in lines]


def _run(command: str, folder: Path) -> list[str]:
    scripts = str(Path(sys.executable).parent)
    path = os.pathsep.join((scripts, os.environ.get("PATH", os.defpath)))
    own = {"PYTHONPATH": str(ROOT), "UNSPIRAL_SESSIONS": str(folder / ".sessions")}
    done = subprocess.run(  # noqa: S603 - our own pages
        ["bash", "-c", command],  # noqa: S607 - a page's command is for a shell
        cwd=folder,
        env={**os.environ, "PATH": path, **own},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.stdout.decode().rstrip("\n").splitlines()
