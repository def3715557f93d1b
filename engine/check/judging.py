"""All mutants of a machine, judged on several cores; and small limits to do it at."""

import multiprocessing as mp
from collections.abc import Callable, Iterator, Mapping, Sequence

from unspiral.engine.check.mutants import Mutant
from unspiral.engine.check.mutate import Judge, Judgement
from unspiral.engine.core.declare import LimitValue, Machine
from unspiral.engine.core.settings import resolve

__all__ = ["judged", "small_limits"]

_FEW = 2  # a number that is no greater is small enough

_judge: Judge | None = None  # of a process, which was forked from one that has it


def small_limits(
    machine: Machine, edition: str | None, limits: Mapping[str, LimitValue]
) -> dict[str, LimitValue]:
    """Return values at which a search is short.

    Every number that no row compares with another limit, and that is above 2, becomes
    the least of its declared values above 0. What is UNLIMITED or a switch stays.

    Args:
        machine: whose limits.
        edition: its name, or None.
        limits: that were chosen; they stay as they are.
    """
    values = resolve(machine, edition, limits)
    small: dict[str, LimitValue] = dict(limits)
    for limit in machine.all_limits:
        value = values[limit.name]
        least = [each for each in limit.alternatives if _is_number(each) and each != 0]
        if limit.name not in limits and _is_number(value) and least:
            below = min(least, key=_size)
            if _size(value) > _FEW and limit.unit != "tokens":
                small[limit.name] = below
    return small


def _is_number(value: LimitValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _size(value: LimitValue) -> int:
    assert isinstance(value, int)  # noqa: S101 - as was just looked at
    return value


def judged(
    judge: Judge,
    mutants: Sequence[Mutant],
    jobs: int,
    progress: Callable[[int, int], object] = max,  # which does nothing to anybody
) -> Iterator[Judgement]:
    """Judge mutants; yield the judgements in their order.

    Args:
        judge: of the machine.
        mutants: to be judged.
        jobs: processes; with 1 all is done in this one.
        progress: called with how many are done and how many are left; unless given,
            nobody hears of it.
    """
    global _judge  # noqa: PLW0603 - the only way into a process that is forked
    if jobs == 1:
        for done, mutant in enumerate(mutants, 1):
            yield judge.judge(mutant)
            progress(done, len(mutants) - done)
        return
    _judge = judge
    try:
        with mp.get_context("fork").Pool(jobs) as pool:
            found = pool.imap(_judged, mutants, chunksize=4)
            for done, judgement in enumerate(found, 1):
                yield judgement
                progress(done, len(mutants) - done)
    finally:
        _judge = None


def _judged(mutant: Mutant) -> Judgement:
    assert _judge is not None  # noqa: S101 - set before the fork
    return _judge.judge(mutant)
