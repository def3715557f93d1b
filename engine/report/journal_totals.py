"""What a journal comes to, run by run: numbers alone.

A wait is what lies between the end of an answer and the next request of its run: the
client's own time, back-off and tools together. A request is resent if its body came
before in its run.
"""

from collections.abc import Iterable, Mapping

import attrs

from unspiral.engine.faults.journal import Exchange

__all__ = ["Totals", "is_fault", "totals", "waits"]


@attrs.frozen
class Totals:
    """What a run comes to.

    Attributes:
        run: its name.
        requests: to the model, side requests included.
        side: of them without tools.
        faults: of them that were not answered as they asked.
        resent: of them with a body that came before.
        longest_wait: seconds.
        input: tokens that were charged.
        output: tokens that were charged.
        failed_input: tokens that were sent into answers that were no answers.
        stretch: the first and the last number of the longest series of requests
            without anything new, or None if each brought something.
        stretch_length: how many requests it has.
        broken: by the number of the request, what is not paired.
        unanswered: requests whose answer has not ended.
    """

    run: str
    requests: int
    side: int
    faults: int
    resent: int
    longest_wait: float
    input: int
    output: int
    failed_input: int
    stretch: tuple[int, int] | None
    stretch_length: int
    broken: Mapping[int, tuple[str, ...]]
    unanswered: tuple[int, ...]


def is_fault(exchange: Exchange) -> bool:
    """Tell whether a request was not answered as it asked."""
    answered = exchange.answered
    return answered is not None and not answered.good


def waits(exchanges: Iterable[Exchange]) -> dict[int, float]:
    """Return by the number of the request how long its run had been silent before."""
    ended: dict[str, float] = {}
    found: dict[int, float] = {}
    for each in exchanges:
        asked, answered = each.asked, each.answered
        if asked.run in ended:
            found[asked.n] = max(0.0, asked.t - ended[asked.run])
        if answered is not None:
            ended[asked.run] = answered.t
    return found


def totals(exchanges: Iterable[Exchange]) -> list[Totals]:
    """Return what each run comes to, in the order in which they began."""
    runs: dict[str, list[Exchange]] = {}
    for each in exchanges:
        runs.setdefault(each.asked.run, []).append(each)
    return [_total(name, run) for name, run in runs.items()]


def _total(name: str, run: list[Exchange]) -> Totals:
    model = [each for each in run if each.asked.endpoint == "messages"]
    asked = [each.asked for each in model]
    faults = [each for each in model if is_fault(each)]
    usages = [each.answered.usage for each in run if each.answered is not None]
    last = max(asked, key=lambda each: each.since_progress, default=None)
    # The first that is counted has brought the progress.
    length = 0 if last is None else last.since_progress - 1
    numbers = [each.n for each in asked if not each.side]
    stretch = None
    if last is not None and length > 0 and last.n in numbers:
        end = numbers.index(last.n)
        length = min(length, end + 1)  # a journal may say what it likes
        stretch = numbers[end - length + 1], last.n
    return Totals(
        run=name,
        requests=len(asked),
        side=sum(each.side for each in asked),
        faults=len(faults),
        resent=sum(each.same_as is not None for each in asked),
        longest_wait=max(waits(run).values(), default=0.0),
        input=sum(each.input for each in usages),
        output=sum(each.output for each in usages),
        failed_input=sum(each.asked.tokens for each in faults),
        stretch=stretch,
        stretch_length=length,
        broken={
            each.n: tuple(str(pairing) for pairing in each.broken)
            for each in asked
            if each.broken
        },
        unanswered=tuple(each.asked.n for each in run if each.answered is None),
    )
