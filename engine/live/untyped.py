"""Values that others made, looked at as what they should be. Never raises."""

from collections.abc import Mapping, Sequence
from typing import TypeGuard, cast

__all__ = ["fields_of", "is_text", "items_of", "text_at"]


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
