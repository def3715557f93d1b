"""The compiled table: one declaration at fixed limits, flat, parsed, judged.

Whoever runs, checks or draws reads this. Pure: compiling does no I/O, and the table
never changes. It does not know how a step is taken (`step`), nor who asks for one.
"""

import functools
import hashlib
from collections.abc import Iterable, Mapping
from typing import Any
from typing import Literal as OneOf

import attrs

from unspiral.engine.core.assume import assume
from unspiral.engine.core.declare import (
    Choice,
    Counter,
    LimitValue,
    Machine,
    Memory,
    Transition,
    limit_text,
)
from unspiral.engine.core.language import (
    BOOL,
    FALSE,
    INT,
    OTHERWISE,
    TRUE,
    UNLIMITED,
    Assign,
    ChoiceType,
    Const,
    Node,
    Scope,
    Type,
    check_action,
    check_expression,
    check_guard,
    computes_with_unlimited,
    parse_expression,
    render,
    render_action,
    substitute,
)
from unspiral.engine.core.nest import flatten
from unspiral.engine.core.scopes import limit_scope, memory_scope
from unspiral.engine.core.settings import resolve
from unspiral.engine.errors import BadDeclaration, ExpressionError, UnknownName

__all__ = [
    "Row",
    "Table",
    "Variable",
    "compile_table",
    "limit_scope",
    "memory_scope",
]


@attrs.frozen
class Variable:
    """One memory at fixed limits.

    Attributes:
        name: its name.
        kind: what it is.
        low: the least value, or index of a value (flags and choices begin at 0).
        high: the greatest, or None if nothing bounds it.
        values: the values of a choice, in the order of their indices.
        initial: the value at the start.
    """

    name: str
    kind: OneOf["counter", "flag", "choice"]
    low: int
    high: int | None
    values: tuple[str, ...]
    initial: int | bool | str

    @property
    def domain(self) -> tuple[int | bool | str, ...] | range | None:
        """Return all values, or None if there is no end of them."""
        if self.kind == "flag":
            return (False, True)
        if self.kind == "choice":
            return self.values
        return None if self.high is None else range(self.low, self.high + 1)

    @property
    def type(self) -> Type:
        """Return its type in guards."""
        if self.kind == "choice":
            return ChoiceType(self.values)
        return BOOL if self.kind == "flag" else INT

    def index(self, value: int | bool | str) -> int:  # noqa: FBT001 - a value of memory
        """Return the number that stands for a value in arrays."""
        return self.values.index(value) if isinstance(value, str) else int(value)

    def value(self, index: int) -> int | bool | str:
        """Return the value for which a number stands in arrays."""
        if self.kind == "choice":
            return self.values[index]
        return bool(index) if self.kind == "flag" else index


@attrs.frozen(eq=False)
class Row:
    """One transition at fixed limits.

    Attributes:
        index: its place in the table.
        name: its name; rows of a nested machine begin with the name of the phase.
        source: a phase.
        event: what was answered, or None in a deciding phase.
        guard: the condition over memory; limits are put in.
        action: the simultaneous assignments; limits are put in.
        target: a phase or terminal.
        reason: the continue reason, or "".
        progress: whether it does the user's work.
        cost: what taking it costs, that of its phase included.
        layer: the recovery layer, or "".
        earlier: the alternatives that are asked before it.
        declared: the transition of the flat machine.
    """

    index: int
    name: str
    source: str
    event: str | None
    guard: Node
    action: tuple[Assign, ...]
    target: str
    reason: str
    progress: bool
    cost: Mapping[str, int]
    layer: str
    earlier: "tuple[Row, ...]"
    declared: Transition

    @property
    def guard_text(self) -> str:
        """Return the guard with limits put in; as declared if they alone refuse it."""
        if self.guard == Const(value=False) or self.declared.guard.strip() == OTHERWISE:
            return self.declared.guard.strip()
        return "" if self.guard == Const(value=True) else render(self.guard)

    @property
    def action_text(self) -> str:
        """Return the action as text, with limits put in."""
        return render_action(self.action)


@attrs.frozen(eq=False)
class Table:
    """A machine at fixed limits, ready to be stepped, proved or drawn.

    Attributes:
        machine: as declared.
        flat: the same without nested machines, with the assumptions applied.
        edition: the name of the edition, or "".
        limits: the value of every limit.
        assumptions: the names of the assumptions applied.
        variables: the memory, in the order of a snapshot.
        rows: all rows.
        available: per phase and event, when the event can be answered.
        compiled: what readers made of this table, by their own keys; freed with it.
    """

    machine: Machine
    flat: Machine
    edition: str
    limits: Mapping[str, LimitValue]
    assumptions: tuple[str, ...]
    variables: tuple[Variable, ...]
    rows: tuple[Row, ...]
    available: Mapping[tuple[str, str], Node]
    compiled: dict[str, Any] = attrs.field(
        factory=dict[str, Any], init=False, repr=False
    )

    @property
    def initial(self) -> str:
        """Return the phase in which a run starts."""
        return self.flat.start_phase

    @functools.cached_property
    def phases(self) -> tuple[str, ...]:
        """Return the names of the phases."""
        return tuple(phase.name for phase in self.flat.phases)

    @functools.cached_property
    def terminals(self) -> frozenset[str]:
        """Return the names of the terminals."""
        return frozenset(terminal.name for terminal in self.flat.terminals)

    @functools.cached_property
    def events(self) -> Mapping[str, tuple[str, ...]]:
        """Return the alphabet of each phase; empty if it decides."""
        return {p.name: tuple(e.name for e in p.events) for p in self.flat.phases}

    @functools.cached_property
    def alternatives(self) -> Mapping[tuple[str, str | None], tuple[Row, ...]]:
        """Return the rows of each phase and event in the order of asking."""
        groups: dict[tuple[str, str | None], list[Row]] = {}
        for row in self.rows:
            groups.setdefault((row.source, row.event), []).append(row)
        return {key: tuple(rows) for key, rows in groups.items()}

    @functools.cached_property
    def scope(self) -> Scope:
        """Return the types of the memory."""
        return {variable.name: variable.type for variable in self.variables}

    @functools.cached_property
    def positions(self) -> Mapping[str, int]:
        """Return where each memory stands in a snapshot."""
        return {variable.name: i for i, variable in enumerate(self.variables)}

    @functools.cached_property
    def row_names(self) -> Mapping[str, Row]:
        """Return the rows by name."""
        return {row.name: row for row in self.rows}

    @functools.cached_property
    def digest(self) -> str:
        """Return a fingerprint of all that decides a run: rows, memory, limits."""
        parts = [self.machine.name, self.initial]
        parts += [f"{k}={limit_text(v)}" for k, v in sorted(self.limits.items())]
        parts += [repr(variable) for variable in self.variables]
        parts += [f"{p}/{e}?{render(n)}" for (p, e), n in self.available.items()]
        parts += [
            f"{r.name}|{r.source}|{r.event}|{render(r.guard)}|{r.action_text}|"
            f"{r.target}|{r.reason}|{r.progress}|{sorted(r.cost.items())}"
            for r in self.rows
        ]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def compile_table(
    machine: Machine,
    edition: str | None = None,
    limits: Mapping[str, LimitValue] | None = None,
    assumptions: Iterable[str] = (),
) -> Table:
    """Compile a machine at the limits of an edition.

    Args:
        machine: the machine.
        edition: the name of an edition; the first unless given.
        limits: values that override the edition's.
        assumptions: the names of assumptions on the environment.

    Raises:
        DeclarationError: a text that cannot be read, an unknown phase or event.
        UnknownName: no such edition, limit or assumption.
        BadValue: a limit outside its declared values.
    """
    values = resolve(machine, edition, limits)
    names = tuple(dict.fromkeys(assumptions))
    flat = assume(flatten(machine), names)
    default = machine.editions[0].name if machine.editions else ""
    return _Compiler(machine, flat, values).table(edition or default, names)


class _Compiler:
    """One machine being compiled."""

    def __init__(
        self, machine: Machine, flat: Machine, limits: Mapping[str, LimitValue]
    ) -> None:
        self.machine = machine
        self.flat = flat
        self.limits = limits
        self.writable = memory_scope(flat)
        self.scope = {**limit_scope(limits, flat), **self.writable}
        self.states = [
            *(phase.name for phase in flat.phases),
            *(terminal.name for terminal in flat.terminals),
        ]
        self.phases = {phase.name: phase for phase in flat.phases}

    def table(self, edition: str, assumptions: tuple[str, ...]) -> Table:
        variables = tuple(self.variable(memory) for memory in self.flat.variables)
        self.available = {
            (phase.name, event.name): self.condition(
                event.available, f"phase {phase.name}, event {event.name}, available"
            )
            for phase in self.flat.phases
            for event in phase.events
        }
        rows: list[Row] = []
        for transition in self.flat.rows:
            rows.append(self.row(transition, rows))
        return Table(
            machine=self.machine,
            flat=self.flat,
            edition=edition,
            limits=dict(self.limits),
            assumptions=assumptions,
            variables=variables,
            rows=tuple(rows),
            available=self.available,
        )

    def condition(self, text: str, what: str, *, dead: bool = False) -> Node:
        place = f"{self.machine.name}, {what}"
        node = check_guard(text, self.scope, place)
        return self.put_in(node, text, place, dead=dead) or FALSE

    def put_in(self, node: Node, text: str, place: str, *, dead: bool) -> Node | None:
        """Put the limits in; None if that cannot be computed and never need be."""
        result = substitute(node, self.limits)
        if not computes_with_unlimited(result):
            return result
        if dead:
            return None
        hint = "; take the row only where the limit is not UNLIMITED"
        problem = "no number is left here with a limit that is UNLIMITED"
        raise ExpressionError(place, text, 0, problem, hint)

    def variable(self, memory: Memory) -> Variable:
        match memory:
            case Counter(name=name, low=low, initial=initial):
                high = self.bound(memory)
                if not (low <= initial and (high is None or initial <= high)):
                    self.fail(f"counter {name}", f"it starts at {initial}, outside it")
                return Variable(name, "counter", low, high, (), initial)
            case Choice(name=name, values=values, initial=initial):
                if initial not in values:
                    self.fail(f"choice {name}", f"it starts at {initial!r}, no value")
                return Variable(
                    name, "choice", 0, len(values) - 1, tuple(values), initial
                )
            case _:
                return Variable(memory.name, "flag", 0, 1, (), memory.initial)

    def bound(self, counter: Counter) -> int | None:
        place = f"{self.machine.name}, counter {counter.name}, high"
        node = parse_expression(counter.high, place)
        limits = {k: v for k, v in self.scope.items() if k in self.limits}
        found = check_expression(node, limits, counter.high, place)
        value = substitute(node, self.limits)
        if found != INT or not isinstance(value, Const):
            raise ExpressionError(place, counter.high, 0, "a number is needed")
        return None if value.value is UNLIMITED else int(value.value)

    def row(self, row: Transition, before: list[Row]) -> Row:
        where = f"machine {self.machine.name}, row {row.name}"
        if row.source not in self.phases:
            raise UnknownName("phase", row.source, tuple(self.phases), where)
        if row.target not in self.states:
            raise UnknownName(
                "phase or terminal", row.target, tuple(self.states), where
            )
        phase = self.phases[row.source]
        events = tuple(event.name for event in phase.events)
        if row.event and row.event not in events:
            raise UnknownName("event", row.event, events, where)
        if not row.event and events:
            self.fail(f"row {row.name}", "an acting phase needs an event in each row")
        place = f"{self.machine.name}, row {row.name}"
        action = check_action(row.action, self.scope, self.writable, f"{place}, action")
        cost = dict(phase.cost) if row.event else {}
        for name, amount in row.cost.items():
            cost[name] = cost.get(name, 0) + amount
        event = row.event or None
        earlier = tuple(
            r for r in before if r.source == row.source and r.event == event
        )
        dead = self.available.get((row.source, row.event)) == FALSE
        dead = dead or any(other.guard == TRUE for other in earlier)
        guard = self.condition(row.guard, f"row {row.name}, guard", dead=dead)
        dead = dead or guard == FALSE
        values = [
            (each, self.put_in(each.value, row.action, f"{place}, action", dead=dead))
            for each in action
        ]
        return Row(
            index=len(before),
            name=row.name,
            source=row.source,
            event=event,
            guard=guard,
            action=tuple(
                Assign(each.name, value) for each, value in values if value is not None
            ),
            target=row.target,
            reason=row.reason,
            progress=row.progress,
            cost=cost,
            layer=row.layer,
            earlier=earlier,
            declared=row,
        )

    def fail(self, what: str, problem: str) -> None:
        raise BadDeclaration(f"machine {self.machine.name!r}, {what}", problem)
