"""DOT's own markup, built so that no text can leave its place.

The one escape for strings and the one for HTML-like labels. A label made here is an
`Html`; everything else that reaches `attributes` is quoted as a plain string.
"""

from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "Html",
    "attributes",
    "bold",
    "cell",
    "coloured",
    "escaped",
    "lines_of",
    "small",
    "spaced",
    "table",
]

#: Backslashes are doubled: DOT replaces escapes in labels too, after the entities.
_SPECIAL = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&#39;",
    "\\": "&#92;&#92;",
}


class Html(str):
    """A text that is already markup."""

    __slots__ = ()


def escaped(text: str) -> Html:
    """Return a text for an HTML-like label."""
    return Html("".join(_SPECIAL.get(character, character) for character in text))


def quoted(text: str) -> str:
    """Return a text as a DOT string.

    Backslashes are doubled twice, since DOT replaces escapes in tooltips twice.
    """
    safe = text.replace("&", "&amp;").replace("\\", "\\" * 4).replace('"', '\\"')
    return f'"{safe}"'


def attributes(**values: str) -> str:
    """Return an attribute list; an `Html` is a label, all else a quoted string."""
    pairs = (
        f"{name}=<{value}>" if isinstance(value, Html) else f"{name}={quoted(value)}"
        for name, value in values.items()
    )
    return f" [{', '.join(pairs)}]"


def bold(markup: Html) -> Html:
    """Return the markup in bold."""
    return Html(f"<B>{markup}</B>")


def small(markup: Html) -> Html:
    """Return the markup in small letters."""
    return Html(f'<FONT POINT-SIZE="8">{markup}</FONT>')


def coloured(markup: Html, colour: str) -> Html:
    """Return the markup in a colour of ours."""
    return Html(f'<FONT COLOR="{colour}">{markup}</FONT>')


def lines_of(lines: Iterable[Html], align: str = "CENTER") -> Html:
    """Return markup in lines; each but a last centred one ends in a break."""
    broken = [f'{line}<BR ALIGN="{align}"/>' for line in lines]
    if align == "CENTER" and broken:
        broken[-1] = broken[-1].removesuffix('<BR ALIGN="CENTER"/>')
    return Html("".join(broken))


def spaced(parts: Iterable[Html]) -> Html:
    """Return markup side by side."""
    return Html(" ".join(parts))


def cell(markup: Html, look: Mapping[str, str] | None = None) -> Html:
    """Return a table cell; the attributes are texts of ours."""
    words = "".join(f' {key}="{value}"' for key, value in (look or {}).items())
    return Html(f"<TD{words}>{markup}</TD>")


def table(
    rows: Sequence[Sequence[Html]], look: Mapping[str, str], *, rules: bool = False
) -> Html:
    """Return a table, on demand with thin lines between its rows."""
    words = "".join(f' {key}="{value}"' for key, value in look.items())
    body = ("<HR/>" if rules else "").join(f"<TR>{''.join(row)}</TR>" for row in rows)
    return Html(f"<TABLE{words}>{body}</TABLE>")
