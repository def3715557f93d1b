"""Is the input of a call what the tool's JSON schema asks for? And how is it called?

The library compiles a schema once and checks patterns in linear time, whatever a model
sends. It is kept from fetching what a schema refers to. Nothing but this module knows
it.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import cast

import jsonschema_rs

from unspiral.engine.errors import BadValue, suggestion
from unspiral.engine.live.tools.texts import bounded, sendable

__all__ = ["Checker", "fields_of", "needed_of", "usage"]

_MOST = 5  # problems that are told of one input
_LONGEST = 300  # characters of one of them
_DEEPEST = 100  # levels of an input

Schema = Mapping[str, object]


class Checker:
    """A schema, compiled.

    Args:
        name: of the tool.
        schema: of its input: of an object.

    Raises:
        BadValue: it is no such schema.
    """

    def __init__(self, name: str, schema: Schema) -> None:
        what = f"the schema of tool {name!r}"
        if schema.get("type") != "object":
            raise BadValue(what, _json(schema.get("type")), "of type 'object'")
        try:
            self._validator = jsonschema_rs.Draft202012Validator(
                dict(schema),
                pattern_options=jsonschema_rs.RegexOptions(),
                offline=True,
            )
        except ValueError as error:
            said = getattr(error, "message", None) or str(error)
            problem = f"JSON schema 2020-12 ({bounded(str(said), _LONGEST)})"
            raise BadValue(what, bounded(_json(schema), _LONGEST), problem) from None
        self._schema = schema
        self._usage = usage(name, schema)

    def problem(self, given: Mapping[str, object]) -> str:
        """Return what is wrong with an input, and how to call the tool; or ""."""
        found = self._problems(given)
        return "\n".join((*found, f"Call it as {self._usage}")) if found else ""

    def _problems(self, given: Mapping[str, object]) -> list[str]:
        if _deeper(given, _DEEPEST):
            return [f"Its input has more than {_DEEPEST} levels."]
        try:
            if self._validator.is_valid(dict(given)):
                return []
            errors = list(islice(self._validator.iter_errors(dict(given)), _MOST))
        except (ValueError, TypeError, RecursionError, OverflowError):
            return ["Its input is no JSON that can be read."]
        return [self._told(error) for error in errors]

    def _told(self, error: jsonschema_rs.ValidationError) -> str:
        where = ".".join(map(str, error.instance_path))
        kind = error.kind
        meant = ""
        if isinstance(kind, jsonschema_rs.ValidationErrorKind.AdditionalProperties):
            known = () if where else tuple(fields_of(self._schema.get("properties")))
            meant = suggestion(kind.unexpected[0], known) if known else ""
        return bounded(
            sendable(f"{where or 'its input'}: {error.message}{meant}"), _LONGEST
        )


def usage(name: str, schema: Schema) -> str:
    """Return how a tool is called, as in `read(path: string, limit?: integer)`."""
    needed = needed_of(schema)
    fields = [
        f"{field}{'' if field in needed else '?'}: {_type(value)}"
        for field, value in fields_of(schema.get("properties")).items()
    ]
    return f"{name}({', '.join(fields)})"


def needed_of(schema: Schema) -> frozenset[str]:
    """Return the names of the fields that an input must have."""
    found = schema.get("required")
    names = cast("Sequence[object]", found) if isinstance(found, list | tuple) else ()
    return frozenset(map(str, names))


def fields_of(value: object) -> Mapping[str, object]:
    """Return the fields of an object; none if it is no object."""
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _type(value: object) -> str:
    schema = fields_of(value)
    if "enum" in schema:
        return bounded(_json(schema["enum"]), 100)
    kind = schema.get("type", "any")
    if isinstance(kind, list):
        return " | ".join(map(str, cast("Sequence[object]", kind)))
    return str(kind)


def _deeper(value: object, levels: int) -> bool:
    """Tell whether a value has more levels; without recursion, since it may."""
    level: list[object] = [value]
    for _ in range(levels):
        below: list[object] = []
        for each in level:
            if isinstance(each, Mapping):
                below += cast("Mapping[object, object]", each).values()
            elif isinstance(each, list | tuple):
                below += cast("Sequence[object]", each)
        if not below:
            return False
        level = below
    return True


def _json(value: object) -> str:
    try:
        return json.dumps(value, default=repr)
    except (ValueError, TypeError, RecursionError):
        return "what is no JSON"
