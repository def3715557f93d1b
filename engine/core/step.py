"""One step: a pure function from a snapshot and an event to a Step.

The proof, the fuzzer, the probabilities and the drawings read this; the live driver
runs the same rows on `transitions` (`core.library`), and that both agree is a test.

For speed, each (phase, event) of a table is compiled once to a small Python function
whose source is rebuilt from the whitelisted tree; a step is then one dictionary look-up
and one call. Alternatives are asked in order and the first that holds is taken, so the
row taken says all verdicts: those before it were false.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from unspiral.engine.core.language import TRUE, Const, Node, integer, python
from unspiral.engine.core.table import Row, Table
from unspiral.engine.errors import IllegalEvent, OutOfRange, StuckError

__all__ = [
    "Snapshot",
    "Step",
    "available_events",
    "initial_snapshot",
    "memory_of",
    "step",
    "stepper",
]

MemoryValue: TypeAlias = int | bool | str
Test: TypeAlias = Callable[[tuple[MemoryValue, ...]], bool]


class Snapshot(NamedTuple):
    """The state of a run.

    Attributes:
        phase: a phase or, at the end, a terminal.
        memory: the values in the order of `Table.variables`.
    """

    phase: str
    memory: tuple[MemoryValue, ...]


class Step(NamedTuple):
    """One row taken.

    Attributes:
        before: the snapshot in which the event was answered.
        event: the answer, or None in a deciding phase.
        row: the row taken.
        after: the snapshot that followed.
    """

    before: Snapshot
    event: str | None
    row: Row
    after: Snapshot

    @property
    def asked(self) -> tuple[tuple[Row, bool], ...]:
        """Return every alternative that was asked, in order, with its verdict."""
        return (*((row, False) for row in self.row.earlier), (self.row, True))

    @property
    def why_not(self) -> tuple[str, ...]:
        """Say in words why each earlier alternative was not taken."""
        return tuple(
            f"not {row.name} -> {row.target}: {row.guard_text or 'True'} is false"
            for row in self.row.earlier
        )


Handler: TypeAlias = Callable[[Snapshot], Step]
Handlers: TypeAlias = Mapping[tuple[str, str | None], Handler]
#: of each phase: the events that it always offers; or else all, with their tests
Offers: TypeAlias = dict[str, tuple[tuple[str, ...], tuple[tuple[str, Test], ...]]]
_HANDLERS, _OFFERS = "step handlers", "step offers"  # in `Table.compiled`
_NO_OFFER: tuple[tuple[str, ...], tuple[tuple[str, Test], ...]] = ((), ())


def initial_snapshot(table: Table) -> Snapshot:
    """Return the snapshot in which a run starts."""
    return Snapshot(table.initial, tuple(v.initial for v in table.variables))


def memory_of(table: Table, snapshot: Snapshot) -> dict[str, MemoryValue]:
    """Return the memory of a snapshot by name."""
    return {v.name: x for v, x in zip(table.variables, snapshot.memory, strict=True)}


def step(table: Table, snapshot: Snapshot, event: str | None = None) -> Step:
    """Take one step.

    Args:
        table: the compiled machine.
        snapshot: where the run stands.
        event: what the environment answered; None in a deciding phase.

    Raises:
        IllegalEvent: the phase does not offer this event now.
        StuckError: no alternative applies (the machine is not total).
        OutOfRange: the action leaves a counter's domain.
    """
    handlers: Handlers = table.compiled.get(_HANDLERS) or stepper(table)
    handler = handlers.get((snapshot.phase, event))
    if handler is None:
        allowed = available_events(table, snapshot)
        raise IllegalEvent(table.machine.name, snapshot.phase, event or "", allowed)
    return handler(snapshot)


def available_events(table: Table, snapshot: Snapshot) -> tuple[str, ...]:
    """Return the events that the environment may answer now."""
    offers: Offers = table.compiled.get(_OFFERS) or _offers(table)
    always, tests = offers.get(snapshot.phase, _NO_OFFER)
    if not tests:
        return always
    memory = snapshot.memory
    return tuple(event for event, test in tests if test(memory))


def stepper(table: Table) -> Handlers:
    """Return the compiled functions of a table, by phase and event."""
    if _HANDLERS not in table.compiled:
        table.compiled[_HANDLERS] = {
            key: _Source(table, key[0], key[1]).handler() for key in _keys(table)
        }
    handlers: Handlers = table.compiled[_HANDLERS]
    return handlers


def _keys(table: Table) -> list[tuple[str, str | None]]:
    return [
        (phase, event)
        for phase in table.phases
        for event in (table.events[phase] or (None,))
    ]


def _offers(table: Table) -> Offers:
    local = {name: f"m[{i}]" for name, i in table.positions.items()}
    offers: Offers = {}
    for phase, events in table.events.items():
        nodes = [table.available[phase, event] for event in events]
        tests = tuple(
            (event, _compile(f"lambda m: {python(node, local)}", {}))
            for event, node in zip(events, nodes, strict=True)
        )
        always = all(node == TRUE for node in nodes)
        offers[phase] = (events, ()) if always else ((), tests)
    table.compiled[_OFFERS] = offers
    return offers


class _Source:
    """The source of the function for one phase and event."""

    def __init__(self, table: Table, phase: str, event: str | None) -> None:
        self.table = table
        self.phase = phase
        self.event = event
        self.local = {v.name: f"v{i}" for i, v in enumerate(table.variables)}
        self.values: dict[str, object] = {
            "Step": Step,
            "Snapshot": Snapshot,
            "new": tuple.__new__,  # pyright: ignore[reportUnknownMemberType] - generic
            "out_of_range": self.out_of_range,
            "stuck": self.stuck,
            "illegal": self.illegal,
            "event": event,
        }

    def handler(self) -> Handler:
        unpack = ", ".join(self.local.values())
        lines = ["def handler(snapshot):"]
        if unpack:
            lines.append(f"    ({unpack},) = snapshot[1]")
        if self.event is not None:
            ready = self.table.available[self.phase, self.event]
            if ready != TRUE:
                lines.append(f"    if not {python(ready, self.local)}:")
                lines.append("        illegal(snapshot)")
        for row in self.table.alternatives.get((self.phase, self.event), ()):
            lines += self.row(row)
            if row.guard == TRUE:
                break
        else:
            lines.append("    stuck(snapshot)")
        return _compile_def("\n".join(lines), self.values)

    def row(self, row: Row) -> list[str]:
        indent = "    "
        lines: list[str] = []
        if row.guard != TRUE:
            lines.append(f"    if {python(row.guard, self.local)}:")
            indent = "        "
        after = dict(self.local)
        for number, assign in enumerate(row.action):
            name = f"w{number}"
            lines.append(f"{indent}{name} = {python(assign.value, self.local)}")
            after[assign.name] = name
            lines += self.range_check(row, assign.name, assign.value, name, indent)
        memory = "snapshot[1]"
        if row.action:
            memory = f"({', '.join(after.values())},)"
        self.values[f"row{row.index}"] = row
        lines.append(
            f"{indent}return new(Step, (snapshot, event, row{row.index}, "
            f"new(Snapshot, ({row.target!r}, {memory}))))"
        )
        return lines

    def range_check(
        self, row: Row, name: str, value: Node, local: str, indent: str
    ) -> list[str]:
        variable = self.table.variables[self.table.positions[name]]
        if variable.kind != "counter":
            return []
        low, high = variable.low, variable.high
        if isinstance(value, Const):
            number = integer(value.value)
            if low <= number and (high is None or number <= high):
                return []
            test = "True"
        else:
            test = f"{local} < {low}"
            if high is not None:
                test = f"not {low} <= {local} <= {high}"
        return [
            f"{indent}if {test}:",
            f"{indent}    out_of_range({row.name!r}, {name!r}, {local})",
        ]

    def out_of_range(self, row: str, name: str, value: int) -> None:
        variable = self.table.variables[self.table.positions[name]]
        high = value if variable.high is None else variable.high
        machine = self.table.machine.name
        raise OutOfRange(machine, row, name, value, variable.low, high)

    def stuck(self, snapshot: Snapshot) -> None:
        memory = memory_of(self.table, snapshot)
        machine = self.table.machine.name
        raise StuckError(machine, self.phase, self.event or "", memory)

    def illegal(self, snapshot: Snapshot) -> None:
        allowed = available_events(self.table, snapshot)
        machine = self.table.machine.name
        raise IllegalEvent(machine, self.phase, self.event or "", allowed)


def _compile(source: str, values: dict[str, object]) -> Test:
    # The source is emitted from whitelisted trees: no text of a user is in it.
    made: Test = eval(source, values)  # noqa: S307
    return made


def _compile_def(source: str, values: dict[str, object]) -> Handler:
    space: dict[str, Any] = dict(values)
    # The same: emitted from whitelisted trees, names are generated or `repr` strings.
    exec(source, space)  # noqa: S102
    handler: Handler = space["handler"]
    return handler
