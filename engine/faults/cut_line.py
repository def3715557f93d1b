"""Tells a line of a journal that a kill cut off from one that was never ours.

It knows how our lines begin, and nothing of what they say.
"""

import json
import re

__all__ = ["is_cut"]

_OPENING = '{"kind":"'
_LONGEST = 4 * 1024 * 1024  # characters of a line that may be cut
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
# What makes a string whole that was cut within an escape, and a value that was cut.
_CUT_STRING = ("", "\\", "0", "00", "000", "0000")
_WORDS = ("true", "false", "null")
_CUT_VALUE = (
    "",
    ":0",
    "0",
    '"":0',
    *(word[n:] for word in _WORDS for n in range(1, len(word))),
)


def is_cut(line: str) -> bool:
    """Tell whether a line begins as ours do, and something can be added to end it."""
    if not (line.startswith(_OPENING) or _OPENING.startswith(line)):
        return False
    if len(line) > _LONGEST or _ends(line):
        return False
    bare = _STRING.sub("", line)
    within, *more = bare.split('"', 1)
    closers = {"{": "}", "[": "]"}
    stack: list[str] = []
    for each in within:
        if each in closers:
            stack.append(closers[each])
        elif stack and each == stack[-1]:
            stack.pop()
    end = "".join(reversed(stack))
    starts = [line + tail + '"' for tail in _CUT_STRING] if more else [line]
    return any(_ends(start + rest + end) for start in starts for rest in _CUT_VALUE)


def _ends(line: str) -> bool:
    """Tell whether a line is a whole object."""
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False
