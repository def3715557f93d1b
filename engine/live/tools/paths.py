"""Which texts may name a file of the workspace; pure: no file is looked at.

Only one spelling is taken for each name: no `..`, no `~`, no other separators, nothing
that some file system would take for them, nothing that a person cannot see. What a name
leads to (links, devices) is for whoever opens it.
"""

import unicodedata
from collections.abc import Iterator, Sequence

from unspiral.engine.live.tools.problems import PathRefused

__all__ = ["DEEPEST", "LONGEST", "LONGEST_NAME", "parts_of"]

LONGEST = 4_096  #: bytes of a path
LONGEST_NAME = 255  #: bytes of a part of it
DEEPEST = 64  #: parts

_INSTEAD = "give a path inside the workspace, such as 'src/main.py'"
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


def parts_of(path: str, roots: Sequence[str]) -> tuple[str, ...]:
    """Return the names on the way from the workspace to what a path means.

    Args:
        path: relative to the workspace, or absolute and inside it.
        roots: absolute paths by which the workspace is known.

    Raises:
        PathRefused: it means nothing in the workspace, or not clearly so.
    """
    problem = next(_problems(path), "")
    if problem:
        raise PathRefused(path, problem, _INSTEAD)
    names = _names(path)
    if path.startswith("/"):
        names = _below(path, names, roots)
    problem = next((each for name in names for each in _name_problems(name)), "")
    if not problem and len(names) > DEEPEST:
        problem = f"it has more than {DEEPEST} parts"
    if problem:
        raise PathRefused(path, problem, _INSTEAD)
    return names


def _names(path: str) -> tuple[str, ...]:
    return tuple(each for each in path.split("/") if each not in {"", "."})


def _problems(path: str) -> Iterator[str]:
    if not path:
        yield "it is empty"
    if len(path) > LONGEST:  # before it is looked at in any other way
        yield f"it is longer than {LONGEST:,} bytes"
        return
    if "\0" in path:
        yield "it holds a NUL"
    for char in path:
        if unicodedata.category(char) in _HIDDEN:
            yield f"it holds a character that cannot be seen (U+{ord(char):04X})"
    if len(path.encode("utf-8", "surrogatepass")) > LONGEST:
        yield f"it is longer than {LONGEST:,} bytes"
    if path.startswith("~"):
        yield "'~' is not expanded"


def _name_problems(name: str) -> Iterator[str]:
    if name == "..":
        yield "'..' is not followed"
    if "\\" in name:
        yield "parts are separated by '/', not by '\\'"
    plain = unicodedata.normalize("NFKC", name)
    if plain != name and (plain in {".", ".."} or set(plain) & set("/\\~")):
        yield "it holds characters that look like '.', '/', '~' or '\\'"
    if len(name.encode("utf-8", "surrogatepass")) > LONGEST_NAME:
        yield f"a part of it is longer than {LONGEST_NAME} bytes"


def _below(path: str, names: tuple[str, ...], roots: Sequence[str]) -> tuple[str, ...]:
    for root in roots:
        start = _names(root)
        if names[: len(start)] == start:
            return names[len(start) :]
    raise PathRefused(path, "it is outside the workspace", _INSTEAD)
