"""What a machine of `transitions` calls for a row: guard, availability, action.

They are compiled from the trees of the table, and from nothing that `step` compiles.
They know of `transitions` only that it hands over data with a model.
"""

from collections.abc import Callable
from typing import Protocol, TypeAlias

import attrs

from unspiral.engine.core.language import TRUE, Node, python, render
from unspiral.engine.core.step import MemoryValue
from unspiral.engine.core.table import Row, Table
from unspiral.engine.errors import OutOfRange

__all__ = ["Action", "Available", "Guard", "Model", "Values"]

Values: TypeAlias = tuple[MemoryValue, ...]


# Not slotted, since a registered model gets methods; compared by identity, since of two
# equal models `transitions` registers only the first.
@attrs.define(slots=False, eq=False)
class Model:
    """What a machine of `transitions` moves: the state of one run.

    Attributes:
        state: a phase or, at the end, a terminal.
        memory: the values in the order of `Table.variables`.
        row: the row taken last, or None.
        asked: every alternative asked at the last trigger, in order, with its verdict.
    """

    state: str
    memory: Values
    row: Row | None = None
    asked: list[tuple[Row, bool]] = attrs.field(factory=list[tuple[Row, bool]])


class Data(Protocol):
    """What we read of the event data of `transitions`."""

    model: Model


class Guard:
    """The guard of a row, as a condition. It shows as its text."""

    def __init__(self, table: Table, row: Row) -> None:
        self.row = row
        self.test = _test(table, row.guard)
        self.__name__ = row.guard_text or "True"

    def __call__(self, data: Data) -> bool:
        """Say whether the guard holds, and record it."""
        model = data.model
        verdict = self.test(model.memory)
        model.asked.append((self.row, verdict))
        return verdict


class Available:
    """The availability of an event, as a condition. It is no verdict of a guard."""

    def __init__(self, table: Table, phase: str, event: str) -> None:
        node = table.available[phase, event]
        self.test = _test(table, node)
        self.__name__ = f"{event} if {render(node)}"

    def __call__(self, data: Data) -> bool:
        """Say whether the event can be answered now."""
        return self.test(data.model.memory)


class Action:
    """The action of a row, run before the state changes. It shows as its text."""

    def __init__(self, table: Table, row: Row) -> None:
        self.table = table
        self.row = row
        self.change = _change(table, row) if row.action else None
        self.bounds = tuple(
            (at, variable.low, variable.high)
            for at, variable in enumerate(table.variables)
            if variable.kind == "counter"
            and any(assign.name == variable.name for assign in row.action)
        )
        self.always = row.guard == TRUE
        self.__name__ = row.action_text

    def __call__(self, data: Data) -> None:
        """Change the memory, all values at once.

        Raises:
            OutOfRange: a counter would leave its domain; nothing is changed then.
        """
        model = data.model
        if self.change is not None:
            memory = self.change(model.memory)
            for at, low, high in self.bounds:
                value = memory[at]
                if value < low or (high is not None and value > high):  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue] - a counter's is an int
                    self.fail(at, int(value))
            model.memory = memory
        model.row = self.row
        if self.always:
            model.asked.append((self.row, True))

    def fail(self, at: int, value: int) -> None:
        """Say which counter would leave its domain."""
        variable = self.table.variables[at]
        high = value if variable.high is None else variable.high
        machine, name = self.table.machine.name, variable.name
        raise OutOfRange(machine, self.row.name, name, value, variable.low, high)


def _test(table: Table, node: Node) -> Callable[[Values], bool]:
    # Emitted from the whitelisted tree: no text of a user is in it.
    made: Callable[[Values], bool] = eval(f"lambda m: {_source(table, node)}", {})  # noqa: S307
    return made


def _change(table: Table, row: Row) -> Callable[[Values], Values]:
    values = {each.name: each.value for each in row.action}
    parts = [
        _source(table, values[v.name]) if v.name in values else f"m[{at}]"
        for at, v in enumerate(table.variables)
    ]
    made: Callable[[Values], Values] = eval(f"lambda m: ({', '.join(parts)},)", {})  # noqa: S307
    return made


def _source(table: Table, node: Node) -> str:
    return python(node, {name: f"m[{at}]" for name, at in table.positions.items()})
