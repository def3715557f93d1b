"""Where no small change of a machine goes unnoticed, that stays so."""

import pytest

from unspiral.engine.check.judging import judged
from unspiral.engine.check.mutants import mutants_of
from unspiral.engine.check.mutate import Judge, Judgement
from unspiral.engine.core.declare import LimitValue
from unspiral.machines.tool_call import TOOL_CALL

OPEN = {"unobserved", "undetermined"}


def of_tool_call(limits: dict[str, LimitValue]) -> list[Judgement]:
    judge = Judge(TOOL_CALL, None, limits)
    return list(judged(judge, mutants_of(judge.flat, judge.table.limits), jobs=1))


@pytest.mark.parametrize("interruptible", [True, False])
@pytest.mark.parametrize("all_siblings", [True, False])
def test_no_change_of_a_row_of_tool_call_goes_unnoticed(
    *, interruptible: bool, all_siblings: bool
) -> None:
    limits: dict[str, LimitValue] = {
        "interruptible": interruptible,
        "cancel_all_siblings": all_siblings,
    }
    found = of_tool_call(limits)

    assert [e.mutant.name for e in found if e.how in OPEN and e.mutant.row] == []
    assert len([each for each in found if not each.lives]) > 40
