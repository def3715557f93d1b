"""The root of all errors, and how a message names what was probably meant.

Import both from `unspiral.engine.errors`, where the whole tree is drawn.
"""

import difflib
from collections.abc import Iterable

__all__ = ["UnspiralError", "nearest", "suggestion"]


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name closest to `name`, or "" if none is close."""
    found = difflib.get_close_matches(name[:100], sorted(known), n=1, cutoff=0.6)
    return found[0] if found else ""


def suggestion(name: str, known: Iterable[str], limit: int = 12) -> str:
    """Say which name was probably meant and, if there are few, which there are."""
    names = sorted(known)
    close = nearest(name, names)
    meant = f"; did you mean {close!r}?" if close else ""
    if not names:
        return f"{meant} (there is none)"
    listed = ", ".join(names[:limit]) + (", ..." if len(names) > limit else "")
    return f"{meant} (known: {listed})"


class UnspiralError(Exception):
    """The root: `except UnspiralError` catches whatever we raise on purpose."""
