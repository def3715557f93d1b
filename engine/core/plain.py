"""Snapshots and settings as plain JSON values, read back strictly.

Traces and runs are written and read through this module. What comes back from a file
or a network is judged here: its shape, its types (True is not 1), its domains. It does
not know what a line or a file is, nor how a step is taken.
"""

import json
from collections import Counter
from collections.abc import Mapping
from typing import NoReturn, TypeAlias, cast

from unspiral.engine.core.declare import LimitValue, Machine, limit_text
from unspiral.engine.core.language import UNLIMITED
from unspiral.engine.core.step import Snapshot, memory_of
from unspiral.engine.core.table import Table, Variable, compile_table
from unspiral.engine.errors import DeclarationError, TraceError, UsageError, suggestion

__all__ = [
    "Plain",
    "identity",
    "parse_object",
    "plain_limits",
    "plain_memory",
    "read_snapshot",
    "read_table",
    "require_identity",
    "require_keys",
]

Plain: TypeAlias = Mapping[str, object]
_SHOWN = 60


def plain_limits(table: Table) -> dict[str, int | bool | str]:
    """Return the limits as JSON holds them; UNLIMITED is a string."""
    return {
        name: "UNLIMITED" if value is UNLIMITED else value
        for name, value in table.limits.items()
    }


def plain_memory(table: Table, snapshot: Snapshot) -> dict[str, int | bool | str]:
    """Return the memory by name."""
    return memory_of(table, snapshot)


def identity(table: Table) -> dict[str, object]:
    """Return what says of which machine at which limits a record is."""
    return {
        "machine": table.machine.name,
        "edition": table.edition,
        "digest": table.digest,
        "limits": plain_limits(table),
        "assumptions": list(table.assumptions),
    }


def parse_object(text: str, line: int = 0) -> dict[str, object]:
    """Read one JSON object; no NaN, no key twice, no nesting without end.

    Raises:
        TraceError: the text is no such object.
    """

    def refuse(word: str) -> NoReturn:
        raise TraceError(f"{word} is not a value of JSON", line)

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
            raise TraceError(f"key {_short(twice)} stands twice", line)
        return found

    try:
        value = json.loads(text, parse_constant=refuse, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", "") or "not readable, or nested too deeply"
        raise TraceError(f"not valid JSON ({reason})", line) from None
    found = as_object(value)
    if found is None:
        raise TraceError(f"a JSON object is needed, not {_short(value)}", line)
    return found


def as_object(value: object) -> dict[str, object] | None:
    """Return the value if it is a JSON object, else None."""
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def as_list(value: object) -> list[object] | None:
    """Return the value if it is a JSON list, else None."""
    return cast("list[object]", value) if isinstance(value, list) else None


def require_keys(record: Plain, wanted: tuple[str, ...], line: int = 0) -> None:
    """Refuse a record that lacks a key or has one too many.

    Raises:
        TraceError: it does.
    """
    for key in wanted:
        if key not in record:
            raise TraceError(f"key {key!r} is missing", line)
    for key in record:
        require_text(key, line)
        if key not in wanted:
            hint = suggestion(key, wanted)
            raise TraceError(f"unknown key {_short(key)}{hint}", line)


def require_text(key: object, line: int = 0) -> None:
    """Refuse a key that is no string: a caller's mapping may have any.

    Raises:
        TraceError: it is not.
    """
    if not isinstance(key, str):
        raise TraceError(f"key {_short(key)} is no string", line)


def require_identity(record: Plain, table: Table, line: int = 0) -> None:
    """Refuse a record of another machine, or at other limits.

    Raises:
        TraceError: it is; the message says in what they differ.
    """
    wanted = identity(table)
    for key in ("machine", "limits", "assumptions", "digest"):
        if same(record[key], wanted[key]):
            continue
        problem = f"{key} {_short(record[key])} is not {_short(wanted[key])}"
        if key == "machine":
            problem = f"it is of machine {_short(record[key])}, not of {wanted[key]!r}"
        elif key == "limits":
            problem = _limit_difference(record[key], table)
        elif key == "digest":
            problem = f"it is of another version of machine {wanted['machine']!r}"
        raise TraceError(problem, line)


def _limit_difference(value: object, table: Table) -> str:
    wanted, found = plain_limits(table), as_object(value)
    if found is None:
        return f"limits must be an object, not {_short(value)}"
    for name in wanted:
        if name not in found:
            return f"limit {name!r} is missing"
        if not same(found[name], wanted[name]):
            shown = limit_text(table.limits[name])
            return f"limit {name!r} is {_short(found[name])} there and {shown} here"
    extra = next(name for name in found if name not in wanted)
    return f"unknown limit {_short(extra)}{suggestion(extra, wanted)}"


def same(one: object, two: object) -> bool:
    """Tell whether two plain values are equal in type too: True is not 1."""
    left, right = as_object(one), as_object(two)
    if left is not None and right is not None:
        return left.keys() == right.keys() and all(
            same(value, right[key]) for key, value in left.items()
        )
    these, those = as_list(one), as_list(two)
    if these is not None and those is not None:
        pairs = zip(these, those, strict=False)
        return len(these) == len(those) and all(same(a, b) for a, b in pairs)
    return type(one) is type(two) and one == two


def read_table(machine: Machine, record: Plain, line: int = 0) -> Table:
    """Compile a machine as a record says it was compiled.

    Raises:
        TraceError: the record is of another machine, or of none.
    """
    named = {limit.name: limit for limit in machine.all_limits}
    given, assumptions = as_object(record["limits"]), as_list(record["assumptions"])
    edition = record["edition"]
    if record["machine"] != machine.name:
        found = _short(record["machine"])
        raise TraceError(f"it is of machine {found}, not of {machine.name!r}", line)
    if not isinstance(edition, str):
        raise TraceError(f"edition {_short(edition)} must be a string", line)
    if given is None:
        raise TraceError("limits must be an object", line)
    if assumptions is None:
        raise TraceError("assumptions must be a list", line)
    limits: dict[str, LimitValue] = {}
    for name, value in given.items():
        require_text(name, line)
        text = name in named and isinstance(named[name].default, str)
        if not isinstance(value, bool | int | str):
            raise TraceError(f"limit {_short(name)} cannot be {_short(value)}", line)
        limits[name] = UNLIMITED if value == "UNLIMITED" and not text else value
    try:
        names = [str(name) for name in assumptions]
        table = compile_table(machine, edition or None, limits, names)
    except (UsageError, DeclarationError) as error:
        raise TraceError(str(error), line) from None
    require_identity(record, table, line)
    return table


def read_snapshot(table: Table, phase: object, values: object) -> Snapshot:
    """Read where a run stands.

    Raises:
        TraceError: the phase is unknown, or memory is missing, unknown or outside its
            domain.
    """
    places = (*table.phases, *table.terminals)
    if not isinstance(phase, str) or phase not in places:
        hint = suggestion(phase, places) if isinstance(phase, str) else ""
        raise TraceError(f"unknown phase {_short(phase)}{hint}")
    memory = as_object(values)
    if memory is None:
        raise TraceError(f"memory must be an object, not {_short(values)}")
    for name in memory:
        require_text(name)
        if name not in table.positions:
            hint = suggestion(name, table.positions)
            raise TraceError(f"unknown memory {_short(name)}{hint}")
    return Snapshot(phase, tuple(_value(v, memory) for v in table.variables))


def _value(variable: Variable, memory: Plain) -> int | bool | str:
    if variable.name not in memory:
        raise TraceError(f"memory {variable.name!r} is missing")
    value = memory[variable.name]
    match variable.kind:
        case "flag":
            fits, allowed = isinstance(value, bool), "true or false"
        case "choice":
            fits = isinstance(value, str) and value in variable.values
            allowed = f"one of {', '.join(variable.values)}"
        case _:
            high = variable.high
            number = isinstance(value, int) and not isinstance(value, bool)
            above = "" if high is None else str(high)
            allowed = f"a whole number in {variable.low}..{above}"
            fits = number and _within(value, variable.low, high)
    if not fits or not isinstance(value, bool | int | str):
        problem = f"memory {variable.name!r} cannot be {_short(value)}"
        raise TraceError(f"{problem}: it must be {allowed}")
    return value


def _within(value: object, low: int, high: int | None) -> bool:
    return isinstance(value, int) and low <= value and (high is None or value <= high)


def _short(value: object) -> str:
    # A hostile value is never printed whole: an int of a million digits cannot be.
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**18:
        return "a number too large to be shown"
    if (inner := as_object(value)) is not None:
        return f"an object of {len(inner)}"
    if (items := as_list(value)) is not None:
        return f"a list of {len(items)}"
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
