"""Intervals: between which numbers a tree's value lies. Pure, and never too narrow."""

from collections.abc import Mapping
from typing import TypeAlias

from unspiral.engine.core.language import Arith, Const, Extreme, Name, Node, integer

__all__ = ["ENDLESS", "Interval", "interval"]

Interval: TypeAlias = tuple[int, int]
ENDLESS = 2**62  #: stands for a greatest value that is not there


def interval(node: Node, box: Mapping[str, Interval]) -> Interval:
    """Return an interval that holds every value of a tree over a box."""
    match node:
        case Const(value):
            return integer(value), integer(value)
        case Name(name):
            return box[name]
        case Arith(op, left, right):
            return _combined(op, interval(left, box), interval(right, box))
        case Extreme(op, items):
            parts = [interval(item, box) for item in items]
            pick = min if op == "min" else max
            return pick(p[0] for p in parts), pick(p[1] for p in parts)
        case _:
            return 0, 1


def _combined(op: str, one: Interval, two: Interval) -> Interval:
    if op == "+":
        return one[0] + two[0], one[1] + two[1]
    if op == "-":
        return one[0] - two[1], one[1] - two[0]
    products = [a * b for a in one for b in two]
    return min(products), max(products)
