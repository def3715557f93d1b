"""Faults of loops are planted, and found by the fuzzer alone as well as by the checker.

Here is a sample; all of them: `python -m tests.quality.planted_loops`.
"""

import pytest

from tests.quality.planted_loops import HARD, PLANTED, alone, refutes, table_of

SAMPLE = [name for name in PLANTED if name not in HARD][::5]


@pytest.mark.parametrize("name", SAMPLE)
def test_a_planted_fault_is_found_by_runs_alone_and_refuted_by_the_checker(
    name: str,
) -> None:
    table = table_of(PLANTED[name])
    # Draws differ between releases of Hypothesis: one of three campaigns must find it.
    campaigns = (alone(table, seed) for seed in range(3))
    found = next((each.findings for each in campaigns if each.findings), ())

    assert found
    assert refutes(table, found[0].failure)


def test_nothing_is_found_where_nothing_is_planted() -> None:
    campaign = alone(table_of(None), examples=500)

    assert (campaign.runs, campaign.findings) == (500, ())


def test_enough_faults_of_each_kind_are_planted() -> None:
    kinds = {planted.kind for planted in PLANTED.values()}

    assert len(PLANTED) - len(HARD) >= 30
    assert kinds >= {
        "guard gone",
        "off by one",
        "wrong order",
        "wrong reset",
        "swallowed error",
        "lost withheld error",
        "double result",
        "hook on error",
    }
