"""How long to wait before a request is repeated, and in which pieces; pure.

Whether it is repeated at all is the table's business. Random numbers and clocks are
arguments; nothing here sleeps.
"""

import math
from collections.abc import Callable, Iterator

import attrs

__all__ = [
    "HEARTBEAT",
    "LONGEST",
    "LONGEST_HINT",
    "LONGEST_UNATTENDED",
    "Backoff",
    "backoff",
    "pieces",
    "wait",
]

FIRST = 0.5  #: seconds before the first retry, without jitter (SPEC D.2)
LONGEST = 32.0  #: seconds that a back-off grows to (SPEC D.2)
LONGEST_UNATTENDED = 300.0  #: the same if nobody waits for the run (SPEC D.8)
LONGEST_HINT = 6 * 3_600.0  #: seconds; what a server asks for is heard up to here (D.8)
HEARTBEAT = 30.0  #: seconds of a piece, after which somebody hears of it (SPEC D.8)
_JITTER = 0.25  # of the back-off, at most
_DOUBLINGS = 60  # beyond, a float would be too small for the power


def backoff(retry: int, chance: float, longest: float = LONGEST) -> float:
    """Return the seconds before a retry, if nobody asks for others.

    Half a second, doubled each time, up to a bound; and up to a quarter more, so that
    clients that failed together do not come back together.

    Args:
        retry: which one is ahead, from 1.
        chance: a random number, 0 to 1.
        longest: seconds that it grows to, without the jitter.
    """
    doublings = min(max(retry, 1) - 1, _DOUBLINGS)
    seconds = min(FIRST * 2.0**doublings, longest)
    return seconds * (1 + _JITTER * min(max(chance, 0.0), 1.0))


def wait(seconds: float, hint: float | None, *, cap: float = LONGEST_HINT) -> float:
    """Return the seconds to wait, where the server may have asked for more.

    Args:
        seconds: the back-off.
        hint: seconds that the server asks for, or None. A lower bound: it never makes
            the wait shorter than the back-off.
        cap: seconds; a hint beyond is not heeded further.
    """
    asked = 0.0 if hint is None or math.isnan(hint) else hint
    return max(seconds, min(asked, cap))


def pieces(seconds: float, piece: float = HEARTBEAT) -> Iterator[float]:
    """Cut a wait into pieces: between two of them one can look up, and be seen to live.

    Args:
        seconds: of the whole wait; finite.
        piece: seconds of each but the last, above 0.
    """
    left = seconds
    while left > 0:
        part = min(left, piece)
        yield part
        left -= part


@attrs.frozen
class Backoff:
    """The policy of waits of a run.

    Attributes:
        chance: gives a random number, 0 to 1, each time.
        longest: seconds that the back-off grows to.
        cap: seconds; a hint of the server is heeded up to here.
    """

    chance: Callable[[], float]
    longest: float = LONGEST
    cap: float = LONGEST_HINT

    def __call__(self, retry: int, hint: float | None, /) -> float:
        """Return the seconds before a retry.

        Args:
            retry: which one is ahead, from 1.
            hint: seconds that the server asks for, or None.
        """
        return wait(backoff(retry, self.chance(), self.longest), hint, cap=self.cap)
