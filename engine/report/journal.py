"""A journal of the fault server, drawn: a row for each request, and what it comes to.

The wait before a request is how long its run had been silent; the dots show it as a
share of the longest. What a client sent is hostile text: all of it is cleaned.
"""

from collections.abc import Iterator, Sequence

import attrs

from unspiral.engine.faults.journal import (
    Asked,
    Began,
    Ended,
    Exchange,
    Noise,
    Outaged,
    Record,
    pair,
)
from unspiral.engine.report.journal_totals import Totals, is_fault, totals, waits
from unspiral.engine.report.lines import Line, Role, clean, columns

__all__ = ["journal_lines", "journal_object"]

_BAR = 6  # columns of the longest wait
_MANY = 3  # requests without anything new that are worth a word
_HEADS = ("n", "time", "wait", "", "request", "answer", "in+out")
_MOST_BROKEN = 20  # broken histories that are told


def journal_lines(
    records: Sequence[Record],
    name: str = "journal",
    *,
    run: str | None = None,
    torn: bool = False,
    going: bool = False,
) -> list[Line]:
    """Return a journal as a report.

    Args:
        records: in their order.
        name: of the file.
        run: of the run that is shown; None: all.
        torn: the last line of the file is cut off.
        going: the server still runs.
    """
    exchanges = [each for each in pair(records) if run in (None, each.asked.run)]
    found = totals(exchanges)
    lines = [Line(_title(records, name, torn=torn, going=going), "head")]
    lines += [Line(), *_rows(records, exchanges, named=len(found) > 1)]
    for each in found:
        lines += [Line(), *_total_lines(each)]
    return lines


def journal_object(
    records: Sequence[Record], *, run: str | None = None, torn: bool = False
) -> dict[str, object]:
    """Return a journal as plain values for JSON."""
    exchanges = [each for each in pair(records) if run in (None, each.asked.run)]
    return {
        "format": 1,
        "whole": any(isinstance(each, Ended) for each in records),
        "torn": torn,
        "exchanges": [attrs.asdict(each) for each in exchanges],
        "totals": [attrs.asdict(each) for each in totals(exchanges)],
    }


def _title(records: Sequence[Record], name: str, *, torn: bool, going: bool) -> str:
    words = [clean(name)]
    words += [
        f"schedule {clean(each.schedule, 60)}, seed {each.seed}"
        for each in records
        if isinstance(each, Began)
    ]
    ended = [each for each in records if isinstance(each, Ended)]
    if ended:
        words.append(f"whole, {_seconds(ended[-1].t)} s")
    elif not going:
        words.append("not ended in good order" + (", last line cut" if torn else ""))
    return "; ".join(words)


def _rows(
    records: Sequence[Record], exchanges: Sequence[Exchange], *, named: bool
) -> Iterator[Line]:
    """Yield the table, with outages and noise in their places."""
    by_number = {each.asked.n: each for each in exchanges}
    pauses = waits(exchanges)
    longest = max(pauses.values(), default=0.0)
    cells: list[tuple[str, ...]] = [_HEADS]
    roles: list[Role] = ["dim"]
    before: dict[str, Asked] = {}
    for record in records:
        if isinstance(record, Asked) and record.n in by_number:
            exchange = by_number[record.n]
            pause = pauses.get(record.n)
            cells.append(_row(exchange, before.get(record.run), pause, longest, named))
            roles.append("bad" if is_fault(exchange) else "")
            if not record.side:
                before[record.run] = record
        elif isinstance(record, Outaged):
            told = f"port closed for {_seconds(record.seconds)} s"
            cells.append(("", _seconds(record.t), "", "", "", told, ""))
            roles.append("bad")
        elif isinstance(record, Noise):
            times = f" ({record.count:,} times)" if record.count > 1 else ""
            told = f"noise: {clean(record.what, 40)}{times}"
            cells.append(("", _seconds(record.t), "", "", told, "", ""))
            roles.append("dim")
    for text, role in zip(columns(cells), roles, strict=True):
        yield Line(text, role, whole=True)


def _row(
    exchange: Exchange,
    before: Asked | None,
    pause: float | None,
    longest: float,
    named: bool,  # noqa: FBT001 - a column of the table
) -> tuple[str, ...]:
    asked = exchange.asked
    bar = "" if not pause or not longest else "." * round(_BAR * pause / longest)
    run = f"{clean(asked.run, 16)}: " if named else ""
    return (
        str(asked.n),
        _seconds(asked.t),
        "" if pause is None else _seconds(pause),
        bar,
        run + _request(asked, before),
        _answer(exchange),
        _charge(exchange),
    )


def _request(asked: Asked, before: Asked | None) -> str:
    if asked.endpoint != "messages":
        unknown = asked.endpoint == "unknown"
        return clean(asked.path if unknown else asked.endpoint, 24)
    if asked.side:
        return "side"
    words = f"{asked.messages} message{'' if asked.messages == 1 else 's'}"
    if asked.same_as is not None:
        words = f"same as {asked.same_as}"
    elif before is not None and asked.kept < before.messages:
        words += f", kept {asked.kept} of {before.messages}"
    elif before is not None:
        words += f" (+{asked.messages - before.messages})"
    return words + (", BROKEN" if asked.broken else "")


def _answer(exchange: Exchange) -> str:
    answered = exchange.answered
    if answered is None:
        return "(no end)"
    status = "" if answered.status is None else f"{answered.status} "
    named = answered.answer in ("reply", "side", "refused")
    told = (answered.detail if named else "") or answered.answer
    left = "" if answered.left == "kept" else f" [{answered.left}]"
    return f"{status}{clean(told, 30)}{left}"


def _charge(exchange: Exchange) -> str:
    answered = exchange.answered
    usage = None if answered is None else answered.usage
    if usage is None or not (usage.input or usage.output):
        return ""
    return f"{usage.input:,}+{usage.output:,}"


def _total_lines(total: Totals) -> Iterator[Line]:
    parts = [
        _count(total.requests, "request"),
        *([f"{total.side:,} on the side"] if total.side else []),
        f"{total.faults:,} not answered as asked",
        f"{total.resent:,} sent again unchanged",
        f"longest wait {_seconds(total.longest_wait)} s",
    ]
    yield Line(f"run {clean(total.run, 64)}: {', '.join(parts)}", "head")
    yield Line(
        f"tokens charged: {total.input:,} in, {total.output:,} out; sent in vain: "
        f"{total.failed_input:,}",
        indent=2,
    )
    if total.stretch is not None and total.stretch_length >= _MANY:
        first, last = total.stretch
        yield Line(
            f"nothing new over {total.stretch_length:,} requests: {first} to {last}",
            "open",
            indent=2,
        )
    if total.unanswered:
        numbers = ", ".join(map(str, total.unanswered[:_MOST_BROKEN]))
        yield Line(f"answers that never ended: {numbers}", "bad", indent=2)
    yield from _broken(total)


def _broken(total: Totals) -> Iterator[Line]:
    if not total.broken:
        if total.requests:
            told = "in each request every call has its result"
            yield Line(told, "good", indent=2)
        return
    for number, pairings in list(total.broken.items())[:_MOST_BROKEN]:
        told = clean("; ".join(pairings), 300)
        yield Line(f"request {number} is broken: {told}", "bad", indent=2)
    if (more := len(total.broken) - _MOST_BROKEN) > 0:
        yield Line(f"and {more:,} more broken requests", "bad", indent=2)


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _seconds(value: float) -> str:
    return f"{value:,.2f}"
