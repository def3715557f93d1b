"""The check of a machine: is there a death spiral, and what is the worst case?

This is the door: it compiles, asks `examine` about the machine and `laws` about its
laws, and adds the certificate. Whatever it says, it says as plain values of `verdict`.
"""

import time
from collections.abc import Iterable, Mapping

import attrs

from unspiral.engine.check.examine import Examination
from unspiral.engine.check.explore import DEFAULT_MEMORY, INTERRUPTED, Cut, Progress
from unspiral.engine.check.laws import law_verdict
from unspiral.engine.check.ranking import find_certificate
from unspiral.engine.check.search import Search
from unspiral.engine.check.verdict import LawVerdict, Outcome, Verdict
from unspiral.engine.core.declare import Law, LimitValue, Machine
from unspiral.engine.core.table import Table, compile_table
from unspiral.engine.core.validate import validate
from unspiral.engine.errors import InvalidMachine

__all__ = ["check", "check_law", "check_table"]


def check(  # noqa: PLR0913 - every argument is one switch of the command line
    machine: Machine,
    *,
    edition: str | None = None,
    limits: Mapping[str, LimitValue] | None = None,
    assumptions: Iterable[str] = (),
    full: bool = False,
    laws: bool = True,
    memory: int = DEFAULT_MEMORY,
    progress: Progress | None = None,
) -> Verdict:
    """Check a machine at the limits of an edition.

    Args:
        machine: the machine.
        edition: the name of an edition; the first unless given.
        limits: values that override the edition's.
        assumptions: the names of assumptions on the environment.
        full: explore every valuation, with no reduction at all, so that the numbers of
            states and transitions can be compared with other checkers.
        laws: check the laws, too.
        memory: most bytes that one exploration may take.
        progress: called now and then with the states found and those waiting.

    Raises:
        InvalidMachine: findings that forbid to compile it.
        DeclarationError: the machine cannot be compiled at these limits.
        UsageError: no such edition, limit or assumption, or a value not allowed.
    """
    findings = validate(machine)
    forbidding = tuple(finding for finding in findings if finding.forbids)
    if forbidding:
        raise InvalidMachine(machine.name, forbidding)
    table = compile_table(machine, edition, limits, assumptions)
    verdict = check_table(table, full=full, laws=laws, memory=memory, progress=progress)
    return attrs.evolve(verdict, findings=findings)


def check_table(
    table: Table,
    *,
    full: bool = False,
    laws: bool = True,
    memory: int = DEFAULT_MEMORY,
    progress: Progress | None = None,
) -> Verdict:
    """Check a compiled table; see `check`. Findings are not looked for.

    Ctrl-C ends it with what is known by then; the rest is UNDETERMINED.
    """
    begin = time.perf_counter()
    search = Search(table, memory, progress)
    verdict = _examined(search, full=full)
    if laws and not verdict.interrupted:
        verdict = _with_laws(search, verdict)
    return attrs.evolve(verdict, seconds=time.perf_counter() - begin)


def _examined(search: Search, *, full: bool) -> Verdict:
    examination = Examination(search, full=full)
    try:
        verdict = examination.verdict()
        if verdict.verdict is not Outcome.PROVED:
            return verdict
        certificate = find_certificate(search.table)
    except KeyboardInterrupt:
        cut = Cut(INTERRUPTED, search.states)
        return examination.undetermined(cut, transitions=0)
    basis = "certificate and exact search" if certificate else "exact search"
    return attrs.evolve(verdict, certificate=certificate, basis=basis)


def _with_laws(search: Search, verdict: Verdict) -> Verdict:
    answers: list[LawVerdict] = []
    interrupted = False
    for law in search.table.machine.laws:
        try:
            answers.append(
                LawVerdict(law.name, Outcome.UNDETERMINED)
                if interrupted
                else law_verdict(search, law)
            )
        except KeyboardInterrupt:
            interrupted = True
            answers.append(LawVerdict(law.name, Outcome.UNDETERMINED))
    done = sum(each.verdict is not Outcome.UNDETERMINED for each in answers)
    note = f"interrupted after {done} of {len(answers)} laws"
    return attrs.evolve(
        verdict,
        laws=tuple(answers),
        interrupted=interrupted,
        notes=(*verdict.notes, note) if interrupted else verdict.notes,
    )


def check_law(table: Table, law: Law, memory: int = DEFAULT_MEMORY) -> LawVerdict:
    """Check one law, of the machine or any other.

    Raises:
        DeclarationError: a condition that cannot be read.
    """
    return law_verdict(Search(table, memory, None), law)
