"""Types of names and expressions: integer, flag, choice. It knows no machine.

A scope says which names there are and of which type; whatever does not fit it ends in
an error that names the place in the text and the nearest name.
"""

from collections.abc import Mapping
from typing import NoReturn, TypeAlias

import attrs

from unspiral.engine.core.language.parse import parse_action, parse_guard
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
    Unlimited,
    Value,
)
from unspiral.engine.errors import ExpressionError, suggestion

__all__ = [
    "BOOL",
    "INT",
    "ChoiceType",
    "Scope",
    "Type",
    "check_action",
    "check_expression",
    "check_guard",
    "type_of_value",
]


@attrs.frozen
class IntType:
    """A whole number, or UNLIMITED where the name is a limit."""

    def __str__(self) -> str:
        return "integer"


@attrs.frozen
class BoolType:
    """True or False."""

    def __str__(self) -> str:
        return "flag"


@attrs.frozen
class ChoiceType:
    """One of a few named values."""

    values: tuple[str, ...]

    def __str__(self) -> str:
        return f"choice of {', '.join(self.values[:8])}"


@attrs.frozen
class TextType:
    """A string literal whose choice is not known yet."""

    def __str__(self) -> str:
        return "string"


Type: TypeAlias = IntType | BoolType | ChoiceType | TextType
Scope: TypeAlias = Mapping[str, Type]
INT = IntType()
BOOL = BoolType()
TEXT = TextType()


def type_of_value(value: Value) -> Type:
    """Return the type of a literal; a string's choice is found by its context."""
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int | Unlimited):
        return INT
    return TEXT


class _Checker:
    """One text being judged."""

    def __init__(self, scope: Scope, text: str, place: str) -> None:
        self.scope = scope
        self.text = text
        self.place = place

    def fail(self, problem: str, at: str = "", hint: str = "") -> NoReturn:
        column = max(0, self.text.find(at)) if at else 0
        raise ExpressionError(self.place, self.text, column, problem, hint)

    def type_of(self, node: Node) -> Type:
        match node:
            case Const(value):
                return type_of_value(value)
            case Name(name):
                if name not in self.scope:
                    self.fail(
                        f"unknown name {name!r}", name, suggestion(name, self.scope)
                    )
                return self.scope[name]
            case Compare():
                self.comparison(node)
            case Member():
                self.member(node)
            case Bool(op, items):
                for item in items:
                    self.need(item, BOOL, f"each side of `{op}`")
            case Not(item):
                self.need(item, BOOL, "what stands after `not`")
            case Arith(op, left, right):
                self.need(left, INT, f"the left side of {op}")
                self.need(right, INT, f"the right side of {op}")
                if op == "-" and right == Const(UNLIMITED):
                    self.fail("UNLIMITED cannot be subtracted", "UNLIMITED")
                return INT
            case Extreme(op, items):
                for item in items:
                    self.need(item, INT, f"each value of {op}")
                return INT
            case Free():
                pass
        return BOOL

    def need(self, node: Node, wanted: Type, what: str) -> None:
        found = self.type_of(node)
        if found != wanted:
            names = _first_name(node)
            self.fail(f"{what} must be a {wanted}, and this is a {found}", names)

    def comparison(self, node: Compare) -> None:
        left, right = self.type_of(node.left), self.type_of(node.right)
        for text, other in ((node.left, right), (node.right, left)):
            if isinstance(text, Const) and isinstance(text.value, str):
                self.value_of(text.value, other)
        if isinstance(left, ChoiceType | TextType | BoolType):
            if node.op not in {"==", "!="}:
                self.fail(f"{node.op} orders numbers, and this is a {left}")
            kinds = {type(left), type(right)}
            if kinds <= {ChoiceType, TextType} and kinds != {TextType}:
                if kinds == {ChoiceType} and left != right:
                    self.fail("two choices with different values are never compared")
                return
        if type(left) is not type(right) or isinstance(left, TextType):
            self.fail(f"a {left} cannot be compared with a {right}", node.op)

    def value_of(self, value: str, choice: Type) -> None:
        if not isinstance(choice, ChoiceType):
            self.fail(f"a string is compared with a {choice}", value)
        if value not in choice.values:
            hint = suggestion(value, choice.values)
            self.fail(f"{value!r} is no value of this choice", value, hint)

    def member(self, node: Member) -> None:
        item = self.type_of(node.item)
        for value in node.values:
            if isinstance(value, str):
                self.value_of(value, item)
            elif type_of_value(value) != item or value is UNLIMITED:
                self.fail(f"{value!r} cannot be a {item}", repr(value))


def _first_name(node: Node) -> str:
    match node:
        case Name(name):
            return name
        case Const(value):
            return str(value)
        case Compare(_, left, _) | Arith(_, left, _):
            return _first_name(left)
        case Member(item, _) | Not(item):
            return _first_name(item)
        case Bool(_, items) | Extreme(_, items):
            return _first_name(items[0])
        case Free():
            return ""


def check_expression(node: Node, scope: Scope, text: str = "", place: str = "") -> Type:
    """Judge one expression and return its type.

    Raises:
        ExpressionError: an unknown name, or types that do not fit.
    """
    return _Checker(scope, text, place).type_of(node)


def check_guard(text: str, scope: Scope, place: str = "") -> Node:
    """Read and judge a guard: its type must be exactly a truth value.

    Raises:
        ExpressionError: not in the language, an unknown name, or no truth value.
    """
    node = parse_guard(text, place)
    checker = _Checker(scope, text, place)
    found = checker.type_of(node)
    if found != BOOL:
        checker.fail(f"a guard must be true or false, and this is a {found}")
    return node


def check_action(
    text: str, scope: Scope, writable: Scope, place: str = ""
) -> tuple[Assign, ...]:
    """Read and judge an action: it may read `scope` and write `writable`.

    Raises:
        ExpressionError: not in the language, an unknown name, a limit written to, or a
            value of another type than the memory.
    """
    assigns = parse_action(text, place)
    checker = _Checker(scope, text, place)
    for assign in assigns:
        name = assign.name
        if name not in writable:
            known = name in scope
            problem = f"{name!r} is a limit, and limits never change"
            hint = "" if known else suggestion(name, writable)
            checker.fail(problem if known else f"unknown memory {name!r}", name, hint)
        wanted, found = writable[name], checker.type_of(assign.value)
        if isinstance(assign.value, Const) and isinstance(assign.value.value, str):
            checker.value_of(assign.value.value, wanted)
        elif found != wanted:
            checker.fail(f"{name} is a {wanted}, and this is a {found}", name)
        elif assign.value == Const(UNLIMITED):
            checker.fail("UNLIMITED is a limit, not a count", "UNLIMITED")
    return assigns
