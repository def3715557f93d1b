"""Lines of a report: text with a role and an indent, made plain or coloured at the end.

Every text that comes from a machine passes through `clean`, so that no report can carry
a terminal's control sequence. It knows neither machines nor verdicts.
"""

import textwrap
from collections.abc import Iterable, Sequence
from typing import Literal as OneOf
from typing import TypeAlias, TypedDict

import attrs

__all__ = ["Line", "Role", "clean", "clean_lines", "coloured", "columns", "plain"]

Role: TypeAlias = OneOf["", "head", "good", "bad", "open", "dim"]
WIDTH = 88  #: of a report that does not go to a terminal
_LONGEST = 2000
_LEAST_WIDTH = 40


class _Style(TypedDict, total=False):
    fg: str
    bold: bool
    dim: bool


_STYLES: dict[str, _Style] = {
    "": {},
    "head": {"bold": True},
    "good": {"fg": "green", "bold": True},
    "bad": {"fg": "red", "bold": True},
    "open": {"fg": "yellow", "bold": True},
    "dim": {"dim": True},
}


@attrs.frozen
class Line:
    """One line of a report; a long one is wrapped when it is written.

    Attributes:
        text: clean text.
        role: what it says, for colours.
        indent: the columns before it.
        hang: the further columns before what is wrapped.
        whole: it is never wrapped, so that a program can find it.
    """

    text: str = ""
    role: Role = ""
    indent: int = 0
    hang: int = 2
    whole: bool = False


def clean(text: object, longest: int = _LONGEST) -> str:
    """Return text on one line, with nothing in it that a terminal would obey.

    White space is joined; a character that cannot be printed is written as its escape.
    """
    joined = " ".join(str(text)[: 2 * longest].split())
    if len(joined) > longest:
        joined = joined[:longest] + "..."
    return _escape(joined)


def clean_lines(text: str, longest: int = _LONGEST) -> str:
    """Return text with its lines kept and everything else as `clean` has it."""
    return "\n".join(_escape(line[:longest]) for line in text.split("\n"))


def _escape(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(
        char
        if char.isprintable()
        else char.encode("unicode_escape", "surrogatepass").decode("ascii")
        for char in text
    )


def columns(rows: Iterable[Sequence[str]], gap: int = 2) -> list[str]:
    """Return rows of cells as aligned texts; the last column is not padded."""
    cells = [tuple(row) for row in rows]
    if not cells:
        return []
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    widths[-1] = 0
    blank = " " * gap
    return [
        blank.join(
            cell.ljust(width) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in cells
    ]


def _wrapped(line: Line, width: int) -> list[str]:
    first = " " * line.indent
    if line.whole:
        return [first + line.text]
    rest = " " * (line.indent + line.hang)
    return textwrap.wrap(
        line.text,
        max(width, line.indent + line.hang + _LEAST_WIDTH),
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [""]


def plain(lines: Iterable[Line], width: int = WIDTH) -> str:
    """Return the report as plain text; each line ends with a line break."""
    texts = [text for line in lines for text in _wrapped(line, width)]
    return "".join(f"{text}\n" for text in texts)


def coloured(lines: Iterable[Line], width: int = WIDTH) -> str:
    """Return the report for a terminal that shows colours."""
    import click  # noqa: PLC0415 - plain reports need no terminal library

    texts = [
        click.style(text, **_STYLES[line.role]) if line.role and text else text
        for line in lines
        for text in _wrapped(line, width)
    ]
    return "".join(f"{text}\n" for text in texts)
