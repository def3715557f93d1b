"""From what is asked to the body of a request, as the Messages API wants it; pure.

The API refuses blank texts, and thinking at the end of a message: both are left out of
what is sent, the same each time, and stay in the history.
"""

from collections.abc import Iterator, Mapping, Sequence

import attrs

from unspiral.engine.live.message import Block, Message, wire
from unspiral.engine.live.ports import Ask, ToolSpec

__all__ = ["CONTEXT_BETA", "body_of"]

#: the beta in which the server clears old results of tools by itself
CONTEXT_BETA = "context-management-2025-06-27"
_EDITS: Mapping[str, object] = {"edits": [{"type": "clear_tool_uses_20250919"}]}
_MARK: Mapping[str, object] = {"cache_control": {"type": "ephemeral"}}
_THOUGHTS = ("thinking", "redacted_thinking")


def body_of(
    ask: Ask, *, cached: bool = True, server_context: bool = False
) -> dict[str, object]:
    """Return the body of a request.

    Args:
        ask: what is asked.
        cached: whether the server is to keep what it has read for the next request.
        server_context: whether the server may clear old results of tools.
    """
    body: dict[str, object] = {
        "model": ask.model,
        "max_tokens": ask.max_tokens,
        "messages": wire(_sent(ask.messages)),
    }
    if ask.system.strip():
        body["system"] = [_marked({"type": "text", "text": ask.system}, cached)]
    if ask.tools:
        body["tools"] = _tools(ask.tools, cached and "system" not in body)
    if cached:  # the server marks the last block that it can keep
        body |= _MARK
    if server_context:
        body["context_management"] = _EDITS
    if ask.stream:
        body["stream"] = True
    return body


def _sent(messages: Sequence[Message]) -> Iterator[Message]:
    for message in messages:
        content = [block for block in message.content if not _is_blank(block)]
        while content and content[-1].get("type") in _THOUGHTS:
            content.pop()
        same = len(content) == len(message.content)
        yield message if same else attrs.evolve(message, content=tuple(content))


def _is_blank(block: Block) -> bool:
    text = block.get("text")
    return block.get("type") == "text" and isinstance(text, str) and not text.strip()


def _tools(tools: Sequence[ToolSpec], mark: bool) -> list[dict[str, object]]:  # noqa: FBT001
    told: list[dict[str, object]] = [
        {"name": t.name, "description": t.description, "input_schema": dict(t.schema)}
        for t in tools
    ]
    told[-1] = _marked(told[-1], mark)
    return told


def _marked(block: dict[str, object], mark: bool) -> dict[str, object]:  # noqa: FBT001
    return {**block, **_MARK} if mark else block
