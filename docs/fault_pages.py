"""The generated pages on faults: the catalogue, and what the SDK makes of it."""

import tomllib
from collections.abc import Iterator
from pathlib import Path

from docs.markdown import code, table, text
from unspiral.engine.faults.catalogue import CATALOGUE
from unspiral.engine.faults.fault import GROUPS, Fault

__all__ = ["catalogue", "sdk"]

_MEASURED = Path(__file__).parents[1] / "tests" / "faults" / "sdk.toml"


def catalogue() -> bytes:
    """Return the catalogue, a table for each group."""
    return text(line for group in GROUPS for line in _group(group))


def _group(group: str) -> Iterator[str]:
    entries = [each for each in CATALOGUE.values() if each.group == group]
    yield from (f"## {group.capitalize()}", "", GROUPS[entries[0].group], "")
    yield from table(
        (
            "fault",
            "what happens",
            "recovery rule it tests",
            "what a correct client does",
        ),
        [
            (
                _name(each),
                each.description,
                each.rule,
                each.expect,
            )
            for each in entries
        ],
    )


def _name(entry: Fault) -> str:
    return code(entry.name) + "".join(
        f"<br>{code(name)}: {each.doc} ({each.default:,})"
        for name, each in entry.parameters.items()
    )


def sdk() -> bytes:
    """Return what the SDK was seen to raise or return, a row a fault."""
    measured = tomllib.loads(_MEASURED.read_text("utf-8"))
    heads = ("fault", "create", "create, stream=True", "stream")
    rows = [
        (code(name), *(measured[name][style] for style in ("create", "raw", "stream")))
        for name in CATALOGUE
    ]
    return text(table(heads, rows))
