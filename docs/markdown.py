"""Markdown for the generated pages: tables and code."""

from collections.abc import Iterable, Sequence

__all__ = ["code", "table", "text"]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a Markdown table; nothing if it has no rows."""
    lines = [_row(row) for row in rows]
    return [_row(head), _row(["---"] * len(head)), *lines, ""] if lines else []


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def code(text: str) -> str:
    """Return a text as code, or nothing if it is empty."""
    return f"`{text}`" if text else ""


def text(lines: Iterable[str]) -> bytes:
    """Return the bytes of a file."""
    return ("\n".join(lines).rstrip("\n") + "\n").encode()
