"""A block of an answer while it comes: it begins, grows by deltas, and is kept. Pure.

A kind of block or delta that is not known is kept or passed over: the API may add some.
"""

from collections.abc import Mapping
from types import MappingProxyType

import attrs

from unspiral.engine.live.inputs import checked_input, parse_input, sendable
from unspiral.engine.live.untyped import items_of, text_at

__all__ = ["CALLS", "Growing", "whole"]

#: the kinds of blocks that call something
CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})

_KINDS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "text_delta": frozenset({"text"}),
        "citations_delta": frozenset({"text"}),
        "thinking_delta": frozenset({"thinking"}),
        "signature_delta": frozenset({"thinking"}),
        "input_json_delta": CALLS,
        "compaction_delta": frozenset({"compaction"}),
    }
)
#: the field that a block grows in, and that of the delta that it grows by
_FIELDS: Mapping[str, str] = MappingProxyType(
    {
        "text_delta": "text",
        "thinking_delta": "thinking",
        "input_json_delta": "partial_json",
    }
)


@attrs.define
class Growing:
    """A block that is not at its end.

    Attributes:
        block: as it began.
        pieces: what it has grown by, of its one field that grows.
    """

    block: dict[str, object]
    pieces: list[str] = attrs.field(factory=list[str])

    @property
    def kind(self) -> str:
        """The kind of the block."""
        return str(self.block["type"])

    def grow(self, delta: Mapping[str, object]) -> str | None:
        """Take a delta; return the text that it adds, or None if it does not fit."""
        kind = text_at(delta, "type")
        if kind is None:
            return None
        if kind not in _KINDS:
            return ""
        if self.kind not in _KINDS[kind]:
            return None
        if kind in _FIELDS:
            text = text_at(delta, _FIELDS[kind])
            if text is not None:
                self.pieces.append(text)
            return text
        self._amend(kind, delta)
        return ""

    def _amend(self, kind: str, delta: Mapping[str, object]) -> None:
        if kind == "citations_delta":
            before = items_of(self.block.get("citations"))
            self.block["citations"] = [*before, delta.get("citation")]
        else:  # the signature, or the summary, comes in one
            self.block |= {name: delta[name] for name in delta if name != "type"}

    def finished(self) -> tuple[dict[str, object], str]:
        """Return the block, and what is wrong with it or "".

        A call with a bad input has none instead: it is kept, since it needs a result.
        Any other block that could not be sent back is no block.
        """
        kind, text = self.kind, "".join(self.pieces)
        if kind in CALLS:
            given = self.block.get("input", {})
            got, wrong = parse_input(text) if text else checked_input(given)
            return {**self.block, "input": got}, wrong
        if kind in {"text", "thinking"}:
            begun = text_at(self.block, kind)
            if begun is None:
                return self.block, f"a block of {kind} has none"
            self.block[kind] = whole(begun + text)
        return self.block, "" if sendable(self.block) else "a block cannot be sent back"


def whole(text: str) -> str:
    """Return a text in which the halves of characters are joined, or replaced.

    JSON can say one half of a character, and a stream may be cut between the two.
    """
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
