"""Which smallest sets of ablations spiral.

These are the guards that matter, and those that do only together. It knows tables and
verdicts, and not what an ablation is.
"""

import itertools
from collections.abc import Callable, Iterable

import attrs

from unspiral.engine.check.check import check_table
from unspiral.engine.check.verdict import Outcome, Verdict
from unspiral.engine.core.table import Table

__all__ = ["Attempt", "smallest_spirals"]


@attrs.frozen
class Attempt:
    """One set of ablations with its verdict.

    Attributes:
        names: the ablations; none is the machine as it is.
        verdict: the answer, without laws.
    """

    names: tuple[str, ...]
    verdict: Verdict

    @property
    def spirals(self) -> bool:
        """Tell whether the set has a death spiral."""
        return bool(self.verdict.spirals)


def smallest_spirals(
    table_of: Callable[[tuple[str, ...]], Table], names: Iterable[str], most: int = 2
) -> tuple[Attempt, ...]:
    """Check sets of ablations by size; a set that holds a spiralling one is left out.

    Args:
        table_of: gives the table with some ablations.
        names: the ablations.
        most: the greatest size of a set.
    """
    chosen = tuple(names)
    found: list[Attempt] = []
    for size in range(most + 1):
        spiralling = [set(each.names) for each in found if each.spirals]
        for together in itertools.combinations(chosen, size):
            if any(smaller <= set(together) for smaller in spiralling):
                continue
            verdict = check_table(table_of(together), laws=False)
            if verdict.verdict is not Outcome.UNDETERMINED:
                found.append(Attempt(together, verdict))
    return tuple(found)
