"""In which line of a TOML text something stands, for the sake of messages.

A TOML parser tells lines only of what it cannot parse. This looks for headers and keys
as people and our writer lay them out; where it finds none it says 0, never a guess
beyond the nearest table.
"""

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

__all__ = ["find_line"]

Path: TypeAlias = tuple[str, ...]

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]{1,400}?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*("[^"\n]{0,200}"|'[^'\n]{0,200}'|[\w.-]{1,200})\s*=""")
_QUOTES = ('"""', "'''")


def find_line(text: str, place: Sequence[str | int]) -> int:
    """Return the line of a place such as ("transitions", 3, "guard"), or 0.

    If the place itself has no line of its own, it is that of the table around it; that
    of a list of tables is the line of the first.
    """
    wanted = list(place)
    best, depth = 0, 0
    for line, found in _headings(text):
        shared = _shared(wanted, found)
        if shared in (len(found), len(wanted)) and shared > depth:
            best, depth = line, shared
    return best


def _shared(wanted: list[str | int], found: list[str | int]) -> int:
    count = 0
    for one, two in zip(wanted, found, strict=False):
        if one != two:
            break
        count += 1
    return count


def _headings(text: str) -> Iterator[tuple[int, list[str | int]]]:
    """Yield every header and key with its line and full place."""
    table: list[str | int] = []
    counts: dict[tuple[str | int, ...], int] = {}
    inside = ""
    for number, line in enumerate(text.split("\n"), 1):
        if inside:
            inside = "" if line.count(inside) % 2 else inside
            continue
        if header := _HEADER.match(line[:500]):
            table = list[str | int](_parts(header[2]))
            if header[1] == "[[":
                counts[tuple(table)] = counts.get(tuple(table), 0) + 1
            table = _numbered(table, counts)
            yield number, table
        elif key := _KEY.match(line[:500]):
            yield number, [*table, *_parts(key[1])]
        inside = next((each for each in _QUOTES if line.count(each) % 2), "")


def _numbered(
    table: list[str | int], counts: dict[tuple[str | int, ...], int]
) -> list[str | int]:
    """Put the number of the row behind the name of its list."""
    for end in range(1, len(table) + 1):
        if tuple(table[:end]) in counts:
            return [*table[:end], counts[tuple(table[:end])], *table[end:]]
    return table


def _parts(key: str) -> Path:
    """Split a key at its dots; a quoted one is a single part."""
    parts = re.findall(r"""\s*("[^"]*"|'[^']*'|[^."'\s]+)\s*\.?""", key)
    return tuple(part.strip("\"'") for part in parts)
