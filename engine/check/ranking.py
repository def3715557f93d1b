"""The search for terms that fall: greedy, on the rows, without building any state.

It follows Bulwahn, Krauss and Nipkow, "Finding lexicographic orders for termination
proofs in Isabelle/HOL" (2007): take a term that no remaining row raises and that some
of them lower; forget those; go on until no row remains. Taking a term never spoils a
later choice, so the order of asking matters for readers alone. Between terms the
phases may be ordered: rows between two strongly connected components of what remains
lower the number of the component. What remains then stays inside components, and a
term may count inside one alone.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping

from unspiral.engine.check.candidates import Candidate, Candidates
from unspiral.engine.check.certificate import Certificate, Term, fingerprint
from unspiral.engine.check.moves import Moves
from unspiral.engine.core.table import Row, Table

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


class _Search:
    """One table being ranked."""

    def __init__(self, table: Table) -> None:
        moves = Moves(table)
        never = moves.never
        self.work = [row for row in table.rows if not row.progress]
        self.rows = {row.name: _NEVER for row in self.work if row.name in never}
        self.remaining = [row for row in self.work if row.name not in never]
        self.terms: list[Term] = []
        self.candidates = Candidates(table, moves)
        self.simple = self.candidates.simple

    def places(self) -> Mapping[str, int]:
        """Return the place of each row, in the order of the table."""
        idle = {row.name: len(self.terms) for row in self.remaining}
        found = self.rows | idle
        return {row.name: found[row.name] for row in self.work}

    def run(self) -> bool:
        self.order_phases()  # first: rows into terminals must not forbid the terms
        while self.remaining and self.advance():
            pass
        return not any(any(row.cost.values()) for row in self.remaining)

    def advance(self) -> bool:
        """Take a term: one that is easily read, if there is one."""
        if self.anywhere(self.simple):
            return True
        pairs = self.candidates.pairs(self.remaining)
        return self.anywhere(pairs) or self.somewhere((*self.simple, *pairs))

    def take(self, term: Term, lowered: Iterable[str]) -> None:
        place = len(self.terms)
        self.terms.append(term)
        self.rows.update(dict.fromkeys(lowered, place))
        self.remaining = [row for row in self.remaining if row.name not in self.rows]

    def anywhere(self, candidates: Iterable[Candidate]) -> bool:
        """Take a term that counts everywhere, or in one component of what remains."""
        if self.best(self.remaining, (), candidates) or self.order_phases():
            return True
        return any(
            self.best(rows, sorted(component), candidates)
            for component, rows in self.split()
        )

    def somewhere(self, candidates: Iterable[Candidate]) -> bool:
        """Take a term that counts in a part of one component; the first that does."""
        for component, rows in self.split():
            for part, each in itertools.product(_parts(component), candidates):
                near = [r for r in rows if r.source in part or r.target in part]
                inside = each.shrink(part, near)
                lowered = [row.name for row in near if each.lowers(row, inside)]
                if lowered:
                    self.take(Term(each.text, sorted(inside)), lowered)
                    return True
        return False

    def best(
        self, rows: list[Row], phases: Iterable[str], candidates: Iterable[Candidate]
    ) -> bool:
        """Take the expression that lowers most of some rows and is raised by none."""
        inside = frozenset(phase for r in rows for phase in (r.source, r.target))
        lowered: list[str] = []
        term: Term | None = None
        for each in candidates:
            if not any(each.raises(row, inside) for row in rows):
                found = [row.name for row in rows if each.lowers(row, inside)]
                if len(found) > len(lowered):
                    term, lowered = Term(each.text, phases), found
        if term is not None:
            self.take(term, lowered)
        return term is not None

    def split(self) -> list[tuple[frozenset[str], list[Row]]]:
        """Return the components of what remains with the rows inside each."""
        return [
            (component, [row for row in self.remaining if row.source in component])
            for component in _components(self.remaining)
        ]

    def order_phases(self) -> bool:
        """Order the components of what remains, if a row leads from one to another."""
        order = {
            phase: number
            for number, phases in enumerate(_components(self.remaining))
            for phase in sorted(phases)
        }
        lowered = [r.name for r in self.remaining if order[r.target] < order[r.source]]
        if lowered:
            self.take(Term(order=order), lowered)
        return bool(lowered)


def _parts(component: frozenset[str]) -> Iterator[frozenset[str]]:
    """Yield the parts of a component in which a term may count, single phases first."""
    ordered = sorted(component)
    yield from (frozenset({phase}) for phase in ordered)
    yield from (component - {phase} for phase in ordered)


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
