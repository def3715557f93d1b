"""The verdict for each reading: how much hangs on what the sources leave open."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping

import attrs

from unspiral.engine.check.check import check_table
from unspiral.engine.check.verdict import Verdict
from unspiral.engine.core.declare import LimitValue, Machine
from unspiral.engine.core.settings import resolve
from unspiral.engine.core.table import compile_table

__all__ = ["ReadingVerdict", "check_readings"]


@attrs.frozen
class ReadingVerdict:
    """The verdict for one way of reading the sources.

    Attributes:
        changes: the readings that differ from the setting that was asked for.
        verdict: the answer, without laws.
    """

    changes: Mapping[str, LimitValue]
    verdict: Verdict


def check_readings(
    machine: Machine,
    edition: str | None = None,
    limits: Mapping[str, LimitValue] | None = None,
    assumptions: Iterable[str] = (),
    progress: Callable[[int, int], None] | None = None,
) -> tuple[ReadingVerdict, ...]:
    """Check a machine under every reading, alone and in pairs.

    Args:
        machine: the machine.
        edition: the name of an edition; the first unless given.
        limits: values that override the edition's.
        assumptions: the names of assumptions on the environment.
        progress: called after each check with how many are done and how many remain.

    Raises:
        DeclarationError: the machine cannot be compiled.
        UsageError: no such edition, limit or assumption, or a value not allowed.
    """
    chosen = dict(limits or {})
    names = tuple(assumptions)
    known: dict[str, Verdict] = {}
    found: list[ReadingVerdict] = []
    settings = list(_settings(machine, resolve(machine, edition, chosen)))
    for done, changes in enumerate(settings, start=1):
        table = compile_table(machine, edition, {**chosen, **changes}, names)
        if table.digest not in known:
            known[table.digest] = check_table(table, laws=False)
        found.append(ReadingVerdict(changes, known[table.digest]))
        if progress is not None:
            progress(done, len(settings) - done)
        if found[-1].verdict.interrupted:
            break
    return tuple(found)


def _settings(
    machine: Machine, values: Mapping[str, LimitValue]
) -> Iterator[dict[str, LimitValue]]:
    """Return the readings as they are, then changed one at a time, then in pairs."""
    single = [
        (limit.name, value)
        for limit in machine.all_limits
        if limit.reading
        for value in limit.alternatives
        if value != values[limit.name]
    ]
    yield {}
    for change in single:
        yield dict([change])
    for one, two in itertools.combinations(single, 2):
        if one[0] != two[0]:
            yield dict([one, two])
