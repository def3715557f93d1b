"""From a phase and its edges to one array function that gives all followers.

The source is emitted from whitelisted trees against an array namespace; ranks of
followers are computed by adding differences to a rank that is carried over in blocks of
unchanged digits, so that an edge which raises one counter costs one addition.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import attrs

from unspiral.engine.check.layout import Digit, Layout
from unspiral.engine.check.system import Edge, System
from unspiral.engine.core.language import (
    FALSE,
    TRUE,
    Arith,
    Bool,
    Compare,
    Const,
    Name,
    Node,
    arrays,
    fold,
    integer,
    substitute,
)

__all__ = ["Expansion", "Kernel", "kernel_of"]

#: number of the edge, where in the chunk it is enabled (None: everywhere), the ranks of
#: the followers in the target's layout (None if the target has no layout)
Expansion: TypeAlias = tuple[int, Any, Any]


@attrs.frozen(eq=False)
class Kernel:
    """The followers of one phase.

    Attributes:
        expand: takes an array of ranks and the array namespace, gives expansions.
        edges: the edges by their number in the expansions.
        injective: per edge, whether different states have different followers.
    """

    expand: Callable[[Any, Any], list[Expansion]]
    edges: tuple[Edge, ...]
    injective: tuple[bool, ...]


def kernel_of(system: System, layouts: Mapping[str, Layout], phase: str) -> Kernel:
    """Compile the edges of one phase."""
    edges = tuple(edge for edge in system.edges if edge.source == phase)
    source = _Source(system, layouts, phase)
    for number, edge in enumerate(edges):
        source.edge(number, edge)
    space: dict[str, Any] = {}
    # Emitted from whitelisted trees; every name in it is generated.
    exec(source.text(), space)  # noqa: S102
    injective = tuple(source.injective(edge) for edge in edges)
    return Kernel(space["expand"], edges, injective)


class _Source:
    """The source being written for one phase."""

    def __init__(
        self, system: System, layouts: Mapping[str, Layout], phase: str
    ) -> None:
        self.flags = system.flags
        self.layouts = layouts
        self.layout = layouts[phase]
        self.digits = {digit.name: digit for digit in self.layout.digits}
        self.local = {name: f"v{i}" for i, name in enumerate(self.digits)}
        self.head: list[str] = []
        self.body: list[str] = []
        self.conditions: dict[str, str] = {}
        self.bases: dict[str, str] = {}
        self.unpack()

    def text(self) -> str:
        lines = ["def expand(r, xp):", "    out = []", *self.head, *self.body]
        return "\n".join([*lines, "    return out"])

    def unpack(self) -> None:
        """Write the digits of the ranks, and the quotients above each of them."""
        above = "r"
        for digit in reversed(self.layout.digits):
            local = self.local[digit.name]
            self.head.append(f"    q{local} = {above}")
            if digit is self.layout.digits[0]:
                value = f"q{local}"
            else:
                self.head.append(f"    p{local} = q{local} // {digit.size}")
                value = f"q{local} - p{local} * {digit.size}"
                above = f"p{local}"
            low = f" + {digit.low}" if digit.low else ""
            self.head.append(f"    {local} = {value}{low}")

    def known(self, node: Node) -> Node:
        """Put in what is fixed in this phase."""
        values = {
            name: bool(value) if name in self.flags else value
            for name, value in self.layout.fixed.items()
        }
        return substitute(node, values)

    def emit(self, node: Node) -> str:
        return arrays(node, self.local.__getitem__, self.flags)

    def condition(self, node: Node) -> str:
        """Return a variable that holds a condition; equal ones are computed once."""
        text = self.emit(node)
        if text not in self.conditions:
            self.conditions[text] = f"c{len(self.conditions)}"
            self.body.append(f"    {self.conditions[text]} = {text}")
        return self.conditions[text]

    def edge(self, number: int, edge: Edge) -> None:
        enabled = self.known(edge.enabled)
        if enabled == FALSE:
            return
        where = "None"
        if enabled != TRUE:
            mask = " & ".join(self.condition(part) for part in _conjuncts(enabled))
            self.body.append(f"    i = xp.flatnonzero({mask})")
            where = "i"
        follower = "None"
        if edge.target in self.layouts:
            follower = self.follower(edge, "" if where == "None" else "[i]")
        line = f"out.append(({number}, {where}, {follower}))"
        self.body.append(f"    if i.size: {line}" if where == "i" else f"    {line}")

    def follower(self, edge: Edge, at: str) -> str:
        target = self.layouts[edge.target]
        updates = {u.name: self.known(fold(u.value)) for u in edge.updates}
        parts: list[str] = []
        constant = 0
        for digit in target.digits:
            if digit.name not in updates:
                continue
            text, number = self.difference(digit, updates[digit.name], at)
            constant += number
            if text:
                parts.append(text)
        base = self.base(target)
        text = f"{base}{at}" if base else "xp.zeros_like(r)" + at
        return " + ".join([text, *parts, *([str(constant)] if constant else [])])

    def difference(self, digit: Digit, value: Node, at: str) -> tuple[str, int]:
        """Return what an update adds to the rank: an array text and a number."""
        name, stride = digit.name, digit.stride
        carried = self.local.get(name)
        if carried is None:
            return self.arrival(digit, value, at)
        match value:
            case Name(same) if same == name:
                return "", 0
            case Arith("+", Name(same), Const(int() as step)) if same == name:
                return "", step * stride
            case Arith("-", Name(same), Const(int() as step)) if same == name:
                return "", -step * stride
            case Const(constant):
                return f"({integer(constant)} - {carried}{at}) * {stride}", 0
            case _:
                return f"({self.value(value)}{at} - {carried}{at}) * {stride}", 0

    def arrival(self, digit: Digit, value: Node, at: str) -> tuple[str, int]:
        """Return what is added for a variable that is no digit in this phase.

        The base holds its fixed value, or nothing.
        """
        before = self.layout.fixed.get(digit.name, digit.low)
        if isinstance(value, Const):
            return "", (integer(value.value) - before) * digit.stride
        return f"({self.value(value)}{at} - {before}) * {digit.stride}", 0

    def value(self, node: Node) -> str:
        """Return a variable that holds a new value, as integers."""
        text = self.emit(node)
        if isinstance(node, Name):
            text = self.local[node.id]
        elif isinstance(node, Compare | Bool) or text.startswith(("(~", "((")):
            text = f"({text}) * 1"
        return self.remember(f"({text})")

    def remember(self, text: str) -> str:
        if text not in self.conditions:
            self.conditions[text] = f"c{len(self.conditions)}"
            self.body.append(f"    {self.conditions[text]} = {text}")
        return self.conditions[text]

    def base(self, target: Layout) -> str:
        """Return a variable that holds what of the rank is carried over."""
        if target.phase in self.bases:
            return self.bases[target.phase]
        constant = 0
        parts: list[str] = []
        for block in self.blocks(target):
            if isinstance(block, int):
                constant += block
            else:
                parts.append(block)
        if target.digits == self.layout.digits:
            parts, constant = ["r"], 0
        name = f"b{len(self.bases)}" if parts or constant else ""
        if name:
            text = " + ".join(parts) or "xp.zeros_like(r)"
            self.head.append(f"    {name} = {text} + {constant}")
        self.bases[target.phase] = name
        return name

    def blocks(self, target: Layout) -> list[str | int]:
        """Split the target's digits into runs that stand unchanged in the source."""
        found: list[str | int] = []
        run: list[tuple[Digit, Digit]] = []
        order = {digit.name: i for i, digit in enumerate(self.layout.digits)}
        for digit in target.digits:
            here = self.digits.get(digit.name)
            if here is None:
                if run:
                    found.append(self.block(run))
                    run = []
                fixed = self.layout.fixed.get(digit.name, digit.low)
                found.append((fixed - digit.low) * digit.stride)
                continue
            if run:
                last = run[-1][0]
                follows = order[here.name] == order[last.name] + 1
                if not follows or not _same(here, digit) or not _same(*run[-1]):
                    found.append(self.block(run))
                    run = []
            run.append((here, digit))
            found.append((here.low - digit.low) * digit.stride)
        if run:
            found.append(self.block(run))
        return found

    def block(self, run: list[tuple[Digit, Digit]]) -> str:
        first, last = run[0][0], run[-1][0]
        stride = run[-1][1].stride
        text = f"q{self.local[last.name]}"
        if first is not self.layout.digits[0]:
            size = first.size * first.stride // last.stride
            text = f"({text} - p{self.local[first.name]} * {size})"
        return f"{text} * {stride}" if stride != 1 else text

    def injective(self, edge: Edge) -> bool:
        """Tell whether two states of the source have two followers along an edge."""
        if edge.target not in self.layouts:
            return True
        there = {digit.name for digit in self.layouts[edge.target].digits}
        updates = {update.name: update.value for update in edge.updates}
        for name in self.digits:
            match updates.get(name, Name(name)):
                case Name(same) if same == name and name in there:
                    continue
                case Arith("+" | "-", Name(same), Const()) if (
                    same == name and name in there
                ):
                    continue
                case _ if _pinned(edge.enabled, name):
                    continue
                case _:
                    return False
        return True


def _conjuncts(node: Node) -> tuple[Node, ...]:
    return node.items if isinstance(node, Bool) and node.op == "and" else (node,)


def _same(here: Digit, there: Digit) -> bool:
    return here.size == there.size and here.low == there.low


def _pinned(condition: Node, name: str) -> bool:
    return any(
        isinstance(item, Compare)
        and item.op == "=="
        and item.left == Name(name)
        and isinstance(item.right, Const)
        for item in _conjuncts(condition)
    )
