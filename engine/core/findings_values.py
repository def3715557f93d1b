"""Trying out guards on all values that matter: the arithmetic behind `validate`.

Memory with few values is tried on each of them. A counter with many is tried around
the numbers with which it is compared, which is exact where each comparison reads it
once and alone; elsewhere the answer is None: undecided, with the benefit of the doubt.
"""

import itertools
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import cast

import attrs

from unspiral.engine.core.findings_text import walk
from unspiral.engine.core.language import (
    UNLIMITED,
    Arith,
    Bool,
    Compare,
    Const,
    Extreme,
    Member,
    Name,
    Node,
    Not,
    Value,
    names,
)

__all__ = ["CAP", "Domain", "Env", "Reader", "compiled", "points", "product", "spell"]

CAP = 6_000  #: combinations that are tried at most
FEW = 64  #: values of a memory that are followed one by one

Env = Mapping[str, Value]
Reader = Callable[[Env], object]
_COMPARE: Mapping[str, Callable[..., object]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARITH: Mapping[str, Callable[..., object]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}


@attrs.frozen
class Domain:
    """The values of a memory at fixed limits.

    Attributes:
        values: all of them if there are few, else None.
        low: the least value of a counter.
        high: the greatest, or None if nothing bounds it.
        listed: all values of a choice with many.
    """

    values: frozenset[Value] | None
    low: int = 0
    high: int | None = None
    listed: tuple[str, ...] = ()

    def holds(self, value: object) -> bool:
        """Tell whether a value lies in the domain."""
        if self.values is not None:
            return value in self.values
        if self.listed or not isinstance(value, int):
            return value in self.listed
        return self.low <= value and (self.high is None or value <= self.high)


def compiled(node: Node) -> Reader:  # noqa: PLR0911 - one case a node
    """Return a function that evaluates a tree on a memory."""
    match node:
        case Const(value):
            constant = math.inf if value is UNLIMITED else value
            return lambda _: constant
        case Name(name):
            return operator.itemgetter(name)
        case Compare(op, left, right):
            return _binary(_COMPARE[op], left, right)
        case Arith(op, left, right):
            return _binary(_ARITH[op], left, right)
        case Member(item, values):
            inner, among = compiled(item), frozenset(values)
            return lambda env: inner(env) in among
        case Not(item):
            inner = compiled(item)
            return lambda env: not inner(env)
        case Bool(op, items):
            return _joined([compiled(item) for item in items], until=op == "or")
        case Extreme(op, items):
            parts = [compiled(item) for item in items]
            pick = cast("Callable[..., object]", min if op == "min" else max)
            return lambda env: pick([part(env) for part in parts])
        case _:
            return lambda _: True


def _joined(parts: list[Reader], *, until: bool) -> Reader:
    """Return what asks one part after the other until one of them decides."""

    def read(env: Env) -> bool:
        for part in parts:
            if bool(part(env)) is until:
                return until
        return not until

    return read


def _binary(combine: Callable[..., object], left: Node, right: Node) -> Reader:
    if isinstance(left, Name) and isinstance(right, Const):
        name, value = left.id, right.value
        constant = math.inf if value is UNLIMITED else value
        return lambda env: combine(env[name], constant)
    one, two = compiled(left), compiled(right)
    return lambda env: combine(one(env), two(env))


def points(
    name: str, domain: Domain, readers: Iterable[Node]
) -> tuple[Value, ...] | None:
    """Return values of a memory that stand for all of a large domain, or None.

    Args:
        name: the memory.
        domain: its large domain.
        readers: all trees that are going to be asked.
    """
    atoms = [
        atom
        for node in readers
        for atom in walk(node)
        if isinstance(atom, Compare | Member) and name in names(atom)
    ]
    marks: set[int | str] = set()
    for atom in atoms:
        found = _marks(atom)
        if found is None:
            return None
        marks |= found
    if domain.listed:
        other = [value for value in domain.listed if value not in marks][:1]
        return (*(value for value in domain.listed if value in marks), *other)
    around = {m + d for m in marks if isinstance(m, int) for d in (-1, 0, 1)}
    ends = {domain.low, domain.low + 1}
    ends |= {max(around, default=0) + 1} if domain.high is None else {domain.high}
    return tuple(sorted(value for value in around | ends if domain.holds(value)))


def _marks(atom: Compare | Member) -> set[int | str] | None:
    """Return where a comparison may change its answer, or None if it is unclear."""
    if isinstance(atom, Member):
        if not isinstance(atom.item, Name):
            return None
        return {value for value in atom.values if isinstance(value, int | str)}
    parts = list(walk(atom))
    once = sum(isinstance(part, Name) for part in parts) == 1
    steep = any(isinstance(part, Arith) and part.op == "*" for part in parts)
    constants = [part.value for part in parts if isinstance(part, Const)]
    if len(names(atom)) > 1 or not once or steep or len(constants) > 3:  # noqa: PLR2004 - more make too many sums
        return None
    if any(isinstance(value, str) for value in constants):
        return {value for value in constants if isinstance(value, str)}
    sums: set[int | str] = {0}
    numbers = [value for value in constants if isinstance(value, int)]
    for signs in itertools.product((-1, 0, 1), repeat=len(numbers)):
        sums.add(sum(s * n for s, n in zip(signs, numbers, strict=True)))
    return sums


def product(values: Mapping[str, tuple[Value, ...]]) -> list[dict[str, Value]] | None:
    """Return every combination of the values, or None if there are too many."""
    if math.prod(len(each) for each in values.values()) > CAP:
        return None
    keys = tuple(values)
    return [
        dict(zip(keys, combination, strict=True))
        for combination in itertools.product(*values.values())
    ]


def spell(env: Env) -> str:
    """Say a combination in words."""
    return (
        ", ".join(f"{name} = {value!r}" for name, value in env.items()) or "any memory"
    )
