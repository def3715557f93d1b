"""A small value that a JSON schema of a tool allows, or one that it does not.

It looks at what tools use (types, enums, required properties, alternatives) and takes
the first way; a schema that needs more gets a value that may not fit, which a client
must survive as well.
"""

from collections.abc import Mapping
from typing import cast

__all__ = ["example", "wrong_example"]

_DEEPEST = 8
_SIMPLE: Mapping[str, object] = {
    "string": "README.md",
    "integer": 1,
    "number": 1.5,
    "boolean": True,
    "null": None,
}


def example(schema: Mapping[str, object]) -> dict[str, object]:
    """Return arguments that a schema allows: its required properties."""
    value = _value(schema, 0)
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def wrong_example(schema: Mapping[str, object]) -> dict[str, object]:
    """Return arguments of which every one has a type that the schema does not allow."""
    right = example(schema) or {"path": "README.md"}
    return {
        name: {"not": "a text"} if isinstance(value, str) else "not what was asked for"
        for name, value in right.items()
    }


def _value(schema: Mapping[str, object], depth: int) -> object:
    if "const" in schema or "default" in schema:
        return schema.get("const", schema.get("default"))
    for several in ("enum", "anyOf", "oneOf", "allOf"):
        options = schema.get(several)
        if isinstance(options, list) and options:
            first = cast("list[object]", options)[0]
            return first if several == "enum" else _value(_fields(first), depth + 1)
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next(iter(cast("list[object]", kind)), None)
    if kind == "array":
        return []
    if kind == "object" or (kind is None and "properties" in schema):
        return _object(schema, depth)
    return _SIMPLE.get(str(kind), "README.md")


def _object(schema: Mapping[str, object], depth: int) -> dict[str, object]:
    properties = _fields(schema.get("properties"))
    needed = schema.get("required")
    if depth > _DEEPEST or not isinstance(needed, list):
        return {}
    return {
        name: _value(_fields(properties.get(name)), depth + 1)
        for name in cast("list[object]", needed)
        if isinstance(name, str)
    }


def _fields(value: object) -> Mapping[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}
