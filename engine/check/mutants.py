"""The mutants of a machine: each is the machine with one small thing changed.

They are made of the texts of its rows and the values of its limits, and know nothing of
what becomes of them.
"""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any
from typing import Literal as OneOf

import attrs

from unspiral.engine.core.declare import (
    Choice,
    Counter,
    LimitValue,
    Machine,
    Memory,
    Transition,
)
from unspiral.engine.core.language import (
    OTHERWISE,
    UNLIMITED,
    Bool,
    Compare,
    Member,
    Node,
    Not,
    parse_action,
    parse_expression,
    render,
    render_action,
)

__all__ = ["Kind", "Mutant", "mutants_of"]

Kind = OneOf[
    "guard dropped",
    "guard negated",
    "condition dropped",
    "comparison shifted",
    "assignment dropped",
    "reset added",
    "alternatives swapped",
    "target changed",
    "progress moved",
    "limit removed",
    "switch flipped",
]

#: what a comparison becomes if it is off by one, or the wrong way round at its end
_SHIFTED: Mapping[str, OneOf["==", "!=", "<", "<=", ">", ">="]] = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
}


@attrs.frozen
class Mutant:
    """One small change.

    Attributes:
        kind: of change.
        row: the row that is changed; or of two that are swapped, the first; or "".
        before: what is changed, as text.
        after: what it becomes, as text.
        fields: of the row, with their new values.
        limits: that are set to other values.
        swapped: the row that the first one changes places with, or "".
    """

    kind: Kind
    row: str
    before: str
    after: str
    fields: Mapping[str, Any] = attrs.field(factory=dict[str, Any], eq=False)
    limits: Mapping[str, LimitValue] = attrs.field(
        factory=dict[str, LimitValue], eq=False
    )
    swapped: str = ""

    @property
    def name(self) -> str:
        """What it is called, stable as long as the row reads the same."""
        change = f"{self.before} => {self.after}"
        return f"{self.kind}: {self.row or 'limits'}: {change}"

    def applied(self, machine: Machine) -> Machine:
        """Return the machine with the change; limits are for whoever compiles it.

        Raises:
            DeclarationError: that is no machine.
        """
        if self.swapped:
            return _swapped(machine, self.row, self.swapped)
        return machine.amend(self.row, **self.fields) if self.fields else machine


def mutants_of(
    machine: Machine, limits: Mapping[str, LimitValue]
) -> tuple[Mutant, ...]:
    """Return all mutants of a machine that has no nested ones.

    Args:
        machine: it, flattened.
        limits: the values at which it is looked at.
    """
    groups: dict[tuple[str, str], list[Transition]] = {}
    for row in machine.rows:
        groups.setdefault((row.source, row.event), []).append(row)
    found = [
        mutant
        for row in machine.rows
        for mutant in (
            *_of_guard(row),
            *_of_action(row, machine.variables),
            *_of_target(row, groups[row.source, row.event], machine),
            *_of_progress(row),
        )
    ]
    for group in groups.values():
        found += _of_order(group)
    return tuple(dict.fromkeys((*found, *_of_limits(limits))))


# -- guards ----------------------------------------------------------------------------


def _of_guard(row: Transition) -> Iterator[Mutant]:
    text = row.guard.strip()
    if not text or text == OTHERWISE:
        return
    guard = parse_expression(text, row.name)
    yield _guard("guard dropped", row, text, "")
    yield _guard("guard negated", row, text, render(Not(guard)))
    for kind, node in _changed(guard):
        yield _guard(kind, row, text, render(node))


def _guard(kind: Kind, row: Transition, before: str, after: str) -> Mutant:
    return Mutant(kind, row.name, before, after or "True", {"guard": after})


def _changed(node: Node) -> Iterator[tuple[Kind, Node]]:
    """Yield a condition with one part of it dropped, or one comparison shifted."""
    match node:
        case Bool(op, items):
            for at, item in enumerate(items):
                rest = (*items[:at], *items[at + 1 :])
                whole = rest[0] if len(rest) == 1 else Bool(op, rest)
                yield "condition dropped", whole
                for kind, part in _changed(item):
                    yield kind, Bool(op, (*items[:at], part, *items[at + 1 :]))
        case Not(item):
            for kind, part in _changed(item):
                yield kind, Not(part)
        case Compare(op, left, right):
            yield "comparison shifted", Compare(_SHIFTED[op], left, right)
        case Member(item, values) if len(values) > 1:
            for at in range(len(values)):
                others = (*values[:at], *values[at + 1 :])
                yield "condition dropped", Member(item, others)
        case _:
            pass


# -- actions ---------------------------------------------------------------------------


def _of_action(row: Transition, memory: tuple[Memory, ...]) -> Iterator[Mutant]:
    assigns = parse_action(row.action, row.name) if row.action else ()
    text = row.action.strip()
    for at in range(len(assigns)):
        rest = render_action((*assigns[:at], *assigns[at + 1 :]))
        shown = render_action((assigns[at],))
        yield Mutant("assignment dropped", row.name, shown, "nothing", {"action": rest})
    if not row.reason:
        return
    written = {each.name for each in assigns}
    for each in memory:
        if each.name in written or isinstance(each, Choice):
            continue
        first = each.low if isinstance(each, Counter) else each.initial
        reset = f"{each.name} = {first}"
        action = f"{text}; {reset}" if text else reset
        yield Mutant("reset added", row.name, "nothing", reset, {"action": action})


# -- where rows stand, and lead --------------------------------------------------------


def _of_order(group: list[Transition]) -> Iterator[Mutant]:
    for first, second in itertools.pairwise(group):
        if OTHERWISE not in {first.guard.strip(), second.guard.strip()}:
            yield Mutant(
                "alternatives swapped",
                first.name,
                f"{first.name} before {second.name}",
                f"{second.name} before {first.name}",
                swapped=second.name,
            )


def _swapped(machine: Machine, one: str, two: str) -> Machine:
    rows = list(machine.rows)
    places = {row.name: at for at, row in enumerate(rows)}
    first, second = places[one], places[two]
    rows[first], rows[second] = rows[second], rows[first]
    return attrs.evolve(machine, transitions=rows)


def _of_target(
    row: Transition, group: list[Transition], machine: Machine
) -> Iterator[Mutant]:
    """Send a row where another alternative, or another answer of its phase, leads."""
    near = [other.target for other in group]
    far = [other.target for other in machine.rows if other.source == row.source]
    others = [each for each in (*near, *far) if each != row.target]
    if others and not row.reason:
        after = {"target": others[0]}
        yield Mutant("target changed", row.name, row.target, others[0], after)


def _of_progress(row: Transition) -> Iterator[Mutant]:
    if row.progress or row.reason:
        word = ("progress", "no progress")
        before, after = word if row.progress else word[::-1]
        change = {"progress": not row.progress}
        yield Mutant("progress moved", row.name, before, after, change)


# -- limits ----------------------------------------------------------------------------


def _of_limits(limits: Mapping[str, LimitValue]) -> Iterator[Mutant]:
    for name, value in limits.items():
        before = f"{name} = {value}"
        if isinstance(value, bool):
            other: dict[str, LimitValue] = {name: not value}
            yield Mutant("switch flipped", "", before, str(not value), limits=other)
        elif isinstance(value, int):
            gone: dict[str, LimitValue] = {name: UNLIMITED}
            yield Mutant("limit removed", "", before, "UNLIMITED", limits=gone)
