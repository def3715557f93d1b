"""Which value every limit has: defaults, then an edition, then what a caller sets.

Knows declarations; reads no file and no environment.
"""

from collections.abc import Mapping

from unspiral.engine.core.declare import Limit, LimitValue, Machine, limit_text
from unspiral.engine.core.language import UNLIMITED, Unlimited
from unspiral.engine.errors import BadValue, UnknownName

__all__ = ["limit_from_text", "resolve"]

_MAX = 10**9


def resolve(
    machine: Machine,
    edition: str | None = None,
    limits: Mapping[str, LimitValue] | None = None,
) -> dict[str, LimitValue]:
    """Return the value of every limit, nested machines included.

    Args:
        machine: the machine.
        edition: the name of an edition; the machine's first unless given.
        limits: values that override those of the edition.

    Raises:
        UnknownName: no such edition or limit.
        BadValue: a value of the wrong type, or not among the declared ones.
    """
    if not isinstance(limits, Mapping | None):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise BadValue("limits", repr(limits), "a mapping of names to values")
    declared = {limit.name: limit for limit in machine.all_limits}
    values = {name: limit.default for name, limit in declared.items()}
    editions = {each.name: each for each in machine.editions}
    if edition is not None and edition not in editions:
        raise UnknownName(
            "edition", edition, tuple(editions), f"machine {machine.name}"
        )
    chosen = editions.get(edition) if edition else next(iter(editions.values()), None)
    for given in (chosen.limits if chosen else {}, limits or {}):
        for name, value in given.items():
            if name not in declared:
                known = tuple(declared)
                raise UnknownName("limit", name, known, f"machine {machine.name}")
            values[name] = _checked(declared[name], value)
    return values


def allowed(limit: Limit) -> str:
    """Say in words which values a limit may have."""
    if isinstance(limit.default, bool):
        return "true or false"
    if isinstance(limit.default, str):
        return "one of " + ", ".join(limit_text(v) for v in limit.alternatives)
    return "a whole number from 0 to 1,000,000,000, or UNLIMITED"


def _checked(limit: Limit, value: LimitValue) -> LimitValue:
    match limit.default:
        case bool():
            fits = isinstance(value, bool)
        case str():
            fits = value in limit.alternatives
        case _:
            number = isinstance(value, int) and not isinstance(value, bool)
            fits = value is UNLIMITED or (number and 0 <= int(value) <= _MAX)
    if not fits:
        shown = value if isinstance(value, str) else limit_text(value)
        raise BadValue(f"limit {limit.name!r}", shown, allowed(limit))
    return value


def limit_from_text(limit: Limit, text: str) -> LimitValue:
    """Read a limit's value as people write it.

    Raises:
        BadValue: the text is no value of this limit.
    """
    word = text.strip()
    value: LimitValue | Unlimited = word
    match limit.default:
        case bool():
            switch = {"true": True, "yes": True, "on": True}
            switch |= {"false": False, "no": False, "off": False}
            value = switch.get(word.lower(), word)
        case str():
            value = word
        case _:
            digits = word.replace("_", "").replace(",", "")
            if word.upper() == "UNLIMITED":
                value = UNLIMITED
            elif digits.isascii() and digits.isdigit() and len(digits) < 12:  # noqa: PLR2004 - longer than any allowed number
                value = int(digits)
    return _checked(limit, value)
