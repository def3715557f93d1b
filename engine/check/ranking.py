"""The search for terms that fall: greedy, on the rows, without building any state.

It follows Bulwahn, Krauss and Nipkow, "Finding lexicographic orders for termination
proofs in Isabelle/HOL" (2007): take a term that no remaining row raises and that some
of them lower; forget those; go on until no row remains. Taking a term never spoils a
later choice, so the order of asking matters for readers alone. Between terms the
phases may be ordered: rows between two strongly connected components of what remains
lower the number of the component. What remains then stays inside components, and a
term may count inside one alone.
"""

from collections.abc import Iterable, Iterator, Mapping

import attrs

from unspiral.engine.check.certificate import Certificate, Term, fingerprint
from unspiral.engine.check.moves import Move, moves, never_taken
from unspiral.engine.core.language import (
    Arith,
    Compare,
    Const,
    Name,
    Node,
    Not,
    evaluate,
    render,
)
from unspiral.engine.core.step import MemoryValue
from unspiral.engine.core.table import Row, Table, Variable

__all__ = ["find_certificate"]

_NEVER = -1  # stands for the place of a term for rows that are never taken


def find_certificate(table: Table) -> Certificate | None:
    """Return a certificate of the table, or None if the search finds none.

    None says nothing about the machine: the search is not complete.
    """
    search = _Search(table)
    if not search.run():
        return None
    return Certificate(
        machine=table.machine.name,
        edition=table.edition,
        limits=table.limits,
        assumptions=table.assumptions,
        digest=fingerprint(table),
        terms=tuple(search.terms),
        rows=search.places(),
    )


@attrs.frozen
class _Candidate:
    """An expression over one memory, with what each row does to it."""

    text: str
    lowers: frozenset[str]
    raises: frozenset[str]


class _Search:
    """One table being ranked."""

    def __init__(self, table: Table) -> None:
        never = never_taken(table)
        self.work = [row for row in table.rows if not row.progress]
        self.rows = {row.name: _NEVER for row in self.work if row.name in never}
        self.remaining = [row for row in self.work if row.name not in never]
        self.terms: list[Term] = []
        self.candidates = tuple(_candidates(table, self.remaining))

    def places(self) -> Mapping[str, int]:
        """Return the place of each row, in the order of the table."""
        idle = {row.name: len(self.terms) for row in self.remaining}
        found = self.rows | idle
        return {row.name: found[row.name] for row in self.work}

    def run(self) -> bool:
        self.order_phases()  # first: rows into terminals must not forbid the terms
        found = True
        while self.remaining and found:
            found = self.everywhere() or self.order_phases() or self.in_component()
        return not any(any(row.cost.values()) for row in self.remaining)

    def take(self, term: Term, lowered: Iterable[str]) -> None:
        place = len(self.terms)
        self.terms.append(term)
        self.rows.update(dict.fromkeys(lowered, place))
        self.remaining = [row for row in self.remaining if row.name not in self.rows]

    def everywhere(self) -> bool:
        """Take the term that lowers most rows and that no remaining row raises."""
        best = self.best({row.name for row in self.remaining})
        if best is None:
            return False
        self.take(Term(best[0]), best[1])
        return True

    def in_component(self) -> bool:
        """Take a term that counts in one strongly connected component alone."""
        for phases in _components(self.remaining):
            best = self.best({r.name for r in self.remaining if r.source in phases})
            if best is not None:
                self.take(Term(best[0], sorted(phases)), best[1])
                return True
        return False

    def best(self, rows: set[str]) -> tuple[str, frozenset[str]] | None:
        fitting = [
            (each.text, each.lowers & rows)
            for each in self.candidates
            if not each.raises & rows and each.lowers & rows
        ]
        return max(fitting, key=lambda pair: len(pair[1]), default=None)

    def order_phases(self) -> bool:
        """Order the components of what remains, if a row leads from one to another."""
        order = {
            phase: number
            for number, phases in enumerate(_components(self.remaining))
            for phase in phases
        }
        lowered = [r.name for r in self.remaining if order[r.target] < order[r.source]]
        if lowered:
            self.take(Term(order=order), lowered)
        return bool(lowered)


def _candidates(table: Table, rows: list[Row]) -> Iterator[_Candidate]:
    for variable in table.variables:
        writers = [r for r in rows if any(a.name == variable.name for a in r.action)]
        done = {row.name: moves(table, row, variable.name) for row in writers}
        if not any(done.values()):
            continue
        for node in _expressions(variable):
            value = {
                x: int(evaluate(node, {variable.name: x}))  # type: ignore[arg-type]
                for x in variable.domain or ()
            }
            yield _Candidate(
                render(node),
                frozenset(n for n, pairs in done.items() if _falls(pairs, value)),
                frozenset(n for n, pairs in done.items() if _rises(pairs, value)),
            )


def _falls(pairs: frozenset[Move] | None, value: Mapping[MemoryValue, int]) -> bool:
    return pairs is not None and all(value[new] < value[old] for old, new in pairs)


def _rises(pairs: frozenset[Move] | None, value: Mapping[MemoryValue, int]) -> bool:
    return pairs is None or any(value[new] > value[old] for old, new in pairs)


def _expressions(variable: Variable) -> Iterator[Node]:
    """Yield the expressions over one memory that may serve as terms."""
    name = Name(variable.name)
    match variable.kind:
        case "counter":
            yield Arith("-", Const(variable.high or 0), name)
            yield name if variable.low == 0 else Arith("-", name, Const(variable.low))
        case "flag":
            yield Not(name)
            yield name
        case "choice":
            for value in variable.values:
                yield Compare("!=", name, Const(value))
                yield Compare("==", name, Const(value))


def _components(rows: list[Row]) -> list[frozenset[str]]:
    """Return the strongly connected components of the phases, the last ones first.

    Tarjan (1972) in the form without recursion; a component is listed after all that
    can be reached from it.
    """
    following: dict[str, list[str]] = {}
    for row in rows:
        following.setdefault(row.source, []).append(row.target)
        following.setdefault(row.target, [])
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[frozenset[str]] = []
    placed: set[str] = set()

    def enter(phase: str) -> tuple[str, Iterator[str]]:
        number[phase] = low[phase] = len(number)
        stack.append(phase)
        return phase, iter(following[phase])

    for root in following:
        path = [] if root in number else [enter(root)]
        while path:
            phase, targets = path[-1]
            target = next(targets, None)
            if target is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[phase])
                if low[phase] == number[phase]:
                    at = stack.index(phase)
                    found.append(frozenset(stack[at:]))
                    placed.update(stack[at:])
                    del stack[at:]
            elif target not in number:
                path.append(enter(target))
            elif target not in placed:
                low[phase] = min(low[phase], number[target])
    return found
