"""Tells whether a command leaves the workspace by a link: the one look at the disk.

Words are looked at as paths, in the workspace and in every folder of it that the line
names, since it may go there. What a program follows by itself, and what it opens that
no word of the line says, is not seen: a gate is no sandbox.
"""

import glob
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from unspiral.engine.live.commands import Line, Word

__all__ = ["strays"]

_MOST = 1_000  # paths that a pattern may stand for
_FOLDERS = 50  # in which words are looked for


def strays(line: Line, workspace: str) -> bool:
    """Tell whether a word of a line is a path that ends outside.

    Args:
        line: as it was read.
        workspace: the absolute path of the folder that is worked in.
    """
    root = os.path.realpath(workspace)
    words = list(_words(line))
    folders = [root]
    try:
        for folder in folders:  # grows
            for path in (path for word in words for path in _paths(word, folder)):
                real = os.path.realpath(path)
                if real != root and not real.startswith(root.rstrip("/") + "/"):
                    return True
                if len(folders) < _FOLDERS and real not in folders:
                    folders += [real] if Path(real).is_dir() else []
    except (OSError, ValueError):
        return True
    return False


def _words(line: Line) -> Iterator[Word]:
    for command in line.commands:
        yield from command.words
        yield from (each.target for each in command.redirects)


def _paths(word: Word, folder: str) -> Iterator[str]:
    """Return what a word may be as a path; of `--name=value`, the value too."""
    texts = {word.text, word.text.partition("=")[2]} - {""}
    for text in texts:
        path = str(Path(folder, text))
        yield path
        if word.globs:
            yield from islice(
                glob.iglob(path, include_hidden=True),  # noqa: PTH207 - absolute ones too
                _MOST,
            )
