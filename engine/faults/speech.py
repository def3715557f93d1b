"""From a reply as scheduled to the reply as said: names, inputs, ids, limits.

A fake that ignores `max_tokens` or the window would teach a client that they do not
matter, so that a reply is cut where the model would have been cut.
"""

from collections.abc import Iterator, Mapping

import attrs

from unspiral.engine.faults.example import example, wrong_example
from unspiral.engine.faults.reply import (
    Block,
    Compaction,
    Reply,
    Text,
    Thinking,
    ToolUse,
)
from unspiral.engine.faults.request import Request
from unspiral.engine.faults.tokens import of_json, of_text
from unspiral.engine.faults.wire import Said, as_json, make_id

__all__ = ["speak"]

_FALLBACK = "read"  # the tool that is called when none is offered
_TEXT, _JSON = 4, 3  # characters a token, as the estimator counts


def speak(
    reply: Reply, request: Request, n: int, window: int | None, *, whole: bool = False
) -> Said:
    """Return what is said to a request.

    Args:
        reply: as scheduled.
        request: what was asked.
        n: the number of the answer within the run: ids are made of it.
        window: of the context, in tokens, or None.
        whole: it is not cut, since a fault is about to break what would be cut away.
    """
    full = attrs.evolve(reply, blocks=tuple(_filled(reply.blocks, request, n)))
    room = None if window is None else max(1, window - request.tokens)
    fits = full
    if not whole:
        fits = _within(full, room, "model_context_window_exceeded")
        fits = _within(fits, request.max_tokens, "max_tokens")
    charged = fits.output_tokens
    return Said(
        fits,
        make_id("msg", request.run, n),
        request.model or "claude-sonnet-5-5",
        request.tokens if fits.input_tokens is None else fits.input_tokens,
        _tokens(fits.blocks) if charged is None else charged,
    )


def _filled(blocks: tuple[Block, ...], request: Request, n: int) -> Iterator[Block]:
    calls = 0
    for block in blocks:
        if not isinstance(block, ToolUse):
            yield block
            continue
        offered = request.tools or (_FALLBACK,)
        name = block.name or offered[calls % len(offered)]
        yield attrs.evolve(
            block,
            name=name,
            input=_input(block, request.schemas.get(name, {})),
            id=block.id or make_id("toolu", request.run, n, calls),
        )
        calls += 1


def _input(block: ToolUse, schema: Mapping[str, object]) -> Mapping[str, object]:
    if block.wrong:
        return wrong_example(schema)
    if block.input is not None:
        return block.input
    return example(schema) if schema else {"path": "README.md"}


def _within(reply: Reply, most: int | None, reason: str) -> Reply:
    """Cut a reply at so many tokens, if it is longer."""
    if most is None or _tokens(reply.blocks) <= most:
        return reply
    kept: list[Block] = []
    left = most
    for block in reply.blocks:
        if left <= 0:
            break
        kept.append(_cut(block, left))
        left -= _size(block)
    return attrs.evolve(
        reply,
        blocks=tuple(kept),
        stop_reason=reason,
        stop_sequence=None,
        stop_details=None,
        output_tokens=None,
    )


def _cut(block: Block, most: int) -> Block:
    if _size(block) <= most:
        return block
    match block:
        case Text(text):
            return Text(text[: most * _TEXT])
        case Thinking(text, signature):
            return Thinking(text[: most * _TEXT], signature)
        case Compaction(text):
            return Compaction(text[: most * _TEXT])
        case ToolUse(_, given):
            raw = block.raw if block.raw is not None else as_json(given).decode()
            return attrs.evolve(block, raw=raw[: most * _JSON], input={})


def _tokens(blocks: tuple[Block, ...]) -> int:
    return sum(_size(block) for block in blocks)


def _size(block: Block) -> int:
    match block:
        case Text(text) | Thinking(text) | Compaction(text):
            return of_text(text)
        case ToolUse(_, given, _, raw):
            return of_json(given) if raw is None else of_text(raw)
