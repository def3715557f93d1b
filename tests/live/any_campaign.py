"""Whole runs at random, for as long as one likes.

    python -m tests.live.any_campaign --examples N --seed S

plays N plans that follow from S, and prints the least plan that breaks a law, with the
law; it ends with 1 if there is one. The same seed plays the same plans.
"""

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Sequence

from hypothesis import HealthCheck, given, seed, settings

from tests.live.any_plan import Plan, play
from tests.live.any_plans import PLANS
from tests.live.laws import broken


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--examples", type=int, default=1_000, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="S")
    chosen = parser.parse_args(arguments)
    ends: Counter[str] = Counter()
    played: Counter[str] = Counter()

    @seed(chosen.seed)
    @settings(
        max_examples=chosen.examples,
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(PLANS)
    def check(plan: Plan) -> None:
        runs = play(plan)
        played["plans"] += 1
        ends.update(each.end.terminal if each.end else "no end" for each in runs)
        found = broken(runs)
        assert not found, "\n".join(found)

    try:
        check()
    finally:
        told = ", ".join(f"{end} {n:,}" for end, n in ends.most_common())
        sys.stdout.write(f"{played['plans']:,} plans from {chosen.seed}: {told}\n")
    return 0


if __name__ == "__main__":
    warnings.simplefilter("error")
    sys.exit(main())
