"""The language: what is written is what is meant, by every reader of a tree."""

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
    check_expression,
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
    python,
    render,
    render_action,
    substitute,
)

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


# Types


@given(tree=conditions())
def test_every_condition_is_a_truth_value(tree: Node) -> None:
    assert check_expression(tree, SCOPE) == BOOL
    assert names(tree) <= set(SCOPE)


@given(tree=integers())
def test_every_sum_is_an_integer(tree: Node) -> None:
    assert check_expression(tree, SCOPE) == INT


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
