"""One search: a system is reduced, explored and made a graph.

The order of the reductions matters: constants and slices first, then summaries of
nested machines (which need the memory that a quotient would drop), then the quotient.
"""

import functools
from collections.abc import Iterable

import attrs
import numpy as np

from unspiral.engine.check.collapse import collapse
from unspiral.engine.check.cycles import Path
from unspiral.engine.check.explore import Cut, Progress, explore
from unspiral.engine.check.graph import Bools, Graph, graph_of
from unspiral.engine.check.lift import lift, replay
from unspiral.engine.check.reduce import (
    NOTHING,
    Quotient,
    fold_constants,
    quotient,
    slice_away,
    undropped,
)
from unspiral.engine.check.region import regions_of
from unspiral.engine.check.summary import summarise
from unspiral.engine.check.system import System, system_of
from unspiral.engine.check.verdict import Lasso
from unspiral.engine.core.step import Step
from unspiral.engine.core.table import Row, Table

__all__ = ["Result", "Search"]


@attrs.frozen(eq=False)
class Result:
    """What one search found.

    Attributes:
        table: the machine.
        quotient: the reduced system, and what was dropped for it.
        graph: its reachable states.
        states: how many there are.
        transitions: how many (state, edge) pairs.
        cut: why the search was not finished, or None.
    """

    table: Table
    quotient: Quotient
    graph: Graph
    states: int
    transitions: int
    cut: Cut | None

    @functools.cached_property
    def counted(self) -> Bools:
        """Return, per edge, whether it raises the counter that bounds the rounds."""
        return self.graph.of_label(list(self.quotient.counted), np.bool_)

    def lift(self, path: Path, *, dear: bool = False) -> Lasso | None:
        """Return the steps of a path on the machine as declared, if it takes them."""
        names = [word.name for word in self.quotient.dropped]
        known = [name for name in names if name in self.table.positions]
        return lift(self.table, self.graph, path, dropped=known, dear=dear)

    def lift_segment(self, stem: Path, segment: tuple[int, ...]) -> Lasso | None:
        """Return a shortest way to a state as stem and a dearest segment as loop."""
        begin = self.lift(stem)
        if begin is None:
            return None
        rows = [row for number in segment for row in self.graph.edge(number).dearest]
        after = begin.stem[-1].after if begin.stem else None
        steps = replay(self.table, rows, after)
        return None if steps is None else Lasso(begin.stem, steps)

    def replay(self, rows: Iterable[Row]) -> tuple[Step, ...] | None:
        """Take the given rows on the machine as declared, if it takes them."""
        return replay(self.table, rows)


class Search:
    """Searches over one table.

    Args:
        table: the machine.
        memory: most bytes that one exploration may take.
        progress: called now and then with the states found and those waiting.
    """

    def __init__(self, table: Table, memory: int, progress: Progress | None) -> None:
        self.table = table
        self.memory = memory
        self._progress = progress
        self.states = 0  # of the search under way, or the last one
        self.system = system_of(table)
        self.regions = regions_of(table.machine)

    def progress(self, states: int, waiting: int) -> None:
        """Take note of how far a search is, and tell it on."""
        self.states = states
        if self._progress is not None:
            self._progress(states, waiting)

    def reduced(
        self,
        system: System,
        *,
        drop: bool,
        keep: frozenset[str] = NOTHING,
        named: frozenset[str] = NOTHING,
    ) -> Result:
        """Explore a system with all reductions.

        Args:
            system: what to explore.
            drop: take the quotient.
            keep: variables that matter everywhere.
            named: variables that the quotient must not drop.
        """
        small = slice_away(fold_constants(system), keep)
        small = slice_away(summarise(small, self.regions, keep), keep)
        small = collapse(small, keep)
        taken = quotient(small, keep | named) if drop else undropped(small)
        return self.explored(taken, keep=keep, by_liveness=True)

    def explored(
        self, taken: Quotient, *, keep: frozenset[str] = NOTHING, by_liveness: bool
    ) -> Result:
        """Explore a system as it is."""
        small = slice_away(taken.system, keep) if by_liveness else taken.system
        found = explore(
            small,
            by_liveness=by_liveness,
            keep=keep,
            memory=self.memory,
            progress=self.progress,
        )
        return Result(
            table=self.table,
            quotient=attrs.evolve(taken, system=small),
            graph=graph_of(found),
            states=found.states,
            transitions=found.transitions,
            cut=found.cut,
        )
