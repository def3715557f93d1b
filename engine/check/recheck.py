"""The judge of certificates: short, and independent of whoever found them.

It compiles the machine anew and enumerates, row by row, the memory that decides whether
the row is taken and what it does to the terms. It shares nothing with the search but
the value `Certificate`, and with the explorer nothing but the table. Conditions with
more than `CASES` cases are left out, which can only make the judge stricter.
"""

import itertools
import math

from unspiral.engine.check.certificate import FORMAT, Certificate, fingerprint
from unspiral.engine.core import language as lang
from unspiral.engine.core.declare import Machine
from unspiral.engine.core.language import Compare, Const, Node, names
from unspiral.engine.core.table import Row, Table, compile_table
from unspiral.engine.errors import CertificateError, UnspiralError

__all__ = ["CASES", "recheck"]

CASES = 20_000  #: cases that are enumerated for one question


def recheck(certificate: Certificate, machine: Machine) -> None:
    """Judge a certificate of a machine; return if it holds.

    Raises:
        CertificateError: it does not hold; the error names the part that is wrong.
    """
    table = _table(certificate, machine)
    judge = _Judge(table, certificate)
    wanted = {row.name for row in table.rows if not row.progress}
    for name in sorted(wanted ^ certificate.rows.keys()):
        problem = "it is missing" if name in wanted else "no such row lacks progress"
        raise CertificateError(f"rows, {name}", problem)
    for row in table.rows:
        if not row.progress:
            judge.row(row, certificate.rows[row.name])
    if certificate.seal != certificate.content:
        raise CertificateError("seal", "something was changed after it was written")


def _table(certificate: Certificate, machine: Machine) -> Table:
    if certificate.format != FORMAT:
        raise CertificateError("format", f"only format {FORMAT} is known")
    if certificate.machine != machine.name:
        raise CertificateError("machine", f"this is {machine.name!r}")
    edition, limits = certificate.edition, certificate.limits
    try:
        table = compile_table(machine, edition or None, limits, certificate.assumptions)
    except UnspiralError as error:
        raise CertificateError("edition, limits or assumptions", str(error)) from error
    if certificate.limits != table.limits:
        raise CertificateError("limits", "some limit has no value")
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
        marked = {name for name, place in certificate.rows.items() if place == -1}
        live = [r for r in table.rows if r.name not in marked or not self.closed(r)]
        entered = {table.initial}
        for _ in table.phases:
            entered |= {row.target for row in live if row.source in entered}
        self.taken = {row.name for row in live if row.source in entered}

    def read(self, place: int) -> Node:
        term, field = self.terms[place], f"terms[{place}]"
        states = {*self.table.phases, *self.table.terminals}
        if not states.issuperset((*term.phases, *term.order)):
            raise CertificateError(field, "it names an unknown phase")
        if bool(term.text) == bool(term.order) or (term.order and term.phases):
            raise CertificateError(field, "it needs either a text or an order")
        try:
            node = lang.parse_expression(term.text or "0", field)
            kind = lang.check_expression(node, self.table.scope, term.text, field)
        except UnspiralError as error:
            raise CertificateError(field, str(error)) from error
        if kind not in {lang.INT, lang.BOOL} or not names(node) <= self.domains.keys():
            raise CertificateError(field, "it must be a number with a least value")
        return node

    def row(self, row: Row, place: int) -> None:
        field = f"rows, {row.name}"
        idle = place == len(self.terms) and not any(row.cost.values())
        if place == -1 and row.name in self.taken:
            raise CertificateError(field, "it can be taken")
        if not (-1 <= place < len(self.terms) or idle):
            raise CertificateError(field, f"there is no terms[{place}] for it")
        for number, term in enumerate(self.terms[: place + 1]):
            if not self.falls(row, number, strictly=number == place):
                verb = "lower" if number == place else "keep"
                raise CertificateError(field, f"it does not {verb} the term {term}")

    def falls(self, row: Row, place: int, *, strictly: bool) -> bool:
        after = {each.name: each.value for each in row.action}
        node, inside = self.nodes[place], list[Node]()
        old = self.at(place, row.source, node)
        new = self.at(place, row.target, lang.substitute(node, after))
        if old == new:
            return not strictly
        for name in sorted(names(node) & after.keys() & self.domains.keys()):
            if self.table.scope[name] == lang.INT:  # leaving it is an error, no step
                low, high = self.domains[name][0], self.domains[name][-1]
                inside.append(Compare(">=", after[name], Const(low)))
                inside.append(Compare("<=", after[name], Const(high)))
        cases = self.cases((old, new), (*self.conditions(row), *inside))
        if cases is None:
            return False
        return all(n < o if strictly else n <= o for o, n in cases)

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
        open_ = frozenset(self.table.scope) - self.domains.keys()
        freed = [lang.may(lang.free(part, open_), be=True) for part in parts]
        whole = lang.conjunction(*freed)
        split = isinstance(whole, lang.Bool) and whole.op == "and"
        return whole.items if isinstance(whole, lang.Bool) and split else (whole,)

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
        order = sorted(read)
        local = {name: f"m[{i}]" for i, name in enumerate(order)}
        test = " and ".join(lang.python(each, local) for each in chosen) or "True"
        image = "".join(f"{lang.python(value, local)}, " for value in values)
        every = itertools.product(*(self.domains[name] for name in order))
        space: dict[str, object] = {"min": min, "max": max, "every": every}
        # The source is emitted from whitelisted trees: no text of a user is in it.
        source = f"[({image}) for m in every if {test}]"
        found: list[tuple[int, ...]] = eval(source, space)  # noqa: S307
        return found

    def few(self, read: frozenset[str]) -> bool:
        sizes = [len(self.domains[name]) for name in read & self.domains.keys()]
        return read <= self.domains.keys() and math.prod(sizes) <= CASES
