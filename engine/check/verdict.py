"""What a check says: plain frozen values that reports, drawings and tests read.

Nothing here computes; `check` fills these in. Every counterexample is a list of steps
that `core.step` has replayed on the machine as declared.
"""

import enum
from collections.abc import Iterable, Mapping

import attrs

from unspiral.engine.check.certificate import Certificate
from unspiral.engine.core.step import Step
from unspiral.engine.core.table import Table
from unspiral.engine.core.validate import Finding

__all__ = ["Bounds", "Lasso", "LawVerdict", "Outcome", "Verdict"]


def _texts(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(values)


class Outcome(enum.Enum):
    """The answer of a check. UNDETERMINED means that the search was cut: no pass."""

    PROVED = "PROVED"
    REFUTED = "REFUTED"
    UNDETERMINED = "UNDETERMINED"


@attrs.frozen
class Lasso:
    """A run that goes on for ever, or one that ends badly.

    Attributes:
        stem: the steps from the start to the loop (or to the bad end).
        loop: the steps that repeat; empty if the counterexample is finite.
    """

    stem: tuple[Step, ...]
    loop: tuple[Step, ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """Return the continue reasons of the loop (of the stem if there is none)."""
        steps = self.loop or self.stem
        return tuple(step.row.reason for step in steps if step.row.reason)

    @property
    def cost(self) -> dict[str, int]:
        """Return what one round of the loop costs (the stem if there is none)."""
        total: dict[str, int] = {}
        for step in self.loop or self.stem:
            for name, amount in step.row.cost.items():
                total[name] = total.get(name, 0) + amount
        return total


@attrs.frozen
class LawVerdict:
    """The answer for one law.

    Attributes:
        name: the law.
        verdict: the answer.
        counterexample: the shortest run that breaks it, or None.
    """

    name: str
    verdict: Outcome
    counterexample: Lasso | None = None


@attrs.frozen
class Bounds:
    """Worst cases; None means that nothing bounds them.

    Attributes:
        model_calls_between_progress: most model calls from the start of a run or from
            one progress event to the next or to the end.
        model_calls_per_run: most model calls of a whole run.
        per_reason: most uses of each continue reason between two progress events.
        witness: a run that attains `model_calls_per_run`, as a stem; if that is None,
            one that attains `model_calls_between_progress` as its "loop" (it is taken
            once; the stem leads to it). None if no run could be replayed.
        formula: `model_calls_per_run` as a formula in `max_turns`-like limits, or "".
    """

    model_calls_between_progress: int | None
    model_calls_per_run: int | None
    per_reason: Mapping[str, int | None]
    witness: Lasso | None = None
    formula: str = ""


@attrs.frozen
class Verdict:
    """The whole answer about one machine at one setting.

    Attributes:
        table: the machine at the limits and assumptions that were checked.
        verdict: PROVED if there is no death spiral, deadlock or range violation.
        states: how many states were explored.
        transitions: how many (state, row) pairs.
        seconds: how long the check took.
        spirals: the shortest lasso of each kind of death spiral, the shortest first.
        open_ended: one lasso per cycle that makes progress without any limit.
        deadlocks: the shortest run into each kind of deadlock.
        out_of_range: the shortest run into each row that leaves a counter's domain.
        laws: the answer of each law.
        findings: what was found without running.
        bounds: worst cases, or None if there is a spiral or the search was cut.
        certificate: a proof by local decrease, or None if none was found.
        basis: what the verdict rests on.
        notes: what a reader must know, such as how far a cut search got.
        interrupted: whether a person cut the search.
    """

    table: Table
    verdict: Outcome
    states: int
    transitions: int
    seconds: float
    spirals: tuple[Lasso, ...] = ()
    open_ended: tuple[Lasso, ...] = ()
    deadlocks: tuple[Lasso, ...] = ()
    out_of_range: tuple[Lasso, ...] = ()
    laws: tuple[LawVerdict, ...] = ()
    findings: tuple[Finding, ...] = ()
    bounds: Bounds | None = None
    certificate: Certificate | None = None
    basis: str = "exact search"
    notes: tuple[str, ...] = attrs.field(default=(), converter=_texts)
    interrupted: bool = False

    @property
    def passed(self) -> bool:
        """Tell whether the machine and every law is PROVED."""
        outcomes = [self.verdict, *(law.verdict for law in self.laws)]
        return all(outcome is Outcome.PROVED for outcome in outcomes)

    @property
    def refuted(self) -> bool:
        """Tell whether the machine or a law is REFUTED."""
        outcomes = [self.verdict, *(law.verdict for law in self.laws)]
        return any(outcome is Outcome.REFUTED for outcome in outcomes)
