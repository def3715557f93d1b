"""Where no small change of a machine goes unnoticed, that stays so."""

import pytest

from unspiral import machines
from unspiral.engine.check.judging import judged, small_limits
from unspiral.engine.check.mutants import mutants_of
from unspiral.engine.check.mutate import Judge

OPEN = {"unobserved", "undetermined"}


@pytest.mark.parametrize(
    ("name", "edition", "switches"),
    [
        ("tool_call", "published", {}),
        ("tool_call", "published", {"interruptible": True}),
        ("tool_call", "published", {"cancel_all_siblings": True}),
        ("compaction", "hardened", {}),
        ("api_attempt", "normal", {}),
        ("recompaction", None, {}),
        ("token_budget", None, {}),
    ],
)
def test_no_change_of_it_goes_unnoticed(
    name: str, edition: str | None, switches: dict[str, bool]
) -> None:
    machine = machines.load(name)
    judge = Judge(machine, edition, small_limits(machine, edition, switches))
    mutants = mutants_of(judge.flat, judge.table.limits)
    found = list(judged(judge, mutants, jobs=1))

    assert [each.mutant.name for each in found if each.how in OPEN] == []
    assert len([each for each in found if not each.lives]) >= 15
