"""Texts of the language: what is read, in which form, and what is refused why."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspiral.engine.core.language import (
    BOOL,
    INT,
    TRUE,
    ChoiceType,
    Scope,
    check_action,
    check_guard,
    parse_action,
    parse_expression,
    parse_guard,
    render,
    render_action,
)
from unspiral.engine.errors import ExpressionError

COLOURS = ChoiceType(("red", "green", "blue"))
SCOPE: Scope = {"a": INT, "b": INT, "f": BOOL, "g": BOOL, "c": COLOURS, "d": COLOURS}


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("a<1 and b>2", "a < 1 and b > 2"),
        ("0 < a <= 3", "0 < a and a <= 3"),
        ("c in ['red']", "c in ('red',)"),
        ("not (c in ('red', 'blue'))", "c not in ('red', 'blue')"),
        ("a * 2 > 1", "2 * a > 1"),
        ("a - (b - 1)", "a - (b - 1)"),
        ("(a - b) - 1", "a - b - 1"),
        ("(f or g) and f", "(f or g) and f"),
        ('c == "red"', "c == 'red'"),
        ("x.y.z > -1", "x.y.z > -1"),
        ("a < UNLIMITED", "a < UNLIMITED"),
    ],
)
def test_texts_are_rendered_in_one_way(text: str, rendered: str) -> None:
    assert render(parse_expression(text)) == rendered


def test_an_action_is_rendered_as_people_write_it() -> None:
    action = parse_action("a = a + 1; b -= 2\nc = 'red'")

    assert render_action(action) == "a += 1; b -= 2; c = 'red'"


@pytest.mark.parametrize("text", ["", "  ", "otherwise", " otherwise "])
def test_no_guard_and_otherwise_are_always_true(text: str) -> None:
    assert parse_guard(text) == TRUE


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a <", "not valid syntax"),
        ("a = 1", "one expression is needed"),
        ("a; b", "one expression is needed"),
        ("", "one expression is needed"),
        ("f()", "Call is not part of the language"),
        ("__import__('os')", "Call is not part"),
        ("a.b().c", "a dot may only join"),
        ("a[0] == 1", "Subscript is not part"),
        ("lambda: 1", "Lambda is not part"),
        ("(x := 1) > 0", "NamedExpr is not part"),
        ("[a for a in b]", "ListComp is not part"),
        ("f'{a}' == 'x'", "JoinedStr is not part"),
        ("1.5 < a", "Constant is not part"),
        ("1j == a", "Constant is not part"),
        ("b'x' == c", "Constant is not part"),
        ("a / 2 > 1", "BinOp is not part"),
        ("a ** 2 > 1", "BinOp is not part"),
        ("a * b > 1", "one side of \\* must be a literal"),
        ("a is b", "write =="),
        ("a in b", "a tuple of literals"),
        ("a in ()", "a tuple of literals"),
        ("a in (b,)", "a literal is needed"),
        ("a in (-'x',)", "is not a value|literal"),
        ("a in (1.5,)", "a float is not a value"),
        ("min(a) > 1", "two or more"),
        ("min(a, b, key=f) > 1", "two or more"),
        ("a < 1000000001", "write UNLIMITED"),
        ("a < " + "9" * 1_990, "UNLIMITED|not valid|not readable"),
        ("a" * 2_001, "2001 characters"),
        ("a\0b", "not valid syntax|not readable"),
        ("\ud800", "not valid syntax|not readable"),
        ("(" * 900 + "a" + ")" * 900, "nested|parentheses"),
        ("not " * 490 + "f", "nested too deeply"),
        ("-" * 1_900 + "1", "nested|not part"),
        ("a" + " + a" * 490, "nested too deeply"),
    ],
)
def test_what_is_not_in_the_language_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ExpressionError, match=problem) as caught:
        parse_expression(text, "here")

    assert caught.value.place == "here"
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a", "a list of assignments"),
        ("a = b = 1", "a list of assignments"),
        ("a, b = 1, 2", "a list of assignments"),
        ("a *= 2", "only \\+= and -="),
        ("a = 1; a = 2", "assigned twice"),
        ("UNLIMITED = 1", "cannot be assigned"),
        ("import os", "a list of assignments"),
        ("a[0] = 1", "a list of assignments"),
        ("a = " + "not " * 480 + "f", "nested too deeply"),
    ],
)
def test_what_is_no_action_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ExpressionError, match=problem):
        parse_action(text)


@given(text=st.text(max_size=40) | st.text("abf<>=()+-*., \n'1", max_size=60))
def test_no_text_gives_another_kind_of_error(text: str) -> None:
    for read in (parse_expression, parse_action):
        with contextlib.suppress(ExpressionError):
            read(text)
    with contextlib.suppress(ExpressionError):
        check_guard(text, SCOPE)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("a < 1 and trun > 2", 10, "unknown name 'trun'; did you mean 'turn'"),
        ("c == 'gren'", 6, "'gren' is no value of this choice; did you mean 'green'"),
        ("c in ('red', 'bleu')", 14, "did you mean 'blue'"),
        ("a", 0, "a guard must be true or false, and this is a integer"),
        ("c", 0, "and this is a choice of red, green, blue"),
        ("a and f", 0, "each side of `and` must be a flag, and this is a integer"),
        ("not a", 4, "what stands after `not` must be a flag"),
        ("f + 1 > 0", 0, "the left side of \\+ must be a integer"),
        ("f < g", 0, "< orders numbers"),
        ("c < 'red'", 0, "< orders numbers"),
        ("f == 1", 2, "a flag cannot be compared with a integer"),
        ("a == 'red'", 6, "a string is compared with a integer"),
        ("'red' == 'red'", 1, "a string is compared with a string"),
        ("c == e", 0, "two choices with different values"),
        ("a in (True,)", 6, "True cannot be a integer"),
        ("a in (UNLIMITED,)", 6, "UNLIMITED cannot be a integer"),
        ("a - UNLIMITED < 1", 4, "UNLIMITED cannot be subtracted"),
        ("min(a, f) > 1", 7, "each value of min must be a integer"),
    ],
)
def test_a_wrong_type_names_the_place_and_the_nearest_name(
    text: str, column: int, message: str
) -> None:
    scope = {**SCOPE, "turn": INT, "e": ChoiceType(("up", "down"))}

    with pytest.raises(ExpressionError, match=message) as caught:
        check_guard(text, scope, "row 3, guard")

    assert str(caught.value).startswith("row 3, guard: ")
    assert caught.value.column == column
    assert str(caught.value).splitlines()[-1] == "    " + " " * column + "^"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cap = 1", "'cap' is a limit, and limits never change"),
        ("aa = 1", "unknown memory 'aa'"),
        ("a = f", "a is a integer, and this is a flag"),
        ("f = 1", "f is a flag, and this is a integer"),
        ("c = 'gren'", "did you mean 'green'"),
        ("a = 'red'", "a string is compared with|integer"),
        ("a = UNLIMITED", "UNLIMITED is a limit, not a count"),
    ],
)
def test_an_action_writes_memory_of_its_type_only(text: str, message: str) -> None:
    with pytest.raises(ExpressionError, match=message):
        check_action(text, {**SCOPE, "cap": INT}, SCOPE)
