"""Judging texts for `validate`: what stops a compiler here becomes a finding.

It collects and never raises: of one text it says every unknown name and value, and if
all names are known the first thing that does not fit the language.
"""

import re
from collections.abc import Iterable, Iterator

from unspiral.engine.core.findings import FINDINGS, Finding
from unspiral.engine.core.language import (
    INT,
    Arith,
    Assign,
    Bool,
    ChoiceType,
    Compare,
    Const,
    Extreme,
    Member,
    Name,
    Node,
    Not,
    Scope,
    check_action,
    check_expression,
    check_guard,
    names,
    parse_action,
    parse_expression,
    parse_guard,
)
from unspiral.engine.errors import ExpressionError, nearest

__all__ = ["Judge", "children", "walk", "words"]

_DEEP = 100  #: levels of a tree; deeper ones are refused before anything recurses
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")


def children(node: Node) -> tuple[Node, ...]:
    """Return the direct parts of a tree."""
    match node:
        case Compare(_, left, right) | Arith(_, left, right):
            return (left, right)
        case Member(item, _) | Not(item):
            return (item,)
        case Bool(_, items) | Extreme(_, items):
            return items
        case _:
            return ()


def walk(node: Node) -> Iterator[Node]:
    """Yield a tree and all its parts."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        yield each
        waiting.extend(children(each))


def _deep(node: Node) -> bool:
    level: list[Node] = [node]
    for _ in range(_DEEP):
        level = [child for each in level for child in children(each)]
        if not level:
            return False
    return True


class Judge:
    """Whoever reads the texts of one machine and keeps what is wrong with it.

    Attributes:
        machine: the name under which findings are filed.
        found: the findings so far.
    """

    def __init__(self, machine: str) -> None:
        self.machine = machine
        self.found: list[Finding] = []

    def report(  # noqa: PLR0913 - the fields of a finding
        self,
        code: str,
        place: str,
        problem: str,
        cause: str,
        *,
        fix: str = "",
        near: str = "",
    ) -> None:
        """File a finding; the fix is that of its kind unless given."""
        fix = fix or (f"write {near!r}" if near else FINDINGS[code].remedy)
        finding = Finding(code, self.machine, place, problem, cause, fix, near)
        self.found.append(finding)

    def unknown(
        self, kind: str, name: str, known: Iterable[str], place: str, cause: str = ""
    ) -> str:
        """File an unknown name and return the nearest known one, or ""."""
        listed = tuple(known)
        near = nearest(name, listed)
        why = cause or _listed(kind, listed)
        shown = f"no {kind} {name[:100]!r}"
        self.report("unknown_name", place, shown, why, near=near)
        return near

    def guard(
        self, text: object, scope: Scope, reasons: frozenset[str], place: str
    ) -> Node | None:
        """Return the tree of a condition, or None if something is wrong with it."""
        if not isinstance(text, str):
            self._no_text(text, place)
            return None
        try:
            node = parse_guard(text, place)
            if not self._known([node], scope, reasons, place, text):
                return None
            return check_guard(text, scope, place)
        except ExpressionError as error:
            self._bad(error, place)
            return None

    def action(
        self,
        text: object,
        scope: Scope,
        writable: Scope,
        reasons: frozenset[str],
        place: str,
    ) -> tuple[Assign, ...] | None:
        """Return the assignments of an action, or None if something is wrong."""
        if not isinstance(text, str):
            self._no_text(text, place)
            return None
        try:
            assigns = parse_action(text, place)
            targets = [each.name for each in assigns if each.name not in scope]
            for name in targets:
                self.unknown("memory", name, writable, place, _in(text))
            # An assigned string is judged like a compared one.
            values: list[Node] = [
                Compare("==", Name(each.name), each.value)
                if each.name in writable
                else each.value
                for each in assigns
            ]
            known = self._known(values, scope, reasons, place, text)
            if targets or not known:
                return None
            return check_action(text, scope, writable, place)
        except ExpressionError as error:
            self._bad(error, place)
            return None

    def number(self, text: object, limits: Scope, place: str) -> Node | None:
        """Return the tree of a formula over limits, or None if something is wrong."""
        if not isinstance(text, str):
            self._no_text(text, place)
            return None
        try:
            node = parse_expression(text, place)
            if not self._known([node], limits, frozenset(), place, text):
                return None
            found = check_expression(node, limits, text, place)
        except ExpressionError as error:
            self._bad(error, place)
            return None
        if found != INT:
            self.report(
                "bad_text", place, f"a number is needed, not a {found}", _in(text)
            )
            return None
        return node

    def _known(
        self,
        nodes: list[Node],
        scope: Scope,
        reasons: frozenset[str],
        place: str,
        text: str,
    ) -> bool:
        if any(_deep(node) for node in nodes):
            raise ExpressionError(place, text, 0, f"nested over {_DEEP} levels deep")
        before = len(self.found)
        for name in sorted({n for node in nodes for n in names(node)} - scope.keys()):
            self.unknown("memory or limit", name, scope, place, _in(text))
        for node in nodes:
            for inner in walk(node):
                for name, value in _literals(inner):
                    kind = scope.get(name)
                    if isinstance(kind, ChoiceType) and value not in kind.values:
                        self._value(name, value, kind, reasons, place)
        return len(self.found) == before

    def _value(
        self, name: str, value: str, kind: ChoiceType, reasons: frozenset[str], at: str
    ) -> None:
        near = nearest(value, kind.values)
        if name in reasons:
            problem = f"{value[:100]!r} for {name} is the reason of no row"
            cause = _listed("reason", kind.values)
            self.report("reason_without_row", at, problem, cause, near=near)
        else:
            cause = _listed("value", kind.values)
            problem = f"{value[:100]!r} is no value of {name}"
            self.report("unknown_name", at, problem, cause, near=near)

    def _no_text(self, text: object, place: str) -> None:
        kind = type(text).__name__
        problem, cause = f"a text is needed, not {kind}", "nothing else can be read"
        self.report("bad_text", place, problem, cause)

    def _bad(self, error: ExpressionError, place: str) -> None:
        fix = error.hint.lstrip("; ")
        self.report("bad_text", place, error.problem, _in(error.text), fix=fix)


def words(text: object) -> set[str]:
    """Return what may be a name in a text that cannot be read."""
    return set(_WORD.findall(text)) if isinstance(text, str) else set()


def _in(text: str) -> str:
    shown = text if len(text) <= 80 else text[:77] + "..."  # noqa: PLR2004 - a line
    return "in `" + shown.replace("\n", " ") + "`"


def _listed(kind: str, known: tuple[str, ...]) -> str:
    if not known:
        return f"there is no {kind}"
    more = ", ..." if len(known) > 12 else ""  # noqa: PLR2004 - as in errors
    return f"each {kind} is one of {', '.join(map(str, known[:12]))}{more}"


def _literals(node: Node) -> list[tuple[str, str]]:
    """Return the (name, string) pairs that one node compares."""
    match node:
        case Compare(_, Name(name), Const(str() as value)):
            return [(name, value)]
        case Compare(_, Const(str() as value), Name(name)):
            return [(name, value)]
        case Member(Name(name), values):
            return [(name, value) for value in values if isinstance(value, str)]
        case _:
            return []
