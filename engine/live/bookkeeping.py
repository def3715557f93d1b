"""What an agent keeps in its session while tools run, and numbers that do not change.

Whether anything goes on is not known here.
"""

import json
from collections.abc import Callable, Mapping, Sequence

import attrs

from unspiral.engine.live.budgets import BUDGETS, Budgets
from unspiral.engine.live.estimate import Window
from unspiral.engine.live.message import Block, Message
from unspiral.engine.live.ports import ToolSpec
from unspiral.engine.live.rounds import Diary
from unspiral.engine.live.session_events import Keeper

__all__ = ["SessionDiary", "fixed_facts", "floor_of"]

_PROSE, _SCHEMA = 4, 3  # characters a token


@attrs.frozen
class SessionDiary(Diary):
    """Keeps in the session what a round does.

    Attributes:
        keeper: writes to it.
        spent: returns the ledger of what is spent, with the calls of the round.
    """

    keeper: Keeper
    spent: Callable[[], Mapping[str, object]]

    def answered(self, answer: Message) -> None:
        """Keep an answer, and its calls as spent; they run when this returns."""
        self.keeper.appended((answer,), ledgers=self.spent())

    def calling(self, call: Block) -> None:
        """Keep that a call is about to run."""
        self.keeper.calling(call)

    def called(self, result: Block) -> None:
        """Keep the result of a call."""
        self.keeper.called(result)


def fixed_facts(window: Window, budgets: Budgets) -> Mapping[str, int]:
    """Return the numbers of a record that are the same in all steps of a run."""
    limits = {f"budget.{name}": getattr(budgets, name) for name in BUDGETS}
    return {
        "threshold": window.threshold,
        "window": window.size,
        **{name: int(limit) for name, limit in limits.items() if limit is not None},
    }


def floor_of(system: str, specs: Sequence[ToolSpec]) -> int:
    """Return about how many tokens every request has besides its messages."""
    tools = [[spec.name, spec.description, dict(spec.schema)] for spec in specs]
    return len(system) // _PROSE + len(json.dumps(tools, default=repr)) // _SCHEMA
