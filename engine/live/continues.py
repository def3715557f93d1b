"""What each continue makes of the conversation: a whole new state, a reason each.

Whether to go on, and why, the table has decided; here is what the model is then told.
The texts are ours.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from unspiral.engine.live.message import History, Message, settled, user_text
from unspiral.engine.live.state import State, Workspace

__all__ = ["CONTINUES", "go_on", "with_answer"]

_CUT = "Your answer was cut off, so this call was not run. Make it again, smaller."
_RESUME = (
    "Your answer was cut off at the output limit. Go on exactly where it stopped: no "
    "apology, no recap. Do what is left in smaller pieces."
)
_NUDGE = (
    "There is budget left for this task. Keep working on what is not done yet; do not "
    "summarise."
)


def with_answer(work: Workspace) -> History:
    """Return the history with the answer of this iteration, if there is one."""
    return work.base if work.answer is None else (*work.base, work.answer)


def _notes(*texts: str) -> tuple[Message, ...]:
    return tuple(user_text(text, "note") for text in texts if text)


def _next_turn(work: Workspace) -> History:
    if work.round is None:
        return with_answer(work)
    return (*with_answer(work), work.round.message, *work.round.notes)


def _same_request(work: Workspace) -> History:
    return work.base


def _resume(work: Workspace) -> History:
    return (*settled(with_answer(work), _CUT), *_notes(_RESUME))


def _blocked(work: Workspace) -> History:
    said = (*work.word.blocks, *work.word.context)
    reasons = said or ("A stop hook does not accept this answer yet.",)
    return (*settled(with_answer(work), _CUT), *_notes(*reasons))


def _same_answer(work: Workspace) -> History:
    return settled(with_answer(work), _CUT)


def _nudge(work: Workspace) -> History:
    return (*settled(with_answer(work), _CUT), *_notes(_NUDGE))


#: the history after each continue, by its reason
CONTINUES: Mapping[str, Callable[[Workspace], History]] = MappingProxyType(
    {
        "next_turn": _next_turn,
        "collapse_drain_retry": _same_request,
        "reactive_compact_retry": _same_request,
        "max_output_tokens_escalate": _same_request,
        "max_output_tokens_recovery": _resume,
        "stop_hook_blocking": _blocked,
        "token_budget_continuation": _nudge,
        "server_pause": _same_answer,
    }
)


def go_on(reason: str, state: State, work: Workspace) -> State:
    """Return the state of the next iteration."""
    return State(CONTINUES[reason](work), state.iteration + 1, work.looked)
