"""One table of a file, read field by field and strictly.

Knows types and how to say what is wrong and where; not what the file is about.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NoReturn, TypeAlias, TypeVar, cast

from unspiral.engine.errors import suggestion

__all__ = ["MAX_ENTRIES", "MAX_NUMBER", "Fail", "Fields", "Place", "shorten"]

MAX_ENTRIES = 2_000  #: entries of one table or list: more than anybody can review
MAX_NUMBER = 10**9  #: as in guards: arrays of the proof are 64 bit wide
_MAX_PROBLEM = 600
_MAX_REAL = 10**15
_MAX_JSON = 2**63
_DEEPEST = 32

Place: TypeAlias = tuple[str | int, ...]
_Word = TypeVar("_Word", bound=str)
Fail: TypeAlias = Callable[[Place, str], Exception]


def shorten(text: str, most: int) -> str:
    """Return a text that fits into a message."""
    return text if len(text) <= most else text[: most - 3] + "..."


def kind_of(value: object) -> str:
    """Say what a value is, in the words of a TOML file."""
    if isinstance(value, str):
        return f"the string {shorten(value, 40)!r}"
    if isinstance(value, int) and not isinstance(value, bool):
        # Never the number itself: a huge one cannot even be written out.
        return "a whole number" if abs(value) <= MAX_NUMBER else "a greater number"
    for kind, words in (
        (bool, "true or false"),
        (float, "a number with a point, inf or nan"),
        (list, "a list"),
        (dict, "a table"),
    ):
        if isinstance(value, kind):
            return words
    return "a date or time"


class Fields:
    """A table, where it stands, and how to fail."""

    def __init__(self, table: Mapping[str, object], place: Place, fail: Fail) -> None:
        self.table = table
        self.place = place
        self.failing = fail

    def fail(self, problem: str, *keys: str | int) -> NoReturn:
        """Say that something is wrong here, or at a key below.

        Raises:
            Exception: always, the error that `fail` was given to make.
        """
        raise self.failing((*self.place, *keys), shorten(problem, _MAX_PROBLEM))

    def wrong(self, value: object, allowed: str, *keys: str | int) -> NoReturn:
        """Say that a value has the wrong type.

        Raises:
            Exception: always, the error that `fail` was given to make.
        """
        self.fail(f"it must be {allowed}, not {kind_of(value)}", *keys)

    def allow(self, *known: str) -> None:
        """Refuse every key but these."""
        for key in self.table:
            if key not in known:
                short = shorten(key, 60)
                self.fail(f"unknown key {short!r}{suggestion(key, known)}", key)

    def has(self, key: str) -> bool:
        """Tell whether a key is given."""
        return key in self.table

    def need(self, *keys: str) -> None:
        """Refuse a table in which one of these is missing."""
        for key in keys:
            if key not in self.table:
                self.fail(f"{key!r} is missing")

    def text(self, key: str, default: str = "") -> str:
        """Return a string."""
        value = self.table.get(key, default)
        return value if isinstance(value, str) else self.wrong(value, "a string", key)

    def formula(self, key: str, default: str = "") -> str:
        """Return a text over limits, for which a number may stand."""
        value = self.table.get(key, default)
        if isinstance(value, str):
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(self.number(key))
        self.wrong(value, "a number or a text over limits", key)

    def word(self, key: str, allowed: Sequence[_Word], default: str = "") -> _Word:
        """Return one of a few words."""
        value = self.text(key, default)
        for each in allowed:
            if each == value:
                return each
        short = shorten(value, 60)
        self.fail(f"{short!r} is not allowed{suggestion(value, allowed)}", key)

    def flag(self, key: str, *, default: bool = False) -> bool:
        """Return a truth value."""
        value = self.table.get(key, default)
        return (
            value
            if isinstance(value, bool)
            else self.wrong(value, "true or false", key)
        )

    def number(self, key: str, default: int = 0) -> int:
        """Return a whole number that fits into arrays."""
        value = self.table.get(key, default)
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or not -MAX_NUMBER <= cast("int", value) <= MAX_NUMBER:
            allowed = "a whole number of at most 1,000,000,000"
            self.wrong(value, allowed, key)
        return cast("int", value)

    def real(self, key: str) -> int | float:
        """Return a number that may have a point; it is finite."""
        value = self.table.get(key)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not -_MAX_REAL <= cast("float", value) <= _MAX_REAL:
            self.wrong(value, f"a number of at most {_MAX_REAL:,}", key)
        return cast("float", value)

    def json(self, key: str) -> dict[str, object]:
        """Return a table that holds whatever JSON can say."""
        inner = self.inner(key)
        inner.check_json(inner.table)
        return dict(inner.table)

    def check_json(self, value: object, *keys: str | int) -> None:
        """Refuse what JSON has no word for, and what is nested too deeply."""
        match value:
            case str() | bool():
                return
            case int() if abs(value) >= _MAX_JSON:
                self.wrong(value, "a number of at most 64 bits", *keys)
            case float() if not math.isfinite(value):
                self.fail("it must be finite: JSON has neither inf nor nan", *keys)
            case int() | float():
                return
            case dict():
                below: Iterable[tuple[str | int, object]]
                below = cast("dict[str, object]", value).items()
            case list():
                below = enumerate(cast("list[object]", value), 1)
            case _:
                allowed = "a string, number, truth value, list or table as in JSON"
                self.wrong(value, allowed, *keys)
        self.count(len(cast("list[object]", value)), *keys)
        if len(keys) >= _DEEPEST:
            self.fail(f"it is nested more than {_DEEPEST} deep", *keys)
        for key, each in below:
            self.check_json(each, *keys, key)

    def items(self, key: str) -> list[object]:
        """Return a list, of whatever."""
        value = self.table.get(key, [])
        if not isinstance(value, list):
            self.wrong(value, "a list", key)
        items = cast("list[object]", value)
        self.count(len(items), key)
        return items

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of strings."""
        items = self.items(key)
        for item in items:
            if not isinstance(item, str):
                self.wrong(item, "a string", key)
        return tuple(cast("list[str]", items))

    def inner(self, key: str) -> "Fields":
        """Return a table below; an empty one if it is not given."""
        value = self.table.get(key, {})
        if not isinstance(value, dict):
            self.wrong(value, "a table", key)
        table = cast("dict[str, object]", value)
        self.count(len(table), key)
        return Fields(table, (*self.place, key), self.failing)

    def rows(self, key: str) -> list["Fields"]:
        """Return a list of tables, counted from 1."""
        found: list[Fields] = []
        for number, item in enumerate(self.items(key), 1):
            if not isinstance(item, dict):
                self.wrong(item, "a table", key, number)
            table = cast("dict[str, object]", item)
            found.append(Fields(table, (*self.place, key, number), self.failing))
        return found

    def numbers(self, key: str) -> dict[str, int]:
        """Return a table of whole numbers."""
        inner = self.inner(key)
        return {name: inner.number(name) for name in inner.table}

    def count(self, entries: int, *keys: str | int) -> None:
        """Refuse more entries than can be handled."""
        if entries > MAX_ENTRIES:
            self.fail(f"{entries:,} entries; at most {MAX_ENTRIES:,} are read", *keys)
