"""What a run may spend, and what it has spent; pure.

Ask `exceeded` before every call of a model, those of side tasks included. What it says
is a fact; which terminal it leads to is not known here. What a call costs is known only
when it is over, so the last call may go past a budget; no further one begins.

A ledger only grows, whatever it is told: a server that reports a negative usage gives
nothing back. It outlives the process that began it as plain JSON: the seconds used so
far are kept, since the next process has another clock.
"""

import math
from collections.abc import Mapping
from typing import Any, cast

import attrs

from unspiral.engine.errors import BadValue

__all__ = ["BUDGETS", "Budgets", "Ledger"]

#: the names of the budgets, in the order in which they are tested
BUDGETS = (
    "model_calls",
    "turns",
    "tool_calls",
    "tokens",
    "micro_dollars",
    "seconds",
)


def _positive(_: object, field: "attrs.Attribute[Any]", value: object) -> None:
    if value is None:
        return
    if not _is_number(value) or not cast("float", value) > 0:
        raise BadValue(f"budget {field.name!r}", repr(value), "a number above 0")


def _is_number(value: object) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and math.isfinite(value)
    )


@attrs.frozen
class Budgets:
    """The most that a run may spend; None: no limit.

    Attributes:
        model_calls: calls of a model, side tasks and retries included.
        turns: turns of the conversation.
        tool_calls: calls of tools.
        tokens: sent and received, cached ones included.
        micro_dollars: money, in millionths of a dollar.
        seconds: wall clock, over all processes of the session.

    Raises:
        BadValue: a budget is no number above 0.
    """

    model_calls: int | None = attrs.field(default=None, validator=_positive)
    turns: int | None = attrs.field(default=None, validator=_positive)
    tool_calls: int | None = attrs.field(default=None, validator=_positive)
    tokens: int | None = attrs.field(default=None, validator=_positive)
    micro_dollars: int | None = attrs.field(default=None, validator=_positive)
    seconds: float | None = attrs.field(default=None, validator=_positive)


@attrs.frozen
class Ledger:
    """What a run has spent. Each entry gives a new ledger.

    Attributes:
        began: the time at which this process took it up, in seconds of its clock.
        model_calls: so far.
        turns: so far.
        tool_calls: so far.
        tokens: so far.
        micro_dollars: so far.
        earlier: seconds used by earlier processes of the session.
    """

    began: float
    model_calls: int = 0
    turns: int = 0
    tool_calls: int = 0
    tokens: int = 0
    micro_dollars: int = 0
    earlier: float = 0.0

    def called_model(self, tokens: int, micro_dollars: int) -> "Ledger":
        """Enter a call of a model, whatever came of it."""
        return self._with(calls=1, tokens=max(tokens, 0), cost=max(micro_dollars, 0))

    def took_turn(self) -> "Ledger":
        """Enter a turn."""
        return self._with(turns=1)

    def called_tools(self, calls: int) -> "Ledger":
        """Enter calls of tools."""
        return self._with(tools=max(calls, 0))

    def _with(
        self,
        *,
        calls: int = 0,
        turns: int = 0,
        tools: int = 0,
        tokens: int = 0,
        cost: int = 0,
    ) -> "Ledger":
        return Ledger(
            self.began,
            self.model_calls + calls,
            self.turns + turns,
            self.tool_calls + tools,
            self.tokens + tokens,
            self.micro_dollars + cost,
            self.earlier,
        )

    def seconds(self, now: float) -> float:
        """Return the wall clock used; a clock that went back has used nothing."""
        return self.earlier + max(now - self.began, 0.0)

    def spent(self, now: float) -> Mapping[str, float]:
        """Return what is spent of each budget, by its name."""
        return {
            "model_calls": self.model_calls,
            "turns": self.turns,
            "tool_calls": self.tool_calls,
            "tokens": self.tokens,
            "micro_dollars": self.micro_dollars,
            "seconds": self.seconds(now),
        }

    def exceeded(self, budgets: Budgets, now: float) -> str:
        """Return the name of the first budget of which nothing is left, or "".

        Args:
            budgets: what may be spent.
            now: the time, on the clock that `began` was read from.
        """
        spent = self.spent(now)
        for name in BUDGETS:
            limit = getattr(budgets, name)
            if limit is not None and spent[name] >= limit:
                return name
        return ""

    def plain(self, now: float) -> dict[str, float]:
        """Return it as plain JSON, with the seconds used so far."""
        return dict(self.spent(now))

    @classmethod
    def from_plain(cls, value: object, now: float) -> "Ledger":
        """Take up a ledger that was kept.

        Args:
            value: what `plain` returned.
            now: the time of the clock from now on.

        Raises:
            BadValue: it is no ledger.
        """
        if not isinstance(value, Mapping):
            raise BadValue("a ledger", repr(value), "an object")
        kept = cast("Mapping[str, object]", value)
        if set(kept) != set(BUDGETS):
            raise BadValue("a ledger", repr(sorted(kept)), f"the keys {BUDGETS}")
        for name in BUDGETS:
            number = kept[name]
            whole = isinstance(number, int) or name == "seconds"
            if not _is_number(number) or not whole or cast("float", number) < 0:
                raise BadValue(f"a ledger's {name!r}", repr(number), "0 or more")
        counts = {name: cast("int", kept[name]) for name in BUDGETS[:-1]}
        return cls(began=now, earlier=cast("float", kept["seconds"]), **counts)
