"""What a machine is made of: frozen values that say everything and do nothing.

Whatever draws, checks, runs, fuzzes or exports a loop reads these values. Texts of
guards and actions are judged by `validate` and `table`, not here; here only shapes and
names are, so that a wrong declaration can be loaded, shown and explained.
"""

import functools
import keyword
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias
from typing import Literal as OneOf

import attrs

from unspiral.engine.core.language import UNLIMITED, Unlimited
from unspiral.engine.errors import BadDeclaration, UnknownName

if TYPE_CHECKING:
    from unspiral.engine.core.run import Run

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
    "Machine",
    "Memory",
    "Phase",
    "Scope",
    "Terminal",
    "Transition",
]

LimitValue: TypeAlias = int | bool | str | Unlimited
NONE = "none"  #: the value of a reason memory before the first continue
REASONS = ("<reasons>",)  #: stands for `NONE` and every continue reason of the machine

_NAME = re.compile(r"[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)*")
_RESERVED = {"otherwise", "after", "event", "phase", "target", "reason", "progress"}
_MAX_NAME = 100


def _is_name(instance: object, attribute: "attrs.Attribute[str]", value: str) -> None:
    kind = type(instance).__name__.lower()
    problem = ""
    if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]
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


def _is_name_or_empty(
    instance: object, attribute: "attrs.Attribute[str]", value: str
) -> None:
    if value != "":
        _is_name(instance, attribute, value)


def _frozen(values: Mapping[str, object]) -> MappingProxyType[str, object]:
    return MappingProxyType(dict(values))


def _limits(values: Mapping[str, LimitValue]) -> Mapping[str, LimitValue]:
    return MappingProxyType(dict(values))


def _costs(values: Mapping[str, int]) -> Mapping[str, int]:
    return MappingProxyType(dict(values))


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

    name: str = attrs.field(validator=_is_name)
    default: LimitValue
    unit: str = ""
    source: str = ""
    doc: str = ""
    values: tuple[LimitValue, ...] = attrs.field(default=(), converter=tuple)
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

    name: str = attrs.field(validator=_is_name)
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

    name: str = attrs.field(validator=_is_name)
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

    name: str = attrs.field(validator=_is_name)
    values: tuple[str, ...] = attrs.field(converter=tuple)
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

    name: str = attrs.field(validator=_is_name)
    available: str = ""
    doc: str = ""


def _events(values: Iterable[Event | str]) -> tuple[Event, ...]:
    return tuple(Event(v) if isinstance(v, str) else v for v in values)


@attrs.frozen
class Phase:
    """A state in which something is done (acting, or run by a machine) or decided.

    Attributes:
        name: the phase.
        events: the alphabet of an acting phase, in the order of its documentation.
        runs: the machine that runs this phase; its terminals are the events.
        cost: what each answer of this phase costs, such as {"model_calls": 1}.
        group: the block of a drawing in which it stands, or "".
        doc: what is done or decided here.
        source: where it is described.
    """

    name: str = attrs.field(validator=_is_name)
    events: tuple[Event, ...] = attrs.field(default=(), converter=_events)
    runs: "Machine | None" = None
    cost: Mapping[str, int] = attrs.field(factory=dict, converter=_costs)
    group: str = ""
    doc: str = ""
    source: str = ""

    @property
    def kind(self) -> OneOf["acting", "deciding", "nested"]:
        """Return who answers: the environment, the guards, or another machine."""
        if self.runs is not None:
            return "nested"
        return "acting" if self.events else "deciding"


@attrs.frozen
class Terminal:
    """A final state; its name is the terminal reason.

    Attributes:
        name: the reason.
        kind: what kind of end it is, for readers and colours.
        doc: when it is reached and what the user sees.
        source: where it is described.
    """

    name: str = attrs.field(validator=_is_name)
    kind: OneOf["done", "limit", "error", "abort", "hook"] = attrs.field(
        default="done",
        validator=attrs.validators.in_(("done", "limit", "error", "abort", "hook")),
    )
    doc: str = ""
    source: str = ""


@attrs.frozen
class Transition:
    """One row: from where, on what, under which guard, to where, doing what.

    Attributes:
        source: a phase.
        target: a phase or a terminal.
        event: what was answered; "" in a deciding phase.
        guard: a condition; `otherwise` on the last of ordered alternatives, "" always.
        action: assignments to memory, separated by `;`.
        reason: the name of a continue, that is of a return to the initial phase.
        progress: it does the user's work.
        cost: what it costs beyond the cost of its phase.
        raises: a pair of limits if it escalates from the first to the second.
        layer: the recovery layer, for colours ("context", "output", ...).
        name: its own name; `source:event` unless given, numbered among alternatives.
        doc: one line, where the row surprises.
        cite: where the row comes from.
    """

    source: str = attrs.field(validator=_is_name)
    target: str = attrs.field(validator=_is_name)
    event: str = attrs.field(default="", validator=_is_name_or_empty)
    guard: str = ""
    action: str = ""
    reason: str = attrs.field(default="", validator=_is_name_or_empty)
    progress: bool = False
    cost: Mapping[str, int] = attrs.field(factory=dict, converter=_costs)
    raises: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    layer: str = ""
    name: str = ""
    doc: str = ""
    cite: str = ""


@attrs.frozen
class Assumption:
    """A named limit on the environment; a verdict lists those that it was told to use.

    It says: in `phase`, while `when` holds, `event` is answered at most `at_most` times
    between two progress events (0: never).

    Attributes:
        at_most: a text over limits.
    """

    name: str = attrs.field(validator=_is_name)
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

    name: str = attrs.field(validator=_is_name)
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

    name: str = attrs.field(validator=_is_name)
    limits: Mapping[str, LimitValue] = attrs.field(factory=dict, converter=_limits)
    doc: str = ""


@attrs.frozen
class Machine:
    """A loop, declared.

    Attributes:
        name: its name.
        phases: the initial one first, unless `initial` says otherwise.
        terminals: its ends.
        transitions: its rows, in the order of reading.
        memory: what a run remembers.
        limits: its constants, those of nested machines not repeated.
        assumptions: limits on the environment that a check may be told to use.
        laws: properties of its traces.
        editions: named limits; the first is the default.
        initial: the phase in which a run starts.
        doc: what loop this is.
        source: where it is described.
    """

    name: str = attrs.field(validator=_is_name)
    phases: tuple[Phase, ...] = attrs.field(converter=tuple)
    terminals: tuple[Terminal, ...] = attrs.field(converter=tuple)
    transitions: tuple[Transition, ...] = attrs.field(converter=tuple)
    memory: tuple[Memory, ...] = attrs.field(default=(), converter=tuple)
    limits: tuple[Limit, ...] = attrs.field(default=(), converter=tuple)
    assumptions: tuple[Assumption, ...] = attrs.field(default=(), converter=tuple)
    laws: tuple[Law, ...] = attrs.field(default=(), converter=tuple)
    editions: tuple[Edition, ...] = attrs.field(default=(), converter=tuple)
    initial: str = ""
    doc: str = ""
    source: str = ""

    def __attrs_post_init__(self) -> None:
        for kind, names in (
            ("phase or terminal", [s.name for s in (*self.phases, *self.terminals)]),
            ("memory or limit", [v.name for v in (*self.memory, *self.limits)]),
            ("law", [law.name for law in self.laws]),
            ("edition", [edition.name for edition in self.editions]),
            ("assumption", [item.name for item in self.assumptions]),
            ("row", [row.name for row in self.rows]),
        ):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                problem = f"{kind} {twice[0]!r} is declared twice"
                raise BadDeclaration(f"machine {self.name!r}", problem)
        if not self.phases:
            raise BadDeclaration(f"machine {self.name!r}", "it has no phase")

    @functools.cached_property
    def rows(self) -> tuple[Transition, ...]:
        """Return the transitions, each with its name."""
        groups: dict[tuple[str, str], int] = {}
        for row in self.transitions:
            key = row.source, row.event
            groups[key] = groups.get(key, 0) + 1
        seen: dict[tuple[str, str], int] = {}
        named: list[Transition] = []
        for row in self.transitions:
            key = row.source, row.event
            seen[key] = seen.get(key, 0) + 1
            name = f"{row.source}:{row.event}" if row.event else row.source
            if groups[key] > 1:
                name += f"#{seen[key]}"
            named.append(row if row.name else attrs.evolve(row, name=name))
        return tuple(named)

    @property
    def start_phase(self) -> str:
        """Return the phase in which a run starts."""
        return self.initial or self.phases[0].name

    @functools.cached_property
    def reasons(self) -> tuple[str, ...]:
        """Return the continue reasons in the order of the rows."""
        rows = self.transitions
        return tuple(dict.fromkeys(row.reason for row in rows if row.reason))

    @functools.cached_property
    def variables(self) -> tuple[Memory, ...]:
        """Return the memory with `REASONS` spelled out."""
        reasons = (NONE, *self.reasons)
        return tuple(
            attrs.evolve(memory, values=reasons, initial=memory.initial)
            if isinstance(memory, Choice) and memory.values == REASONS
            else memory
            for memory in self.memory
        )

    @functools.cached_property
    def all_limits(self) -> tuple[Limit, ...]:
        """Return the limits, with those of nested machines; an outer one wins."""
        found = {limit.name: limit for limit in self.limits}
        for phase in self.phases:
            if phase.runs is not None:
                for limit in phase.runs.all_limits:
                    found.setdefault(limit.name, limit)
        return tuple(found.values())

    def phase(self, name: str) -> Phase:
        """Return the phase of that name.

        Raises:
            UnknownName: there is none.
        """
        for phase in self.phases:
            if phase.name == name:
                return phase
        known = tuple(phase.name for phase in self.phases)
        raise UnknownName("phase", name, known, f"machine {self.name}")

    def row(self, name: str) -> Transition:
        """Return the row of that name.

        Raises:
            UnknownName: there is none.
        """
        for row in self.rows:
            if row.name == name:
                return row
        known = tuple(row.name for row in self.rows)
        raise UnknownName("row", name, known, f"machine {self.name}")

    def amend(self, row: str, **changes: object) -> "Machine":
        """Return this machine with fields of one row changed (for an ablation).

        Raises:
            UnknownName: there is no such row.
        """
        self.row(row)
        rows = tuple(
            attrs.evolve(each, **changes) if each.name == row else each
            for each in self.rows
        )
        return attrs.evolve(self, transitions=rows)

    def start(self, limits: Mapping[str, LimitValue] | None = None) -> "Run":
        """Start a run of this machine inside your own agent; see `core.run`."""
        from unspiral.engine.core.run import start  # noqa: PLC0415 - it imports us

        return start(self, limits)


def limit_text(value: LimitValue) -> str:
    """Return a limit's value as people write it: `3`, `true`, `UNLIMITED`."""
    if value is UNLIMITED:
        return "UNLIMITED"
    return str(value).lower() if isinstance(value, bool) else str(value)
