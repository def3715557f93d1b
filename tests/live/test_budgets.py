"""Budgets and prices: nothing is spent unseen, and nothing is given back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspiral.engine.errors import BadValue
from unspiral.engine.live.budgets import BUDGETS, Budgets, Ledger
from unspiral.engine.live.prices import DEAREST, PRICES, Usage, quote

COUNTS = st.integers(0, 10**9)
USAGES = st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS)


def spent(ledger: Ledger) -> Ledger:
    """Spend exactly: 2 calls, 1 turn, 3 tool calls, 30 tokens, 300 micro-dollars."""
    return (
        ledger.called_model(10, 100).called_model(20, 200).took_turn().called_tools(3)
    )


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("model_calls", 2),
        ("turns", 1),
        ("tool_calls", 3),
        ("tokens", 30),
        ("micro_dollars", 300),
        ("seconds", 7.5),
    ],
)
def test_a_budget_is_exceeded_when_nothing_is_left_of_it(
    name: str, limit: float
) -> None:
    ledger = spent(Ledger(began=100.0))

    assert ledger.exceeded(Budgets(**{name: limit}), 107.5) == name  # type: ignore[arg-type]
    assert ledger.exceeded(Budgets(**{name: limit + 1}), 107.5) == ""  # type: ignore[arg-type]


def test_without_budgets_nothing_is_ever_exceeded() -> None:
    assert spent(Ledger(0.0)).exceeded(Budgets(), 1e12) == ""


def test_a_new_ledger_exceeds_nothing() -> None:
    assert Ledger(5.0).exceeded(Budgets(1, 1, 1, 1, 1, 0.1), 5.0) == ""


def test_of_several_the_first_is_named() -> None:
    ledger = spent(Ledger(0.0))

    assert ledger.exceeded(Budgets(1, 1, 1, 1, 1, 1), 100.0) == BUDGETS[0]
    assert ledger.exceeded(Budgets(tokens=1, seconds=1), 100.0) == "tokens"


@given(st.lists(st.tuples(st.integers(), st.integers(), st.integers()), max_size=20))
def test_a_ledger_never_shrinks_whatever_it_is_told(
    entries: list[tuple[int, int, int]],
) -> None:
    ledger = Ledger(0.0)
    for tokens, money, tools in entries:
        after = ledger.called_model(tokens, money).took_turn().called_tools(tools)
        before = ledger.spent(0.0)
        assert all(value >= before[name] for name, value in after.spent(0.0).items())
        ledger = after
    assert ledger.model_calls == ledger.turns == len(entries)


def test_a_clock_that_goes_back_gives_nothing_back() -> None:
    assert Ledger(100.0, earlier=5.0).seconds(50.0) == 5.0


def test_the_seconds_of_earlier_processes_count_though_their_clock_was_another() -> (
    None
):
    kept = json.loads(json.dumps(spent(Ledger(100.0)).plain(106.0)))

    again = Ledger.from_plain(kept, now=7.0)

    assert again.spent(7.0) == spent(Ledger(100.0)).spent(106.0)
    assert again.seconds(8.5) == 7.5


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {**Ledger(0.0).plain(0.0), "more": 1},
        {**Ledger(0.0).plain(0.0), "turns": -1},
        {**Ledger(0.0).plain(0.0), "turns": 1.5},
        {**Ledger(0.0).plain(0.0), "turns": True},
        {**Ledger(0.0).plain(0.0), "turns": "1"},
        {**Ledger(0.0).plain(0.0), "seconds": float("nan")},
        {**Ledger(0.0).plain(0.0), "seconds": float("inf")},
    ],
)
def test_what_is_no_ledger_is_refused(value: object) -> None:
    with pytest.raises(BadValue):
        Ledger.from_plain(value, 0.0)


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), True, "3"])
def test_a_budget_that_means_nothing_is_refused(value: object) -> None:
    with pytest.raises(BadValue) as caught:
        Budgets(seconds=value)  # type: ignore[arg-type]

    assert caught.value.what == "budget 'seconds'"


def test_money_is_what_the_list_says() -> None:
    million = 1_000_000
    usage = Usage(million, million, million, million, million)

    assert quote("claude-opus-5-5").price.cost(usage) == 37_200_000
    assert quote("claude-sonnet-5-5").price.cost(usage) == 18_600_000
    assert quote("claude-sonnet-4-6").price.cost(usage) == 28_050_000
    assert quote("claude-haiku-4-5").price.cost(usage) == 9_350_000


def test_a_part_of_a_micro_dollar_is_charged_as_a_whole_one() -> None:
    assert quote("claude-haiku-5-5").price.cost(Usage(cache_read=1)) == 1
    assert quote("claude-haiku-5-5").price.cost(Usage()) == 0


def test_a_long_prompt_has_its_own_price_for_every_token() -> None:
    price = quote("claude-haiku-5-5").price

    assert price.cost(Usage(100_000, 1_000)) == 10_500
    assert price.cost(Usage(50_000, 1_000, cache_read=50_001)) == 30_001


@pytest.mark.parametrize(
    ("model", "listed"),
    [
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("claude-sonnet-4-20250514", "claude-sonnet-4"),
        ("claude-opus-4-1-20250805", "claude-opus-4-1"),
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5"),
    ],
)
def test_a_date_at_the_end_of_a_name_changes_no_price(model: str, listed: str) -> None:
    assert quote(model).price == PRICES[listed]
    assert quote(model).known


@pytest.mark.parametrize("model", ["", "gpt-9", "claude-opus-9", "claude-opus-4-9"])
def test_an_unknown_model_is_charged_as_the_dearest_and_said_to_be(model: str) -> None:
    found = quote(model)

    assert found.price == DEAREST
    assert not found.known
    assert "dearest" in str(found)


@given(USAGES)
def test_no_model_is_dearer_than_the_dearest(usage: Usage) -> None:
    assert all(price.cost(usage) <= DEAREST.cost(usage) for price in PRICES.values())


@given(st.sampled_from(sorted(PRICES)), USAGES, USAGES)
def test_two_calls_never_cost_less_than_their_tokens_at_the_same_price(
    model: str, one: Usage, other: Usage
) -> None:
    price = PRICES[model]
    both = Usage(
        one.input + other.input,
        one.output + other.output,
        one.cache_read + other.cache_read,
        one.cache_write + other.cache_write,
        one.cache_write_hour + other.cache_write_hour,
    )
    if price.beyond is None:
        assert price.cost(both) <= price.cost(one) + price.cost(other)
    assert price.cost(both) >= max(price.cost(one), price.cost(other))
