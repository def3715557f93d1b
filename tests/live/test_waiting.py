"""How long is waited: the formula, the server's word, and the pieces."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspiral.engine.live.waiting import (
    HEARTBEAT,
    LONGEST_HINT,
    LONGEST_UNATTENDED,
    Backoff,
    backoff,
    pieces,
    wait,
)

CHANCES = st.floats(0, 1)
SECONDS = st.floats(0, 1e6)


@pytest.mark.parametrize(
    ("retry", "seconds"),
    [(1, 0.5), (2, 1), (3, 2), (4, 4), (5, 8), (6, 16), (7, 32), (8, 32), (10, 32)],
)
def test_a_back_off_doubles_up_to_a_bound_and_a_quarter_more(
    retry: int, seconds: float
) -> None:
    assert backoff(retry, 0) == seconds
    assert backoff(retry, 1) == seconds * 1.25


def test_ten_retries_wait_as_long_in_sum_as_was_computed() -> None:
    assert sum(backoff(retry, 0) for retry in range(1, 11)) == 159.5
    assert sum(backoff(retry, 1) for retry in range(1, 11)) == pytest.approx(199.4, 0.1)


@given(st.integers(-5, 10**30), st.floats(allow_nan=False))
def test_no_retry_and_no_random_number_leads_out_of_the_bounds(
    retry: int, chance: float
) -> None:
    assert 0.5 <= backoff(retry, chance) <= 40


@given(CHANCES)
def test_unattended_it_grows_to_five_minutes(chance: float) -> None:
    seconds = backoff(40, chance, LONGEST_UNATTENDED)

    assert 300 <= seconds <= 375


@given(SECONDS, st.none() | st.floats(0, allow_infinity=True))
def test_what_the_server_asks_for_is_a_lower_bound_up_to_the_cap(
    seconds: float, hint: float | None
) -> None:
    due = wait(seconds, hint)

    assert due >= seconds
    assert due >= min(hint or 0, LONGEST_HINT)
    assert due in {seconds, hint, LONGEST_HINT}


def test_a_hint_that_is_no_number_is_none() -> None:
    assert wait(1, math.nan) == wait(1, None) == 1


def test_the_policy_draws_a_new_number_for_each_wait() -> None:
    chances = iter([0.0, 1.0, 0.5])
    policy = Backoff(lambda: next(chances), cap=100)

    assert policy(1, None) == 0.5
    assert policy(1, None) == 0.625
    assert policy(1, 1_000) == 100


@given(st.floats(0, 1e5))
def test_pieces_make_up_the_wait_and_none_is_longer_than_a_heartbeat(
    seconds: float,
) -> None:
    parts = list(pieces(seconds))

    assert sum(parts) == pytest.approx(seconds)
    assert all(0 < part <= HEARTBEAT for part in parts)
    assert len(parts) <= seconds / HEARTBEAT + 1
