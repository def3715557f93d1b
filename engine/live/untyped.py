"""Values that others made, looked at as what they should be. Never raises."""

import copy
from collections.abc import Mapping, Sequence
from typing import TypeGuard, cast

__all__ = ["copied", "fields_of", "is_text", "items_of", "text_at"]

_ATOMS = frozenset({str, int, float, bool, type(None)})  # they never change


def copied(value: object) -> object:
    """Return a copy of a value, and of all in it; of plain JSON it takes little time.

    Raises:
        Exception: whatever a value with a will of its own raises.
        RecursionError: it is nested too deeply.
    """
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is dict:
        fields = cast("dict[object, object]", value)
        return {copied(name): copied(each) for name, each in fields.items()}
    if kind is list:
        return [copied(each) for each in cast("list[object]", value)]
    return copy.deepcopy(value)


def fields_of(value: object) -> Mapping[str, object]:
    """Return an object's fields; none if the value is no object."""
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def items_of(value: object) -> Sequence[object]:
    """Return a list's items; none if the value is no list."""
    return cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()


def is_text(value: object) -> TypeGuard[str]:
    """Tell whether a value is a text."""
    return isinstance(value, str)


def text_at(value: object, name: str) -> str | None:
    """Return a text that is a field of an object; None if there is none."""
    text = fields_of(value).get(name)
    return text if isinstance(text, str) else None
