"""The language: what is written is what is meant, by every reader of a tree."""

import contextlib
import itertools
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from unspiral.engine.core.language import (
    BOOL,
    FALSE,
    INT,
    TRUE,
    UNLIMITED,
    Arith,
    Assign,
    Bool,
    ChoiceType,
    Compare,
    Const,
    Extreme,
    Free,
    Member,
    Name,
    Node,
    Not,
    Scope,
    Value,
    arrays,
    check_action,
    check_expression,
    check_guard,
    conjunction,
    disjunction,
    encode,
    evaluate,
    fold,
    free,
    may,
    names,
    names_of_action,
    negation,
    parse_action,
    parse_expression,
    parse_guard,
    python,
    render,
    render_action,
    substitute,
)
from unspiral.engine.errors import ExpressionError

COLOURS = ChoiceType(("red", "green", "blue"))
SCOPE: Scope = {"a": INT, "b": INT, "f": BOOL, "g": BOOL, "c": COLOURS, "d": COLOURS}
DOMAINS: Mapping[str, tuple[Value, ...]] = {
    "a": (0, 1, 2),
    "b": (0, 3),
    "f": (False, True),
    "g": (False, True),
    "c": COLOURS.values,
    "d": COLOURS.values,
}
MEMORIES: list[dict[str, Value]] = [
    dict(zip(DOMAINS, values, strict=True))
    for values in itertools.product(*DOMAINS.values())
]
LOCAL = {name: name for name in SCOPE}


def integers(depth: int = 2) -> st.SearchStrategy[Node]:
    leaf = st.integers(-3, 4).map(Const) | st.sampled_from([Name("a"), Name("b")])
    if not depth:
        return leaf
    inner = integers(depth - 1)
    pair = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return (
        leaf
        | st.builds(Arith, st.sampled_from(["+", "-"]), inner, inner)
        | st.builds(Arith, st.just("*"), st.integers(-2, 3).map(Const), inner)
        | st.builds(Extreme, st.sampled_from(["min", "max"]), pair)
    )


def conditions(depth: int = 3) -> st.SearchStrategy[Node]:
    flag = st.sampled_from([Name("f"), Name("g")])
    colour = st.sampled_from([Name("c"), Name("d")])
    word = st.sampled_from(COLOURS.values)
    number = integers()
    order = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
    equal = st.sampled_from(["==", "!="])
    numbers = st.lists(st.integers(-2, 4), min_size=1, max_size=3).map(tuple)
    words = st.lists(word, min_size=1, max_size=2).map(tuple)
    leaf = (
        flag
        | st.booleans().map(Const)
        | st.builds(Compare, order, number, number)
        | st.builds(Compare, equal, colour, word.map(Const) | colour)
        | st.builds(Compare, equal, word.map(Const), colour)
        | st.builds(Member, number, numbers)
        | st.builds(Member, colour, words)
        | st.builds(Member, flag, st.just((True,)))
    )
    if not depth:
        return leaf
    inner = conditions(depth - 1)
    pair = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return (
        leaf
        | st.builds(Not, inner)
        | st.builds(Bool, st.sampled_from(["and", "or"]), pair)
        | st.builds(Compare, equal, inner, inner)
    )


memories = st.sampled_from(MEMORIES)


def meaning(node: Node) -> Callable[[Mapping[str, Value]], object]:
    """Return what Python says of a tree: the meaning that all readers must share."""
    source = f"lambda {', '.join(SCOPE)}: {python(node, LOCAL)}"
    made = eval(source)  # noqa: S307 - a tree of ours
    return lambda memory: made(**memory)


def meant(node: Node, memory: Mapping[str, Value]) -> object:
    return meaning(node)(memory)


# Reading and rendering


@given(tree=conditions() | integers())
def test_a_rendered_tree_reads_back_as_the_same_tree(tree: Node) -> None:
    assert parse_expression(render(tree)) == tree


@given(tree=conditions())
def test_rendering_is_stable_after_folding(tree: Node) -> None:
    text = render(fold(tree))

    assert render(parse_expression(text)) == text
    assert fold(parse_expression(text)) == fold(tree)


@given(trees=st.dictionaries(st.sampled_from("ab"), integers(), max_size=2))
def test_a_rendered_action_reads_back_as_the_same_action(
    trees: dict[str, Node],
) -> None:
    action = tuple(Assign(name, tree) for name, tree in trees.items())

    assert parse_action(render_action(action)) == action
    assert names_of_action(action) <= {"a", "b"}


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


# Types


@given(tree=conditions())
def test_every_condition_is_a_truth_value(tree: Node) -> None:
    assert check_expression(tree, SCOPE) == BOOL
    assert names(tree) <= set(SCOPE)


@given(tree=integers())
def test_every_sum_is_an_integer(tree: Node) -> None:
    assert check_expression(tree, SCOPE) == INT


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


# Meaning


@given(tree=conditions() | integers(), memory=memories)
def test_folding_does_not_change_the_meaning(
    tree: Node, memory: dict[str, Value]
) -> None:
    value = meant(tree, memory)

    assert meant(fold(tree), memory) == value
    assert evaluate(tree, memory) == value
    assert type(evaluate(tree, memory)) is type(value)


@given(tree=conditions(), memory=memories, some=st.sets(st.sampled_from(list(SCOPE))))
def test_substitution_in_parts_gives_the_same_meaning(
    tree: Node, memory: dict[str, Value], some: set[str]
) -> None:
    part = substitute(tree, {name: memory[name] for name in some})

    assert not names(part) & some
    assert meant(part, memory) == meant(tree, memory)


@given(tree=conditions())
def test_folding_twice_is_folding_once(tree: Node) -> None:
    assert fold(fold(tree)) == fold(tree)


@given(trees=st.lists(conditions(2), max_size=3), memory=memories)
def test_joins_and_negation_mean_what_they_say(
    trees: list[Node], memory: dict[str, Value]
) -> None:
    values = [meant(tree, memory) for tree in trees]

    assert meant(conjunction(*trees), memory) == all(values)
    assert meant(disjunction(*trees), memory) == any(values)
    for tree, value in zip(trees, values, strict=True):
        assert meant(negation(tree), memory) is (not value)


def test_a_memory_that_lacks_a_name_is_not_evaluated() -> None:
    with pytest.raises(KeyError):
        evaluate(parse_expression("a < b"), {"a": 1})


@given(tree=conditions(), memory=memories)
def test_unlimited_is_above_every_number(tree: Node, memory: dict[str, Value]) -> None:
    """`b` stands for a limit here: UNLIMITED must mean what a huge number means."""
    folded = substitute(tree, {"b": UNLIMITED})
    # Where UNLIMITED is subtracted or negated the tree cannot be decided: see `table`.
    assume("UNLIMITED" not in render(folded))
    huge = {**memory, "b": 10**6}

    assert not _scaled(tree) or meant(folded, memory) in {True, False}
    if not _scaled(tree):
        assert meant(folded, memory) == meant(tree, huge)


def _scaled(tree: Node) -> bool:
    """Tell whether `b` stands in a sum, where finite numbers and UNLIMITED differ."""
    match tree:
        case Arith() | Extreme():
            return "b" in names(tree)
        case Compare(_, left, right):
            both = "b" in names(left) and "b" in names(right)
            return both or _scaled(left) or _scaled(right)
        case Not(item) | Member(item, _):
            return _scaled(item)
        case Bool(_, items):
            return any(_scaled(item) for item in items)
        case _:
            return False


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("a < cap", "True"),
        ("a >= cap", "False"),
        ("cap > a", "True"),
        ("a == cap", "False"),
        ("cap == UNLIMITED", "True"),
        ("cap != UNLIMITED", "False"),
        ("a in (1, 2) or cap <= a", "a in (1, 2)"),
        ("min(a + 1, cap) < 3", "a + 1 < 3"),
        ("max(a, cap) < 3", "False"),
        ("a + 1 < cap + 2", "True"),
        ("cap - a < 2", "False"),
        ("2 * cap > a", "True"),
        ("0 * cap > a", "0 * UNLIMITED > a|a < 0|0 > a"),
    ],
)
def test_an_unlimited_limit_folds_away(text: str, folded: str) -> None:
    tree = substitute(parse_expression(text), {"cap": UNLIMITED})

    assert render(tree) in folded.split("|")


# Dropped memory


@settings(max_examples=300)
@given(tree=conditions(), dropped=st.sets(st.sampled_from(list(SCOPE)), min_size=1))
def test_what_is_true_for_some_dropped_memory_may_be_true(
    tree: Node, dropped: set[str]
) -> None:
    loose = free(fold(tree), frozenset(dropped))
    conditions_of = {be: may(loose, be=be) for be in (True, False)}

    for condition in conditions_of.values():
        assert not names(condition) & dropped
        assert Free() not in parts(condition)
    value = meaning(tree)
    possible = {be: meaning(condition) for be, condition in conditions_of.items()}
    for memory in MEMORIES:
        assert possible[bool(value(memory))](memory) is True


def parts(tree: Node) -> list[Node]:
    match tree:
        case Compare(_, left, right) | Arith(_, left, right):
            return [tree, *parts(left), *parts(right)]
        case Not(item) | Member(item, _):
            return [tree, *parts(item)]
        case Bool(_, items) | Extreme(_, items):
            return [tree, *(part for item in items for part in parts(item))]
        case _:
            return [tree]


def test_what_reads_no_dropped_memory_stays_as_it_is() -> None:
    tree = parse_expression("a < 2 and (f or b > 1)")

    assert free(tree, frozenset({"g"})) is tree
    assert free(tree, frozenset({"b"})) == Bool(
        "and", (parse_expression("a < 2"), Bool("or", (Name("f"), Free())))
    )
    assert may(free(tree, frozenset({"b"})), be=True) == parse_expression("a < 2")
    assert may(free(tree, frozenset({"b"})), be=False) == parse_expression(
        "a >= 2 or not f"
    )


# Arrays


@settings(max_examples=300)
@given(tree=conditions() | integers())
def test_arrays_mean_what_python_means(tree: Node) -> None:
    encoded = encode(tree, SCOPE)
    columns = {
        name: np.array([_index(memory[name]) for memory in MEMORIES], np.int64)
        for name in SCOPE
    }
    source = arrays(encoded, lambda name: name, frozenset({"f", "g"}))

    meaning_of = meaning(tree)
    found = eval(source, {"xp": np}, columns)  # noqa: S307 - a tree of ours

    wanted = [meaning_of(memory) for memory in MEMORIES]
    assert np.broadcast_to(found, len(MEMORIES)).tolist() == wanted


@settings(max_examples=300)
@given(tree=conditions())
def test_arrays_of_a_folded_tree_mean_the_same(tree: Node) -> None:
    folded = fold(tree)
    assume(names(folded))
    columns = {
        name: np.array([_index(memory[name]) for memory in MEMORIES], np.int64)
        for name in SCOPE
    }
    source = arrays(encode(folded, SCOPE), lambda name: name, frozenset({"f", "g"}))

    meaning_of = meaning(tree)
    found = eval(source, {"xp": np}, columns)  # noqa: S307 - a tree of ours

    wanted = [meaning_of(memory) for memory in MEMORIES]
    assert np.broadcast_to(found, len(MEMORIES)).astype(bool).tolist() == wanted


def _index(value: Value) -> int:
    return COLOURS.values.index(value) if isinstance(value, str) else int(value)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] - no memory is UNLIMITED


@pytest.mark.parametrize("tree", [Const(UNLIMITED), Free(), Const("red")])
def test_what_no_array_holds_is_refused(tree: Node) -> None:
    with pytest.raises(ValueError, match=r"."):
        arrays(tree, lambda name: name, frozenset())


def test_constants_are_what_they_are() -> None:
    assert (python(TRUE, {}), python(FALSE, {})) == ("True", "False")
    assert negation(TRUE) == FALSE
