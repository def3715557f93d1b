"""`unspiral mutate` tells what notices each small change, and what nobody would."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import Result

Invoke = Callable[..., Result]


def said(invoke: Invoke, *words: str) -> tuple[int, list[dict[str, Any]]]:
    result = invoke("mutate", "turnstile", "--json", "--jobs", "1", *words)
    return result.exit_code, json.loads(result.stdout)["mutants"]


def test_each_mutant_is_told_with_what_notices_it(invoke: Invoke) -> None:
    code, found = said(invoke)

    assert code == 1
    assert {"verdict", "law", "bounds", ""} <= {each["killed_by"] for each in found}
    assert all(each["how"] for each in found)
    spirals = [each for each in found if each["how"].startswith("a death spiral")]
    assert spirals
    assert all(each["loop"] for each in spirals)


def test_one_row_can_be_asked_for(invoke: Invoke) -> None:
    _, found = said(invoke, "--row", "locked:push#1")

    assert {each["row"] for each in found} == {"locked:push#1"}


def test_it_ends_with_0_if_all_that_differs_is_noticed(invoke: Invoke) -> None:
    code, found = said(invoke, "--row", "locked:coin")

    assert code == 0
    assert {each["how"] for each in found} & {"unobserved", "undetermined"} == set()


def test_the_text_counts_and_lists_what_is_open(invoke: Invoke) -> None:
    result = invoke("mutate", "turnstile", "--jobs", "2")

    assert result.exit_code == 1
    assert result.stdout.startswith(
        "8 of 12 mutants NOTICED: turnstile, edition guarded"
    )
    assert "unobserved:\n  progress moved: locked:push#1" in result.stdout
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("no_such",), "no_such"),
        (("turnstile", "--row", "locked:pus"), "did you mean"),
        (("turnstile", "--set", "max_shakes=many"), "max_shakes"),
        (("turnstile", "--assume", "nothing"), "nothing"),
        (("turnstile", "--jobs", "0"), "--jobs"),
    ],
)
def test_bad_words_are_one_error(
    invoke: Invoke, words: tuple[str, ...], says: str
) -> None:
    result = invoke("mutate", *words)

    assert result.exit_code == 2
    assert says in result.stderr
    assert "Traceback" not in result.stderr
