"""How states are numbered: per phase, a mixed-radix rank over what can vary there.

A variable that does not matter in a phase, or has only one possible value there, takes
no room. Pure: systems in, numbers out.
"""

from collections.abc import Mapping

import attrs

from unspiral.engine.check.interval import ENDLESS, Interval, interval
from unspiral.engine.check.reduce import NOTHING, live_names
from unspiral.engine.check.system import Edge, System, Word

__all__ = ["Digit", "Layout", "UnboundedError", "layout_of"]


class UnboundedError(Exception):
    """A variable without a greatest value that no reduction could remove."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@attrs.frozen
class Digit:
    """One variable in the rank of a phase: (rank // stride) % size + low."""

    name: str
    low: int
    size: int
    stride: int


@attrs.frozen(eq=False)
class Layout:
    """The numbering of one phase.

    Attributes:
        phase: the phase.
        digits: the variables that vary, the most significant first.
        fixed: the variables that matter and have one value here.
        size: how many ranks there are.
        offset: the number of the first rank among those of all phases.
    """

    phase: str
    digits: tuple[Digit, ...]
    fixed: Mapping[str, int]
    size: int
    offset: int


def layout_of(
    system: System, *, by_liveness: bool, keep: frozenset[str] = NOTHING
) -> dict[str, Layout]:
    """Number the states of every phase.

    Args:
        system: the system.
        by_liveness: leave out variables that cannot matter any more; without it every
            valuation is a state of its own.
        keep: variables that matter everywhere.

    Raises:
        UnboundedError: a variable that matters has no greatest value.
    """
    everything = frozenset(word.name for word in system.words)
    live = (
        live_names(system, keep)
        if by_liveness
        else dict.fromkeys(system.phases, everything)
    )
    ranges = _intervals(system, live)
    layouts: dict[str, Layout] = {}
    offset = 0
    for phase in system.phases:
        names = [word.name for word in system.words if word.name in live[phase]]
        box = ranges.get(phase)
        digits: list[Digit] = []
        fixed: dict[str, int] = {}
        size = 1
        for name in reversed(names):
            low, high = box[name] if box is not None else (0, 0)
            if low == high:
                fixed[name] = low
                continue
            digits.insert(0, Digit(name, low, high - low + 1, size))
            size *= high - low + 1
        layouts[phase] = Layout(phase, tuple(digits), fixed, size, offset)
        offset += size
    return layouts


def _intervals(
    system: System, live: Mapping[str, frozenset[str]]
) -> dict[str, dict[str, Interval]]:
    """Return, per phase that can be reached, an interval for each variable."""
    words = {word.name: word for word in system.words}
    start = {word.name: (word.initial, word.initial) for word in system.words}
    boxes: dict[str, dict[str, Interval]] = {system.initial: start}
    rounds = 0
    changed = True
    while changed:
        changed = False
        rounds += 1
        for edge in system.edges:
            if edge.source not in boxes or edge.target not in live:
                continue
            after = _image(edge, boxes[edge.source], words)
            known = boxes.get(edge.target)
            joined = _join(known, after, words, widen=rounds > _PATIENCE)
            if joined != known:
                boxes[edge.target] = joined
                changed = True
    for phase, box in boxes.items():
        for name in live[phase]:
            if box[name][1] >= ENDLESS:
                raise UnboundedError(name)
    return boxes


_PATIENCE = 8  # rounds before an interval that still grows becomes the whole domain


def _image(
    edge: Edge, box: dict[str, Interval], words: Mapping[str, Word]
) -> dict[str, Interval]:
    after = dict(box)
    for update in edge.updates:
        word = words[update.name]
        high = ENDLESS if word.high is None else word.high
        low, top = interval(update.value, box)
        after[update.name] = (
            min(max(low, word.low), high),
            max(min(top, high), word.low),
        )
    return after


def _join(
    known: dict[str, Interval] | None,
    new: dict[str, Interval],
    words: Mapping[str, Word],
    *,
    widen: bool,
) -> dict[str, Interval]:
    if known is None:
        return new
    joined: dict[str, Interval] = {}
    for name, (low, high) in new.items():
        least, most = min(low, known[name][0]), max(high, known[name][1])
        if widen and (least, most) != known[name]:
            top = words[name].high
            least, most = words[name].low, ENDLESS if top is None else top
        joined[name] = (least, most)
    return joined
