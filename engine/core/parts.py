"""The small parts of a declaration: limits, memory, events, ends, laws, editions.

Frozen values that say everything and do nothing; `declare` puts them together to rows
and machines, and is where to import them from.
"""

import keyword
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal as OneOf
from typing import TypeAlias

import attrs

from unspiral.engine.core.language import UNLIMITED, Unlimited
from unspiral.engine.errors import BadDeclaration

__all__ = [
    "NONE",
    "REASONS",
    "Assumption",
    "Choice",
    "Counter",
    "Edition",
    "Event",
    "Flag",
    "Law",
    "Limit",
    "LimitValue",
    "Memory",
    "Scope",
    "Terminal",
    "costs",
    "is_name",
    "is_name_or_empty",
    "limit_text",
    "names",
]

LimitValue: TypeAlias = int | bool | str | Unlimited
NONE = "none"  #: the value of a reason memory before the first continue
REASONS = ("<reasons>",)  #: stands for `NONE` and every continue reason of the machine

_NAME = re.compile(r"[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)*")
_RESERVED = {"otherwise", "after", "event", "phase", "target", "reason", "progress"}
_MAX_NAME = 100
_MOST = 10**9  # of a cost: sums of them fit 64 bits


def is_name(instance: object, attribute: "attrs.Attribute[str]", value: str) -> None:
    """Refuse what is no name: a validator of attrs.

    Raises:
        BadDeclaration: it is not a name, or a word that has a meaning already.
    """
    kind = type(instance).__name__.lower()
    problem = ""
    if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance] - files
        problem = f"its {attribute.name} must be a string, not {value!r:.60}"
    elif len(value) > _MAX_NAME or not _NAME.fullmatch(value):
        problem = f"{value[:40]!r} is no {attribute.name}"
    elif any(keyword.iskeyword(part) for part in value.split(".")):
        problem = f"{value!r} is a word of Python"
    elif value in _RESERVED and kind not in {"event", "phase"}:
        problem = f"{value!r} is a word of the language"
    if problem:
        fix = "use lower-case letters, digits and _, and begin with a letter"
        raise BadDeclaration(f"{kind} {str(value)[:40]!r}", problem, fix)


def is_name_or_empty(
    instance: object, attribute: "attrs.Attribute[str]", value: str
) -> None:
    """Refuse what is neither a name nor "": a validator of attrs.

    Raises:
        BadDeclaration: it is not a name.
    """
    if value != "":
        is_name(instance, attribute, value)


def _limits(values: Mapping[str, LimitValue]) -> Mapping[str, LimitValue]:
    return MappingProxyType(dict(values))


def _is_cost(amount: object) -> bool:
    if not isinstance(amount, int) or isinstance(amount, bool):
        return False
    return 0 <= amount <= _MOST


def costs(values: Mapping[str, int]) -> Mapping[str, int]:
    """Return costs that nobody can change: a converter of attrs.

    Raises:
        BadDeclaration: a cost is no whole number from 0 to a billion.
    """
    for name, amount in values.items():
        if not _is_cost(amount):
            problem = f"{amount!r:.40} is no cost"
            fix = f"write a whole number from 0 to {_MOST:,}"
            raise BadDeclaration(f"cost {name!r:.60}", problem, fix)
    return MappingProxyType(dict(values))


# mypy cannot tell what the generic `tuple` converts, so there is one function a type.


def names(values: Iterable[str]) -> tuple[str, ...]:
    """Return names that nobody can change: a converter of attrs."""
    return tuple(values)


def _values(values: Iterable[LimitValue]) -> tuple[LimitValue, ...]:
    return tuple(values)


def _text(value: str | int) -> str:
    return str(value)


@attrs.frozen
class Limit:
    """A named constant: a bound, a switch (True, False) or one of a few names.

    Attributes:
        name: its name in guards.
        default: its value unless an edition or a caller sets another.
        unit: what an integer counts, such as "model calls".
        source: where the value comes from.
        doc: what it limits.
        values: the values over which findings are judged; the allowed names of a
            limit whose default is a string.
        reading: if the sources disagree or are silent: why the default was chosen.
            `values` are then the alternatives that `check --readings` compares.
    """

    name: str = attrs.field(validator=is_name)
    default: LimitValue
    unit: str = ""
    source: str = ""
    doc: str = ""
    values: tuple[LimitValue, ...] = attrs.field(default=(), converter=_values)
    reading: str = ""

    @property
    def alternatives(self) -> tuple[LimitValue, ...]:
        """Return all declared values, the default first."""
        known = self.values
        if isinstance(self.default, bool):
            known = (True, False)
        return tuple(dict.fromkeys((self.default, *known)))


@attrs.frozen
class Counter:
    """An integer memory with a domain `low..high`; leaving it is an error.

    Attributes:
        name: its name in guards and actions.
        high: the greatest value: a number, or a text over limits. With a limit that is
            UNLIMITED the counter has no greatest value.
        low: the least value.
        initial: the value at the start; `low` unless given.
        unit: what it counts.
        doc: what it means.
        source: where it is described.
        shared: in a nested machine: it is the outer memory of the same name.
    """

    name: str = attrs.field(validator=is_name)
    high: str = attrs.field(converter=_text)
    low: int = 0
    initial: int = attrs.field(
        default=attrs.Factory(lambda self: self.low, takes_self=True)
    )
    unit: str = ""
    doc: str = ""
    source: str = ""
    shared: bool = False


@attrs.frozen
class Flag:
    """A memory that is True or False; see `Counter` for the other fields."""

    name: str = attrs.field(validator=is_name)
    initial: bool = False
    doc: str = ""
    source: str = ""
    shared: bool = False


@attrs.frozen
class Choice:
    """A memory that is one of a few names; see `Counter` for the other fields.

    Attributes:
        values: the names; `REASONS` means "none" and every continue reason.
        initial: the name at the start; the first unless given.
    """

    name: str = attrs.field(validator=is_name)
    values: tuple[str, ...] = attrs.field(converter=names)
    initial: str = attrs.field(
        default=attrs.Factory(
            lambda self: NONE if self.values == REASONS else self.values[0],
            takes_self=True,
        )
    )
    doc: str = ""
    source: str = ""
    shared: bool = False


Memory: TypeAlias = Counter | Flag | Choice


@attrs.frozen
class Event:
    """An answer of the environment to an acting phase.

    Attributes:
        name: the answer.
        available: the condition under which it can be answered; always unless given.
        doc: what happened when this is answered.
    """

    name: str = attrs.field(validator=is_name)
    available: str = ""
    doc: str = ""


@attrs.frozen
class Terminal:
    """A final state; its name is the terminal reason.

    Attributes:
        name: the reason.
        kind: what kind of end it is, for readers and colours.
        doc: when it is reached and what the user sees.
        source: where it is described.
    """

    name: str = attrs.field(validator=is_name)
    kind: OneOf["done", "limit", "error", "abort", "hook"] = attrs.field(
        default="done",
        validator=attrs.validators.in_(("done", "limit", "error", "abort", "hook")),
    )
    doc: str = ""
    source: str = ""


@attrs.frozen
class Assumption:
    """A named limit on the environment; a verdict lists those that it was told to use.

    It says: in `phase`, while `when` holds, `event` is answered at most `at_most` times
    between two progress events (0: never).

    Attributes:
        at_most: a text over limits.
    """

    name: str = attrs.field(validator=is_name)
    phase: str
    event: str
    when: str = ""
    at_most: str = attrs.field(default="0", converter=_text)
    doc: str = ""
    source: str = ""


@attrs.frozen
class Scope:
    """The part of a run in which a law is asked.

    Attributes:
        kind: globally; after the first `start`; before the first `end`; or between
            every `start` and the next `end`.
        start: a condition on steps.
        end: a condition on steps.
    """

    kind: OneOf["globally", "after", "before", "between"] = attrs.field(
        default="globally",
        validator=attrs.validators.in_(("globally", "after", "before", "between")),
    )
    start: str = ""
    end: str = ""


@attrs.frozen
class Law:
    """A property of traces in one of the standard specification patterns.

    Conditions are about one step: `event`, `phase`, `target`, `reason` (compared with
    strings), `progress`, the memory before it and, with `after.`, after it.

    Attributes:
        pattern: `absence` (no step is `what`), `existence` (a run that ends has one),
            `bounded` (at most `at_most` are), `precedence` (none is before `other`
            was), `response` (each is followed by `other` before the run ends).
        what: the condition.
        other: the second condition of precedence and response.
        at_most: a text over limits; "" means any finite number.
        scope: where the law is asked.
        doc: the law in words.
        source: where it comes from.
    """

    name: str = attrs.field(validator=is_name)
    pattern: OneOf["absence", "existence", "bounded", "precedence", "response"] = (
        attrs.field(
            validator=attrs.validators.in_(
                ("absence", "existence", "bounded", "precedence", "response")
            )
        )
    )
    what: str
    other: str = ""
    at_most: str = attrs.field(default="", converter=_text)
    scope: Scope = Scope()
    doc: str = ""
    source: str = ""


@attrs.frozen
class Edition:
    """A named set of limit values, in nested machines too.

    Attributes:
        limits: the values that differ from the defaults.
        doc: what the edition describes.
    """

    name: str = attrs.field(validator=is_name)
    limits: Mapping[str, LimitValue] = attrs.field(
        factory=dict[str, LimitValue], converter=_limits
    )
    doc: str = ""


def limit_text(value: LimitValue) -> str:
    """Return a limit's value as people write it: `3`, `true`, `UNLIMITED`."""
    if value is UNLIMITED:
        return "UNLIMITED"
    return str(value).lower() if isinstance(value, bool) else str(value)
