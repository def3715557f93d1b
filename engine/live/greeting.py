"""What hooks say before a run: of the session, and of the prompt.

Whether a prompt is kept depends on it; nobody waits for hooks who has asked to stop.
"""

import asyncio
from collections.abc import Mapping

import attrs

from unspiral.engine.live.ports import Abort, HookCall, Hooks, HookWord

__all__ = ["Greeting", "greet"]

_STOPPED = "The run was stopped before its prompt was accepted."


@attrs.frozen
class Greeting:
    """What came of it.

    Attributes:
        notes: what hooks add for the model.
        crashes: what went wrong with hooks.
        refused: why the prompt is not taken, or "".
        stopped: since nobody waited to hear whether it is.
    """

    notes: tuple[str, ...] = ()
    crashes: tuple[str, ...] = ()
    refused: str = ""
    stopped: bool = False


async def greet(
    hooks: Hooks, about: Mapping[str, object], prompt: str | None, abort: Abort
) -> Greeting:
    """Tell the hooks of the beginning.

    Args:
        hooks: that are told.
        about: what every hook is told.
        prompt: of the user, or None. Hooks may refuse it; so an abort that comes before
            they have spoken refuses it too.
        abort: how the run can be stopped.
    """
    begun = await _heard(hooks, HookCall("SessionStart", dict(about)), abort)
    greeting = Greeting(begun.context, begun.crashes) if begun else Greeting()
    if prompt is None:
        return greeting
    call = HookCall("UserPromptSubmit", {**about, "prompt": prompt})
    word = await _heard(hooks, call, abort)
    if word is None:
        return attrs.evolve(greeting, refused=_STOPPED, stopped=True)
    return Greeting(
        (*greeting.notes, *word.context),
        (*greeting.crashes, *word.crashes),
        "\n".join(filter(None, (word.prevent, *word.blocks))),
    )


async def _heard(hooks: Hooks, call: HookCall, abort: Abort) -> HookWord | None:
    """Return what hooks say, or None if the run was stopped before they had."""
    if abort.reason is not None:
        return None
    task = asyncio.ensure_future(hooks.call(call))
    abort.hear(task, lambda: _cancel(task))
    try:
        await asyncio.wait({task})
    finally:
        abort.leave(task)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    return None if task.cancelled() else task.result()


def _cancel(task: "asyncio.Future[HookWord]") -> None:
    task.cancel()
