"""What a machine is made of: frozen values that say everything and do nothing.

Whatever draws, checks, runs, fuzzes or exports a loop reads these values. Texts of
guards and actions are judged by `validate` and `table`, not here; here only shapes and
names are, so that a wrong declaration can be loaded, shown and explained.
"""

import functools
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any
from typing import Literal as OneOf

import attrs

from unspiral.engine.core.parts import (
    NONE,
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
    costs,
    is_name,
    is_name_or_empty,
    limit_text,
    names,
)
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
    "limit_text",
]


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

    name: str = attrs.field(validator=is_name)
    events: tuple[Event, ...] = attrs.field(default=(), converter=_events)
    runs: "Machine | None" = None
    cost: Mapping[str, int] = attrs.field(factory=dict[str, int], converter=costs)
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

    source: str = attrs.field(validator=is_name)
    target: str = attrs.field(validator=is_name)
    event: str = attrs.field(default="", validator=is_name_or_empty)
    guard: str = ""
    action: str = ""
    reason: str = attrs.field(default="", validator=is_name_or_empty)
    progress: bool = False
    cost: Mapping[str, int] = attrs.field(factory=dict[str, int], converter=costs)
    raises: tuple[str, ...] = attrs.field(default=(), converter=names)
    layer: str = ""
    name: str = ""
    doc: str = ""
    cite: str = ""


# mypy cannot tell what the generic `tuple` converts, so there is one function a type.


def _phases(values: Iterable[Phase]) -> tuple[Phase, ...]:
    return tuple(values)


def _terminals(values: Iterable[Terminal]) -> tuple[Terminal, ...]:
    return tuple(values)


def _transitions(values: Iterable[Transition]) -> tuple[Transition, ...]:
    return tuple(values)


def _memory(values: Iterable[Memory]) -> tuple[Memory, ...]:
    return tuple(values)


def _limits(values: Iterable[Limit]) -> tuple[Limit, ...]:
    return tuple(values)


def _assumptions(values: Iterable[Assumption]) -> tuple[Assumption, ...]:
    return tuple(values)


def _laws(values: Iterable[Law]) -> tuple[Law, ...]:
    return tuple(values)


def _editions(values: Iterable[Edition]) -> tuple[Edition, ...]:
    return tuple(values)


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

    name: str = attrs.field(validator=is_name)
    phases: tuple[Phase, ...] = attrs.field(converter=_phases)
    terminals: tuple[Terminal, ...] = attrs.field(converter=_terminals)
    transitions: tuple[Transition, ...] = attrs.field(converter=_transitions)
    memory: tuple[Memory, ...] = attrs.field(default=(), converter=_memory)
    limits: tuple[Limit, ...] = attrs.field(default=(), converter=_limits)
    assumptions: tuple[Assumption, ...] = attrs.field(
        default=(), converter=_assumptions
    )
    laws: tuple[Law, ...] = attrs.field(default=(), converter=_laws)
    editions: tuple[Edition, ...] = attrs.field(default=(), converter=_editions)
    initial: str = ""
    doc: str = ""
    source: str = ""

    def __attrs_post_init__(self) -> None:
        states = (*(p.name for p in self.phases), *(t.name for t in self.terminals))
        values = (*(m.name for m in self.memory), *(x.name for x in self.limits))
        for kind, declared in (
            ("phase or terminal", states),
            ("memory or limit", values),
            ("law", tuple(law.name for law in self.laws)),
            ("edition", tuple(edition.name for edition in self.editions)),
            ("assumption", tuple(item.name for item in self.assumptions)),
            ("row", tuple(row.name for row in self.rows)),
        ):
            twice = sorted({name for name in declared if declared.count(name) > 1})
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

    def amend(self, row: str, **changes: Any) -> "Machine":  # noqa: ANN401 - as its field
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
