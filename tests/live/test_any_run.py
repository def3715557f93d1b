"""Whatever server, tools, hooks, people and consumers do, no run breaks a law.

`python -m tests.live.any_campaign --examples N --seed S` plays as many as one likes.
"""

from hypothesis import given, settings

from tests.live.any_plan import Plan, play
from tests.live.any_plans import PLANS
from tests.live.laws import broken


@settings(max_examples=250, print_blob=True)
@given(PLANS)
def test_no_run_breaks_a_law_of_what_is_sent_told_and_kept(plan: Plan) -> None:
    assert broken(play(plan)) == []
