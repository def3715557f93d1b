"""The parts of a machine in a file: each has a short form and a long one.

Types are judged by `file_fields`, names by the declarations themselves, guards and
actions by `validate`.
"""

import re
from collections.abc import Callable
from typing import Literal as OneOf
from typing import TypeAlias, TypeVar, cast, get_args

from unspiral.engine.core.declare import (
    REASONS,
    Assumption,
    Choice,
    Counter,
    Edition,
    Event,
    Flag,
    Law,
    Limit,
    LimitValue,
    Memory,
    Scope,
    Terminal,
    Transition,
)
from unspiral.engine.core.language import UNLIMITED
from unspiral.engine.errors import DeclarationError, MachineFileError
from unspiral.engine.toml.fields import MAX_NUMBER, Fields

__all__ = [
    "make",
    "read_assumption",
    "read_edition",
    "read_events",
    "read_law",
    "read_limit",
    "read_memory",
    "read_row",
    "read_terminal",
]

_Made = TypeVar("_Made")
_MAX_ROW_NAME = 200
_SPAN = re.compile(r"\s*(-?\d{1,12})\s*\.\.\s*(\S.*?)\s*", re.DOTALL)
_End: TypeAlias = OneOf["done", "limit", "error", "abort", "hook"]
_Pattern: TypeAlias = OneOf["absence", "existence", "bounded", "precedence", "response"]
_Part: TypeAlias = OneOf["globally", "after", "before", "between"]
_ENDS: tuple[_End, ...] = get_args(_End)
_PATTERNS: tuple[_Pattern, ...] = get_args(_Pattern)
_SCOPES: tuple[_Part, ...] = get_args(_Part)


def make(fields: Fields, build: Callable[[], _Made], *keys: str) -> _Made:
    """Build a value; what its class refuses is a fault of this place of the file."""
    try:
        return build()
    except DeclarationError as error:
        if isinstance(error, MachineFileError):  # it knows its place already
            raise
        fields.fail(str(error), *keys)


def _entry(fields: Fields, name: str, *known: str) -> Fields:
    inner = fields.inner(name)
    inner.allow(*known)
    return inner


# -- limits ----------------------------------------------------------------------------


def read_limit(fields: Fields, name: str) -> Limit:
    """Read a limit: its value, or a table."""
    entry = fields.table[name]
    if not isinstance(entry, dict):
        value = _limit_value(fields, entry, name)
        return make(fields, lambda: Limit(name, value), name)
    inner = _entry(
        fields, name, "default", "unit", "source", "doc", "values", "reading"
    )
    inner.need("default")
    values = [_limit_value(inner, each, "values") for each in inner.items("values")]
    return make(
        inner,
        lambda: Limit(
            name,
            _limit_value(inner, inner.table["default"], "default"),
            unit=inner.text("unit"),
            source=inner.text("source"),
            doc=inner.text("doc"),
            values=values,
            reading=inner.text("reading"),
        ),
    )


def _limit_value(fields: Fields, value: object, key: str) -> LimitValue:
    match value:
        case "UNLIMITED":
            return UNLIMITED
        case {"text": str(text)} if len(cast("dict[str, object]", value)) == 1:
            return text
        case bool() | str():
            return value
        case int() if abs(value) <= MAX_NUMBER:
            return value
        case _:
            allowed = 'a whole number of at most 1,000,000,000, "UNLIMITED", '
            fields.wrong(value, allowed + "true, false or a name", key)


def read_edition(fields: Fields, name: str) -> Edition:
    """Read an edition: a table with the limits it sets."""
    inner = _entry(fields, name, "limits", "doc")
    limits = inner.inner("limits")
    values = {
        key: _limit_value(limits, value, key) for key, value in limits.table.items()
    }
    return make(inner, lambda: Edition(name, values, inner.text("doc")))


# -- memory ----------------------------------------------------------------------------


def read_memory(fields: Fields, name: str) -> Memory:
    """Read a memory: a span, a truth value, names, or a table."""
    entry = fields.table[name]
    match entry:
        case dict():
            return _long_memory(fields.inner(name), name)
        case bool():
            key = "flag"
        case list() | "reasons":
            key = "choice"
        case str():
            key = "counter"
        case _:
            allowed = '"low..high" (a counter), true or false (a flag), or a list of '
            fields.wrong(entry, allowed + "names (a choice), or a table", name)
    # Errors of the only key are those of the entry: it has no line of its own.
    table: dict[str, object] = {key: fields.table[name]}
    inner = Fields(table, (*fields.place, name), fields.failing)
    return _long_memory(inner, name)


def _long_memory(fields: Fields, name: str) -> Memory:
    shared = ("initial", "doc", "source", "shared")
    doc, source = fields.text("doc"), fields.text("source")
    lent = fields.flag("shared")
    if fields.has("flag"):
        fields.allow("flag", *shared[1:])
        value = fields.flag("flag")
        return make(fields, lambda: Flag(name, value, doc, source, lent))
    if fields.has("choice"):
        fields.allow("choice", *shared)
        values, initial = _values(fields)
        return make(fields, lambda: Choice(name, values, initial, doc, source, lent))
    fields.allow("counter", "low", "high", "unit", *shared)
    low, high = _span(fields)
    return make(
        fields,
        lambda: Counter(
            name,
            high,
            low,
            fields.number("initial", low),
            fields.text("unit"),
            doc,
            source,
            lent,
        ),
    )


def _values(fields: Fields) -> tuple[tuple[str, ...], str]:
    """Return the names of a choice and the first of a run."""
    if fields.table["choice"] == "reasons":
        return REASONS, fields.text("initial", "none")
    values = fields.texts("choice")
    if not values and not fields.has("initial"):
        fields.fail("a choice needs at least one name", "choice")
    return values, fields.text("initial", values[0] if values else "")


def _span(fields: Fields) -> tuple[int, str]:
    """Return the domain of a counter."""
    if not fields.has("counter"):
        if not fields.has("high"):
            fields.fail('it needs "counter" (as "low..high"), "flag" or "choice"')
        return fields.number("low"), fields.formula("high")
    if fields.has("low") or fields.has("high"):
        fields.fail('"counter" says low and high already', "counter")
    found = _SPAN.fullmatch(fields.text("counter"))
    if found is None:
        allowed = 'write "low..high", such as "0..max_retries"'
        fields.fail(f"this is no domain of a counter; {allowed}", "counter")
    return int(found[1]), found[2]


# -- phases and rows -------------------------------------------------------------------


def read_events(fields: Fields, key: str) -> list[Event]:
    """Read a list of events: names, or tables."""
    items = enumerate(fields.items(key), 1)
    return [_event(fields, item, key, number) for number, item in items]


def _event(fields: Fields, item: object, key: str, number: int) -> Event:
    if isinstance(item, str):
        return make(fields, lambda: Event(item), key)
    if not isinstance(item, dict):
        fields.wrong(item, "the name of an event, or a table", key, number)
    table = cast("dict[str, object]", item)
    inner = Fields(table, (*fields.place, key, number), fields.failing)
    inner.allow("name", "available", "doc")
    inner.need("name")
    name, available, doc = (inner.text(each) for each in ("name", "available", "doc"))
    return make(inner, lambda: Event(name, available, doc))


def read_terminal(fields: Fields, name: str) -> Terminal:
    """Read a terminal: its kind, or a table."""
    if not isinstance(fields.table[name], dict):
        kind = fields.word(name, _ENDS)
        return make(fields, lambda: Terminal(name, kind), name)
    inner = _entry(fields, name, "kind", "doc", "source")
    kind = inner.word("kind", _ENDS, "done")
    doc, source = inner.text("doc"), inner.text("source")
    return make(inner, lambda: Terminal(name, kind, doc, source))


def read_row(fields: Fields) -> Transition:
    """Read a transition."""
    texts = ("source", "target", "event", "guard", "action", "reason", "layer")
    fields.allow(*texts, "name", "doc", "cite", "progress", "cost", "raises")
    fields.need("source", "target")
    name = fields.text("name")
    if len(name) > _MAX_ROW_NAME or not name.isprintable():
        fields.fail(f"use at most {_MAX_ROW_NAME} printable characters", "name")
    return make(
        fields,
        lambda: Transition(
            **{key: fields.text(key) for key in texts},
            name=name,
            doc=fields.text("doc"),
            cite=fields.text("cite"),
            progress=fields.flag("progress"),
            cost=fields.numbers("cost"),
            raises=fields.texts("raises"),
        ),
    )


# -- laws and assumptions --------------------------------------------------------------


def read_law(fields: Fields, name: str) -> Law:
    """Read a law."""
    inner = _entry(
        fields,
        name,
        *("pattern", "what", "other", "at_most", "scope", "doc", "source"),
    )
    inner.need("pattern", "what")
    scope = inner.inner("scope")
    scope.allow("kind", "start", "end")
    return make(
        inner,
        lambda: Law(
            name,
            inner.word("pattern", _PATTERNS),
            what=inner.text("what"),
            other=inner.text("other"),
            at_most=inner.formula("at_most"),
            scope=Scope(
                scope.word("kind", _SCOPES, "globally"),
                start=scope.text("start"),
                end=scope.text("end"),
            ),
            doc=inner.text("doc"),
            source=inner.text("source"),
        ),
    )


def read_assumption(fields: Fields, name: str) -> Assumption:
    """Read an assumption."""
    inner = _entry(fields, name, "phase", "event", "when", "at_most", "doc", "source")
    inner.need("phase", "event")
    return make(
        inner,
        lambda: Assumption(
            name,
            phase=inner.text("phase"),
            event=inner.text("event"),
            when=inner.text("when"),
            at_most=inner.formula("at_most", "0"),
            doc=inner.text("doc"),
            source=inner.text("source"),
        ),
    )
