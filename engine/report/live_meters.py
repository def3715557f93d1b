"""The meters of a run: what is used of what there is, from numbers alone; pure.

It knows neither a terminal nor an event.
"""

from collections.abc import Callable, Mapping, Sequence

import attrs

from unspiral.engine.report.live_lines import dollars, number

__all__ = ["Meter", "bar", "meters"]

#: a counter of the machine, the limit that bounds it, and what it is called
_COUNTERS = (
    ("turn", "max_turns", "turns"),
    ("recovery_spent", "recovery_budget", "recovery"),
)


def _plain(value: float) -> str:
    return f"{value:,.0f}"


def _seconds(value: float) -> str:
    return f"{value:,.0f} s"


def _money(value: float) -> str:
    return dollars(int(value))


#: what budgets are called, and how their numbers are written
_BUDGETS: Mapping[str, tuple[str, Callable[[float], str]]] = {
    "model_calls": ("model calls", _plain),
    "turns": ("turns", _plain),
    "tool_calls": ("tool calls", _plain),
    "tokens": ("tokens", _plain),
    "micro_dollars": ("money", _money),
    "seconds": ("time", _seconds),
}


@attrs.frozen
class Meter:
    """What is used of something.

    Attributes:
        name: what it measures.
        used: how much of it.
        whole: how much there is; None: no end of it.
        mark: where something happens before the end, or None.
        text: the numbers, for people.
    """

    name: str
    used: float
    whole: float | None
    mark: float | None
    text: str

    @property
    def state(self) -> str:
        """Return "good", "open" beyond the mark or near the end, "bad" at the end."""
        if self.whole is None:
            return "good"
        if self.used >= self.whole:
            return "bad"
        mark = self.whole * 0.9 if self.mark is None else self.mark
        return "open" if self.used >= mark else "good"


def bar(meter: Meter, width: int, letters: Sequence[str] = ("#", "-", "|")) -> str:
    """Return a bar; it is full only at the end, and empty only at 0.

    Args:
        meter: what it shows.
        width: columns; at least 3.
        letters: for what is used, what is left, and the mark.
    """
    used, left, mark = letters
    whole = meter.whole
    if whole is None or whole <= 0:
        return ""
    filled = round(width * min(max(meter.used / whole, 0), 1))
    if 0 < meter.used < whole:
        filled = min(max(filled, 1), width - 1)
    cells = [used] * filled + [left] * (width - filled)
    if meter.mark is not None and 0 < meter.mark < whole:
        cells[min(int(width * meter.mark / whole), width - 1)] = mark
    return "".join(cells)


def meters(
    facts: Mapping[str, object],
    memory: Mapping[str, object],
    limits: Mapping[str, object],
) -> list[Meter]:
    """Return the meters of a moment, of what is known.

    Args:
        facts: of the last decision.
        memory: of the machine.
        limits: of the machine; one that is no number has no end.
    """
    found = [*_context(facts)]
    for name, limit, label in _COUNTERS:
        if name in memory:
            counted, most = number(memory, name) or 0.0, number(limits, limit)
            text = _of(counted, most, _plain)
            found.append(Meter(label, counted, most, None, text))
    for name, (label, told) in _BUDGETS.items():
        used, whole = number(facts, f"spent.{name}"), number(facts, f"budget.{name}")
        if used is not None and whole is not None:
            text = _of(used, whole, told)
            found.append(Meter(f"{label} budget", used, whole, None, text))
    return found


def _context(facts: Mapping[str, object]) -> list[Meter]:
    tokens, window = number(facts, "tokens"), number(facts, "window")
    if tokens is None:
        return []
    threshold = number(facts, "threshold")
    text = _of(tokens, window, _plain)
    if threshold is not None:
        text += f", compacted at {_plain(threshold)}"
    return [Meter("context", tokens, window, threshold, text)]


def _of(used: float, whole: float | None, told: Callable[[float], str]) -> str:
    return told(used) if whole is None else f"{told(used)} of {told(whole)}"
