"""Which continue resets which memory: the matrix, read off the rows of a machine.

A cell is "=" where the memory is kept, the value where one is set, "+1" where it is
counted up, and else the text of what it becomes.
"""

from collections.abc import Mapping

from unspiral.engine.core.declare import LimitValue, Machine
from unspiral.engine.core.language import (
    Arith,
    Const,
    Extreme,
    Name,
    Node,
    render,
)
from unspiral.engine.core.table import Row, Table, Variable, compile_table

__all__ = ["KEPT", "reset_matrix"]

KEPT = "="


def reset_matrix(
    machine: Machine,
    edition: str | None = None,
    limits: Mapping[str, LimitValue] | None = None,
) -> dict[str, dict[str, str]]:
    """Return the matrix at given limits: reason, then memory of the machine, then cell.

    Rows with the same reason that treat a memory differently give one cell, their texts
    joined by "or".

    Raises:
        UnspiralError: as `compile_table`.
    """
    table = compile_table(machine, edition, limits)
    own = {memory.name for memory in machine.memory}
    variables = [each for each in table.variables if each.name in own]
    return {
        reason: {
            variable.name: _joined(table, reason, variable) for variable in variables
        }
        for reason in machine.reasons
    }


def _joined(table: Table, reason: str, variable: Variable) -> str:
    cells = [_cell(row, variable) for row in table.rows if row.reason == reason]
    return " or ".join(dict.fromkeys(cells))


def _cell(row: Row, variable: Variable) -> str:
    assigned = {assign.name: assign.value for assign in row.action}
    value = _lowest(assigned.get(variable.name, Name(variable.name)), variable)
    match value:
        case Name(name) if name == variable.name:
            return KEPT
        case Const(str() as text):
            return text
        case Arith("+", Name(name), Const(number)) if name == variable.name:
            return f"+{number}"
        case _:
            return render(value)


def _lowest(value: Node, variable: Variable) -> Node:
    """Return the least value of a counter where `min` can give nothing else."""
    if isinstance(value, Extreme) and value.op == "min":
        for item in value.items:
            if item == Const(variable.low):
                return item
    return value
