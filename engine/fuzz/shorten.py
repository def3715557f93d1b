"""From a run that fails to a short one that fails in the same way.

Hypothesis shrinks what it draws; a failure found on the way to something else is
shortened here, by leaving out stretches of its events, long ones first, until no
stretch can go. What is left out may change what later events mean: only the verdict
counts.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

__all__ = ["Fails", "shortened"]

#: tells whether a schedule fails, and how many of its first events that takes
Fails: TypeAlias = Callable[[tuple[str, ...]], int | None]

_MOST = 20_000  # tries: enough for every stretch of a hundred events, a few times


def shortened(events: Sequence[str], fails: Fails) -> tuple[str, ...]:
    """Return a part of a failing schedule that fails, and no stretch of which can go.

    Args:
        events: a schedule that fails.
        fails: the judge; what it raises ends the search.
    """
    best = tuple(events)
    best = best[: fails(best)]
    tries = 0
    size = len(best)
    while size and tries < _MOST:
        smaller = None
        for start in range(len(best) - size + 1):
            tries += 1
            smaller = _shorter(best[:start] + best[start + size :], fails)
            if smaller is not None:
                break
        if smaller is None:
            size -= 1
        else:
            best = smaller
            size = min(size, len(best))
            # A short stretch may have kept a long one in its place.
            size = len(best) if size <= 1 else size
    return best


def _shorter(events: tuple[str, ...], fails: Fails) -> tuple[str, ...] | None:
    needed = fails(events)
    return None if needed is None else events[:needed]
