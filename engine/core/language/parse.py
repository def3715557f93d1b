"""From text to tree: Python syntax, read by `ast`, through a whitelist.

Nothing else of Python gets through: no calls but `min` and `max`, no attributes but
the dots of a nested name, no subscripts, no strings but the values of a choice.
It knows no names and no types; `typing` judges those.
"""

import ast
from typing import Literal as OneOf
from typing import NoReturn

from unspiral.engine.core.language.tree import (
    UNLIMITED,
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
    Ordering,
    Value,
)
from unspiral.engine.errors import ExpressionError

__all__ = ["MAX_TEXT", "OTHERWISE", "parse_action", "parse_expression", "parse_guard"]

OTHERWISE = "otherwise"  #: the guard of the last of ordered alternatives
MAX_TEXT = 2_000  #: characters; longer text is refused before `ast` sees it
MAX_DEPTH = 50  #: of a tree; the readers of trees are recursive
MAX_INT = 10**9  #: greatest literal: arrays of the proof are 64 bit wide

_ALLOWED = (
    "; allowed are names, integers, strings, True, False, UNLIMITED, comparisons, "
    "in (...), and, or, not, +, -, a literal times a name, min(...), max(...)"
)
_ORDERINGS: dict[type[ast.cmpop], Ordering] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_OPERATORS: dict[type[ast.operator], OneOf["+", "-", "*"]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
}


class _Reader:
    """One text being read; it knows the place for the sake of messages."""

    def __init__(self, text: str, place: str) -> None:
        self.text = text
        self.place = place
        self.depth = 0

    def fail(self, problem: str, at: ast.AST | None = None, hint: str = "") -> NoReturn:
        column = 0
        if at is not None:
            lines = self.text.splitlines(keepends=True)
            before = sum(len(part) for part in lines[: getattr(at, "lineno", 1) - 1])
            column = before + getattr(at, "col_offset", 0)
        raise ExpressionError(self.place, self.text, column, problem, hint)

    def module(self) -> list[ast.stmt]:
        if len(self.text) > MAX_TEXT:
            shown, self.text = len(self.text), self.text[:80]
            self.fail(f"{shown} characters; at most {MAX_TEXT} are read")
        try:
            return ast.parse(self.text).body
        except SyntaxError as error:
            column = max(0, (error.offset or 1) - 1)
            problem = f"not valid syntax ({error.msg})"
            raise ExpressionError(self.place, self.text, column, problem) from None
        except (ValueError, RecursionError, MemoryError):
            self.fail("not readable (null bytes, or nested too deeply)")

    def node(self, tree: ast.expr) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail("nested too deeply", tree, f"; at most {MAX_DEPTH} levels")
        found = self.inner_node(tree)
        self.depth -= 1
        return found

    def inner_node(self, tree: ast.expr) -> Node:
        match tree:
            case ast.Constant(value=bool() | int() | str()):
                return Const(self.literal(tree))
            case ast.Name() | ast.Attribute():
                return self.name(tree)
            case ast.BoolOp(op=joint, values=values):
                join: OneOf["and", "or"] = "and" if isinstance(joint, ast.And) else "or"
                return Bool(join, tuple(self.node(value) for value in values))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Not(self.node(operand))
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int())):
                return Const(self.literal(tree))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return self.arithmetic(tree, _OPERATORS[type(op)], left, right)
            case ast.Compare():
                return self.comparison(tree)
            case ast.Call(func=ast.Name(id="min" | "max" as word), args=args):
                if len(args) < 2 or tree.keywords:  # noqa: PLR2004 - a pair
                    self.fail(f"{word} takes two or more values", tree)
                return Extreme(word, tuple(self.node(arg) for arg in args))
            case _:
                kind = type(tree).__name__
                self.fail(f"{kind} is not part of the language", tree, _ALLOWED)

    def literal(self, tree: ast.expr) -> Value:
        sign = 1
        if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
            tree, sign = tree.operand, -1
        if isinstance(tree, ast.Name) and tree.id == "UNLIMITED":
            return UNLIMITED
        if not isinstance(tree, ast.Constant):
            self.fail("a literal is needed here", tree)
        value = tree.value
        if isinstance(value, bool) or (isinstance(value, str) and sign == 1):
            return value
        if isinstance(value, int):
            if value > MAX_INT:
                self.fail(f"a number above {MAX_INT:,}; write UNLIMITED", tree)
            return sign * value
        self.fail(f"a {type(value).__name__} is not a value of the language", tree)

    def name(self, tree: ast.Name | ast.Attribute) -> Node:
        parts: list[str] = []
        inner: ast.expr = tree
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if not isinstance(inner, ast.Name):
            self.fail("a dot may only join the parts of a name", tree)
        if inner.id == "UNLIMITED" and not parts:
            return Const(UNLIMITED)
        return Name(".".join([inner.id, *reversed(parts)]))

    def arithmetic(
        self, tree: ast.expr, op: OneOf["+", "-", "*"], left: ast.expr, right: ast.expr
    ) -> Node:
        node = Arith(op, self.node(left), self.node(right))
        if op == "*" and not isinstance(node.left, Const):
            if not isinstance(node.right, Const):
                self.fail("one side of * must be a literal", tree)
            node = Arith(op, node.right, node.left)
        return node

    def comparison(self, tree: ast.Compare) -> Node:
        parts: list[Node] = []
        left = tree.left
        for op, right in zip(tree.ops, tree.comparators, strict=True):
            if isinstance(op, ast.In | ast.NotIn):
                member = self.member(left, right)
                parts.append(Not(member) if isinstance(op, ast.NotIn) else member)
            elif type(op) in _ORDERINGS:
                word = _ORDERINGS[type(op)]
                parts.append(Compare(word, self.node(left), self.node(right)))
            else:
                self.fail("`is` is not part of the language; write ==", tree)
            left = right
        return parts[0] if len(parts) == 1 else Bool("and", tuple(parts))

    def member(self, left: ast.expr, right: ast.expr) -> Member:
        if not isinstance(right, ast.Tuple | ast.List | ast.Set) or not right.elts:
            self.fail("after `in` stands a tuple of literals", right)
        return Member(self.node(left), tuple(self.literal(e) for e in right.elts))

    def assignment(self, statement: ast.stmt) -> Assign:
        match statement:
            case ast.Assign(targets=[ast.Name() | ast.Attribute() as target]):
                return Assign(self.target(target), self.node(statement.value))
            case ast.AugAssign(target=ast.Name() | ast.Attribute() as target, op=op):
                if not isinstance(op, ast.Add | ast.Sub):
                    self.fail("only += and -= exist", statement)
                name = self.target(target)
                value = self.node(statement.value)
                return Assign(name, Arith(_OPERATORS[type(op)], Name(name), value))
            case _:
                self.fail(
                    "an action is a list of assignments",
                    statement,
                    "; write `turn += 1; last = 'next_turn'`",
                )

    def target(self, tree: ast.Name | ast.Attribute) -> str:
        node = self.name(tree)
        if not isinstance(node, Name):
            self.fail("this cannot be assigned to", tree)
        return node.id


def parse_expression(text: str, place: str = "") -> Node:
    """Read one expression.

    Raises:
        ExpressionError: the text is not in the language.
    """
    reader = _Reader(text.strip(), place)
    body = reader.module()
    if len(body) != 1 or not isinstance(body[0], ast.Expr):
        reader.fail("one expression is needed here", body[1] if body[1:] else None)
    return reader.node(body[0].value)


def parse_guard(text: str, place: str = "") -> Node:
    """Read a guard; an empty one and `otherwise` are always true.

    Raises:
        ExpressionError: the text is not in the language.
    """
    if text.strip() in {"", OTHERWISE}:
        return Const(value=True)
    return parse_expression(text, place)


def parse_action(text: str, place: str = "") -> tuple[Assign, ...]:
    """Read an action, `a = 1; b += 1`, in the order written.

    Raises:
        ExpressionError: the text is not in the language, or assigns a name twice.
    """
    reader = _Reader(text.strip(), place)
    assigns: dict[str, Assign] = {}
    for statement in reader.module():
        assign = reader.assignment(statement)
        if assign.name in assigns:
            reader.fail(f"{assign.name} is assigned twice", statement)
        assigns[assign.name] = assign
    return tuple(assigns.values())
