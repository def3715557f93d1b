"""What a run spends: it is entered after each call, and looked at before each.

Whoever asks a model asks here first, side tasks included; that nothing is left is a
fact, and where it leads is the table's business. So is the token budget: here is only
how many tokens were written since the last look.
"""

from collections.abc import Callable

import attrs

from unspiral.engine.errors import BadValue
from unspiral.engine.live.budgets import Budgets, Ledger
from unspiral.engine.live.ports import Ask, Clock, Model, Outcome
from unspiral.engine.live.prices import Usage, quote
from unspiral.engine.live.state import Here

__all__ = ["OVER_BUDGET", "Purse", "Spending"]

OVER_BUDGET = "over_budget"  #: the fact that nothing is left of some budget

_UNIT = 500  # tokens: the unit in which the token budget of the table is counted
_NEARLY_ALL = 9, 10  # of the token budget: beyond this nothing is left of it


@attrs.frozen
class Spending:
    """What one call of a model has cost.

    Attributes:
        model: that was asked.
        source: who asked.
        micro_dollars: by the list price.
        tokens: sent and received.
    """

    model: str
    source: str
    micro_dollars: int
    tokens: int


def _nobody(_: Spending) -> None:
    pass


@attrs.define
class Purse:
    """Holds the budgets and the ledger of a run.

    Attributes:
        budgets: what may be spent.
        clock: the one that the ledger was begun with.
        ledger: what is spent.
        spent: is told of each call of a model when it is over.
        written: output tokens of the conversation itself so far.

    Raises:
        BadValue: a budget is set that the machine has a limit for.
    """

    budgets: Budgets
    clock: Clock
    ledger: Ledger
    spent: Callable[[Spending], None] = _nobody
    written: int = 0
    _over: str = attrs.field(default="", init=False)

    def __attrs_post_init__(self) -> None:
        if self.budgets.turns is not None:
            allowed = "None: turns are the limit `max_turns` of the machine"
            raise BadValue("budget 'turns'", str(self.budgets.turns), allowed)

    def exceeded(self) -> str:
        """Return the name of a budget of which nothing is left, or "".

        What is spent stays spent, even if the clock goes back.
        """
        self._over = self._over or self.ledger.exceeded(self.budgets, self.clock.now())
        return self._over

    def charge(self, ask: Ask, outcome: Outcome) -> None:
        """Enter a call of a model, whatever came of it."""
        plain = outcome.input_tokens - outcome.cached_tokens - outcome.written_tokens
        usage = Usage(
            input=max(plain, 0),
            output=outcome.output_tokens,
            cache_read=outcome.cached_tokens,
            cache_write=outcome.written_tokens,
        )
        tokens = outcome.input_tokens + outcome.output_tokens
        cost = quote(ask.model).price.cost(usage)
        self.ledger = self.ledger.called_model(tokens, cost)
        if ask.source == "main":
            self.written += outcome.output_tokens
        self.spent(Spending(ask.model, ask.source, cost, tokens))

    def asker(self, model: Model) -> "Asker":
        """Return what asks a model for a side task, within the budgets."""
        return Asker(self, model)

    # -- performers --------------------------------------------------------------------

    def which_budget(self, here: Here) -> str:
        """Say which budget it is that nothing is left of."""
        del here
        return self.exceeded()

    def count(self, here: Here) -> str:
        """Say how much was written since the last look at the token budget."""
        work = here.work
        new, work.looked = self.written - work.looked, self.written
        part, whole = _NEARLY_ALL
        budget = int(str(here.limits["token_budget"])) * _UNIT
        if self.written * whole >= budget * part:
            return "rest"
        return "big" if new >= _UNIT else "small"


@attrs.frozen
class Asker:
    """Asks a model for a side task, if anything may still be spent.

    Attributes:
        purse: what may be spent.
        model: whoever answers.
    """

    purse: Purse
    model: Model

    async def __call__(self, ask: Ask) -> Outcome:
        """Send one request, once."""
        budget = self.purse.exceeded()
        if budget:
            return Outcome(OVER_BUDGET, text=f"Nothing is left of budget {budget!r}.")
        outcome = await self.model.attempt(ask, lambda _: None)
        self.purse.charge(ask, outcome)
        return outcome
