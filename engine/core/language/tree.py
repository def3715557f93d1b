"""The typed tree of a guard or action, after parsing. It knows no machine.

A tree is data: five readers walk it (evaluation, drawing, vectorising, export,
mutation), so every node is a frozen value and equal trees are equal. Hashes are kept,
since the proof looks up the same trees again and again.
"""

import enum
from typing import Literal as OneOf
from typing import TypeAlias

import attrs

__all__ = [
    "UNLIMITED",
    "Arith",
    "Assign",
    "Bool",
    "Compare",
    "Const",
    "Extreme",
    "Free",
    "Member",
    "Name",
    "Node",
    "Not",
    "Unlimited",
    "Value",
    "integer",
]


class Unlimited(enum.Enum):
    """The type of `UNLIMITED`, a limit that never binds. No number stands for it."""

    UNLIMITED = "UNLIMITED"

    def __repr__(self) -> str:
        return "UNLIMITED"


UNLIMITED = Unlimited.UNLIMITED
Value: TypeAlias = bool | int | str | Unlimited
Ordering: TypeAlias = OneOf["==", "!=", "<", "<=", ">", ">="]


def integer(value: Value) -> int:
    """Return a literal of an encoded tree, or of arithmetic, as a number.

    Raises:
        TypeError: it is a text or UNLIMITED, and the tree was never encoded.
    """
    if isinstance(value, int):
        return int(value)
    raise TypeError(value)


def _typed(value: Value) -> tuple[type[object], Value]:
    return type(value), value


def _all_typed(values: tuple[Value, ...]) -> tuple[tuple[type[object], Value], ...]:
    return tuple((type(value), value) for value in values)


@attrs.frozen(cache_hash=True)
class Const:
    """A literal; `True` and `1` are different ones, though Python has them equal."""

    value: Value = attrs.field(eq=_typed)


@attrs.frozen(cache_hash=True)
class Name:
    """A memory, a limit or, in laws, a property of a step (`after.turn`)."""

    id: str


@attrs.frozen(cache_hash=True)
class Compare:
    """One comparison; a chain `a < b < c` is parsed to a conjunction of two."""

    op: Ordering
    left: "Node"
    right: "Node"


@attrs.frozen(cache_hash=True)
class Member:
    """`item in (a, b, c)` with literal elements."""

    item: "Node"
    values: tuple[Value, ...] = attrs.field(eq=_all_typed)


@attrs.frozen(cache_hash=True)
class Bool:
    """A conjunction or disjunction of two or more."""

    op: OneOf["and", "or"]
    items: tuple["Node", ...]


@attrs.frozen(cache_hash=True)
class Not:
    """Negation."""

    item: "Node"


@attrs.frozen(cache_hash=True)
class Arith:
    """A sum, a difference, or a product with a literal factor."""

    op: OneOf["+", "-", "*"]
    left: "Node"
    right: "Node"


@attrs.frozen(cache_hash=True)
class Extreme:
    """`min` or `max` of two or more: the only, and explicit, saturation."""

    op: OneOf["min", "max"]
    items: tuple["Node", ...]


@attrs.frozen(cache_hash=True)
class Free:
    """A condition over dropped memory: it may be true and it may be false.

    It never comes from a text. The proof puts it in place of a comparison that reads
    memory which a quotient has dropped.
    """


Node: TypeAlias = Const | Name | Compare | Member | Bool | Not | Arith | Extreme | Free


@attrs.frozen(cache_hash=True)
class Assign:
    """`name = value`; the right side reads the memory as it was before the row."""

    name: str
    value: Node
