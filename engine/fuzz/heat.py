"""Where a run should go: how much that is not covered yet lies behind each event.

Uniform choice rarely gets deep: a recovery lies behind several unlikely answers in a
row. So each event is weighed by the points of coverage of its rows, and by what their
targets lead to, which counts less the farther it is. Pure; knows no Hypothesis.
"""

from collections.abc import Iterable, Mapping

from unspiral.engine.core.points import Point
from unspiral.engine.core.table import Table

__all__ = ["Heat"]

_FADES = 0.85  # what is one step farther counts for so much
_ROUNDS = 60  # of spreading: what is farther than that counts for nothing
_SLOTS = 40  # the tickets of a draw, that of stopping among them


class Heat:
    """The weights of events, for one set of points that are wanted.

    Args:
        table: the machine.
        wanted: the points, each with how much it is worth.
    """

    def __init__(self, table: Table, wanted: Mapping[Point, float]) -> None:
        worth: dict[str, float] = {}
        for point, much in wanted.items():
            worth[point.row] = worth.get(point.row, 0) + much
        self._events = _spread(table, worth)
        self._tickets: dict[tuple[str, tuple[str, ...]], tuple[str, ...]] = {}

    def tickets(self, phase: str, options: tuple[str, ...]) -> tuple[str, ...]:
        """Return what to draw from, equally: "" once, which stops, and the options.

        Every option is there; a hot one several times. The plainest come first, so that
        a draw from this shrinks to stopping, and then to the first event of the phase.
        """
        key = phase, options
        if key not in self._tickets:
            self._tickets[key] = ("", *options, *self._more(phase, options))
        return self._tickets[key]

    def _more(self, phase: str, options: tuple[str, ...]) -> Iterable[str]:
        heat = [self._events.get((phase, option), 0.0) for option in options]
        # A cold event still gets its share: what it leads to may have been misjudged.
        floor = max(heat) / 32 + 1e-9
        total = sum(heat) + floor * len(heat)
        room = max(len(options), _SLOTS - len(options))
        for option, each in zip(options, heat, strict=True):
            yield from (option,) * round(room * (each + floor) / total)


def _spread(
    table: Table, worth: Mapping[str, float]
) -> dict[tuple[str, str | None], float]:
    """Return the heat of each (phase, event)."""
    phases: dict[str, float] = {}
    events: dict[tuple[str, str | None], float] = {}
    for _ in range(_ROUNDS):
        events = {
            key: sum(worth.get(row.name, 0.0) for row in rows)
            + _FADES * max(phases.get(row.target, 0.0) for row in rows)
            for key, rows in table.alternatives.items()
        }
        before, phases = phases, {}
        for (phase, _), heat in events.items():
            phases[phase] = max(heat, phases.get(phase, 0.0))
        if before == phases:
            break
    return events
