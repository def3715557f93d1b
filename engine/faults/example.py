"""A small value that a JSON schema of a tool allows, or one that it does not.

It looks at what tools use (types, enums, required properties, alternatives) and takes
the first way; a schema that needs more gets a value that may not fit, which a client
must survive as well.
"""

import itertools
from collections.abc import Iterator, Mapping
from typing import cast

__all__ = ["example", "wrong_example"]

_DEEPEST = 8
_MOST = 200  # values of an example: a schema may name the same property again and again
_SIMPLE: Mapping[str, object] = {
    "string": "README.md",
    "integer": 1,
    "number": 1.5,
    "boolean": True,
    "null": None,
}


def example(schema: Mapping[str, object]) -> dict[str, object]:
    """Return arguments that a schema allows: its required properties."""
    value = _value(schema, 0, iter(range(_MOST)))
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def wrong_example(schema: Mapping[str, object]) -> dict[str, object]:
    """Return arguments of which every one has a type that the schema does not allow."""
    right = example(schema) or {"path": "README.md"}
    return {
        name: {"not": "a text"} if isinstance(value, str) else "not what was asked for"
        for name, value in right.items()
    }


def _value(schema: Mapping[str, object], depth: int, budget: Iterator[int]) -> object:
    """Return a value; where the budget is used up, a simple one."""
    if next(budget, None) is None:
        return _SIMPLE["string"]
    if "const" in schema or "default" in schema:
        return schema.get("const", schema.get("default"))
    for several in ("enum", "anyOf", "oneOf", "allOf"):
        options = schema.get(several)
        if isinstance(options, list) and options:
            first = cast("list[object]", options)[0]
            if several == "enum":
                return first
            return _value(_fields(first), depth + 1, budget)
    return _of_kind(schema, depth, budget)


def _of_kind(schema: Mapping[str, object], depth: int, budget: Iterator[int]) -> object:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next(iter(cast("list[object]", kind)), None)
    if kind == "array":
        return []
    if kind == "object" or (kind is None and "properties" in schema):
        return _object(schema, depth, budget)
    return _SIMPLE.get(str(kind), "README.md")


def _object(
    schema: Mapping[str, object], depth: int, budget: Iterator[int]
) -> dict[str, object]:
    properties = _fields(schema.get("properties"))
    needed = schema.get("required")
    if depth > _DEEPEST or not isinstance(needed, list):
        return {}
    listed = (each for each in cast("list[object]", needed) if isinstance(each, str))
    return {
        name: _value(_fields(properties.get(name)), depth + 1, budget)
        for name in itertools.islice(dict.fromkeys(listed), _MOST)
    }


def _fields(value: object) -> Mapping[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}
