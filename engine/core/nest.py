"""Flattening: a machine with phases run by machines becomes one without.

Of a phase `p` run by a machine `m`, every phase `x` of `m` becomes `p.x` and every
memory that is not shared `p.name`. A terminal of `m` is an event of `p`: if the outer
rows for it are a single one that is always taken, it is joined to the inner row that
ends `m`; otherwise a deciding phase `p.terminal` holds them. What an answer of `p`
costs is charged to the inner row that ends `m`. On leaving, the inner memory returns to
its initial values, so that nothing of a visit outlives it.
"""

from collections.abc import Mapping

import attrs

from unspiral.engine.core.declare import (
    Event,
    Machine,
    Memory,
    Phase,
    Transition,
)
from unspiral.engine.core.language import (
    OTHERWISE,
    Assign,
    Const,
    Name,
    Node,
    parse_action,
    parse_expression,
    render,
    render_action,
    replace,
)
from unspiral.engine.errors import BadDeclaration

__all__ = ["flatten", "nested_phases"]


def nested_phases(machine: Machine) -> tuple[Phase, ...]:
    """Return the phases that other machines run."""
    return tuple(phase for phase in machine.phases if phase.runs is not None)


def flatten(machine: Machine) -> Machine:
    """Return an equivalent machine in which no phase is run by another machine.

    Raises:
        BadDeclaration: an inner machine shares memory that the outer one lacks, or has
            a limit with the name of memory of the outer one.
    """
    result = machine
    while nested := nested_phases(result):
        result = _inline(result, nested[0])
    return result


class _Inliner:
    """One phase being replaced by the machine that runs it."""

    def __init__(self, outer: Machine, phase: Phase, inner: Machine) -> None:
        self.outer = outer
        self.phase = phase
        self.inner = inner
        self.names = {
            memory.name: memory.name if memory.shared else self.inside(memory.name)
            for memory in inner.memory
        }
        self.ends = {terminal.name for terminal in inner.terminals}
        self.arrivals = {
            end: tuple(
                row
                for row in outer.rows
                if row.source == phase.name and row.event == end
            )
            for end in self.ends
        }

    def judge(self) -> None:
        """Refuse names that would mean two things once the machines are one."""
        place = f"machine {self.outer.name!r}, phase {self.phase.name!r}"
        known = {memory.name for memory in self.outer.memory}
        name = self.inner.name
        for memory in self.inner.memory:
            if memory.shared and memory.name not in known:
                problem = f"{name} shares memory {memory.name!r}, which is not declared"
                fix = f"declare {memory.name!r} in {self.outer.name}"
                raise BadDeclaration(place, problem, fix)
        for limit in self.inner.all_limits:
            if limit.name in known:
                problem = f"memory {limit.name!r} has the name of a limit of {name}"
                raise BadDeclaration(place, problem, "rename one of them")
        own = {self.names[m.name] for m in self.inner.memory if not m.shared}
        for row in self.outer.rows:
            for assign in parse_action(row.action, f"{place}, row {row.name}, action"):
                if assign.name in own:
                    problem = f"{assign.name!r} belongs to {name}"
                    fix = "share it, or let the rows of that machine write it"
                    raise BadDeclaration(f"{place}, row {row.name}", problem, fix)

    def inside(self, name: str) -> str:
        return f"{self.phase.name}.{name}"

    def rename(self, node: Node) -> Node:
        def change(inner: Node) -> Node | None:
            if isinstance(inner, Name) and inner.id in self.names:
                return Name(self.names[inner.id])
            return None

        return replace(node, change)

    def guard(self, text: str) -> str:
        if text.strip() in {"", OTHERWISE}:
            return text.strip()
        return render(self.rename(parse_expression(text)))

    def action(self, text: str) -> dict[str, Node]:
        return {
            self.names.get(assign.name, assign.name): self.rename(assign.value)
            for assign in parse_action(text)
        }

    def memory(self, memory: Memory) -> Memory:
        return attrs.evolve(memory, name=self.names[memory.name])

    def fresh(self) -> dict[str, Node]:
        """Return the assignments that forget a visit."""
        return {
            self.names[memory.name]: Const(memory.initial)
            for memory in self.inner.variables
            if not memory.shared
        }

    def row(self, row: Transition) -> Transition:
        action = self.action(row.action)
        moved = attrs.evolve(
            row,
            name=self.inside(row.name),
            source=self.inside(row.source),
            target=self.inside(row.target),
            guard=self.guard(row.guard),
            action=_text(action),
        )
        if row.target not in self.ends:
            return moved
        moved = attrs.evolve(moved, cost=_sum(row.cost, self.phase.cost))
        arrivals = self.arrivals[row.target]
        if len(arrivals) != 1 or arrivals[0].guard.strip() not in {"", OTHERWISE}:
            return attrs.evolve(moved, action=_text(action | self.fresh()))
        last = arrivals[0]
        return attrs.evolve(
            moved,
            target=self.entry(last.target),
            action=_text(_sequence(action, parse_action(last.action)) | self.fresh()),
            reason=last.reason,
            progress=row.progress or last.progress,
            cost=_sum(moved.cost, last.cost),
            layer=last.layer or row.layer,
            raises=row.raises or last.raises,
        )

    def entry(self, target: str) -> str:
        if target == self.phase.name:
            return self.inside(self.inner.start_phase)
        return target

    def phases(self) -> list[Phase]:
        inner = [
            attrs.evolve(
                phase,
                name=self.inside(phase.name),
                group=phase.group or self.phase.name,
                events=tuple(
                    Event(event.name, self.guard(event.available), event.doc)
                    for event in phase.events
                ),
            )
            for phase in self.inner.phases
        ]
        decided = [
            Phase(self.inside(end), group=self.phase.name)
            for end in (terminal.name for terminal in self.inner.terminals)
            if self.decides(end)
        ]
        return inner + decided

    def decides(self, end: str) -> bool:
        """Tell whether the rows for an end need a deciding phase of their own."""
        rows = self.arrivals[end]
        single = len(rows) == 1 and rows[0].guard.strip() in {"", OTHERWISE}
        return not single

    def outer_row(self, row: Transition) -> list[Transition]:
        if row.source != self.phase.name:
            return [attrs.evolve(row, target=self.entry(row.target))]
        if row.event in self.ends and self.decides(row.event):
            source = self.inside(row.event)
            target = self.entry(row.target)
            return [attrs.evolve(row, source=source, event="", target=target)]
        return []


def _inline(outer: Machine, phase: Phase) -> Machine:
    if phase.runs is None:
        return outer
    # The inner machine first: what it lends to machines inside it keeps its name there.
    inner = flatten(phase.runs)
    inliner = _Inliner(outer, phase, inner)
    inliner.judge()
    at = outer.phases.index(phase)
    rows: list[Transition] = []
    placed = False
    for row in outer.rows:
        if row.source == phase.name and not placed:
            rows += [inliner.row(each) for each in inner.rows]
            placed = True
        rows += inliner.outer_row(row)
    if not placed:
        rows += [inliner.row(each) for each in inner.rows]
    own = [memory for memory in inner.variables if not memory.shared]
    return attrs.evolve(
        outer,
        phases=(*outer.phases[:at], *inliner.phases(), *outer.phases[at + 1 :]),
        transitions=tuple(rows),
        memory=(*outer.variables, *(inliner.memory(memory) for memory in own)),
        limits=outer.all_limits,
        initial=inliner.entry(outer.start_phase),
    )


def _text(action: Mapping[str, Node]) -> str:
    return render_action(
        tuple(
            Assign(name, value)
            for name, value in action.items()
            if value != Name(name)  # `x = x` says nothing
        )
    )


def _sequence(first: Mapping[str, Node], then: tuple[Assign, ...]) -> dict[str, Node]:
    """Return one simultaneous action equal to `first` followed by `then`."""

    def change(node: Node) -> Node | None:
        return first.get(node.id) if isinstance(node, Name) else None

    later = {assign.name: replace(assign.value, change) for assign in then}
    return {**first, **later}


def _sum(one: Mapping[str, int], two: Mapping[str, int]) -> dict[str, int]:
    keys = dict.fromkeys((*one, *two))
    return {key: one.get(key, 0) + two.get(key, 0) for key in keys}
