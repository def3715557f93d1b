"""Certificates: why no run spends without end and without progress, by its rows.

A certificate is a tuple of terms, each a number computed from a phase and a memory.
Every row without progress strictly lowers one term and raises no earlier one; a row
that costs nothing may keep all terms instead. So the tuple falls lexicographically with
every cost, and since each term takes finitely many values, no run has costs without end
and without progress: there is no death spiral.

The value and its text form stand here; `recheck` judges one without trusting us.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import cast

import attrs

from unspiral.engine.core.declare import LimitValue
from unspiral.engine.core.language import UNLIMITED
from unspiral.engine.core.table import Table
from unspiral.engine.errors import CertificateError

__all__ = ["FORMAT", "Certificate", "Term", "fingerprint"]

FORMAT = 1  #: the version of the text form
_MAX_TEXT = 4_000_000


def _places(values: Mapping[str, int]) -> Mapping[str, int]:
    return MappingProxyType(dict(values))


def _names(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(values)


def _limits(values: Mapping[str, LimitValue]) -> Mapping[str, LimitValue]:
    return MappingProxyType(dict(values))


@attrs.frozen
class Term:
    """One component of a certificate: a number for each phase and memory.

    Attributes:
        text: an expression over memory, such as "3 - recoveries" or "not tried"; a
            truth value counts as 1 or 0. "" if the term is an order of phases.
        phases: where the expression counts; it is 0 elsewhere. Empty: everywhere.
        order: the number of each phase if it is an order of phases; 0 elsewhere.
    """

    text: str = ""
    phases: tuple[str, ...] = attrs.field(default=(), converter=_names)
    order: Mapping[str, int] = attrs.field(factory=dict[str, int], converter=_places)

    def __str__(self) -> str:
        if self.text:
            where = f" (in {', '.join(self.phases)})" if self.phases else ""
            return f"{self.text}{where}"
        groups: dict[int, list[str]] = {}
        for phase, number in self.order.items():
            groups.setdefault(number, []).append(phase)
        falling = sorted(groups.items(), reverse=True)
        return "order " + " > ".join(" = ".join(phases) for _, phases in falling)


def _terms(values: Iterable[Term]) -> tuple[Term, ...]:
    return tuple(values)


@attrs.frozen
class Certificate:
    """A proof by local decrease that no run spends without end and without progress.

    Attributes:
        format: the version of the text form.
        machine: the name of the machine.
        edition: the name of the edition, or "".
        limits: the value of every limit.
        assumptions: the assumptions on the environment.
        digest: the `fingerprint` of the table.
        terms: the components, the one that weighs most first.
        rows: for each row without progress the place of the term that it lowers; -1
            for a row that is never taken, the number of terms for one that costs
            nothing and raises none.
        seal: the `content` when it was made; it shows damage, and is no signature.
    """

    machine: str
    edition: str
    limits: Mapping[str, LimitValue] = attrs.field(converter=_limits)
    assumptions: tuple[str, ...] = attrs.field(converter=_names)
    digest: str
    terms: tuple[Term, ...] = attrs.field(converter=_terms)
    rows: Mapping[str, int] = attrs.field(converter=_places)
    format: int = FORMAT
    seal: str = attrs.field(
        default=attrs.Factory(lambda self: self.content, takes_self=True)
    )

    @property
    def content(self) -> str:
        """Return the fingerprint of all fields but the seal."""
        text = json.dumps(_plain(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def to_json(self) -> str:
        """Return the text form: one JSON object."""
        return json.dumps(_plain(self) | {"seal": self.seal}, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Certificate":
        """Read the text form.

        Raises:
            CertificateError: it is no certificate of this format.
        """
        return _read(text)


_UNBOUNDED: Mapping[str, bool] = {"unlimited": True}


def _plain(certificate: Certificate) -> dict[str, object]:
    """Return all fields but the seal as JSON values."""
    return {
        "format": certificate.format,
        "machine": certificate.machine,
        "edition": certificate.edition,
        "limits": {
            name: _UNBOUNDED if value is UNLIMITED else value
            for name, value in certificate.limits.items()
        },
        "assumptions": list(certificate.assumptions),
        "terms": [
            {
                "text": term.text,
                "phases": list(term.phases),
                "order": dict(term.order),
            }
            for term in certificate.terms
        ],
        "rows": dict(certificate.rows),
        "digest": certificate.digest,
    }


def fingerprint(table: Table) -> str:
    """Return what ties a certificate to a table: edition, assumptions and digest."""
    parts = [table.edition, *table.assumptions, table.digest]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _read(text: str) -> Certificate:
    if len(text) > _MAX_TEXT:
        raise CertificateError("text", f"it is longer than {_MAX_TEXT:,} characters")
    try:
        plain: object = json.loads(
            text, object_pairs_hook=_object, parse_constant=_constant
        )
    except (ValueError, RecursionError) as error:
        raise CertificateError("text", f"it is no JSON ({error})") from None
    found = _fields(plain, "text", _FIELDS)
    if _number(found["format"], "format") != FORMAT:
        raise CertificateError("format", f"only format {FORMAT} can be read")
    return Certificate(
        format=FORMAT,
        machine=_string(found["machine"], "machine"),
        edition=_string(found["edition"], "edition"),
        limits={
            name: _limit(value, f"limits, {name}")
            for name, value in _mapping(found["limits"], "limits").items()
        },
        assumptions=_strings(found["assumptions"], "assumptions"),
        digest=_string(found["digest"], "digest"),
        terms=tuple(
            _term(value, f"terms[{i}]")
            for i, value in enumerate(_list(found["terms"], "terms"))
        ),
        rows=_numbers(found["rows"], "rows"),
        seal=_string(found["seal"], "seal"),
    )


_FIELDS = frozenset(each.name for each in attrs.fields(Certificate))


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise CertificateError("text", "a key stands twice in one object")
    return found


def _constant(text: str) -> object:
    raise CertificateError("text", f"{text} is no value of a certificate")


def _mapping(value: object, field: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise CertificateError(field, "it must be an object")
    return cast("dict[str, object]", value)  # JSON has no other keys


def _fields(value: object, field: str, wanted: frozenset[str]) -> dict[str, object]:
    found = _mapping(value, field)
    if found.keys() != wanted:
        keys = ", ".join(sorted(wanted))
        raise CertificateError(field, f"it must have exactly the keys {keys}")
    return found


def _list(value: object, field: str) -> list[object]:
    if not isinstance(value, list):
        raise CertificateError(field, "it must be a list")
    return cast("list[object]", value)


def _string(value: object, field: str) -> str:
    if not isinstance(value, str):
        raise CertificateError(field, "it must be a string")
    return value


def _strings(value: object, field: str) -> tuple[str, ...]:
    return tuple(_string(each, field) for each in _list(value, field))


def _number(value: object, field: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise CertificateError(field, "it must be a whole number")
    return value


def _numbers(value: object, field: str) -> dict[str, int]:
    found = _mapping(value, field)
    return {name: _number(each, f"{field}, {name}") for name, each in found.items()}


def _limit(value: object, field: str) -> LimitValue:
    if value == _UNBOUNDED:
        return UNLIMITED
    if isinstance(value, str | int):
        return value
    raise CertificateError(field, "it must be a number, a truth value or a string")


def _term(value: object, field: str) -> Term:
    found = _fields(value, field, frozenset({"text", "phases", "order"}))
    return Term(
        text=_string(found["text"], field),
        phases=_strings(found["phases"], field),
        order=_numbers(found["order"], field),
    )
