"""The light stages of shaping: a view of the history that is smaller, and by how much.

Each takes a view and returns another, with the event that says what was done and the
tokens that it freed. None calls the model, none splits a call from its result, none
touches what the model thought, and done twice is as good as done once.

Pure. Where a view is sent, and what else is done about its size, is not known here.
"""

from collections.abc import Callable

import attrs

from unspiral.engine.errors import BadValue
from unspiral.engine.live.estimate import Grown, Sizing, rough
from unspiral.engine.live.message import (
    Block,
    History,
    Message,
    calls_of,
    groups,
    user_text,
)
from unspiral.engine.live.untyped import is_text, items_of

__all__ = [
    "CLEARED",
    "Clearing",
    "Shaped",
    "Snipping",
    "after_boundary",
    "answers",
    "cleared_from_plain",
    "last_summary",
    "microcompact",
    "reshaped",
    "snip",
    "with_results",
]

#: stands for the content of a result that was cleared
CLEARED = "[This old result was cleared. Call the tool again if it is needed.]"

_SNIPPED = "snipped:"  # the id of the note, with how many rounds are gone


@attrs.frozen
class Shaped:
    """What a stage made of a view.

    Attributes:
        event: what was done, as an event of the phase.
        view: the new view.
        freed: tokens; by the sizing that the stage was given.
    """

    event: str
    view: History
    freed: int


def reshaped(
    nothing: str, something: str, before: History, after: History, size: Sizing
) -> Shaped:
    """Return what a stage did: `nothing` if it changed nothing."""
    if after is before:
        return Shaped(nothing, before, 0)
    return Shaped(something, after, size(before) - size(after))


def with_results(view: History, change: Callable[[Block], Block]) -> History:
    """Change results of tools. What stays as it is is the same object as before."""
    after = tuple(_changed(message, change) for message in view)
    return view if all(a is b for a, b in zip(after, view, strict=True)) else after


def _changed(message: Message, change: Callable[[Block], Block]) -> Message:
    blocks = tuple(
        change(block) if block.get("type") == "tool_result" else block
        for block in message.content
    )
    same = all(a is b for a, b in zip(blocks, message.content, strict=True))
    return message if same else attrs.evolve(message, content=blocks)


def last_summary(found: int, at: int, message: Message) -> int:
    """Find the last summary, message by message; 0 if there is none."""
    return at if message.kind == "summary" else found


def answers(found: int, at: int, message: Message) -> int:
    """Count the messages of the model, message by message."""
    del at
    return found + (message.role == "assistant")


def after_boundary(history: History, start: Sizing | None = None) -> History:
    """Return the history from the last summary on; all of it if there is none.

    Args:
        history: all of it.
        start: finds the last summary; None: by looking at every message.
    """
    at = (start or Grown(last_summary))(history)
    return history[at:] if at else history


# -- snip ------------------------------------------------------------------------------


@attrs.frozen
class Snipping:
    """How many rounds of answers a history may have.

    Attributes:
        most: more than these are too many.
        keep: at least so many of the newest stay. The further below `most`, the
            rarer is snipped, and the longer a prompt cache lives.

    Raises:
        BadValue: nothing would be kept, or nothing removed.
    """

    most: int = 400
    keep: int = 200

    def __attrs_post_init__(self) -> None:
        if not 0 < self.keep < self.most:
            given = f"{self.keep} of {self.most}"
            raise BadValue("rounds to keep", given, "above 0 and below the most")


def snip(
    view: History,
    snipping: Snipping | None = None,
    size: Sizing = rough,
    count: Sizing | None = None,
) -> Shaped:
    """Remove the oldest rounds of answers if there are too many; a note says so.

    What the user said stays, and so does a summary. Rounds go in steps of `most -
    keep`, so that from one turn to the next the same ones are gone.

    Args:
        view: what to shorten.
        snipping: how many rounds there may be.
        size: measures.
        count: counts the messages of the model; None: by looking at every message.

    Returns:
        "kept" or "snipped".
    """
    snipping = snipping or Snipping()
    most = snipping.most  # each round to count has an answer: a quick look first
    if len(view) <= most or (count or Grown(answers))(view) <= most:
        return Shaped("kept", view, 0)
    rounds = groups(view)
    begun = [n for n, each in enumerate(rounds) if each[0].role == "assistant"]
    step = snipping.most - snipping.keep
    steps = -(-(len(begun) - most) // step)
    if steps <= 0:
        return Shaped("kept", view, 0)
    gone = frozenset(begun[: steps * step])
    left: list[Message] = []
    for n, each in enumerate(rounds):
        if n == begun[0]:
            earlier = sum(map(_snipped_by, left))
            left = [message for message in left if not _snipped_by(message)]
            left.append(_snip_note(len(gone) + earlier))
        left += each if n not in gone else []
    shaped = reshaped("kept", "snipped", view, tuple(left), size)
    return shaped if shaped.freed > 0 else Shaped("kept", view, 0)


def _snip_note(rounds: int) -> Message:
    text = f"[{rounds} earlier rounds of this conversation were removed here.]"
    return user_text(text, "note", f"{_SNIPPED}{rounds}")


def _snipped_by(message: Message) -> int:
    number = message.id.removeprefix(_SNIPPED)
    ours = message.kind == "note" and number != message.id
    return int(number) if ours and number.isascii() and number.isdigit() else 0


# -- microcompact ----------------------------------------------------------------------


@attrs.frozen
class Clearing:
    """When old results are cleared, and which.

    Attributes:
        tools: whose results can be had again.
        keep: so many of the newest results stay.
        gap: seconds since the last answer after which no prompt cache is left to
            lose; None: never for that reason.
        least: what clearing must free, in tokens, to be worth a lost prompt cache.

    Raises:
        BadValue: no result would be kept, or a number is below 0.
    """

    tools: frozenset[str] = frozenset({"read", "bash", "grep", "glob", "edit", "write"})
    keep: int = 5
    gap: float | None = 3_600.0
    least: int = 10_000

    def __attrs_post_init__(self) -> None:
        if self.keep < 1:
            raise BadValue("results to keep", repr(self.keep), "1 or more")
        if self.least < 0 or (self.gap is not None and not self.gap >= 0):
            given = f"{self.gap} and {self.least}"
            raise BadValue("a gap and what to free", given, "0 or more")


def microcompact(  # noqa: PLR0913 - each is of another kind, and named
    view: History,
    cleared: frozenset[str] = frozenset(),
    *,
    idle: float | None = None,
    tight: bool = False,
    clearing: Clearing | None = None,
    size: Sizing = rough,
) -> tuple[Shaped, frozenset[str]]:
    """Clear the content of old results; the calls and their pairs stay.

    Args:
        view: what to clear.
        cleared: calls whose results are cleared already, and stay so.
        idle: seconds since the last answer; None: nobody knows.
        tight: whether room is short.
        clearing: when and which.
        size: measures.

    Returns:
        "kept" or "cleared", and the calls whose results are cleared now.
    """
    clearing = clearing or Clearing()
    again = _clear(view, cleared) if cleared else view
    late = idle is not None and clearing.gap is not None and idle >= clearing.gap
    if late or tight:
        more = cleared | _old_results(again, clearing)
        after = _clear(again, more) if more != cleared else again
        least = 0 if late else clearing.least
        if after is not again and size(again) - size(after) >= least:
            return reshaped("kept", "cleared", view, after, size), more
    return reshaped("kept", "cleared", view, again, size), cleared


def _old_results(view: History, clearing: Clearing) -> frozenset[str]:
    calls = {
        str(call.get("id"))
        for message in view
        for call in calls_of(message)
        if call.get("name") in clearing.tools
    }
    results = [
        str(block.get("tool_use_id"))
        for message in view
        for block in message.content
        if block.get("type") == "tool_result"
    ]
    known = [each for each in results if each in calls]
    return frozenset(known[: -clearing.keep])


def _clear(view: History, calls: frozenset[str]) -> History:
    def change(block: Block) -> Block:
        if str(block.get("tool_use_id")) not in calls or _short(block.get("content")):
            return block
        return {**block, "content": CLEARED}

    return with_results(view, change)


def _short(content: object) -> bool:
    if isinstance(content, str):
        return len(content) <= len(CLEARED)
    return not items_of(content)


def cleared_from_plain(value: object) -> frozenset[str]:
    """Take up the calls whose results were cleared, from plain JSON.

    Raises:
        BadValue: it is no list of texts.
    """
    texts = [each for each in items_of(value) if is_text(each)]
    if texts != value:
        raise BadValue("cleared results", repr(value), "a list of texts")
    return frozenset(texts)
