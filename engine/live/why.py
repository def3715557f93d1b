"""Why did it go on, why did it stop there, and why not elsewhere; pure.

Read from the records of a session alone: the machine is not asked again, and may have
changed since. A continue or stop stands at the end of a round of steps; of that round
all is told that was decided between alternatives.
"""

from collections.abc import Sequence

import attrs

from unspiral.engine.core.language import OTHERWISE
from unspiral.engine.errors import BadValue
from unspiral.engine.live.record import Guard, Record

__all__ = ["Why", "why", "whys"]


@attrs.frozen
class Why:
    """A continue or stop, and what led to it.

    Attributes:
        record: the last decision: it goes on, or ends.
        round: all decisions since the last continue, this one included.
    """

    record: Record
    round: tuple[Record, ...]

    def lines(self) -> list[str]:
        """Say it in lines, each with what was refused below it."""
        record = self.record
        what = (
            f"stops: {record.target}"
            if record.ends
            else f"goes on: {record.reason} -> {record.target}"
        )
        told = [f"step {record.n} {what}"]
        for each in self.round:
            if each is record or each.refused:
                told += [f"  {line}" for line in step_lines(each)]
        return told


def whys(records: Sequence[Record]) -> list[Why]:
    """Return every continue and stop, in order."""
    found: list[Why] = []
    since: list[Record] = []
    for each in records:
        since.append(each)
        if each.reason or each.ends:
            found.append(Why(each, tuple(since)))
            since = []
    return found


def why(records: Sequence[Record], n: int | None = None) -> list[str]:
    """Say for each continue and stop why, and why not the others.

    Args:
        records: of a session.
        n: the number of one step that is to be told, whatever it is; None: all
            continues and stops.

    Raises:
        BadValue: there is no step with this number.
    """
    found = whys(records)
    if n is None:
        return [line for each in found for line in each.lines()]
    told = next((each.lines() for each in found if each.record.n == n), None)
    if told is not None:
        return told
    step = next((each for each in records if each.n == n), None)
    if step is None:
        numbers = [each.n for each in records]
        allowed = f"in {min(numbers)}..{max(numbers)}" if numbers else "of a record"
        raise BadValue("the number of a step", str(n), allowed)
    return [f"step {n} leads to {step.target}", *(f"  {s}" for s in step_lines(step))]


def step_lines(record: Record) -> list[str]:
    """Say which row was taken, and which were refused."""
    answered = f" answered {record.event}" if record.event else ""
    taken = record.taken
    led = f"{taken.row} -> {taken.target}{_because(taken)}"
    return [
        f"{record.n}. {record.phase}{answered}: {led}",
        *(f"  {_refusal(each)}" for each in record.refused),
    ]


def _because(taken: Guard) -> str:
    if taken.guard == OTHERWISE:
        return ", since none of the others held"
    return f", because {taken.guard}" if taken.guard else ""


def _refusal(guard: Guard) -> str:
    return f"not {guard.row} -> {guard.target}: {guard.guard or 'True'} is false"
