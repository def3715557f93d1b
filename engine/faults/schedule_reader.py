"""From the tables of a file to a schedule: which keys there are, and where they stand.

An answer has three forms, each of which says more than the one before:

    "Done."                                   a text
    ["I will look.", { tool = "read" }]       the parts of a reply, in order
    { fault = "rate_limited", seconds = 20 }  a table, as a step has it

`false` stands for "there is none": `side`, `window`, `stop_reason`. Types are judged by
`Fields`, values by the classes of the schedule; whatever these refuse is told with the
key at which it stands.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar, cast

from unspiral.engine.errors import BadDeclaration, UnknownName
from unspiral.engine.faults.catalogue import find_fault
from unspiral.engine.faults.fault import Parameter
from unspiral.engine.faults.plans import Number
from unspiral.engine.faults.reply import (
    DERIVED,
    Block,
    Compaction,
    Reply,
    Text,
    Thinking,
    ToolUse,
)
from unspiral.engine.faults.schedule import (
    DONE,
    Context,
    Pattern,
    Play,
    Rule,
    Schedule,
    Step,
)
from unspiral.engine.toml.fields import Fields

__all__ = ["KEYS", "read_schedule", "schedule_in"]

#: the keys of a schedule; a file that holds more has further keys beside them
KEYS = (
    "name",
    "seed",
    "then",
    "side",
    "strict",
    "context",
    "rates",
    "step",
    "rule",
)

_Made = TypeVar("_Made")

_FORMS = "a text, a list of parts, or a table"
_PARTS = ("tool", "thinking", "compaction")
_FLAGS = ("has_tools", "stream", "repeated")
_TEXTS = ("tool", "model", "text")
_NUMBERS = (
    "min_tokens",
    "max_tokens",
    "min_messages",
    "nth",
    "every",
    "since_progress",
)
_MAX_PIECES = 10_000


def read_schedule(fields: Fields) -> Schedule:
    """Return the schedule of a file.

    Raises:
        Exception: what the fields were given to make of a problem and its place.
    """
    if not fields.table:
        fields.fail("it is empty; the least that it can hold is a name")
    fields.allow(*KEYS)
    return schedule_in(fields)


def schedule_in(fields: Fields) -> Schedule:
    """Return the schedule of a file that may hold other things besides.

    Raises:
        Exception: what the fields were given to make of a problem and its place.
    """
    return Schedule(
        steps=_steps(fields),
        rules=tuple(_rule(row) for row in fields.rows("rule")),
        then=_later(fields, "then") if fields.has("then") else DONE,
        side=_side(fields),
        rates=_rates(fields),
        seed=fields.number("seed"),
        context=_context(fields.inner("context")),
        strict=fields.flag("strict", default=True),
        name=fields.text("name", "schedule"),
    )


def _make(fields: Fields, build: Callable[[], _Made], *keys: str) -> _Made:
    """Build a value; what its class refuses is a fault of this place of the file."""
    try:
        return build()
    except UnknownName as error:
        fields.fail(str(error), *keys)
    except BadDeclaration as error:
        whose = f"{error.place}: " if error.place.startswith("fault ") else ""
        fix = f"; {error.fix}" if error.fix else ""
        fields.fail(f"{whose}{error.problem}{fix}", *keys)


# -- the parts of a schedule -----------------------------------------------------------


def _steps(fields: Fields) -> tuple[Step, ...]:
    rows = fields.rows("step")
    steps = [_step(row) for row in rows]
    for row, step in zip(rows[:-1], steps, strict=False):
        if step.times is None:
            row.fail("it is for ever: the steps after it never come", "forever")
    return tuple(steps)


def _step(fields: Fields) -> Step:
    play = _play(fields, "times", "forever")
    times: int | None = fields.number("times", 1)
    key = "times"
    if fields.flag("forever"):
        if fields.has("times"):
            fields.fail("`times` says how often already; leave one out", "forever")
        times, key = None, "forever"
    return _make(fields, partial(Step, play, times), key)


def _rule(fields: Fields) -> Rule:
    play = _play(fields, "when", "times", "then")
    fields.need("when")
    when = _pattern(fields.inner("when"))
    times = fields.number("times") if fields.has("times") else None
    _make(fields, partial(Rule, Pattern(), play), "fault")
    _make(fields, partial(Rule, when, play), "when")
    _make(fields, partial(Rule, when, play, times), "times")
    then = _answer(fields, "then") if fields.has("then") else None
    return _make(fields, partial(Rule, when, play, times, then), "then")


def _pattern(fields: Fields) -> Pattern:
    fields.allow("endpoint", *_FLAGS, *_TEXTS, *_NUMBERS)
    given: dict[str, Any] = {}
    for names, read in (
        (("endpoint", *_TEXTS), fields.text),
        (_FLAGS, fields.flag),
        (_NUMBERS, fields.number),
    ):
        given |= {name: read(name) for name in names if fields.has(name)}
    for name, value in given.items():
        _make(fields, partial(Pattern, **{name: value}), name)
    return Pattern(**given)


def _later(fields: Fields, key: str) -> Play:
    """Read what is answered besides the steps; the schedule says what it may be."""
    play = _answer(fields, key)
    _make(fields, partial(Schedule, then=play), key)
    return play


def _side(fields: Fields) -> Play | None:
    if not fields.has("side"):
        return DONE
    return None if fields.table["side"] is False else _later(fields, "side")


def _rates(fields: Fields) -> dict[str, float]:
    inner = fields.inner("rates")
    rates: dict[str, float] = {}
    for name in inner.table:
        rates[name] = inner.real(name)
        _make(inner, partial(Schedule, rates={name: rates[name]}), name)
    _make(fields, partial(Schedule, rates=rates), "rates")
    return rates


def _context(fields: Fields) -> Context:
    fields.allow("window", "overflow")
    window: int | None = Context().window
    if fields.has("window"):
        none = fields.table["window"] is False
        window = None if none else fields.number("window")
    _make(fields, partial(Context, window), "window")
    overflow = fields.text("overflow", Context().overflow)
    return _make(fields, partial(Context, window, overflow), "overflow")


# -- answers ---------------------------------------------------------------------------


def _answer(fields: Fields, key: str) -> Play:
    if isinstance(fields.table[key], dict):
        return _play(fields.inner(key))
    return Play(reply=Reply(_content(fields, key)))


def _play(fields: Fields, *others: str) -> Play:
    """Read the keys of an answer; `others` may stand beside them."""
    name, parameters = "", dict[str, Parameter]()
    if fields.has("fault"):
        name = fields.text("fault")
        parameters |= _make(fields, partial(find_fault, name), "fault").parameters
    fields.allow("fault", "reply", *others, *parameters)
    if not name and not fields.has("reply"):
        fields.fail("it has neither a reply nor a fault")
    numbers: dict[str, Number] = {}
    for each in filter(fields.has, parameters):
        numbers[each] = fields.real(each)
        _make(fields, partial(Play, name, None, {each: numbers[each]}), each)
    reply = _reply(fields) if fields.has("reply") else None
    return _make(fields, partial(Play, name, reply, numbers), "reply")


def _reply(fields: Fields) -> Reply:
    if not isinstance(fields.table["reply"], dict):
        return Reply(_content(fields, "reply"))
    inner = fields.inner("reply")
    inner.allow(
        "content",
        "stop_reason",
        "stop_sequence",
        "stop_details",
        "input_tokens",
        "output_tokens",
        "pieces",
    )
    has = inner.has
    return Reply(
        _content(inner, "content"),
        stop_reason=_stop_reason(inner),
        stop_sequence=inner.text("stop_sequence") if has("stop_sequence") else None,
        stop_details=inner.json("stop_details") if has("stop_details") else None,
        input_tokens=_count(inner, "input_tokens"),
        output_tokens=_count(inner, "output_tokens"),
        pieces=_pieces(inner),
    )


def _stop_reason(fields: Fields) -> str | None:
    if fields.table.get("stop_reason") is False:
        return None
    return fields.text("stop_reason", DERIVED)


def _count(fields: Fields, key: str) -> int | None:
    if not fields.has(key):
        return None
    count = fields.number(key)
    return count if count >= 0 else fields.fail("it must be at least 0", key)


def _pieces(fields: Fields) -> int:
    pieces = fields.number("pieces", Reply().pieces)
    if not 1 <= pieces <= _MAX_PIECES:
        fields.fail(f"it must be between 1 and {_MAX_PIECES:,}", "pieces")
    return pieces


def _content(fields: Fields, key: str) -> tuple[Block, ...]:
    value = fields.table.get(key, [])
    if isinstance(value, str):
        return (Text(value),)
    if not isinstance(value, list):
        fields.wrong(value, _FORMS, key)
    return tuple(
        _block(fields, item, key, number)
        for number, item in enumerate(fields.items(key), 1)
    )


def _block(fields: Fields, item: object, key: str, number: int) -> Block:
    if isinstance(item, str):
        return Text(item)
    if not isinstance(item, dict):
        fields.wrong(item, "a text or a table", key, number)
    table = cast("Mapping[str, object]", item)
    return _part(Fields(table, (*fields.place, key, number), fields.failing))


def _part(fields: Fields) -> Block:
    fields.allow(*_PARTS, "signature", "input", "id", "raw", "wrong")
    kinds = [kind for kind in _PARTS if fields.has(kind)]
    if len(kinds) != 1:
        fields.fail(f"it must have one of the keys {', '.join(_PARTS)}")
    match kinds[0]:
        case "thinking":
            fields.allow("thinking", "signature")
            text = fields.text("thinking")
            return Thinking(text, fields.text("signature", Thinking("").signature))
        case "compaction":
            fields.allow("compaction")
            return Compaction(fields.text("compaction"))
        case _:
            fields.allow("tool", "input", "id", "raw", "wrong")
            return ToolUse(
                fields.text("tool"),
                fields.json("input") if fields.has("input") else None,
                fields.text("id"),
                fields.text("raw") if fields.has("raw") else None,
                fields.flag("wrong"),
            )
