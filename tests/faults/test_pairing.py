"""Broken pairs of calls and results: planted ones are found, good ones are not."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspiral.engine.faults.pairing import MOST, Pairing, find_breaks

Message = dict[str, Any]
History = list[Message]

TEXT: Message = {"type": "text", "text": "so"}
SERVER: list[Message] = [
    {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}},
    {"type": "web_search_tool_result", "tool_use_id": "srv", "content": []},
]


def use(name: object) -> Message:
    return {"type": "tool_use", "id": name, "name": "read", "input": {}}


def result(name: object) -> Message:
    return {"type": "tool_result", "tool_use_id": name, "content": "text"}


def user(*blocks: object) -> Message:
    return {"role": "user", "content": [*blocks]}


def model(*blocks: object) -> Message:
    return {"role": "assistant", "content": list(blocks)}


HELLO = {"role": "user", "content": "Hello"}


def told(*messages: Message) -> list[tuple[str, int, str]]:
    return [(each.fault, each.message, each.id) for each in find_breaks(messages)]


@pytest.mark.parametrize(
    ("messages", "breaks"),
    [
        ([HELLO, model(use("a")), HELLO], [("call_without_result", 1, "a")]),
        ([user(result("a"))], [("result_without_call", 0, "a")]),
        (
            [model(use("a"), use("a")), user(result("a"))],
            [("duplicate_call", 0, "a")],
        ),
        (
            [model(use("a")), user(result("a")), model(use("a")), user(result("a"))],
            [("duplicate_call", 2, "a")],
        ),
        (
            [model(use("a")), user(result("a"), result("a"))],
            [("duplicate_result", 1, "a")],
        ),
        ([model(use("a")), user(TEXT, result("a"))], [("result_not_first", 1, "a")]),
        (
            [model(use("a")), HELLO, user(result("a"))],
            [("result_not_first", 2, "a")],
        ),
        ([user(use("a"))], [("misplaced_call", 0, "a")]),
        (
            [model(use("a"), result("a")), HELLO],
            [("call_without_result", 0, "a"), ("misplaced_result", 0, "a")],
        ),
        (
            [model(use("a")), HELLO, model(TEXT), user(result("a"))],
            [("call_without_result", 0, "a"), ("misplaced_result", 3, "a")],
        ),
        (
            [{"role": "system", "content": [use("a"), result("b")]}],
            [("misplaced_call", 0, "a"), ("misplaced_result", 0, "b")],
        ),
    ],
)
def test_each_kind_of_break_is_told_with_its_place(
    messages: History, breaks: list[tuple[str, int, str]]
) -> None:
    assert told(*messages) == breaks


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [HELLO, model(TEXT)],
        [HELLO, model(use("a"))],
        [HELLO, model(use("a"), *SERVER), user(result("a"))],
        [model(use("a"), use("b")), user(result("b"), result("a"), TEXT)],
        [model(use("a"), use("b")), user(result("a")), user(result("b"), TEXT)],
        [model(use("a")), user(), user(result("a")), HELLO],
        [model(use("a")), model(TEXT, use("b")), user(result("a"), result("b"))],
    ],
)
def test_what_the_api_takes_is_no_break(messages: History) -> None:
    assert told(*messages) == []


@pytest.mark.parametrize("name", [None, 7, [], {}, "", 1.5, True])
def test_an_id_that_is_no_text_pairs_with_nothing(name: object) -> None:
    assert told(model(use(name)), user(result(name))) == [
        ("call_without_result", 0, ""),
        ("result_without_call", 1, ""),
    ]


def test_a_history_that_is_all_wrong_is_told_within_limits() -> None:
    messages = [user(*[result("x" * 1_000)] * 5_000)]

    breaks = find_breaks(messages)

    assert len(breaks) == MOST
    assert {len(each.id) for each in breaks} == {200}


def test_a_break_reads_as_a_sentence_of_the_api() -> None:
    pairing = Pairing("call_without_result", 3, "toolu_1")

    assert str(pairing) == "messages.3: call without result 'toolu_1'"


# Good histories, and what is planted in them.

ROUND = st.tuples(
    st.integers(1, 3),  # calls
    st.booleans(),  # a text before the calls
    st.booleans(),  # a text after the results
    st.booleans(),  # the results in messages of their own
    st.booleans(),  # results in the order of the calls, or turned round
)


@st.composite
def histories(draw: st.DrawFn, least: int = 2) -> History:
    """Draw a history that the API takes, with at least two rounds of calls."""
    messages: History = [dict(HELLO)]
    rounds = draw(st.lists(ROUND, min_size=least, max_size=6))
    for number, (calls, before, after, split, turned) in enumerate(rounds):
        names = [f"t{number}.{each}" for each in range(calls)]
        messages.append(model(*[TEXT] * before, *map(use, names)))
        names = names[::-1] if turned else names
        if split:
            messages += [user(result(name)) for name in names]
        else:
            messages.append(user(*map(result, names)))
        if after:
            messages[-1]["content"].append(TEXT)
        if draw(st.booleans()):
            messages += [model(*SERVER, TEXT), dict(HELLO)]
    return messages


Place = tuple[int, int]  # of a message, and of a block in it


def blocks_of(history: History, kind: str) -> list[Place]:
    return [
        (at, index)
        for at, message in enumerate(history)
        for index, block in enumerate(as_list(message["content"]))
        if block["type"] == kind
    ]


def name_at(history: History, place: Place) -> str:
    block = history[place[0]]["content"][place[1]]
    name: str = block.get("id") or block.get("tool_use_id")
    return name


def call_of(history: History, name: str) -> int:
    return next(
        at
        for at, index in blocks_of(history, "tool_use")
        if name_at(history, (at, index)) == name
    )


@given(histories(least=0))
def test_a_good_history_has_no_break(history: History) -> None:
    assert find_breaks(history) == []


@given(st.data(), histories())
def test_a_result_that_is_taken_away_leaves_its_call_alone(
    data: st.DataObject, history: History
) -> None:
    at, index = data.draw(st.sampled_from(blocks_of(history, "tool_result")))
    name = name_at(history, (at, index))
    del history[at]["content"][index]

    assert told(*history) == [("call_without_result", call_of(history, name), name)]


@given(st.data(), histories())
def test_a_call_that_is_taken_away_leaves_its_result_alone(
    data: st.DataObject, history: History
) -> None:
    at, index = data.draw(st.sampled_from(blocks_of(history, "tool_use")))
    name = name_at(history, (at, index))
    place = next(
        where
        for where, block in blocks_of(history, "tool_result")
        if name_at(history, (where, block)) == name
    )
    history[at]["content"][index] = TEXT

    assert told(*history) == [("result_without_call", place, name)]


@given(st.data(), histories())
def test_a_call_said_twice_in_a_message_is_found(
    data: st.DataObject, history: History
) -> None:
    at, index = data.draw(st.sampled_from(blocks_of(history, "tool_use")))
    name = name_at(history, (at, index))
    history[at]["content"].append(use(name))

    assert told(*history) == [("duplicate_call", at, name)]


@given(st.data(), histories())
def test_an_id_that_a_later_round_uses_again_is_found(
    data: st.DataObject, history: History
) -> None:
    later = [
        place
        for place in blocks_of(history, "tool_use")
        if not name_at(history, place).startswith("t0.")
    ]
    at, index = data.draw(st.sampled_from(later))
    old = name_at(history, (at, index))
    for where, block in blocks_of(history, "tool_result"):
        if name_at(history, (where, block)) == old:
            history[where]["content"][block] = result("t0.0")
    history[at]["content"][index] = use("t0.0")

    assert told(*history) == [("duplicate_call", at, "t0.0")]


@given(st.data(), histories())
def test_a_result_given_twice_is_found(data: st.DataObject, history: History) -> None:
    at, index = data.draw(st.sampled_from(blocks_of(history, "tool_result")))
    name = name_at(history, (at, index))
    history[at]["content"].insert(index, result(name))

    assert told(*history) == [("duplicate_result", at, name)]


@given(st.data(), histories())
def test_a_result_given_again_in_a_later_round_is_found(
    data: st.DataObject, history: History
) -> None:
    later = [
        place
        for place in blocks_of(history, "tool_result")
        if not name_at(history, place).startswith("t0.")
    ]
    at, index = data.draw(st.sampled_from(later))
    history[at]["content"].insert(index, result("t0.0"))

    assert told(*history) == [("duplicate_result", at, "t0.0")]


@given(st.data(), histories())
def test_a_text_before_a_result_is_found(data: st.DataObject, history: History) -> None:
    at, index = data.draw(st.sampled_from(blocks_of(history, "tool_result")))
    history[at]["content"].insert(index, TEXT)
    late: list[tuple[str, int, str]] = []
    for where in range(at, len(history)):
        if history[where]["role"] != "user":
            break
        content = history[where]["content"]
        late += [
            ("result_not_first", where, name_at(history, (where, number)))
            for number, block in enumerate(as_list(content))
            if is_result(block)
            if where > at or number > index
        ]

    assert told(*history) == late


@given(st.data(), histories())
def test_a_call_of_the_user_is_found(data: st.DataObject, history: History) -> None:
    ends = [
        at
        for at, message in enumerate(history)
        if message["role"] == "user" and isinstance(message["content"], list)
        if at + 1 == len(history) or history[at + 1]["role"] != "user"
    ]
    at = data.draw(st.sampled_from(ends))
    history[at]["content"].append(use("new"))

    assert told(*history) == [("misplaced_call", at, "new")]


@given(st.data(), histories())
def test_a_result_in_the_message_of_its_call_is_found_and_missed_in_the_next(
    data: st.DataObject, history: History
) -> None:
    at, index = data.draw(st.sampled_from(blocks_of(history, "tool_result")))
    name = name_at(history, (at, index))
    call = call_of(history, name)
    del history[at]["content"][index]
    history[call]["content"].append(result(name))

    assert told(*history) == [
        ("call_without_result", call, name),
        ("misplaced_result", call, name),
    ]


@given(st.data(), histories())
def test_a_result_one_message_too_late_is_found_and_missed_where_it_should_be(
    data: st.DataObject, history: History
) -> None:
    early = [
        place
        for place in blocks_of(history, "tool_result")
        if any(message["role"] != "user" for message in history[place[0] :])
    ]
    at, index = data.draw(st.sampled_from(early))
    name = name_at(history, (at, index))
    del history[at]["content"][index]
    answer = next(
        where for where in range(at, len(history)) if history[where]["role"] != "user"
    )
    target = history[answer + 1]
    if isinstance(target["content"], str):
        target["content"] = [TEXT]
    target["content"].insert(0, result(name))

    assert told(*history) == [
        ("call_without_result", call_of(history, name), name),
        ("misplaced_result", answer + 1, name),
    ]


@given(st.data(), histories())
def test_results_swapped_between_rounds_are_four_breaks(
    data: st.DataObject, history: History
) -> None:
    places = blocks_of(history, "tool_result")
    first = data.draw(st.sampled_from([p for p in places if is_of(history, p, "t0.")]))
    second = data.draw(st.sampled_from([p for p in places if is_of(history, p, "t1.")]))
    one, two = name_at(history, first), name_at(history, second)
    history[first[0]]["content"][first[1]] = result(two)
    history[second[0]]["content"][second[1]] = result(one)

    assert told(*history) == [
        ("call_without_result", call_of(history, one), one),
        ("result_without_call", first[0], two),
        ("call_without_result", call_of(history, two), two),
        ("misplaced_result", second[0], one),
    ]


def is_of(history: History, place: Place, prefix: str) -> bool:
    return name_at(history, place).startswith(prefix)


# A second opinion: the same rule told once more, slowly, over any soup of blocks.


def is_broken(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether the rule is broken, straight from its words."""
    turns: list[tuple[Any, list[Any]]] = []
    for message in messages:
        content = message.get("content")
        blocks = [TEXT] if isinstance(content, str) else as_list(content)
        role = message.get("role")
        role = role if role in ("user", "assistant") else None
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks)
        else:
            turns.append((role, list(blocks)))
    every = [name for _, blocks in turns for name in ids(blocks, "tool_use", "id")]
    if any(count > 1 for count in Counter(map(repr, every)).values()):
        return True
    return any(
        turn_is_broken(turns, number, role, blocks)
        for number, (role, blocks) in enumerate(turns)
    )


def turn_is_broken(
    turns: list[tuple[Any, list[Any]]], number: int, role: object, blocks: list[Any]
) -> bool:
    calls = ids(blocks, "tool_use", "id")
    results = ids(blocks, "tool_result", "tool_use_id")
    nobody: tuple[Any, list[Any]] = (None, [])
    before = turns[number - 1] if number else nobody
    asked = ids(before[1], "tool_use", "id") if before[0] == "assistant" else []
    leading = 0
    while leading < len(blocks) and is_result(blocks[leading]):
        leading += 1
    return any(
        (
            any(not (isinstance(name, str) and name) for name in calls + results),
            bool(calls) and role != "assistant",
            bool(results) and role != "user",
            sorted(map(repr, results)) != sorted(map(repr, asked)),
            len(results) != leading,
        )
    )


def is_result(block: object) -> bool:
    return as_object(block).get("type") == "tool_result"


def ids(blocks: list[Any], kind: str, key: str) -> list[Any]:
    objects = map(as_object, blocks)
    return [block.get(key) for block in objects if block.get("type") == kind]


def as_list(value: object) -> list[Any]:
    return cast("list[object]", value) if isinstance(value, list) else []


def as_object(value: object) -> Message:
    return cast("Message", value) if isinstance(value, dict) else {}


NAMES = st.sampled_from(["a", "a", "b", "c"]) | st.sampled_from([None, "", 3])
SIMPLE = st.sampled_from(["a", "b", "c"])
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner),
    max_leaves=3,
)


def soups(
    names: st.SearchStrategy[Any], *, junk: bool = False
) -> st.SearchStrategy[History]:
    block: st.SearchStrategy[Any] = (
        st.builds(use, names) | st.builds(result, names) | st.just(TEXT)
    )
    roles: st.SearchStrategy[Any] = st.sampled_from(["user", "assistant"])
    content: st.SearchStrategy[Any] = st.lists(block, max_size=3)
    if junk:
        block |= ANY | st.just({"type": ["tool_use"]})
        content = st.lists(block, max_size=3) | ANY
        roles |= ANY
    message = st.fixed_dictionaries({}, optional={"role": roles, "content": content})
    return st.lists(message, max_size=6)


def test_a_slow_reading_of_the_rule_agrees() -> None:
    seen: set[bool] = set()

    @given(soups(SIMPLE))
    def agrees(history: History) -> None:
        broken = is_broken(history)
        seen.add(broken)
        assert bool(find_breaks(history)) is broken

    agrees()
    assert seen == {False, True}


@given(soups(NAMES, junk=True))
def test_a_slow_reading_of_the_rule_agrees_on_rubbish(history: History) -> None:
    assert bool(find_breaks(history)) is is_broken(history)
