"""Guards, actions and costs as the short lines of a label.

Breaks where a person would: at `and` and `or`, never inside a comparison that fits.
Knows the language, no machine and no output format. A text that cannot be read is
shown as it was written: a wrong declaration can be drawn too.
"""

import textwrap
from collections.abc import Mapping

from unspiral.diagrams.graph import plain
from unspiral.engine.core.language import (
    OTHERWISE,
    TRUE,
    Assign,
    Bool,
    Node,
    Value,
    parse_action,
    parse_guard,
    render,
    render_action,
    substitute,
)
from unspiral.engine.errors import ExpressionError

__all__ = ["action_lines", "cost_words", "doc_words", "guard_lines", "name_lines"]

WIDTH = 44  #: characters of a line in a label
_SMALL_WIDTH = 54  #: of a line of small letters, which is as long


def guard_lines(
    text: str, limits: Mapping[str, Value], width: int = WIDTH
) -> tuple[str, ...]:
    """Return a guard in lines, with limits put in; () if it always holds."""
    stripped = text.strip()
    if not stripped or stripped == OTHERWISE:
        return (stripped,) if stripped else ()
    try:
        node = parse_guard(stripped)
    except ExpressionError:
        return _wrap(plain(stripped), width)
    node = substitute(node, limits) if limits else node
    if node == TRUE:
        return ()
    return tuple(line for part in _parts(node, width) for line in _wrap(part, width))


def _parts(node: Node, width: int) -> list[str]:
    """Break a condition at its own `and` or `or`; lines begin with the word."""
    text = plain(render(node))
    if len(text) <= width or not isinstance(node, Bool):
        return [text]
    lines: list[str] = []
    for number, item in enumerate(node.items):
        inner = plain(render(item))
        if isinstance(item, Bool) and node.op == "and":
            inner = f"({inner})"
        head = f"{node.op} " if number else ""
        joined = f"{lines[-1]} {head}{inner}" if lines else ""
        if joined and len(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(head + inner)
    return lines


def action_lines(
    text: str, limits: Mapping[str, Value], width: int = _SMALL_WIDTH
) -> tuple[str, ...]:
    """Return an action in lines, with limits put in; short assignments share one."""
    stripped = text.strip()
    if not stripped:
        return ()
    try:
        assigns = parse_action(stripped)
    except ExpressionError:
        return _wrap(plain(stripped), width)
    if limits:
        assigns = tuple(Assign(a.name, substitute(a.value, limits)) for a in assigns)
    parts = [plain(render_action((each,))) for each in assigns]
    lines: list[str] = []
    for part in parts:
        joined = f"{lines[-1]}; {part}" if lines else ""
        if joined and len(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(part)
    return tuple(line for part in lines for line in _wrap(part, width))


def _wrap(text: str, width: int) -> tuple[str, ...]:
    return tuple(
        textwrap.wrap(text, width, subsequent_indent="  ", break_on_hyphens=False)
    )


def name_lines(name: str, width: int = 26) -> tuple[str, ...]:
    """Return a name in lines, broken after underscores and dots only where it must."""
    lines = [""]
    word = ""
    for character in name:
        word += character
        if character in "_.":
            _append(lines, word, width)
            word = ""
    _append(lines, word, width)
    return tuple(lines)


def _append(lines: list[str], word: str, width: int) -> None:
    if lines[-1] and len(lines[-1]) + len(word) > width:
        lines.append(word)
    else:
        lines[-1] += word


def cost_words(cost: Mapping[str, int]) -> str:
    """Return a cost in words: `1 model call, 2 compactions`."""
    parts: list[str] = []
    for name, amount in cost.items():
        words = plain(name).replace("_", " ")
        if amount == 1 and words.endswith("s"):
            words = words[:-1]
        parts.append(f"{amount} {words}")
    return ", ".join(parts)


def doc_words(doc: str, source: str) -> str:
    """Return a description with its source."""
    text = plain(doc)
    return f"{text} [{plain(source)}]".strip() if source.strip() else text
