"""The stop hooks as a phase of the loop: may the run stop at this answer?

What hooks say is merged elsewhere, and where it leads is the table's business.
"""

from collections.abc import Callable
from typing import Literal

import attrs

from unspiral.engine.live.events import Warned
from unspiral.engine.live.message import text_of
from unspiral.engine.live.ports import HookCall, Hooks, HookWord
from unspiral.engine.live.state import Here

__all__ = ["Stopping"]


@attrs.frozen
class Stopping:
    """Performs `stop_hooks`, and tells hooks of an end by an error.

    Attributes:
        hooks: of the run.
        facts: what every hook is told: the session, the workspace.
    """

    hooks: Hooks
    facts: Callable[[], dict[str, object]] = dict

    async def stop_hooks(self, here: Here) -> str:
        """Ask all hooks whether the run may stop at this answer."""
        work = here.work
        answer = "" if work.answer is None else text_of(work.answer)
        active = here.memory.get("stop_hook_active") is True
        facts = {
            **self.facts(),
            "stop_hook_active": active,
            "last_assistant_message": answer,
        }
        work.word = await self.hooks.call(HookCall("Stop", facts))
        for crash in work.word.crashes:
            here.tell(Warned(f"A stop hook failed: {crash}"))
        return _fact(work.word)

    async def failed(self, error: str, kind: str) -> None:
        """Tell the hooks that the run has ended by an error; nothing they say counts.

        Args:
            error: as it is shown.
            kind: the terminal.
        """
        facts = {**self.facts(), "error": kind, "last_assistant_message": error}
        await self.hooks.call(HookCall("StopFailure", facts))


def _fact(word: HookWord) -> Literal["prevent", "block", "accept", "crash"]:
    if word.prevent:
        return "prevent"
    if word.blocks or word.context:
        return "block"
    return "crash" if word.crashes else "accept"
