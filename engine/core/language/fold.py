"""Trees to trees: names, substitution, simplification, and what a tree may be.

Every function is total over well-typed trees and returns new values.
"""

import functools
from collections.abc import Callable, Mapping

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
    Ordering,
    Unlimited,
    Value,
)
from unspiral.engine.core.language.typing import ChoiceType, Scope

__all__ = [
    "FALSE",
    "TRUE",
    "computes_with_unlimited",
    "conjunction",
    "disjunction",
    "encode",
    "evaluate",
    "fold",
    "free",
    "may",
    "names",
    "names_of_action",
    "negation",
    "replace",
    "substitute",
]

_KEPT = 50_000  # trees whose names and simple form are remembered
TRUE = Const(value=True)
FALSE = Const(value=False)
_NEGATED: Mapping[Ordering, Ordering] = {
    "==": "!=",
    "!=": "==",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
}
_MIRRORED: Mapping[Ordering, Ordering] = {
    "==": "==",
    "!=": "!=",
    "<": ">",
    ">": "<",
    "<=": ">=",
    ">=": "<=",
}


@functools.lru_cache(maxsize=_KEPT)
def names(node: Node) -> frozenset[str]:
    """Return the names that a tree reads."""
    match node:
        case Name(name):
            return frozenset({name})
        case Compare(_, left, right) | Arith(_, left, right):
            return names(left) | names(right)
        case Member(item, _) | Not(item):
            return names(item)
        case Bool(_, items) | Extreme(_, items):
            return frozenset[str]().union(*(names(item) for item in items))
        case _:
            return frozenset()


def names_of_action(action: tuple[Assign, ...]) -> frozenset[str]:
    """Return the names that an action reads."""
    return frozenset[str]().union(*(names(assign.value) for assign in action))


def computes_with_unlimited(node: Node) -> bool:
    """Tell whether UNLIMITED is left in a simplified tree: it has no value then."""
    match node:
        case Const(value):
            return value is UNLIMITED
        case Compare(_, left, right) | Arith(_, left, right):
            return computes_with_unlimited(left) or computes_with_unlimited(right)
        case Member(item, _) | Not(item):
            return computes_with_unlimited(item)
        case Bool(_, items) | Extreme(_, items):
            return any(computes_with_unlimited(item) for item in items)
        case _:
            return False


def replace(node: Node, change: Callable[[Node], Node | None]) -> Node:
    """Rebuild a tree bottom up; `change` returns a new node, or None to keep it."""
    match node:
        case Compare(op, left, right):
            built: Node = Compare(op, replace(left, change), replace(right, change))
        case Arith(op, left, right):
            built = Arith(op, replace(left, change), replace(right, change))
        case Member(item, values):
            built = Member(replace(item, change), values)
        case Not(item):
            built = Not(replace(item, change))
        case Bool(op, items):
            built = Bool(op, tuple(replace(item, change) for item in items))
        case Extreme(op, items):
            built = Extreme(op, tuple(replace(item, change) for item in items))
        case _:
            built = node
    changed = change(built)
    return built if changed is None else changed


def substitute(node: Node, values: Mapping[str, Node | Value]) -> Node:
    """Put values or trees in place of names, and simplify."""
    return fold(_put(node, values))


def _put(node: Node, values: Mapping[str, Node | Value]) -> Node:
    """Put values in; a part that reads none of the names is left as it is."""
    if names(node).isdisjoint(values):
        return node
    match node:
        case Name(name):
            value = values[name]
            if isinstance(value, bool | int | str | Unlimited):
                return Const(value)
            return value
        case Compare(op, left, right):
            return Compare(op, _put(left, values), _put(right, values))
        case Arith(op, left, right):
            return Arith(op, _put(left, values), _put(right, values))
        case Member(item, among):
            return Member(_put(item, values), among)
        case Not(item):
            return Not(_put(item, values))
        case Bool(op, items):
            return Bool(op, tuple(_put(item, values) for item in items))
        case Extreme(op, items):
            return Extreme(op, tuple(_put(item, values) for item in items))
        case _:
            return node


def free(node: Node, dropped: frozenset[str]) -> Node:
    """Put `Free` in place of every smallest condition that reads a dropped name."""

    def change(inner: Node) -> Node | None:
        atom = isinstance(inner, Compare | Member)
        # A part may be free already: a comparison of conditions, or of flags.
        if atom and (names(inner) & dropped or _loose(inner)):
            return Free()
        return Free() if isinstance(inner, Name) and inner.id in flags else None

    # A dropped name outside a comparison is a bare flag.
    flags = dropped & _bare(node)
    return fold(replace(node, change)) if names(node) & dropped else node


def _loose(node: Node) -> bool:
    match node:
        case Free():
            return True
        case Compare(_, left, right) | Arith(_, left, right):
            return _loose(left) or _loose(right)
        case Member(item, _) | Not(item):
            return _loose(item)
        case Bool(_, items) | Extreme(_, items):
            return any(_loose(item) for item in items)
        case _:
            return False


def _bare(node: Node) -> frozenset[str]:
    match node:
        case Name(name):
            return frozenset({name})
        case Not(item):
            return _bare(item)
        case Bool(_, items):
            return frozenset[str]().union(*(_bare(item) for item in items))
        case _:
            return frozenset()


def may(node: Node, *, be: bool) -> Node:
    """Return the condition under which a tree with `Free` parts may be `be`.

    The result has no `Free` part: it is a plain condition over what was not dropped.
    """
    match node:
        case Free():
            return TRUE
        case Not(item):
            return may(item, be=not be)
        case Bool(op, items):
            join = conjunction if (op == "and") == be else disjunction
            return join(*(may(item, be=be) for item in items))
        case _:
            return fold(node) if be else negation(node)


def negation(node: Node) -> Node:
    """Return the negation, pushed into the comparison where there is one."""
    return fold(Not(node))


def conjunction(*items: Node) -> Node:
    """Return the simplified conjunction of any number of conditions."""
    return _join("and", items)


def disjunction(*items: Node) -> Node:
    """Return the simplified disjunction of any number of conditions."""
    return _join("or", items)


def _join(op: str, items: tuple[Node, ...]) -> Node:
    unit, zero = (TRUE, FALSE) if op == "and" else (FALSE, TRUE)
    flat: dict[Node, None] = {}
    for item in items:
        folded = fold(item)
        inner = folded.items if isinstance(folded, Bool) and folded.op == op else None
        flat.update(dict.fromkeys(inner or (folded,)))
    flat.pop(unit, None)
    # Two free conditions are never each other's negation, even if they look so.
    if zero in flat or any(
        fold(Not(item)) in flat and not _loose(item) for item in flat
    ):
        return zero
    if len(flat) < 2:  # noqa: PLR2004 - a pair is the least to join
        return next(iter(flat), unit)
    return Bool("and" if op == "and" else "or", tuple(flat))


@functools.lru_cache(maxsize=_KEPT)
def fold(node: Node) -> Node:
    """Simplify: constants are computed, UNLIMITED is compared as above every number."""
    match node:
        case Compare(op, left, right):
            return _fold_compare(Compare(op, fold(left), fold(right)))
        case Member(item, values):
            inner = fold(item)
            if isinstance(inner, Const):
                return Const(value=inner.value in values)
            return Member(inner, values)
        case Not(item):
            return _fold_not(fold(item))
        case Bool(op, items):
            return _join(op, items)
        case Arith(op, left, right):
            return _fold_arith(Arith(op, fold(left), fold(right)))
        case Extreme(op, items):
            return _fold_extreme(Extreme(op, tuple(fold(item) for item in items)))
        case _:
            return node


def _fold_not(item: Node) -> Node:
    match item:
        case Const(value):
            return Const(value=not value)
        case Not(inner):
            return inner
        case Compare(op, left, right):
            return Compare(_NEGATED[op], left, right)
        case Bool(op, items):
            join = disjunction if op == "and" else conjunction
            return join(*(_fold_not(inner) for inner in items))
        case Free():
            return item
        case _:
            return Not(item)


def _order(value: Value) -> float:
    return float("inf") if value is UNLIMITED else int(value)


def _fold_compare(node: Compare) -> Node:
    match node:
        case Compare(op, Const(left), Const(right)):
            return Const(value=_holds(op, left, right))
        case Compare(op, Const(value), other):
            if value is UNLIMITED:  # every count is below it
                return Const(value=op in {">", ">=", "!="})
            if isinstance(value, bool) and op in {"==", "!="}:
                return other if value == (op == "==") else fold(Not(other))
            return Compare(_MIRRORED[op], other, Const(value))
        case Compare(op, other, Const(value)):
            if value is UNLIMITED:
                return Const(value=op in {"<", "<=", "!="})
            if isinstance(value, bool) and op in {"==", "!="}:
                return other if value == (op == "==") else fold(Not(other))
            return node
        case Compare(op, left, right) if left == right:
            return Const(value=op in {"==", "<=", ">="})
        case _:
            return node


def _holds(op: str, left: Value, right: Value) -> bool:
    if op in {"==", "!="}:
        return (left == right) == (op == "==")
    one, two = _order(left), _order(right)
    return {"<": one < two, "<=": one <= two, ">": one > two, ">=": one >= two}[op]


def _fold_arith(node: Arith) -> Node:
    match node:
        case Arith("+" | "-", Const(left), _) if left is UNLIMITED:
            return Const(UNLIMITED)
        case Arith("+", _, Const(right)) if right is UNLIMITED:
            return Const(UNLIMITED)
        case Arith("*", Const(int() as left), Const(right)) if right is UNLIMITED:
            # A negative factor is refused by the table: nothing is below every number.
            return Const(UNLIMITED) if left > 0 else node if left else Const(0)
        case Arith(op, Const(int() as left), Const(int() as right)):
            result = {"+": left + right, "-": left - right, "*": left * right}[op]
            return Const(result)
        case Arith("+" | "-", left, Const(0)):
            return left
        case Arith("*", Const(1), right):
            return right
        case _:
            return node


def _fold_extreme(node: Extreme) -> Node:
    constants = [item.value for item in node.items if isinstance(item, Const)]
    others = [item for item in node.items if not isinstance(item, Const)]
    if not constants:
        return node
    pick = min if node.op == "min" else max
    best = pick(constants, key=_order)
    if best is UNLIMITED:
        if node.op == "max" or not others:
            return Const(UNLIMITED)
        return others[0] if len(others) == 1 else Extreme(node.op, tuple(others))
    if not others:
        return Const(best)
    return Extreme(node.op, (*others, Const(best)))


def encode(node: Node, scope: Scope) -> Node:
    """Put small integers in place of flags' and choices' literals (arrays hold those).

    A choice's value becomes its index in the declaration, True 1 and False 0.
    """

    def index(value: Value, other: Node) -> Value:
        kind = scope.get(other.id) if isinstance(other, Name) else None
        if isinstance(value, str) and isinstance(kind, ChoiceType):
            return kind.values.index(value)
        return value

    def change(inner: Node) -> Node | None:
        match inner:
            case Compare(op, left, Const(value)):
                return Compare(op, left, Const(index(value, left)))
            case Compare(op, Const(value), right):
                return Compare(op, Const(index(value, right)), right)
            case Member(item, values):
                return Member(item, tuple(index(value, item) for value in values))
            case _:
                return None

    return replace(node, change)


def evaluate(node: Node, memory: Mapping[str, Value]) -> Value:
    """Return the value of a tree on one memory; every name must be in it."""
    folded = substitute(node, memory)
    if not isinstance(folded, Const):
        raise KeyError(*sorted(names(folded)))
    return folded.value
