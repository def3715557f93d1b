"""The judge of certificates: short, and independent of whoever found them.

It compiles the machine anew and enumerates for each row the memory that decides whether
it is taken and how the terms change. It knows nothing of the search and the explorer.
"""

import itertools
import math

from unspiral.engine.check.certificate import FORMAT, Certificate, fingerprint
from unspiral.engine.core import language as lang
from unspiral.engine.core.declare import Machine
from unspiral.engine.core.language import Bool, Compare, Const, Node, names
from unspiral.engine.core.table import Row, Table, compile_table
from unspiral.engine.errors import CertificateError, UnspiralError

__all__ = ["CASES", "recheck"]

CASES = 20_000  #: conditions that would make more cases are left out


def recheck(certificate: Certificate, machine: Machine) -> None:
    """Judge a certificate of a machine; return if it holds.

    Raises:
        CertificateError: it does not hold; the error names the part that is wrong.
    """
    table = _table(certificate, machine)
    judge = _Judge(table, certificate)
    wanted = {row.name: row for row in table.rows if not row.progress}
    if wrong := sorted(wanted.keys() ^ certificate.rows.keys()):
        raise CertificateError(f"rows, {wrong[0]}", "it is missing, or has no place")
    for name, row in wanted.items():
        judge.row(row, certificate.rows[name])
    if certificate.seal != certificate.content:
        raise CertificateError("seal", "something was changed after it was written")


def _table(certificate: Certificate, machine: Machine) -> Table:
    if (certificate.format, certificate.machine) != (FORMAT, machine.name):
        raise CertificateError("format or machine", f"not {FORMAT}, {machine.name!r}")
    edition, limits = certificate.edition or None, certificate.limits
    try:
        table = compile_table(machine, edition, limits, certificate.assumptions)
    except UnspiralError as error:
        raise CertificateError("edition, limits or assumptions", str(error)) from error
    if certificate.digest != fingerprint(table):
        raise CertificateError("digest", "it was made for another machine or setting")
    return table


class _Judge:
    """One table, and the terms of one certificate over it."""

    def __init__(self, table: Table, certificate: Certificate) -> None:
        self.table, self.terms = table, certificate.terms
        ends = ((v.name, v.domain) for v in table.variables)
        self.domains = {n: d for n, d in ends if d is not None and len(d) <= CASES}
        self.nodes = [self.read(i) for i in range(len(self.terms))]
        live = [row for row in table.rows if not self.closed(row)]
        entered = {table.initial}
        for _ in table.phases:
            entered |= {row.target for row in live if row.source in entered}
        self.taken = {row.name for row in live if row.source in entered}

    def read(self, place: int) -> Node:
        text, field = self.terms[place].text, f"terms[{place}]"
        try:
            node = lang.parse_expression(text or "0", field)
            kind = lang.check_expression(node, self.table.scope, text, field)
        except UnspiralError as error:
            raise CertificateError(field, str(error)) from error
        both = bool(text) == bool(self.terms[place].order)
        if both or kind not in {lang.INT, lang.BOOL} or not self.few(names(node)):
            raise CertificateError(field, "it must be one number with a least value")
        return node

    def row(self, row: Row, place: int) -> None:
        field = f"rows, {row.name}"
        never = place == -1 and row.name not in self.taken
        idle = place == len(self.terms) and not any(row.cost.values())
        if not (0 <= place < len(self.terms) or never or idle):
            raise CertificateError(field, f"its place is not {place}")
        for number, term in enumerate(self.terms[: place + 1]):
            if not self.falls(row, number, strictly=number == place):
                raise CertificateError(field, f"terms[{number}], {term}, may not fall")

    def falls(self, row: Row, place: int, *, strictly: bool) -> bool:
        after = {each.name: each.value for each in row.action}
        node = self.nodes[place]
        old = self.at(place, row.source, node)
        new = self.at(place, row.target, lang.substitute(node, after))
        if old == new:
            return not strictly
        needed = self.conditions(row)
        for name in sorted(names(node) & after.keys()):
            if self.table.scope[name] == lang.INT:  # leaving it is an error, no step
                low, high = self.domains[name][0], self.domains[name][-1]
                needed += (Compare(">=", after[name], Const(low)),)
                needed += (Compare("<=", after[name], Const(high)),)
        cases = self.cases((old, new), needed)
        return cases is not None and all(n + strictly <= o for o, n in cases)

    def at(self, place: int, phase: str, node: Node) -> Node:
        term = self.terms[place]
        if term.order:
            return Const(term.order.get(phase, 0))
        return node if not term.phases or phase in term.phases else Const(0)

    def conditions(self, row: Row) -> tuple[Node, ...]:
        """Return what holds when a row is taken; unbounded memory may be anything."""
        parts = [row.guard, *(lang.negation(each.guard) for each in row.earlier)]
        if row.event is not None:
            parts.append(self.table.available[row.source, row.event])
        endless = frozenset(self.table.scope) - self.domains.keys()
        freed = (lang.may(lang.free(part, endless), be=True) for part in parts)
        both = lang.conjunction(*freed)
        return both.items if isinstance(both, Bool) and both.op == "and" else (both,)

    def closed(self, row: Row) -> bool:
        found = self.conditions(row)
        return any(self.cases((each,), found) == [] for each in found)

    def cases(
        self, values: tuple[Node, ...], conditions: tuple[Node, ...]
    ) -> list[tuple[int, ...]] | None:
        """Return the values of trees wherever the conditions linked with them hold."""
        read = frozenset[str]().union(*(names(value) for value in values))
        if not self.few(read):
            return None
        chosen: list[Node] = []
        for each in conditions * len(conditions):  # each link may add another
            linked = not names(each) or names(each) & read
            if linked and each not in chosen and self.few(read | names(each)):
                chosen.append(each)
                read |= names(each)
        local = {name: f"m[{i}]" for i, name in enumerate(sorted(read))}
        test = " and ".join(lang.python(each, local) for each in chosen) or "True"
        image = "".join(f"{lang.python(value, local)}, " for value in values)
        every = itertools.product(*(self.domains[name] for name in local))
        space: dict[str, object] = {"min": min, "max": max, "every": every}
        # The source is emitted from whitelisted trees: no text of a user is in it.
        source = f"[({image}) for m in every if {test}]"
        found: list[tuple[int, ...]] = eval(source, space)  # noqa: S307
        return found

    def few(self, read: frozenset[str]) -> bool:
        known = read <= self.domains.keys()
        return known and math.prod(len(self.domains[n]) for n in read) <= CASES
