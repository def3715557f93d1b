"""A journal that counts what passes through, and tells each request as a line.

It keeps numbers and what is being answered, no more: a server may run for months.
"""

from collections.abc import Callable

import attrs

from unspiral.engine.faults.catalogue import CATALOGUE
from unspiral.engine.faults.journal import (
    Answered,
    Asked,
    Journal,
    Noise,
    Outaged,
    Record,
)
from unspiral.engine.report.lines import clean

__all__ = ["Tally", "exchange_line"]

_LONGEST = 40


@attrs.define
class Tally:
    """Counts, and passes on.

    Attributes:
        journal: where the records go, or None.
        tell: takes a line for each request that was answered, or None.
        requests: how many came.
        faults: how many were answered by an entry of the catalogue, or met a closed
            port.
    """

    journal: Journal | None = None
    tell: Callable[[str], None] | None = None
    requests: int = 0
    faults: int = 0
    _open: dict[int, Asked] = attrs.field(factory=dict[int, Asked], init=False)

    def write(self, record: Record) -> None:
        """Take a record.

        Raises:
            FileProblem: it cannot be kept.
        """
        if self.journal is not None:
            self.journal.write(record)
        self._count(record)

    def _count(self, record: Record) -> None:
        match record:
            case Asked():
                self.requests += 1
                if self.tell is not None:
                    self._open[record.n] = record
            case Answered():
                self.faults += record.answer in CATALOGUE
                asked = self._open.pop(record.n, None)
                if self.tell is not None and asked is not None:
                    self.tell(exchange_line(asked, record))
            case Outaged(t, seconds):
                self.faults += 1
                self._say(f"{t:9.2f} s  the port is closed for {seconds:g} s")
            case Noise(t, what, count):
                self._say(f"{t:9.2f} s  {count:,} x {clean(what, _LONGEST)}")
            case _:
                pass

    def _say(self, line: str) -> None:
        if self.tell is not None:
            self.tell(line)


def exchange_line(asked: Asked, answered: Answered) -> str:
    """Return a request and its answer on one line, clean for a terminal."""
    what = asked.endpoint
    if asked.endpoint == "messages":
        what = f"{asked.messages:,} messages, ~{asked.tokens:,} tokens"
    status = "no response" if answered.status is None else str(answered.status)
    why = f" ({answered.why})" if answered.why else ""
    return clean(
        f"{asked.n:4} {answered.t:9.2f} s  {asked.run[:_LONGEST]}: {what} -> "
        f"{status} {answered.answer}{why}"
    )
