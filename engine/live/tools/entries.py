"""One name in an open folder: what it is, what was meant by it, why it is refused."""

import contextlib
import errno
import itertools
import os
import stat
import unicodedata
from pathlib import Path
from typing import NamedTuple

from unspiral.engine.errors import nearest
from unspiral.engine.live.tools.problems import PathRefused

__all__ = [
    "INSTEAD",
    "Stamp",
    "kind",
    "meant_by",
    "names_are_loose",
    "refusal",
    "require_plain",
    "stamp_of",
    "virtual_devices",
]

INSTEAD = "only plain files and folders of the workspace can be used"
_MOST_NAMES = 10_000  # of a folder that are looked at to find what was meant


class Stamp(NamedTuple):
    """What tells whether a file was changed."""

    inode: int
    changed: int
    size: int


def refusal(path: str, folder: int, name: str, error: OSError) -> PathRefused:
    """Say why a name cannot be opened."""
    with contextlib.suppress(OSError):
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode):
            return PathRefused(path, f"{name!r} is a link", INSTEAD)
        if error.errno == errno.ENOTDIR:
            return PathRefused(path, f"{name!r} is {kind(mode)}", INSTEAD)
    if error.errno == errno.ENOENT:
        meant = meant_by(folder, name)
        instead = f"did you mean {meant}?" if meant else "list what there is"
        return PathRefused(path, f"{name!r} does not exist", instead)
    return PathRefused(path, error.strerror or type(error).__name__, INSTEAD)


def require_plain(path: str, found: os.stat_result) -> None:
    """Refuse what is no plain file.

    Raises:
        PathRefused: it is something else.
    """
    if not stat.S_ISREG(found.st_mode):
        raise PathRefused(path, f"it is {kind(found.st_mode)}", INSTEAD)


def kind(mode: int) -> str:
    """Return what something is, in words, by its mode."""
    kinds = {
        stat.S_IFLNK: "a link",
        stat.S_IFDIR: "a folder",
        stat.S_IFREG: "a file",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
    }
    return kinds.get(stat.S_IFMT(mode), "a device")


def stamp_of(found: os.stat_result) -> Stamp:
    """Return the stamp of a file."""
    return Stamp(found.st_ino, found.st_mtime_ns, found.st_size)


def meant_by(folder: int, name: str) -> str:
    """Return the name in a folder that was probably meant, quoted, or ""."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        names = [each.name for each in itertools.islice(entries, _MOST_NAMES)]
        wanted = unicodedata.normalize("NFKC", name).casefold()
        for each in sorted(names):
            if unicodedata.normalize("NFKC", each).casefold() == wanted:
                return repr(each)
        close = nearest(name, names)
        return repr(close) if close else ""
    return ""


def virtual_devices() -> frozenset[int]:
    """Return the devices of file systems whose files are no files."""
    found: set[int] = set()
    for path in ("/proc", "/sys", "/dev"):
        with contextlib.suppress(OSError):
            found.add(Path(path).stat().st_dev)
    return frozenset(found - {Path("/").stat().st_dev})


def names_are_loose(root: str) -> bool:
    """Tell whether a folder is found in another case of letters."""
    with contextlib.suppress(OSError):
        return root.swapcase() != root and Path(root).samefile(root.swapcase())
    return False
