"""What is worth going on from: of the runs made, the shortest ways to where few were.

A way is the beginning of a run, up to the step that shows a point of coverage or brings
a counter to a value. So a fuzzer need not find all of a deep run at once: budgets are
spent one by one, each from where the last was spent. Pure; knows no Hypothesis.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from unspiral.engine.core.points import Meter, Point
from unspiral.engine.core.step import Step
from unspiral.engine.core.table import Table
from unspiral.engine.fuzz.finding import Path

__all__ = ["Corpus"]

#: a counter at a value
Mark: TypeAlias = tuple[int, int]

_HIGHEST = 30  # values of a counter that are told apart


class Corpus:
    """The shortest ways found to points, and to values of counters.

    Args:
        table: the machine.
        meter: says which points steps show.
    """

    def __init__(self, table: Table, meter: Meter) -> None:
        self._meter = meter
        self._counters = tuple(
            place for place, v in enumerate(table.variables) if v.kind == "counter"
        )
        self._points: dict[Point, Path] = {}
        self._marks: dict[Mark, Path] = {}

    def note(self, events: Sequence[str], steps: Sequence[Step]) -> None:
        """Keep what is new in a run, or shorter than what was known."""
        answered = 0
        for step in steps:
            answered += step.event is not None
            for point in self._meter.shown((step,)):
                known = self._points.get(point)
                if known is None or answered < len(known):
                    self._points[point] = tuple(events[:answered])
            if step.row.action:
                self._mark(events, answered, step)

    def _mark(self, events: Sequence[str], answered: int, step: Step) -> None:
        before, after = step.before.memory, step.after.memory
        for place in self._counters:
            if after[place] != before[place]:
                mark = place, min(int(after[place]), _HIGHEST)
                known = self._marks.get(mark)
                if known is None or answered < len(known):
                    self._marks[mark] = tuple(events[:answered])

    def rare(self, seen: Mapping[Point, int], most: int) -> tuple[Path, ...]:
        """Return ways to the points that fewest runs have shown.

        Args:
            seen: how many runs have shown each point.
            most: how many points.
        """
        few = sorted(self._points, key=lambda point: (seen.get(point, 0), point))
        return _by_length(self._points[point] for point in few[:most])

    def high(self) -> tuple[Path, ...]:
        """Return ways to the greatest value of each counter that was seen."""
        top: dict[int, int] = {}
        for place, value in self._marks:
            top[place] = max(value, top.get(place, value))
        return _by_length(self._marks[mark] for mark in top.items())


def _by_length(paths: Iterable[Path]) -> tuple[Path, ...]:
    return tuple(sorted(set(paths), key=lambda path: (len(path), path)))
