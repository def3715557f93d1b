"""The conversation as values: messages, histories, calls paired with their results.

Blocks are the objects of the Messages API as they are sent and received, never changed
once made: what was sent once is sent again byte for byte. No I/O, no model, no tools.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias, cast

import attrs

__all__ = [
    "Block",
    "History",
    "Kind",
    "Message",
    "calls_of",
    "groups",
    "open_calls",
    "results_message",
    "settled",
    "text_of",
    "tool_result",
    "user_text",
    "wire",
    "without_thinking",
]

_THOUGHTS = frozenset({"thinking", "redacted_thinking"})

Block: TypeAlias = Mapping[str, object]
Role: TypeAlias = Literal["user", "assistant"]

#: What a message is for. "prompt" is the user's; "results" answers calls; "answer" is
#: the model's; "note" is the loop's own word to the model (a resume, a nudge, a block
#: of a hook); "summary" stands for what was compacted; "error" is for the user only.
Kind: TypeAlias = Literal["prompt", "results", "answer", "note", "summary", "error"]


@attrs.frozen
class Message:
    """A message.

    Attributes:
        role: who says it.
        content: its blocks.
        kind: what it is for.
        id: unique within a session; an answer has the id of the API.
        tokens: what the API said the context had up to and with this message (input,
            cached input and output), or 0 where it said nothing. Anchors estimates.
    """

    role: Role
    content: tuple[Block, ...]
    kind: Kind
    id: str = ""
    tokens: int = 0


History: TypeAlias = tuple[Message, ...]


def user_text(text: str, kind: Kind = "prompt", id_: str = "") -> Message:
    """Return a message of the user with one text."""
    return Message("user", ({"type": "text", "text": text},), kind, id_)


def tool_result(call: str, text: str, *, error: bool = False) -> Block:
    """Return the result of a call. An empty one would end the model's turn."""
    block: dict[str, object] = {
        "type": "tool_result",
        "tool_use_id": call,
        "content": text or "(no output)",
    }
    if error:
        block["is_error"] = True
    return block


def results_message(results: Iterable[Block], id_: str = "") -> Message:
    """Return the message that answers the calls of the answer before it."""
    return Message("user", tuple(results), "results", id_)


def text_of(message: Message) -> str:
    """Return the text blocks of a message, joined."""
    texts = (
        block.get("text") for block in message.content if block.get("type") == "text"
    )
    return "\n".join(text for text in texts if isinstance(text, str))


def calls_of(message: Message) -> tuple[Block, ...]:
    """Return the tool calls of a message, found by looking at its blocks."""
    return tuple(each for each in message.content if each.get("type") == "tool_use")


def without_thinking(message: Message) -> Message:
    """Return a message without what the model thought; the same if it did not."""
    kept = tuple(each for each in message.content if each.get("type") not in _THOUGHTS)
    same = len(kept) == len(message.content)
    return message if same else attrs.evolve(message, content=kept)


def open_calls(history: Sequence[Message]) -> tuple[str, ...]:
    """Return the ids of the calls of the last answer that have no result after it."""
    last = next(
        (n for n in range(len(history) - 1, -1, -1) if calls_of(history[n])), None
    )
    if last is None:
        return ()
    answered = {
        str(block.get("tool_use_id"))
        for message in history[last + 1 :]
        for block in message.content
        if block.get("type") == "tool_result"
    }
    ids = (str(call.get("id")) for call in calls_of(history[last]))
    return tuple(each for each in ids if each not in answered)


def settled(history: History, text: str) -> History:
    """Give every call that is open a result that says why there is none."""
    missing = open_calls(history)
    if not missing:
        return history
    results = tuple(tool_result(call, text, error=True) for call in missing)
    if history[-1].kind == "results":  # some of the calls were answered
        joined = attrs.evolve(history[-1], content=(*history[-1].content, *results))
        return (*history[:-1], joined)
    return (*history, results_message(results))


def groups(history: Sequence[Message]) -> list[list[Message]]:
    """Cut a history into rounds that can be dropped whole: no pair is ever split.

    A round begins with a prompt, or with an answer that follows no open call and is not
    the rest of one that the server had paused.
    """
    rounds: list[list[Message]] = []
    for message in history:
        whole = not rounds or not open_calls(rounds[-1])
        rest = bool(rounds) and message.role == rounds[-1][-1].role == "assistant"
        begins = message.role == "assistant" or message.kind == "prompt"
        if whole and begins and not rest:
            rounds.append([message])
        elif rounds:
            rounds[-1].append(message)
        else:
            rounds.append([message])
    return rounds


def wire(history: Iterable[Message]) -> list[dict[str, object]]:
    """Return the messages as the API takes them: neighbours of one role are joined."""
    sent: list[dict[str, object]] = []
    for message in history:
        if message.kind == "error" or not message.content:
            continue
        if sent and sent[-1]["role"] == message.role:
            before = cast("list[Block]", sent[-1]["content"])
            sent[-1] = {"role": message.role, "content": [*before, *message.content]}
        else:
            sent.append({"role": message.role, "content": list(message.content)})
    return sent
