"""The journal: what was asked, what was answered, and how the client left.

It is the ground truth of an experiment, so that it is written by the side that is not
under test, one whole line a record, as soon as the record is known: a process that is
killed leaves every line but perhaps the last. A journal holds no key and no text of a
conversation: names of tools, numbers, and hashes.

    begin     once: version, schedule, seed
    request   when it has arrived
    answer    when the answer has ended, with the number of its request
    outage    when the port is closed
    noise     something that was no request: garbage, endless headers, a lost client
    end       once, if the player was stopped in good order

Times are seconds since the beginning.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

import attrs

from unspiral.engine.faults.acts import FREE, Usage
from unspiral.engine.faults.pairing import Pairing

__all__ = [
    "VERSION",
    "Answered",
    "Asked",
    "Began",
    "Ended",
    "Exchange",
    "Journal",
    "Left",
    "MemoryJournal",
    "Noise",
    "Outaged",
    "Record",
    "pair",
]

VERSION = 1  #: of the format

#: How a client left: "kept" took the whole answer and keeps the connection; "gone"
#: left before the end; "broken" was cut off by the answer itself; "stopped": we were.
Left: TypeAlias = Literal["kept", "gone", "broken", "stopped"]


@attrs.frozen
class Began:
    """The beginning.

    Attributes:
        version: of the format.
        schedule: its name.
        seed: of the random faults.
        started: when, as an ISO date of UTC, or "" if time is virtual.
    """

    version: int = VERSION
    schedule: str = ""
    seed: int = 0
    started: str = ""


@attrs.frozen
class Asked:
    """A request.

    Attributes:
        n: its number, from 1, over all runs.
        run: the run that it belongs to.
        t: when it had arrived.
        endpoint: what was asked for.
        path: as asked for, without the run.
        side: it offers no tools: a title, a summary.
        version: the header `anthropic-version`.
        beta: the query says `beta=true`.
        key: how it was signed: "x-api-key", "bearer" or "".
        model: the model asked for.
        stream: whether a stream was asked for.
        max_tokens: the most output tokens.
        messages: their number.
        shape: one word a message, such as `u:t a:tu u:r`: the role, and a letter a
            block (t text, k thinking, u tool use, r tool result, i image, d document,
            c compaction, o other). Of a long history the last ones.
        tools: the names of those that are offered, the first 200.
        size: bytes of the body.
        tokens: of the input, as the estimator counts.
        hash: of the body.
        same_as: the number of the first request of the run with this body, or None.
        kept: how many messages are those that the last request of the run began with.
        results: how many tool results had not been seen in the run before.
        since_progress: the n-th since a request that brought something new, from 1.
        broken: where tool calls and results are not paired.
    """

    n: int
    run: str
    t: float
    endpoint: str
    path: str = ""
    side: bool = False
    version: str = ""
    beta: bool = False
    key: str = ""
    model: str = ""
    stream: bool = False
    max_tokens: int | None = None
    messages: int = 0
    shape: str = ""
    tools: tuple[str, ...] = ()
    size: int = 0
    tokens: int = 0
    hash: str = ""
    same_as: int | None = None
    kept: int = 0
    results: int = 0
    since_progress: int = 1
    broken: tuple[Pairing, ...] = ()


@attrs.frozen
class Answered:
    """An answer, when it has ended.

    Attributes:
        n: the number of the request.
        t: when it ended.
        answer: the name of the fault, or "reply", "side", "refused", "count_tokens",
            "models".
        why: what chose it, such as "step 2 (1 of 3)", "rule 1", "rates", "then".
        status: the HTTP status, or None if there was no response.
        detail: what it says, in a few words.
        sent: bytes of the body that were handed over.
        usage: the tokens that were charged.
        left: how the client left.
        good: it was what was asked for, however slowly it came.
    """

    n: int
    t: float
    answer: str
    why: str = ""
    status: int | None = None
    detail: str = ""
    sent: int = 0
    usage: Usage = FREE
    left: Left = "kept"
    good: bool = True


@attrs.frozen
class Outaged:
    """The port is closed for some seconds."""

    t: float
    seconds: float
    run: str = ""


@attrs.frozen
class Noise:
    """Something that was no request.

    Attributes:
        t: when.
        what: in a few words.
        count: how many of them.
    """

    t: float
    what: str
    count: int = 1


@attrs.frozen
class Ended:
    """The end in good order.

    Attributes:
        t: when.
        requests: how many there were.
    """

    t: float
    requests: int


Record: TypeAlias = Began | Asked | Answered | Outaged | Noise | Ended


class Journal(Protocol):
    """Where records go."""

    def write(self, record: Record, /) -> None:
        """Take a record.

        Raises:
            FileProblem: it cannot be kept.
        """
        ...


@attrs.frozen
class Exchange:
    """A request and its answer, which is None as long as it has not ended."""

    asked: Asked
    answered: Answered | None = None


@attrs.define
class MemoryJournal:
    """A journal that is kept in memory, in the order of its records."""

    records: list[Record] = attrs.field(factory=list[Record])

    def write(self, record: Record) -> None:
        """Keep a record."""
        self.records.append(record)

    @property
    def exchanges(self) -> list[Exchange]:
        """Every request with its answer, in the order of the requests."""
        return pair(self.records)


def pair(records: Sequence[Record]) -> list[Exchange]:
    """Put every request and its answer together."""
    answers: Mapping[int, Answered] = {
        each.n: each for each in records if isinstance(each, Answered)
    }
    return [
        Exchange(each, answers.get(each.n))
        for each in records
        if isinstance(each, Asked)
    ]
