"""The input of a call as it comes from a model: one JSON object, strictly; pure.

A model can write anything, and so can whoever stands between. What is accepted here can
be sent back: it has no number that JSON cannot say, no half of a character, and is not
nested so deeply that somebody else would run out of stack. Never raises.
"""

import json
from typing import NoReturn, cast

from unspiral.engine.live.untyped import items_of

__all__ = ["DEEPEST", "checked_input", "parse_input", "sendable"]

DEEPEST = 64  #: levels of lists and objects


def parse_input(text: str) -> tuple[dict[str, object], str]:
    """Return an input from its text, or none and what is wrong with it."""
    if not text:
        return {}, ""  # so does the API write an empty object
    try:
        value: object = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        return {}, f"the input is no JSON: {str(error)[:200]}"
    return checked_input(value)


def checked_input(value: object) -> tuple[dict[str, object], str]:
    """Return an input that is parsed already, or none and what is wrong with it."""
    if not isinstance(value, dict):
        return {}, f"the input is {_named(value)} and no JSON object"
    wrong = _unsendable(cast("object", value))
    return (
        ({}, f"the input {wrong}") if wrong else (cast("dict[str, object]", value), "")
    )


def sendable(value: object) -> bool:
    """Tell whether a value of JSON can be sent as it is."""
    return not _unsendable(value)


def _named(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a truth value"
        case str():
            return "a text"
        case list():
            return "a list"
        case _:
            return "a number"


def _unsendable(value: object) -> str:
    if _deeper(value):
        return f"is nested deeper than {DEEPEST} levels"
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        return "has a text with half of a character"
    except (ValueError, TypeError):
        return "has a value that JSON cannot say"
    return ""


def _deeper(value: object) -> bool:
    level: list[object] = [value]
    for _ in range(DEEPEST + 1):
        level = [inner for each in level for inner in _within(each)]
        if not level:
            return False
    return True


def _within(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(cast("dict[str, object]", value).values())
    return list(items_of(value))


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
