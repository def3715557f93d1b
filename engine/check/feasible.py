"""Can a condition be fulfilled at all? Tried out, over the variables that it reads.

A counter with many values is tried only around the values at which one of the
comparisons turns over; between them the condition cannot change. So the answer does not
depend on how large a limit is. When there would still be too many cases the answer is
"perhaps", which is yes. It knows conditions and variables, and no machine.
"""

import functools
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

import attrs

from unspiral.engine.core.language import (
    Arith,
    Bool,
    Compare,
    Const,
    Member,
    Name,
    Node,
    Not,
    names,
    python,
)

__all__ = ["Word", "satisfiable"]

_MAX_COMBINATIONS = 20_000
_FEW = 64  # values that are simply all tried
_KEPT = 50_000  # conditions that were tried and are remembered


@attrs.frozen
class Word:
    """One variable as an integer in `low..high`; `high` None if nothing bounds it."""

    name: str
    low: int
    high: int | None
    initial: int
    flag: bool = False

    @property
    def size(self) -> int:
        """Return how many values there are, 0 for no end of them."""
        return 0 if self.high is None else self.high - self.low + 1


def satisfiable(condition: Node, words: Iterable[Word]) -> bool:
    """Tell whether some memory fulfils a condition; True if that is too many to try."""
    if isinstance(condition, Const):
        return bool(condition.value)
    domains = {word.name: word for word in words}
    return all(
        _tried(part, tuple(domains[name] for name in sorted(names(part))))
        for part in _apart(condition)
    )


def _apart(condition: Node) -> Iterable[Node]:
    """Split a conjunction into conditions that share no variable."""
    if not (isinstance(condition, Bool) and condition.op == "and"):
        return (condition,)
    parts: list[tuple[frozenset[str], list[Node]]] = []
    for item in condition.items:
        read, joined = names(item), [item]
        for part in [part for part in parts if part[0] & read]:
            parts.remove(part)
            read, joined = read | part[0], part[1] + joined
        parts.append((read, joined))
    return [
        Bool("and", tuple(joined)) if len(joined) > 1 else joined[0]
        for _, joined in parts
    ]


@functools.lru_cache(maxsize=_KEPT)
def _tried(condition: Node, used: tuple[Word, ...]) -> bool:
    if isinstance(condition, Const):
        return bool(condition.value)
    domains = [_values(word, condition) for word in used]
    total = math.prod(len(each) for each in domains)
    if not 0 < total <= _MAX_COMBINATIONS:
        return True
    local = {word.name: f"m[{i}]" for i, word in enumerate(used)}
    # Emitted from a whitelisted tree, as in `core.step`.
    test = eval(f"lambda m: {python(condition, local)}", {})  # noqa: S307
    return any(test(memory) for memory in itertools.product(*domains))


def _values(word: Word, condition: Node) -> Sequence[int]:
    """Return values of a variable among which each case occurs; none: not known."""
    if 0 < word.size <= _FEW:
        return range(word.low, word.low + word.size)
    turns = list(_turns(word.name, condition))
    if None in turns:
        return range(word.low, word.low + word.size)
    near = {turn + d for turn in turns if turn is not None for d in (-1, 0, 1, 2)}
    ends = {word.low} if word.high is None else {word.low, word.high}
    return sorted(v for v in near | ends if v >= word.low and _within(v, word.high))


def _within(value: int, high: int | None) -> bool:
    return high is None or value <= high


def _turns(name: str, node: Node) -> Iterator[int | None]:
    """Yield the values at which a comparison turns over; None: that is not known."""
    match node:
        case Compare(_, left, right) if name in names(node):
            yield _root(name, Arith("-", left, right), 0)
        case Member(item, values) if name in names(node):
            for value in values:
                yield _root(name, item, int(value)) if isinstance(value, int) else None
        case Not(item):
            yield from _turns(name, item)
        case Bool(_, items):
            for item in items:
                yield from _turns(name, item)
        case _ if name in names(node):
            yield None
        case _:
            pass


def _root(name: str, node: Node, value: int) -> int | None:
    """Return the greatest whole number at which a line has not passed a value."""
    line = _line(name, node)
    if line is None or line[0] == 0:
        return None
    slope, offset = line
    return (value - offset) // slope


def _line(name: str, node: Node) -> tuple[int, int] | None:
    """Return slope and offset of an expression over one variable, if it is a line."""
    match node:
        case Const(int() as value):
            return 0, int(value)
        case Name(same) if same == name:
            return 1, 0
        case Arith(op, left, right):
            one, two = _line(name, left), _line(name, right)
            if one is None or two is None:
                return None
            if op == "*":
                return one[1] * two[0], one[1] * two[1]
            sign = 1 if op == "+" else -1
            return one[0] + sign * two[0], one[1] + sign * two[1]
        case _:
            return None
