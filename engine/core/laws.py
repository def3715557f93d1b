"""Laws: from the text of a law and a table to an observer, and to a watcher of runs.

`compile_law` reads the conditions of a law, puts in what a row fixes (its event, phase,
target, reason, progress, and the values it assigns for `after.`), and joins them with
the automaton of `observer`, which says what patterns and scopes mean. The checker
multiplies the observer with the machine; a `Watcher` follows one run. Pure.
"""

from collections.abc import Callable, Iterable

import attrs

from unspiral.engine.core.declare import Law, LimitValue
from unspiral.engine.core.language import (
    BOOL,
    FALSE,
    INT,
    TRUE,
    UNLIMITED,
    ChoiceType,
    Compare,
    Const,
    Member,
    Name,
    Node,
    Scope,
    Value,
    check_expression,
    check_guard,
    computes_with_unlimited,
    parse_expression,
    python,
    replace,
    substitute,
)
from unspiral.engine.core.observer import Observer, automaton, predicates
from unspiral.engine.core.step import MemoryValue, Step
from unspiral.engine.core.table import Row, Table, limit_scope
from unspiral.engine.errors import BadDeclaration, BadValue, ExpressionError

__all__ = [
    "MAX_BOUND",
    "BrokenLaw",
    "Watcher",
    "broken_laws",
    "compile_law",
    "law_scope",
]

MAX_BOUND = 10_000  #: the greatest bound that an observer counts to


def compile_law(law: Law, table: Table) -> Observer:
    """Compile a law for one table.

    In conditions, a phase that is run by a machine stands for every phase inside it.

    Raises:
        ExpressionError: a condition that cannot be read, or an unknown name or value.
        BadDeclaration: a condition that the pattern or scope needs is missing.
        BadValue: `at_most` is negative or above `MAX_BOUND`.
    """
    _require(law, table)
    bound = _bound(law, table)
    scope = law_scope(table)
    conditions = [
        _condition(text, f"{table.machine.name}, law {law.name}, {part}", scope, table)
        for part, text in predicates(law)
    ]
    letters = tuple(
        tuple(_letter(condition, row, table) for condition in conditions)
        for row in table.rows
    )
    if bound is UNLIMITED:
        width = 2 ** len(conditions)
        return Observer(law, 1, letters, ((0,) * width,), frozenset())
    made = automaton(law, int(bound))
    finitely = law.pattern == "bounded" and not law.at_most.strip()
    return Observer(
        law=law,
        states=made.states,
        letters=letters,
        delta=made.delta,
        bad=made.bad,
        pending=made.pending,
        recurrent=0 if finitely else None,
        counting=made.counting if finitely else frozenset(),
    )


def law_scope(table: Table) -> Scope:
    """Return the types of all names that a law of this table may use."""
    outer = tuple(phase.name for phase in table.machine.phases)
    phases = tuple(dict.fromkeys((*outer, *table.phases)))
    events = dict.fromkeys(e for each in table.events.values() for e in each)
    reasons = dict.fromkeys(row.reason for row in table.rows)
    return {
        **limit_scope(table.limits, table.flat),
        **table.scope,
        **{f"after.{name}": kind for name, kind in table.scope.items()},
        "event": ChoiceType(tuple(events)),
        "phase": ChoiceType(phases),
        "target": ChoiceType((*phases, *sorted(table.terminals))),
        "reason": ChoiceType(tuple(reason for reason in reasons if reason)),
        "progress": BOOL,
    }


def _require(law: Law, table: Table) -> None:
    """Refuse a law that lacks a condition, or has one that nothing reads."""
    read = {part for part, _ in predicates(law)}
    needed = read - {"what"}
    if law.scope.kind == "between":
        needed -= {"start"}  # empty: the segments lie between the ends
    parts = {"other": law.other, "start": law.scope.start, "end": law.scope.end}
    place = f"machine {table.machine.name!r}, law {law.name!r}"
    where = f"{law.pattern}, {law.scope.kind}"
    for part, text in parts.items():
        if part in needed and not text.strip():
            raise BadDeclaration(place, f"{where} needs a condition {part!r}")
        if part not in read and text.strip():
            raise BadDeclaration(place, f"{where} reads no condition {part!r}")
    if law.at_most.strip() and law.pattern != "bounded":
        raise BadDeclaration(place, f"{where} reads no at_most", "make it `bounded`")


def _bound(law: Law, table: Table) -> LimitValue:
    text = law.at_most.strip()
    if not text:
        return 0
    place = f"{table.machine.name}, law {law.name}, at_most"
    node = parse_expression(text, place)
    found = check_expression(node, limit_scope(table.limits, table.flat), text, place)
    value = substitute(node, table.limits)
    if found != INT or not isinstance(value, Const):
        raise ExpressionError(place, text, 0, "a number is needed")
    number = value.value
    if number is not UNLIMITED and not 0 <= int(number) <= MAX_BOUND:
        allowed = f"a number from 0 to {MAX_BOUND:,}, or UNLIMITED"
        raise BadValue(place, str(number), allowed)
    return number


def _condition(text: str, place: str, scope: Scope, table: Table) -> Node:
    """Read a condition and put the limits in."""
    node = substitute(check_guard(text, scope, place), table.limits)
    if computes_with_unlimited(node):
        problem = "no number is left here with a limit that is UNLIMITED"
        raise ExpressionError(place, text, 0, problem)
    return node


def _letter(condition: Node, row: Row, table: Table) -> Node:
    """Return a condition on a step by this row as one on the memory before it."""
    assigned = {assign.name: assign.value for assign in row.action}
    known: dict[str, Node | Value] = {
        f"after.{name}": assigned.get(name, Name(name)) for name in table.scope
    }
    known |= {
        "event": row.event or "",
        "phase": row.source,
        "target": row.target,
        "reason": row.reason,
        "progress": row.progress,
    }
    return substitute(replace(condition, lambda node: _inside(node, row)), known)


def _inside(node: Node, row: Row) -> Node | None:
    """Judge a comparison with phases; one that a machine runs is all inside it."""
    match node:
        case Compare("==" | "!=" as op, Name("phase" | "target" as which), Const(v)):
            asked: tuple[Value, ...] = (v,)
        case Compare("==" | "!=" as op, Const(v), Name("phase" | "target" as which)):
            asked = (v,)
        case Member(Name("phase" | "target" as which), asked):
            op = "=="
        case _:
            return None
    place = row.source if which == "phase" else row.target
    found = any(place == each or place.startswith(f"{each}.") for each in asked)
    return Const(value=found == (op == "=="))


Test = Callable[[tuple[MemoryValue, ...]], bool]


class Watcher:
    """A law followed along one run.

    Attributes:
        observer: the law, compiled.
        state: the state of the observer.
    """

    def __init__(self, observer: Observer, table: Table) -> None:
        self.observer = observer
        self.state = 0
        self._letters = _readers(observer, table)

    def letter(self, step: Step) -> int:
        """Return which predicates a step fulfils: what the observer reads."""
        letter, tests = self._letters[step.row.index]
        for bit, test in tests:
            if test(step.before.memory):
                letter |= bit
        return letter

    def see(self, step: Step) -> bool:
        """Take one step of the run; return False if the law is broken now."""
        self.state = self.observer.delta[self.state][self.letter(step)]
        return self.state not in self.observer.bad

    def end(self) -> bool:
        """Return whether the law holds if the run ends here."""
        state = self.state
        return state not in self.observer.bad and state not in self.observer.pending


def _readers(
    observer: Observer, table: Table
) -> list[tuple[int, tuple[tuple[int, Test], ...]]]:
    """Return per row the bits that are fixed and the tests for the others."""
    local = {name: f"m[{i}]" for name, i in table.positions.items()}
    found: list[tuple[int, tuple[tuple[int, Test], ...]]] = []
    for row in observer.letters:
        fixed = sum(1 << i for i, node in enumerate(row) if node == TRUE)
        tests = tuple(
            (1 << i, _test(python(node, local)))
            for i, node in enumerate(row)
            if node not in {TRUE, FALSE}
        )
        found.append((fixed, tests))
    return found


def _test(source: str) -> Test:
    # The source is emitted from a whitelisted tree: no text of a user is in it.
    made: Test = eval(f"lambda m: {source}", {"min": min, "max": max})  # noqa: S307
    return made


@attrs.frozen
class BrokenLaw:
    """A law that a run breaks.

    Attributes:
        law: its name.
        index: the place of the step that breaks it in the run, counted from 0; the
            number of steps if the run ends while an obligation is open.
    """

    law: str
    index: int


def broken_laws(steps: Iterable[Step], table: Table) -> tuple[BrokenLaw, ...]:
    """Return the laws of the machine that a run breaks, in the order of declaration.

    Obligations are due if the run has ended in a terminal.

    Raises:
        DeclarationError: a law that cannot be compiled.
        BadValue: a bound that cannot be counted to.
    """
    run = tuple(steps)
    ended = bool(run) and run[-1].after.phase in table.terminals
    found: list[BrokenLaw] = []
    for law in table.machine.laws:
        watcher = Watcher(compile_law(law, table), table)
        at = next((i for i, step in enumerate(run) if not watcher.see(step)), None)
        if at is None and ended and not watcher.end():
            at = len(run)
        if at is not None:
            found.append(BrokenLaw(law.name, at))
    return tuple(found)
