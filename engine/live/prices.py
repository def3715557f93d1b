"""What a model call costs: public list prices, in whole micro-dollars.

The prices are those of Anthropic's own API at standard speed, in US dollars. Batches,
fast mode, regions, server tools and other clouds cost more or less and are not known
here. A model that is not listed is charged like the dearest that is, and said to be: a
budget of money must err on the side of stopping. Pure; it looks nothing up.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

import attrs

__all__ = ["AS_OF", "DEAREST", "PRICES", "SOURCE", "Price", "Quote", "Usage", "quote"]

SOURCE = "https://platform.claude.com/docs/en/about-claude/pricing"
AS_OF = "2026-11-10"  #: the day of the newest copy of the source that was read

_MILLION = 1_000_000
_DATED = re.compile(r"-20\d{6}\Z", re.ASCII)


@attrs.frozen
class Usage:
    """Tokens that a call is charged for; no token is in two of them.

    Attributes:
        input: read without a cache.
        output: written by the model, thinking included.
        cache_read: read from a cache.
        cache_write: written to a cache of five minutes.
        cache_write_hour: written to a cache of one hour.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_hour: int = 0

    @property
    def prompt(self) -> int:
        """Every token that was sent."""
        return self.input + self.cache_read + self.cache_write + self.cache_write_hour


@attrs.frozen
class Price:
    """What a million tokens cost, in micro-dollars.

    Attributes:
        input: read without a cache.
        output: written by the model.
        cache_read: read from a cache.
        cache_write: written to a cache of five minutes.
        cache_write_hour: written to a cache of one hour.
        long_prompt: the prompt, in tokens, above which every token of the call has the
            price `beyond`; 0: there is no such length.
        beyond: that price, or None.
    """

    input: int
    output: int
    cache_read: int
    cache_write: int
    cache_write_hour: int
    long_prompt: int = 0
    beyond: "Price | None" = None

    def cost(self, usage: Usage) -> int:
        """Return what a call costs, in micro-dollars, rounded up."""
        if self.beyond is not None and usage.prompt > self.long_prompt:
            return self.beyond.cost(usage)
        parts = (
            usage.input * self.input,
            usage.output * self.output,
            usage.cache_read * self.cache_read,
            usage.cache_write * self.cache_write,
            usage.cache_write_hour * self.cache_write_hour,
        )
        return -(-sum(parts) // _MILLION)


@attrs.frozen
class Quote:
    """The price for a model as it was asked for.

    Attributes:
        model: its name.
        price: that holds.
        known: whether the model is listed.
    """

    model: str
    price: Price
    known: bool

    def __str__(self) -> str:
        if self.known:
            return f"{self.model}: list price of {AS_OF}"
        return f"{self.model}: not listed, so charged like the dearest model that is"


def _price(
    dollars: float, output: float, read: float, write: float, write_hour: float
) -> Price:
    """Return a price from dollars a million tokens, as the source has them."""
    return Price(
        round(dollars * _MILLION),
        round(output * _MILLION),
        round(read * _MILLION),
        round(write * _MILLION),
        round(write_hour * _MILLION),
    )


_FABLE_5_2 = _price(8, 40, 0.20, 10, 16)
_FABLE_5_1 = _price(10, 50, 0.25, 12.50, 20)
_FABLE_5 = _price(10, 50, 1, 12.50, 20)
_OPUS_5_5 = _price(4, 20, 0.20, 5, 8)
_OPUS = _price(5, 25, 0.50, 6.25, 10)
_OPUS_4_1 = _price(15, 75, 1.50, 18.75, 30)
_SONNET_5_5 = _price(2, 10, 0.10, 2.50, 4)
_SONNET_5 = _price(2, 10, 0.20, 2.50, 4)
_SONNET = _price(3, 15, 0.30, 3.75, 6)
_HAIKU_5_5 = attrs.evolve(
    _price(0.10, 0.50, 0.01, 0.125, 0.20),
    long_prompt=100_000,
    beyond=_price(0.50, 2.50, 0.05, 0.625, 1),
)
_HAIKU_4_5 = _price(1, 5, 0.10, 1.25, 2)
_HAIKU_3_5 = _price(0.80, 4, 0.08, 1, 1.60)

#: by the name of the model, without a date at its end
PRICES: Mapping[str, Price] = MappingProxyType(
    {
        "claude-fable-5-2": _FABLE_5_2,
        "claude-fable-5-1": _FABLE_5_1,
        "claude-mythos-5-1": _FABLE_5_1,
        "claude-fable-5": _FABLE_5,
        "claude-mythos-5": _FABLE_5,
        "claude-opus-5-5": _OPUS_5_5,
        "claude-opus-5": _OPUS,
        "claude-opus-4-8": _OPUS,
        "claude-opus-4-7": _OPUS,
        "claude-opus-4-6": _OPUS,
        "claude-opus-4-5": _OPUS,
        "claude-opus-4-1": _OPUS_4_1,
        "claude-opus-4": _OPUS_4_1,
        "claude-sonnet-5-5": _SONNET_5_5,
        "claude-sonnet-5": _SONNET_5,
        "claude-sonnet-4-6": _SONNET,
        "claude-sonnet-4-5": _SONNET,
        "claude-sonnet-4": _SONNET,
        "claude-3-7-sonnet": _SONNET,
        "claude-haiku-5-5": _HAIKU_5_5,
        "claude-haiku-4-5": _HAIKU_4_5,
        "claude-3-5-haiku": _HAIKU_3_5,
    }
)

#: the highest price of each kind of token
DEAREST = Price(
    input=max(price.input for price in PRICES.values()),
    output=max(price.output for price in PRICES.values()),
    cache_read=max(price.cache_read for price in PRICES.values()),
    cache_write=max(price.cache_write for price in PRICES.values()),
    cache_write_hour=max(price.cache_write_hour for price in PRICES.values()),
)


def quote(model: str) -> Quote:
    """Return the price for a model; the dearest if it is not listed.

    Args:
        model: its name as it is asked for, with or without a date at its end.
    """
    found = PRICES.get(model) or PRICES.get(_DATED.sub("", model))
    return Quote(model, found or DEAREST, found is not None)
