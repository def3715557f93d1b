"""What kills a mutant: a finding, the verdict, a bound or a law; or why nothing does.

A mutant that lives is equivalent (it does nothing else in any state that can be
reached), or it does something else that no law and no bound speaks of. Which of the two
is decided on the machine as it was, by search, and never guessed.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

import attrs

from unspiral.engine.check.check import check_table
from unspiral.engine.check.explore import DEFAULT_MEMORY
from unspiral.engine.check.laws import law_verdict
from unspiral.engine.check.mutants import Mutant
from unspiral.engine.check.search import Search
from unspiral.engine.check.verdict import Bounds, Lasso, Outcome, Verdict
from unspiral.engine.core.declare import Law, LimitValue, Machine
from unspiral.engine.core.language import (
    TRUE,
    Assign,
    Bool,
    Compare,
    Name,
    Node,
    Not,
    conjunction,
    render,
)
from unspiral.engine.core.nest import flatten
from unspiral.engine.core.settings import resolve
from unspiral.engine.core.step import Step
from unspiral.engine.core.table import Row, Table, compile_table
from unspiral.engine.errors import DeclarationError, UsageError

__all__ = ["Judge", "Judgement"]


@attrs.frozen
class Judgement:
    """What became of a mutant.

    Attributes:
        mutant: it.
        killed_by: "finding", "verdict", "bounds" or "law"; "" if it lives.
        how: the law, what the verdict or the bound became; or, of one that lives, why:
            "equivalent", "switched off", "a setting", "unobserved" or "undetermined".
        path: the shortest run that shows it, a phase and what it answered each.
        loop: the part of it that comes again and again.
    """

    mutant: Mutant
    killed_by: str
    how: str
    path: tuple[str, ...] = ()
    loop: tuple[str, ...] = ()

    @property
    def lives(self) -> bool:
        """Whether nothing kills it."""
        return not self.killed_by


class Judge:
    """Judges the mutants of a machine at some limits.

    Args:
        machine: it.
        edition: its name, or None.
        limits: values that override the edition's.
        assumptions: on the environment.
        memory: most bytes that one search may take.

    Raises:
        DeclarationError: it cannot be compiled.
    """

    def __init__(
        self,
        machine: Machine,
        edition: str | None,
        limits: Mapping[str, LimitValue],
        assumptions: Iterable[str] = (),
        memory: int = DEFAULT_MEMORY,
    ) -> None:
        self._machine, self._edition = machine, edition
        self.flat = flatten(machine)
        self._limits = resolve(machine, edition, limits)
        self._assumptions = tuple(assumptions)
        self._memory = memory
        self.table = self._compiled(self.flat, {})
        self.verdict = check_table(self.table, memory=memory)
        self._refuted = {
            x.name for x in self.verdict.laws if x.verdict is Outcome.REFUTED
        }
        self._kills: Counter[str] = Counter()
        self._search = Search(self.table, memory, None)

    def _compiled(self, machine: Machine, limits: Mapping[str, LimitValue]) -> Table:
        values = {**self._limits, **limits}
        table = compile_table(machine, self._edition, values, self._assumptions)
        return attrs.evolve(table, machine=self._machine)  # laws name nested phases

    def judge(self, mutant: Mutant) -> Judgement:
        """Say what kills a mutant, or why it lives."""
        try:
            table = self._compiled(mutant.applied(self.flat), mutant.limits)
        except (DeclarationError, UsageError) as error:
            return Judgement(mutant, "finding", str(error).splitlines()[0])
        if _rows(table) == _rows(self.table):
            return Judgement(mutant, "", "switched off")
        search = Search(table, self._memory, None)
        verdict = check_table(table, laws=False, memory=self._memory)
        known = self._by_verdict(mutant, verdict) or self._by_bounds(mutant, verdict)
        if known is not None:
            return known
        same = self._never_differs(mutant, table)
        if same is Outcome.PROVED:
            return Judgement(mutant, "", "equivalent")
        unknown = "undetermined" if same is Outcome.UNDETERMINED else "unobserved"
        unknown = "a setting" if mutant.limits else unknown
        return self._by_law(mutant, search) or Judgement(mutant, "", unknown)

    # -- what kills --------------------------------------------------------------------

    def _by_verdict(self, mutant: Mutant, verdict: Verdict) -> Judgement | None:
        for what in ("deadlocks", "out_of_range", "spirals"):
            found: tuple[Lasso, ...] = getattr(verdict, what)
            before: tuple[Lasso, ...] = getattr(self.verdict, what)
            new = {each.reasons for each in found} - {each.reasons for each in before}
            if new:
                lasso = next(each for each in found if each.reasons in new)
                word = {"deadlocks": "a deadlock", "out_of_range": "out of range"}
                through = ", ".join(lasso.reasons) or "no continue"
                how = word.get(what, f"a death spiral through {through}")
                return _killed(mutant, "verdict", how, lasso)
        if verdict.verdict is Outcome.UNDETERMINED:
            return Judgement(mutant, "", "undetermined")
        if verdict.verdict is not self.verdict.verdict:
            return Judgement(mutant, "verdict", str(verdict.verdict.value))
        return None

    def _by_law(self, mutant: Mutant, search: Search) -> Judgement | None:
        """Ask the laws that have killed most first."""
        laws = [law for law in self.table.machine.laws if law.name not in self._refuted]
        for law in sorted(laws, key=lambda each: -self._kills[each.name]):
            try:
                found = law_verdict(search, law)
            except DeclarationError as error:
                return Judgement(mutant, "finding", str(error).splitlines()[0])
            if found.verdict is Outcome.REFUTED:
                self._kills[law.name] += 1
                return _killed(mutant, "law", law.name, found.counterexample)
        return None

    def _by_bounds(self, mutant: Mutant, verdict: Verdict) -> Judgement | None:
        one, two = self.verdict.bounds, verdict.bounds
        if one is None or two is None:
            return None
        for name, before, after in _numbers(one, two):
            if before != after:
                how = f"{name} {_shown(before)} becomes {_shown(after)}"
                return _killed(mutant, "bounds", how, two.witness)
        return None

    # -- why one lives -----------------------------------------------------------------

    def _never_differs(self, mutant: Mutant, table: Table) -> Outcome:
        """Ask the machine as it was whether the change can ever make a difference."""
        if mutant.limits:
            return Outcome.REFUTED
        if mutant.swapped:
            return self._never_both(mutant.row, mutant.swapped)
        pairs = zip(self.table.rows, table.rows, strict=True)
        for old, new in pairs:
            if _row(old) == _row(new):
                continue
            law = Law("same", "absence", _differs(old, new))
            found = law_verdict(self._search, law).verdict
            if found is not Outcome.PROVED:
                return found
        return Outcome.PROVED

    def _never_both(self, first: str, second: str) -> Outcome:
        """Ask whether two alternatives that stand together ever hold both."""
        rows = {row.name: row for row in self.table.rows}
        one, two = rows[first], rows[second]
        asked: list[Node] = [Not(each.guard) for each in one.earlier]
        law = Law(
            "same", "absence", _all([*_at(one), _text([*asked, one.guard, two.guard])])
        )
        return law_verdict(self._search, law).verdict


def _killed(mutant: Mutant, by: str, how: str, lasso: Lasso | None) -> Judgement:
    if lasso is None:
        return Judgement(mutant, by, how)
    return Judgement(mutant, by, how, _told(lasso.stem), _told(lasso.loop))


def _told(steps: Iterable[Step]) -> tuple[str, ...]:
    return tuple(
        f"{each.before.phase}: {each.event}" for each in steps if each.event is not None
    )


def _differs(old: Row, new: Row) -> str:
    """Return in which steps a row does something else."""
    at = _at(old)
    asked: list[Node] = [Not(each.guard) for each in old.earlier]
    if old.guard != new.guard:
        one, two = (
            Bool("and", (old.guard, Not(new.guard))),
            Bool("and", (Not(old.guard), new.guard)),
        )
        return _all([*at, _text([*asked, Bool("or", (one, two))])])
    if old.action == new.action:  # it leads elsewhere, or counts otherwise
        return _all([*at, _text([*asked, old.guard])])
    unequal = [Compare("!=", *pair) for pair in _values(old.action, new.action)]
    condition = unequal[0] if len(unequal) == 1 else Bool("or", tuple(unequal))
    return _all([*at, _text([*asked, old.guard, condition])])


def _at(row: Row) -> list[str]:
    """Return what tells the steps in which a row is asked."""
    at = [f"phase == '{row.source}'"]
    return at if row.event is None else [*at, f"event == '{row.event}'"]


def _values(
    old: tuple[Assign, ...], new: tuple[Assign, ...]
) -> list[tuple[Node, Node]]:
    """Return the values of what is assigned differently, before and after."""
    one = {each.name: each.value for each in old}
    two = {each.name: each.value for each in new}
    return [
        (one.get(name, Name(name)), two.get(name, Name(name)))
        for name in dict.fromkeys((*one, *two))
        if one.get(name, Name(name)) != two.get(name, Name(name))
    ]


def _text(nodes: list[Node]) -> str:
    whole = conjunction(*nodes)
    return "" if whole == TRUE else render(whole)


def _all(texts: list[str]) -> str:
    return " and ".join(f"({each})" for each in texts if each)


def _row(row: Row) -> tuple[object, ...]:
    return row.guard, row.action, row.target, row.progress, row.reason


def _rows(table: Table) -> tuple[object, ...]:
    rows = tuple((r.source, r.event, r.name, _row(r)) for r in table.rows)
    return rows, table.variables


def _numbers(one: Bounds, two: Bounds) -> list[tuple[str, int | None, int | None]]:
    calls = "model calls between progress"
    reasons = dict.fromkeys((*one.per_reason, *two.per_reason))
    return [
        (
            calls,
            one.model_calls_between_progress,
            two.model_calls_between_progress,
        ),
        *(
            (
                f"uses of {each}",
                one.per_reason.get(each, 0),
                two.per_reason.get(each, 0),
            )
            for each in reasons
        ),
    ]


def _shown(number: int | None) -> str:
    return "unbounded" if number is None else f"{number:,}"
