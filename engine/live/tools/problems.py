"""What a tool cannot do, said so that the model can mend it.

These never leave a toolbox: each becomes the result of the call that met it.
"""

import attrs

from unspiral.engine.errors import UnspiralError

__all__ = ["PathRefused", "ToolProblem"]

_LONGEST = 200  # characters of a path that are repeated


@attrs.define(str=False)
class ToolProblem(UnspiralError):
    """A call that cannot be done.

    Attributes:
        problem: what is wrong, and what to do instead.
    """

    problem: str

    def __str__(self) -> str:
        return self.problem


@attrs.define(str=False)
class PathRefused(UnspiralError):
    """A path that does not lead to what may be used.

    Attributes:
        path: as it was given.
        problem: what is wrong with it.
        instead: what is allowed.
    """

    path: str
    problem: str
    instead: str

    def __str__(self) -> str:
        return f"{shown(self.path)}: {self.problem}; {self.instead}"


def shown(path: str) -> str:
    """Return a path as a message may repeat it: quoted, escaped, not too long."""
    cut = path[:_LONGEST] + ("..." if len(path) > _LONGEST else "")
    return ascii(cut) if not cut.isprintable() else repr(cut)
