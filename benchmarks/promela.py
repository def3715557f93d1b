"""A table as a Promela text, for the model checker SPIN.

A second opinion on counts and a yardstick for speed. One process, one `d_step` a row;
its guard holds when the event is available, no earlier alternative applies, and the
row's own guard is true. Choices are numbers, in the order of their declaration.
"""

from collections.abc import Mapping
from string import Template

from unspiral.engine.core.language import (
    Arith,
    Assign,
    Bool,
    Compare,
    Const,
    Extreme,
    Member,
    Name,
    Node,
    Not,
    conjunction,
    encode,
    names,
    negation,
)
from unspiral.engine.core.table import Row, Table, Variable

__all__ = ["promela"]

_TEXT = Template("""\
/* $machine: $phases phases, $rows rows */
$memory
active proctype loop() {
end:
  do
$steps
  :: phase >= $first_terminal -> break
  od
}
#ifdef TERMINATION
ltl ends { <> (phase >= $first_terminal) }
#endif
""")


def promela(table: Table) -> str:
    """Return the text; with -DTERMINATION it asks whether every run ends.

    Raises:
        ValueError: the table has a counter without end, or a row whose assignments
            have no order in which each reads old values only.
    """
    states = (*table.phases, *sorted(table.terminals))
    numbers = {name: number for number, name in enumerate(states)}
    memory = [_declared("phase", len(states) - 1, numbers[table.initial])]
    memory += [_variable(variable) for variable in table.variables]
    return _TEXT.substitute(
        machine=table.machine.name,
        phases=len(table.phases),
        rows=len(table.rows),
        memory="\n".join(memory),
        steps="\n".join(_step(table, row, numbers) for row in table.rows),
        first_terminal=len(table.phases),
    )


def _word(name: str) -> str:
    return "v_" + name.replace(".", "_")


def _declared(name: str, high: int, initial: int) -> str:
    return f"unsigned {name} : {max(high.bit_length(), 1)} = {initial};"


def _variable(variable: Variable) -> str:
    if variable.high is None or variable.low < 0:
        raise ValueError(variable.name)
    initial = variable.index(variable.initial)
    return _declared(_word(variable.name), variable.high, initial)


def _step(table: Table, row: Row, numbers: Mapping[str, int]) -> str:
    ready = Const(value=True)
    available = table.available[row.source, row.event] if row.event else ready
    earlier = [negation(other.guard) for other in row.earlier]
    condition = encode(conjunction(available, *earlier, row.guard), table.scope)
    moves = [
        f"{_word(name)} = {_c(_encoded(table, name, value))}"
        for name, value in _in_order(row.action)
    ]
    moves.append(f"phase = {numbers[row.target]}")
    here = f"phase == {numbers[row.source]} && {_c(condition)}"
    return f"  :: d_step {{ {here} -> {'; '.join(moves)} }} /* {row.name} */"


def _encoded(table: Table, name: str, value: Node) -> Node:
    """Return a right-hand side with a number for the name of a choice's value."""
    variable = table.variables[table.positions[name]]
    if isinstance(value, Const) and isinstance(value.value, str):
        return Const(variable.index(value.value))
    return encode(value, table.scope)


def _in_order(action: tuple[Assign, ...]) -> list[tuple[str, Node]]:
    """Order assignments so that none reads what one before it has written."""
    left, done = list(action), list[tuple[str, Node]]()
    while left:
        for assign in left:
            others = [each for each in left if each is not assign]
            if not any(assign.name in names(each.value) for each in others):
                done.append((assign.name, assign.value))
                left = others
                break
        else:
            raise ValueError(left[0].name)
    return done


def _c(node: Node) -> str:  # noqa: PLR0911 - one case a node
    match node:
        case Const(bool() | int() as value):
            return str(int(value))
        case Name(name):
            return _word(name)
        case Compare(op, left, right):
            return f"({_c(left)} {op} {_c(right)})"
        case Member(item, values):
            tests = [f"{_c(item)} == {_c(Const(value))}" for value in values]
            return f"({' || '.join(tests)})"
        case Not(item):
            return f"!{_c(item)}"
        case Bool(op, items):
            sign = " && " if op == "and" else " || "
            return f"({sign.join(_c(item) for item in items)})"
        case Arith(op, left, right):
            return f"({_c(left)} {op} {_c(right)})"
        case Extreme(op, items):
            sign, text = ("<" if op == "min" else ">"), _c(items[0])
            for item in items[1:]:
                text = f"({text} {sign} {_c(item)} -> {text} : {_c(item)})"
            return text
        case _:
            raise ValueError(node)
