"""Which texts may name a file of a project; pure: no file is looked at.

Stricter than the tools of a run are: a scenario is played on other systems than the one
it was written on, so a name must mean the same file on all of them.
"""

import unicodedata
from collections.abc import Iterable, Iterator

from unspiral.engine.live.tools.paths import parts_of
from unspiral.engine.live.tools.problems import PathRefused

__all__ = ["clash", "problem_of"]

_DEVICES = frozenset(
    {"con", "prn", "aux", "nul"}
    | {f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10)}
)
_NOWHERE = frozenset('<>:"|?*')  # characters that some systems allow in no name


def problem_of(path: str) -> str:
    """Return what is wrong with the path of a file of a project, or ""."""
    try:
        parts = parts_of(path, ())
    except PathRefused as error:
        return error.problem
    if "/".join(parts) != path:
        return f"it must be spelled {'/'.join(parts) or 'as a file'!r}"
    return next((each for part in parts for each in _problems(part)), "")


def _problems(name: str) -> Iterator[str]:
    if name.partition(".")[0].strip().casefold() in _DEVICES:
        yield "a part of it is the name of a device on some systems"
    if name[-1] in ". ":
        yield "a part of it ends in a dot or a space, which some systems drop"
    if name[0] == " ":
        yield "a part of it begins with a space"
    if set(name) & _NOWHERE:
        yield "it holds a character that some systems forbid in a name"


def clash(paths: Iterable[str]) -> tuple[str, str] | None:
    """Return two paths that cannot both be files, or None.

    Either they are one file where the case and form of letters do not count, or one is
    a folder of the other.
    """
    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    for path in paths:
        form = unicodedata.normalize("NFKC", path).casefold()
        parts = form.split("/")
        above = ["/".join(parts[:n]) for n in range(1, len(parts))]
        taken = (files.get(form), folders.get(form), *map(files.get, above))
        other = next(filter(None, taken), None)
        if other is not None:
            return other, path
        files[form] = path
        folders |= dict.fromkeys(above, path)
    return None
