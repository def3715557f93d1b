"""A text file from the disk, within a limit; a pipe or device is refused, not read."""

import os
import stat
from collections.abc import Callable

__all__ = ["read_text", "reason"]


def read_text(
    path: str | os.PathLike[str], most: int, fail: Callable[[str, int], Exception]
) -> str:
    """Return the text of a file of at most `most` bytes.

    Raises:
        Exception: what `fail` makes of the problem and its line (0: of the whole file).
    """
    try:
        data = _bytes(path, most)
    except (OSError, ValueError) as error:
        raise fail(f"it cannot be read: {reason(error)}", 0) from None
    if data is None:
        raise fail("it is no regular file", 0)
    if len(data) > most:
        raise fail(f"it is longer than {most:,} bytes", 0)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise fail("it is no UTF-8 text", line) from None


def reason(error: OSError | ValueError) -> str:
    """Return the words of the system for what went wrong."""
    said = error.strerror if isinstance(error, OSError) else str(error)
    return (said or "unknown").lower()


def _bytes(path: str | os.PathLike[str], most: int) -> bytes | None:
    """Return at most one byte too many; None if it is a folder, pipe or device."""
    # A pipe that nobody writes to must not hold us: it is opened, then refused.
    opened = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        return None
    with os.fdopen(opened, "rb") as file:
        return file.read(most + 1)
