"""What a fuzzer can find, as a value, and the error of a test that finds it.

Two failures with the same kind and subject are the same fault found twice.
"""

from typing import Literal, TypeAlias

import attrs

__all__ = ["Failure", "Found", "Kind"]

Kind: TypeAlias = Literal[
    "stuck", "range", "deadlock", "endless", "law", "spiral", "driver", "explorer"
]

_MEANINGS: dict[Kind, str] = {
    "stuck": "no row applies",
    "range": "a counter leaves its domain",
    "deadlock": "a phase offers no event",
    "endless": "phases decide without end",
    "law": "a law is broken",
    "spiral": "a death spiral",
    "driver": "the two interpreters differ",
    "explorer": "shown, though the explorer says that it cannot be",
}


@attrs.frozen
class Failure:
    """One thing that is wrong with a machine, as a run showed it.

    Attributes:
        kind: `stuck`: no alternative applies; `range`: an action leaves the domain of a
            counter; `deadlock`: a phase offers no event; `endless`: deciding phases go
            round; `law`: a law is broken; `spiral`: the run has come back to where it
            was, has paid, and has made no progress; `driver`: `core.step` and the
            machine of `transitions` do not take the same row; `explorer`: a point of
            coverage was shown that the explorer holds for unreachable.
        subject: the phase, row, law or point that it is about.
        text: the fault in words.
        steps: how many steps of the run it takes to show it.
        loop: of those, how many at the end go round; 0 if the failure is no loop.
    """

    kind: Kind
    subject: str
    text: str = attrs.field(eq=False)
    steps: int = attrs.field(eq=False)
    loop: int = attrs.field(default=0, eq=False)

    @property
    def meaning(self) -> str:
        """What failures of this kind have in common, in words."""
        return _MEANINGS[self.kind]

    def __str__(self) -> str:
        return f"{self.meaning}: {self.text}"


class Found(AssertionError):  # a test that finds a failure fails; nothing else did
    """A failure, as the error of the test that found it.

    Attributes:
        failure: what was found.
    """

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure
