"""The judge of certificates: what was changed, and what never held, is refused."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspiral.engine.check.certificate import FORMAT, Certificate, Term, fingerprint
from unspiral.engine.check.ranking import find_certificate
from unspiral.engine.check.recheck import recheck
from unspiral.engine.core.declare import Machine
from unspiral.engine.core.language import UNLIMITED
from unspiral.engine.core.table import compile_table
from unspiral.engine.errors import CertificateError
from unspiral.machines import load


@pytest.fixture
def good(retrying_loop: Machine) -> Certificate:
    """Return a certificate of the loop that holds."""
    found = find_certificate(compile_table(retrying_loop))
    assert found is not None
    return found


def sealed(certificate: Certificate, **changes: Any) -> Certificate:
    """Return a changed certificate whose seal fits, as a forger would make it."""
    changed = attrs.evolve(certificate, **changes)
    return attrs.evolve(changed, seal=changed.content)


def refusal(certificate: Certificate, machine: Machine) -> str:
    """Return the field for which the judge refuses, or "" if he does not."""
    try:
        recheck(certificate, machine)
    except CertificateError as error:
        return error.field
    return ""


def tampered(base: Certificate) -> Iterator[tuple[str, Certificate]]:
    """Yield certificates with one change each; the seal is as it was."""
    changes: tuple[tuple[str, Any], ...] = (
        ("format", FORMAT + 1),
        ("machine", "another"),
        ("edition", "long"),
        ("edition", "patient"),
        ("edition", "unknown"),
        ("edition", ""),
        ("assumptions", ("no_bad",)),
        ("assumptions", ("unknown",)),
        ("digest", "0" * 64),
        ("seal", "0" * 64),
        ("terms", ()),
        ("terms", (*base.terms, Term("budget"))),
        ("rows", {}),
        ("rows", {**base.rows, "judge:more#1": 0}),
        ("rows", {**base.rows, "unknown": 0}),
        ("limits", {}),
        ("limits", {**base.limits, "unknown": 1}),
    )
    for field, value in changes:
        yield field, attrs.evolve(base, **{field: value})
    for name in base.limits:
        rest = {k: v for k, v in base.limits.items() if k != name}
        yield f"limits without {name}", attrs.evolve(base, limits=rest)
        for value in (7, UNLIMITED, True, "x"):
            if value is not base.limits[name]:
                changed = {**base.limits, name: value}
                yield f"limit {name}", attrs.evolve(base, limits=changed)
    for name, place in base.rows.items():
        fewer = {k: v for k, v in base.rows.items() if k != name}
        yield f"rows without {name}", attrs.evolve(base, rows=fewer)
        for other in range(-2, len(base.terms) + 2):
            if other != place:
                moved = {**base.rows, name: other}
                yield f"row {name} at {other}", attrs.evolve(base, rows=moved)
    yield from tampered_terms(base)


def tampered_terms(base: Certificate) -> Iterator[tuple[str, Certificate]]:
    terms = base.terms
    for i, term in enumerate(terms):
        for other in (
            attrs.evolve(term, text=f"{term.text or 'budget'} + 1"),
            attrs.evolve(term, text="fallback"),
            attrs.evolve(term, text="no_such_memory"),
            attrs.evolve(term, text="last"),
            attrs.evolve(term, text=""),
            attrs.evolve(term, phases=("judge",)),
            attrs.evolve(term, phases=("nowhere",)),
            attrs.evolve(term, order={}),
            *(
                attrs.evolve(term, order={**term.order, phase: term.order[phase] + 1})
                for phase in term.order
            ),
        ):
            if other != term:
                changed = (*terms[:i], other, *terms[i + 1 :])
                yield f"terms[{i}] {other}", attrs.evolve(base, terms=changed)
        rest = (*terms[:i], *terms[i + 1 :])
        yield f"without terms[{i}]", attrs.evolve(base, terms=rest)
        for j in range(i):
            swapped = list(terms)
            swapped[i], swapped[j] = terms[j], term
            yield f"terms {i} and {j}", attrs.evolve(base, terms=tuple(swapped))


def test_a_certificate_with_any_change_is_refused(
    good: Certificate, retrying_loop: Machine
) -> None:
    changes = list(tampered(good))
    accepted = [what for what, each in changes if not refusal(each, retrying_loop)]

    assert accepted == []
    assert len(changes) > 100
    assert not refusal(good, retrying_loop)


FORGERIES: dict[str, Callable[[Certificate], dict[str, Any]]] = {
    "rows, judge:bad#1": lambda base: {"rows": {**base.rows, "judge:bad#1": 0}},
    "rows, judge:stop": lambda base: {"rows": {**base.rows, "judge:stop": -1}},
    "rows, model.wait": lambda base: {
        "rows": {**base.rows, "model.wait": base.rows["model.ask:busy#1"]}
    },
    "rows, model.ask:busy#1": lambda base: {
        "rows": {**base.rows, "model.ask:busy#1": len(base.terms)}
    },
    "terms[1]": lambda base: {"terms": (base.terms[0], Term("last"), *base.terms[2:])},
    "format or machine": lambda _: {"machine": "another"},
    "edition, limits or assumptions": lambda _: {"edition": "unknown"},
    "digest": lambda _: {"edition": "long"},
}


@pytest.mark.parametrize("field", FORGERIES)
def test_a_forged_seal_does_not_help_what_does_not_hold(
    field: str, good: Certificate, retrying_loop: Machine
) -> None:
    forged = sealed(good, **FORGERIES[field](good))
    assert refusal(forged, retrying_loop) == field


def test_terms_in_another_order_are_refused_whatever_the_seal(
    good: Certificate, retrying_loop: Machine
) -> None:
    size = len(good.terms)
    backwards = {n: size - 1 - p if p >= 0 else p for n, p in good.rows.items()}
    forged = sealed(good, terms=good.terms[::-1], rows=backwards)
    assert refusal(forged, retrying_loop).startswith("rows, ")


def test_a_row_that_costs_may_not_keep_all_terms() -> None:
    turnstile = load("turnstile")
    found = find_certificate(compile_table(turnstile))
    assert found is not None
    costly = turnstile.amend("open:coin", cost={"coins": 1})
    digest = fingerprint(compile_table(costly))

    assert not refusal(found, turnstile)
    assert refusal(sealed(found, digest=digest), costly) == "rows, open:coin"


def test_a_term_must_have_a_least_value(retrying_loop: Machine) -> None:
    table = compile_table(retrying_loop, limits={"max_turns": UNLIMITED})
    found = find_certificate(table)
    assert found is not None
    forged = sealed(found, terms=(*found.terms, Term("turn")))

    assert not refusal(found, retrying_loop)
    assert refusal(forged, retrying_loop) == f"terms[{len(found.terms)}]"


def test_a_certificate_of_another_machine_is_refused(
    good: Certificate, retrying_loop: Machine
) -> None:
    changed = retrying_loop.amend("judge:stop", target="failed")
    assert refusal(good, changed) == "digest"


def test_the_text_form_loses_nothing(retrying_loop: Machine) -> None:
    table = compile_table(retrying_loop, limits={"max_turns": UNLIMITED})
    found = find_certificate(table)
    assert found is not None
    assert Certificate.from_json(found.to_json()) == found


FIELDS = [field.name for field in attrs.fields(Certificate)]


@pytest.mark.parametrize("key", FIELDS)
@pytest.mark.parametrize("wrong", [None, 1.5, [[]], {"a": None}])
def test_a_field_of_a_wrong_kind_is_refused(
    key: str, wrong: object, good: Certificate
) -> None:
    plain = json.loads(good.to_json())
    with pytest.raises(CertificateError):
        Certificate.from_json(json.dumps(plain | {key: wrong}))


@pytest.mark.parametrize("key", FIELDS)
def test_a_field_that_is_missing_is_refused(key: str, good: Certificate) -> None:
    plain = json.loads(good.to_json())
    del plain[key]
    with pytest.raises(CertificateError):
        Certificate.from_json(json.dumps(plain))


@pytest.mark.parametrize(
    "changes",
    [
        {"extra": 1},
        {"format": True},
        {"format": FORMAT + 1},
        {"rows": {"judge": True}},
        {"limits": {"max_turns": {"unlimited": False}}},
        {"terms": [{"text": "budget"}]},
        {"terms": [{"text": 1, "phases": ["judge"], "order": {"judge": 1}}]},
    ],
)
def test_fields_are_read_strictly(changes: dict[str, Any], good: Certificate) -> None:
    plain = json.loads(good.to_json())
    with pytest.raises(CertificateError):
        Certificate.from_json(json.dumps(plain | changes))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{}",
        "[" * 100_000,
        '{"format": 1, "format": 1}',
        '{"format": NaN}',
        "9" * 10_000,
        " " * 5_000_000,
    ],
    ids=lambda text: text[:10],
)
def test_what_is_no_certificate_is_refused(text: str) -> None:
    with pytest.raises(CertificateError):
        Certificate.from_json(text)


@given(st.text() | st.binary().map(lambda each: each.decode("latin-1")))
def test_junk_is_refused(text: str) -> None:
    with pytest.raises(CertificateError):
        Certificate.from_json(text)


@pytest.mark.parametrize("place", [0, -1])
def test_a_term_that_shows_one_thing_and_means_another_is_refused(
    good: Certificate, retrying_loop: Machine, place: int
) -> None:
    terms = list(good.terms)
    terms[place] = attrs.evolve(
        terms[place],
        text=terms[place].text or "budget",
        order=terms[place].order or {"judge": 1},
    )
    forged = attrs.evolve(good, terms=tuple(terms))

    assert refusal(forged, retrying_loop)
