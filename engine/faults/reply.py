"""What the model says, as values: blocks, a stop reason, usage. Not how it is sent."""

from collections.abc import Mapping
from typing import TypeAlias

import attrs

__all__ = ["DERIVED", "Block", "Compaction", "Reply", "Text", "Thinking", "ToolUse"]


@attrs.frozen
class Text:
    """Visible text."""

    text: str


@attrs.frozen
class Thinking:
    """A thinking block with its signature."""

    text: str
    signature: str = "c2lnbmVkIGJ5IG5vYm9keQ=="


@attrs.frozen
class ToolUse:
    """A call of a tool.

    Attributes:
        name: the tool; "" stands for one that the request offers: the first call of a
            reply for the first tool, the second for the second, and round again.
        input: its arguments; None stands for a small example that its schema allows.
        id: the id of the call; "" stands for one made of the run and the request.
        raw: the text that is streamed in place of the JSON of `input`, or None.
        wrong: the example has values of the wrong types.
    """

    name: str = ""
    input: Mapping[str, object] | None = None
    id: str = ""
    raw: str | None = None
    wrong: bool = False


@attrs.frozen
class Compaction:
    """The block in which the server hands over a summary of the conversation."""

    text: str


Block: TypeAlias = Text | Thinking | ToolUse | Compaction

#: stands for "what fits the blocks", since None is a stop reason on the wire
DERIVED = "(derived)"


@attrs.frozen
class Reply:
    """One answer of the model.

    Attributes:
        blocks: its content, in order.
        stop_reason: as on the wire; by default "tool_use" if a block is a call, else
            "end_turn".
        stop_sequence: the sequence that stopped it, for that reason.
        stop_details: what goes with a refusal, or None.
        input_tokens: charged input; None: as the estimator counts the request.
        output_tokens: charged output; None: as the estimator counts the blocks.
        pieces: into how many deltas each block is cut when it is streamed.
    """

    blocks: tuple[Block, ...] = ()
    stop_reason: str | None = DERIVED
    stop_sequence: str | None = None
    stop_details: Mapping[str, object] | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    pieces: int = 2

    @property
    def stop(self) -> str | None:
        """The stop reason that is sent."""
        if self.stop_reason != DERIVED:
            return self.stop_reason
        called = any(isinstance(block, ToolUse) for block in self.blocks)
        return "tool_use" if called else "end_turn"
