"""A record of each decision: what was asked, what it led to, and what it cost; pure.

It is made from a step of the table and from facts that the table does not know. As
plain JSON it is an event of the session, and a line of a log; what is at its default is
left out. It holds no text of the conversation.
"""

import json
import math
from collections.abc import Iterable, Mapping
from typing import cast

import attrs

from unspiral.engine.core.plain import as_list
from unspiral.engine.core.step import Step, memory_of
from unspiral.engine.core.table import Row, Table
from unspiral.engine.errors import BadValue, SessionError
from unspiral.engine.live.fixed import Based, Fixed
from unspiral.engine.live.session_events import DECISION, Event
from unspiral.engine.live.untyped import fields_of

__all__ = [
    "Facts",
    "Guard",
    "Record",
    "plain_record_of",
    "record_from_plain",
    "record_line",
    "record_of",
    "record_to_plain",
    "records_in",
]

_DIGITS = 6  # of a second: microseconds
_COMPILED = "rows of records"  # in `Table.compiled`
_FACTS = ("before", "after", "model", "micro_dollars")  # and the seconds


@attrs.frozen
class Guard:
    """An alternative that was asked.

    Attributes:
        row: its row.
        target: where it leads.
        guard: its condition, with limits put in; "" if it has none.
        verdict: what the condition said. The one that held was taken.
    """

    row: str
    target: str
    guard: str = ""
    verdict: bool = False


@attrs.frozen
class Facts:
    """What the table does not know.

    Attributes:
        before: tokens of the context before the step, or 0.
        after: tokens after it, or 0.
        model: that was asked, or "".
        micro_dollars: what it cost, in millionths of a dollar.
        seconds: that the phase took.
    """

    before: int = 0
    after: int = 0
    model: str = ""
    micro_dollars: int = 0
    seconds: float = 0.0


@attrs.frozen
class Record:
    """One decision.

    Attributes:
        n: its number in the session, from 1.
        t: when, in seconds since 1970.
        phase: where the run stood.
        event: what the phase came to, or "" if the table decided by itself.
        row: the row taken.
        reason: why the loop goes on, or "".
        target: where the row leads.
        ends: the target is a terminal.
        asked: every alternative that was asked, in order; the last one was taken.
        counts: the counters after the step, but for those at 0.
        facts: what the table does not know.
    """

    n: int
    t: float
    phase: str
    event: str
    row: str
    reason: str
    target: str
    ends: bool
    asked: tuple[Guard, ...]
    counts: Mapping[str, int] = attrs.field(factory=dict[str, int])
    facts: Facts = attrs.field(factory=Facts)

    @property
    def refused(self) -> tuple[Guard, ...]:
        """The alternatives that were asked and did not hold."""
        return self.asked[:-1]

    @property
    def taken(self) -> Guard:
        """The alternative that was taken."""
        return self.asked[-1]


def record_of(
    table: Table, step: Step, n: int, t: float, facts: Facts | None = None
) -> Record:
    """Return the record of a step.

    Args:
        table: that took it.
        step: the step.
        n: its number, from 1.
        t: the time, in seconds since 1970.
        facts: what the table does not know.
    """
    row = step.row
    counters = {v.name for v in table.variables if v.kind == "counter"}
    memory = memory_of(table, step.after)
    return Record(
        n=n,
        t=t,
        phase=step.before.phase,
        event=step.event or "",
        row=row.name,
        reason=row.reason,
        target=row.target,
        ends=row.target in table.terminals,
        asked=tuple(
            Guard(each.name, each.target, each.guard_text, verdict)
            for each, verdict in step.asked
        ),
        counts={k: cast("int", v) for k, v in memory.items() if k in counters and v},
        facts=facts or Facts(),
    )


# -- as JSON ---------------------------------------------------------------------------


@attrs.frozen
class _Rows:
    """What records say of the rows of a table, whatever else happens.

    Attributes:
        bases: a row each.
        counters: name and place in the memory.
    """

    bases: tuple[Fixed, ...]
    counters: tuple[tuple[str, int], ...]


def _rows_of(table: Table) -> _Rows:
    kept: _Rows | None = table.compiled.get(_COMPILED)
    if kept is None:
        counters = tuple(
            (each.name, at)
            for at, each in enumerate(table.variables)
            if each.kind == "counter"
        )
        kept = _Rows(tuple(_base(table, row) for row in table.rows), counters)
        table.compiled[_COMPILED] = kept
    return kept


def _base(table: Table, row: Row) -> Fixed:
    asked = [[each.name, each.target, each.guard_text, False] for each in row.earlier]
    optional = {
        "event": row.event,
        "reason": row.reason,
        "ends": row.target in table.terminals,
    }
    return Fixed(
        {
            "phase": row.source,
            "row": row.name,
            "target": row.target,
            "asked": [*asked, [row.name, row.target, row.guard_text, True]],
            **{name: value for name, value in optional.items() if value},
        }
    )


def plain_record_of(
    table: Table, step: Step, n: int, t: float, facts: Facts | None = None
) -> Based:
    """Return what `record_to_plain` makes of `record_of`, without the way over it.

    A run takes many steps of few rows: what a row says is made once.
    """
    rows = _rows_of(table)
    memory = step.after.memory
    rest: dict[str, object] = {"n": n, "t": round(t, _DIGITS)}
    counts = {name: memory[at] for name, at in rows.counters if memory[at]}
    if counts:
        rest["counts"] = counts
    if facts is not None:
        for name in _FACTS:
            value = getattr(facts, name)
            if value:
                rest[name] = value
        if facts.seconds:
            seconds = round(facts.seconds, _DIGITS)
            if seconds:
                rest["seconds"] = seconds
    return Based(rows.bases[step.row.index], rest)


def record_to_plain(record: Record) -> dict[str, object]:
    """Return a record as plain JSON."""
    facts = attrs.asdict(record.facts)
    facts["seconds"] = round(record.facts.seconds, _DIGITS)
    optional = {
        "event": record.event,
        "reason": record.reason,
        "ends": record.ends,
        "counts": dict(record.counts),
        **facts,
    }
    return {
        "n": record.n,
        "t": round(record.t, _DIGITS),
        "phase": record.phase,
        "row": record.row,
        "target": record.target,
        "asked": [[a.row, a.target, a.guard, a.verdict] for a in record.asked],
        **{name: value for name, value in optional.items() if value},
    }


def record_line(record: Record) -> str:
    """Return a record as a line of JSON, with its line break."""
    return json.dumps(record_to_plain(record), separators=(",", ":")) + "\n"


def record_from_plain(value: object) -> Record:
    """Take up a record that was kept.

    Raises:
        BadValue: it is none.
    """
    kept = fields_of(value)
    extra = kept.keys() - _FIELDS
    if extra:
        raise BadValue("a record's fields", repr(sorted(map(str, extra))), "known ones")
    facts = Facts(
        before=_count(kept, "before"),
        after=_count(kept, "after"),
        model=_word(kept, "model", ""),
        micro_dollars=_count(kept, "micro_dollars"),
        seconds=_time(kept, "seconds", 0.0),
    )
    counts = fields_of(kept.get("counts", {}))
    return Record(
        n=_count(kept, "n"),
        t=_time(kept, "t"),
        phase=_word(kept, "phase"),
        event=_word(kept, "event", ""),
        row=_word(kept, "row"),
        reason=_word(kept, "reason", ""),
        target=_word(kept, "target"),
        ends=kept.get("ends", False) is True,
        asked=_asked(kept.get("asked")),
        counts={name: _count(counts, name) for name in counts},
        facts=facts,
    )


def records_in(events: Iterable[Event], path: str = "") -> list[Record]:
    """Return the records that a session holds.

    Raises:
        SessionError: one of them is none.
    """
    records: list[Record] = []
    for each in events:
        if each.kind == DECISION:
            try:
                records.append(record_from_plain(each.value))
            except BadValue as error:
                raise SessionError(path, str(error), each.n) from None
    return records


_FIELDS = frozenset(
    {field.name for field in attrs.fields(Record)} - {"facts"}
    | {field.name for field in attrs.fields(Facts)}
)


def _word(kept: Mapping[str, object], name: str, default: str | None = None) -> str:
    value = kept.get(name, default)
    if not isinstance(value, str) or not value.isprintable():
        raise BadValue(f"a record's {name!r}", repr(value), "a text that can be shown")
    return value


def _count(kept: Mapping[str, object], name: str) -> int:
    value = kept.get(name, 0)
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadValue(f"a record's {name!r}", repr(value), "a whole number")
    return value


def _time(kept: Mapping[str, object], name: str, default: float | None = None) -> float:
    value = kept.get(name, default)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(cast("float", value)):
        raise BadValue(f"a record's {name!r}", repr(value), "a number of seconds")
    return cast("float", value)


def _asked(value: object) -> tuple[Guard, ...]:
    guards = tuple(_guard(each) for each in as_list(value) or ())
    verdicts = [each.verdict for each in guards]
    if not guards or verdicts != [False] * (len(guards) - 1) + [True]:
        allowed = "a list of alternatives, the last of which held"
        raise BadValue("a record's 'asked'", repr(value), allowed)
    return guards


def _guard(value: object) -> Guard:
    match as_list(value):
        case [str(row), str(target), str(guard), bool(verdict)] if (
            f"{row}{target}{guard}".isprintable()
        ):
            return Guard(row, target, guard, verdict)
        case _:
            allowed = "row, target, guard and verdict"
            raise BadValue("an alternative of a record", repr(value), allowed)
