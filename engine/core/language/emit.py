"""Trees to text: for people, for Python, and for arrays.

`render` is stable: parsing its result gives the same tree. `python` and `arrays` give
source that is compiled by us; since it is rebuilt from the whitelisted tree and names
are replaced by generated ones, no text of a user reaches the compiler.
"""

from collections.abc import Callable, Mapping

from unspiral.engine.core.language.fold import fold
from unspiral.engine.core.language.tree import (
    UNLIMITED,
    Arith,
    Assign,
    Bool,
    Compare,
    Const,
    Extreme,
    Free,
    Member,
    Name,
    Node,
    Not,
    Value,
    integer,
)

__all__ = ["arrays", "python", "render", "render_action"]

# Binding strength, weakest first.
_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _ATOM = range(7)


def render(node: Node) -> str:
    """Return the text of a tree, with as few brackets as needed."""
    return _render(node)[0]


def render_action(action: tuple[Assign, ...]) -> str:
    """Return the text of an action; `a = a + 1` is written `a += 1`."""
    return "; ".join(_render_assign(assign) for assign in action)


def _render_assign(assign: Assign) -> str:
    match assign:
        case Assign(name, Arith("+" | "-" as op, Name(same), right)) if same == name:
            return f"{name} {op}= {render(right)}"
        case Assign(name, value):
            return f"{name} = {render(value)}"


def literal(value: Value) -> str:
    """Return the text of a literal; strings in single quotes."""
    return "UNLIMITED" if value is UNLIMITED else repr(value)


def _render(node: Node) -> tuple[str, int]:
    match node:
        case Const(value):
            negative = isinstance(value, int) and value < 0
            return literal(value), _PRODUCT if negative else _ATOM
        case Name(name):
            return name, _ATOM
        case Compare(op, left, right):
            return f"{_at(left, _SUM)} {op} {_at(right, _SUM)}", _COMPARE
        case Not(Member(item, values)):
            return f"{_at(item, _SUM)} not in {_tuple(values)}", _COMPARE
        case Member(item, values):
            return f"{_at(item, _SUM)} in {_tuple(values)}", _COMPARE
        case Not(item):
            return f"not {_at(item, _COMPARE)}", _NOT
        case Bool(op, items):
            level = _AND if op == "and" else _OR
            return f" {op} ".join(_at(item, level + 1) for item in items), level
        case Arith("*", left, right):
            return f"{_at(left, _PRODUCT)} * {_at(right, _ATOM)}", _PRODUCT
        case Arith(op, left, right):
            return f"{_at(left, _SUM)} {op} {_at(right, _PRODUCT)}", _SUM
        case Extreme(op, items):
            return f"{op}({', '.join(render(item) for item in items)})", _ATOM
        case Free():
            return "?", _ATOM


def _at(node: Node, level: int) -> str:
    text, strength = _render(node)
    return text if strength >= level else f"({text})"


def _tuple(values: tuple[Value, ...]) -> str:
    inner = ", ".join(literal(value) for value in values)
    return f"({inner},)" if len(values) == 1 else f"({inner})"


def python(node: Node, local: Mapping[str, str]) -> str:
    """Return Python source that evaluates the tree; `local` names each memory."""
    match node:
        case Const(value):
            if value is UNLIMITED:
                raise ValueError(value)
            return repr(value)
        case Name(name):
            return local[name]
        case Compare(op, left, right):
            return f"({python(left, local)} {op} {python(right, local)})"
        case Member(item, values):
            return f"({python(item, local)} in {_tuple(values)})"
        case Not(item):
            return f"(not {python(item, local)})"
        case Bool(op, items):
            return "(" + f" {op} ".join(python(item, local) for item in items) + ")"
        case Arith(op, left, right):
            return f"({python(left, local)} {op} {python(right, local)})"
        case Extreme(op, items):
            return f"{op}({', '.join(python(item, local) for item in items)})"
        case Free():
            raise ValueError(node)


def arrays(
    node: Node, local: Callable[[str], str], flags: frozenset[str], xp: str = "xp"
) -> str:
    """Return source that evaluates an encoded tree over whole arrays.

    Args:
        node: a tree without strings (`encode`), `Free` and UNLIMITED.
        local: gives the variable that holds a memory's array.
        flags: the names that are flags; alone they stand for "is not 0".
        xp: the variable that holds the array namespace (numpy or the like).
    """

    def walk(inner: Node) -> str:
        match inner:
            case Const(value) if not isinstance(value, str) and value is not UNLIMITED:
                return str(int(value))
            case Name(name):
                return f"({local(name)} != 0)" if name in flags else local(name)
            case Compare(op, left, right):
                return f"({operand(left)} {op} {operand(right)})"
            case Member(item, values):
                tests = [f"({operand(item)} == {integer(v)})" for v in values]
                return f"({' | '.join(tests)})"
            case Not(item):
                return f"(~{walk(item)})"
            case Bool(op, items):
                sign = " & " if op == "and" else " | "
                return f"({sign.join(walk(item) for item in items)})"
            case Arith(op, left, right):
                return f"({walk(left)} {op} {walk(right)})"
            case Extreme(op, items):
                source = walk(items[0])
                for item in items[1:]:
                    source = f"{xp}.{op}imum({source}, {walk(item)})"
                return source
            case _:
                raise ValueError(inner)

    def operand(inner: Node) -> str:
        flag = isinstance(inner, Name) and inner.id in flags
        return local(inner.id) if flag and isinstance(inner, Name) else walk(inner)

    # Folded, no constant is left among truth values, where `~1` would not be 0.
    return walk(fold(node))
