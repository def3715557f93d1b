"""An estimator of tokens of our own: simple, documented, the same for every client.

The rule: a text has a token for every 4 characters begun; JSON (tool inputs, tool
schemas) one for every 3, since braces and quotes are tokens too; an image 1,600 and a
document 2,000, whatever their bytes; a message 4 more for its frame, a tool 10 more.

It is no tokenizer, and need not be: a client under test must live with the server's
figures, not with right ones. It shares nothing with what the rest of unspiral thinks of
tokens, so that a loop which trusts its own estimate is found out.
"""

import json
from collections.abc import Iterable, Mapping
from typing import cast

__all__ = ["of_json", "of_request", "of_text"]

_TEXT, _JSON = 4, 3  # characters a token
_IMAGE, _DOCUMENT = 1_600, 2_000
_FRAME, _TOOL = 4, 10
_encode = json.JSONEncoder(ensure_ascii=False).encode


def of_text(text: str) -> int:
    """Return the tokens of a text."""
    return -(-len(text) // _TEXT)


def of_json(value: object) -> int:
    """Return the tokens of a JSON value."""
    return -(-len(_encode(value)) // _JSON)


def of_request(body: Mapping[str, object]) -> int:
    """Return the input tokens of the body of a request: system, tools and messages."""
    messages = body.get("messages")
    tools = body.get("tools")
    return (
        _of_content(body.get("system"))
        + sum(_TOOL + of_json(tool) for tool in _items(tools))
        + sum(_FRAME + _of_content(_content(each)) for each in _items(messages))
    )


def _items(value: object) -> Iterable[object]:
    return cast("list[object]", value) if isinstance(value, list) else ()


def _content(message: object) -> object:
    if isinstance(message, dict):
        return cast("dict[str, object]", message).get("content")
    return None


def _of_content(content: object) -> int:
    if isinstance(content, str):
        return of_text(content)
    return sum(_of_block(block) for block in _items(content))


def _of_block(block: object) -> int:
    if not isinstance(block, dict):
        return of_json(block)
    fields = cast("dict[str, object]", block)
    match fields.get("type"):
        case "text" | "thinking":
            text = fields.get("text", fields.get("thinking"))
            return of_text(text) if isinstance(text, str) else 0
        case "image" | "document" as kind:
            return _IMAGE if kind == "image" else _DOCUMENT
        case "tool_use":
            return _FRAME + of_json(fields.get("input"))
        case "tool_result":
            return _FRAME + _of_content(fields.get("content"))
        case _:
            return of_json(fields)
