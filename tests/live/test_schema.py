"""Inputs are checked by the schema of the tool, and an error says how to call it."""

import asyncio
import contextvars
import threading
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspiral.engine.errors import BadValue
from unspiral.engine.faults.clock import run_virtual
from unspiral.engine.live.ports import ToolOutcome, Tools, ToolSpec
from unspiral.engine.live.tools.problems import ToolProblem
from unspiral.engine.live.tools.registry import MOST, Tool, Toolbox, Traits, tool
from unspiral.engine.live.tools.schema import Checker, usage

READ: Mapping[str, object] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "pattern": "^(a+)+$"},
        "limit": {"type": ["integer", "null"], "minimum": 1},
        "mode": {"enum": ["r", "b"]},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["path"],
    "additionalProperties": False,
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=8,
)


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"path": value}
    return value


# -- one schema ------------------------------------------------------------------------


def test_an_input_that_fits_has_no_problem() -> None:
    checker = Checker("read", READ)

    assert checker.problem({"path": "aa"}) == ""
    assert checker.problem({"path": "a", "limit": None, "mode": "b", "tags": []}) == ""


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ({}, '"path" is a required property'),
        ({"path": 3}, 'path: 3 is not of type "string"'),
        ({"path": "b"}, "path:"),
        ({"path": "a", "limit": 0}, "limit: 0 is less than the minimum of 1"),
        ({"path": "a", "limit": "2"}, "limit:"),
        ({"path": "a", "mode": "w"}, "mode:"),
        ({"path": "a", "tags": ["x", 1]}, "tags.1:"),
        ({"path": "a", "limits": 1}, "did you mean 'limit'"),
        ({"path": "a" * 50_000 + "!"}, "path:"),
        (nested(101), "more than 100 levels"),
        (nested(100_000), "more than 100 levels"),
        ({"path": "\ud800"}, "no JSON"),
        ({"path": object()}, "no JSON"),
        ({3: "x"}, "no JSON"),
    ],
)
def test_a_problem_is_told_with_its_place_and_how_to_call_the_tool(
    given_: dict[str, Any], said: str
) -> None:
    problem = Checker("read", READ).problem(given_)

    assert said in problem
    assert problem.endswith(
        'Call it as read(path: string, limit?: integer | null, mode?: ["r", "b"], '
        "tags?: array)"
    )
    assert len(problem) < 3_000
    problem.encode("utf-8")


@given(st.dictionaries(st.text(st.characters()), JSON))
def test_no_input_makes_it_raise_and_every_problem_can_be_sent(
    given_: dict[str, Any],
) -> None:
    problem = Checker("read", READ).problem(given_)

    problem.encode("utf-8")
    assert problem != "" or "path" in given_


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "string"},
        {"type": "object", "properties": {"a": {"type": "text"}}},
        {"type": "object", "properties": {"a": {"pattern": "("}}},
        {"type": "object", "$ref": "http://127.0.0.1:9/schema"},
        {"type": "object", "$ref": "file:///etc/hostname"},
        {"type": "object", "$ref": "#/nowhere"},
    ],
)
def test_what_is_no_schema_that_can_be_used_is_refused(
    schema: Mapping[str, object],
) -> None:
    with pytest.raises(BadValue, match="schema of tool 'x'"):
        Checker("x", schema)


def test_how_a_tool_is_called_is_told_of_any_schema() -> None:
    odd: dict[str, object] = {"properties": {"a": True, "b": {}}, "required": "a"}

    assert usage("f", odd) == "f(a?: any, b?: any)"
    assert usage("f", {"properties": 3}) == "f()"


# -- a toolbox -------------------------------------------------------------------------

INTEGER = {"type": "integer"}


@tool({"properties": {"a": INTEGER, "b": INTEGER}, "required": ["a"]}, safe=True)
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


def run(each: Tool, given_: Mapping[str, object] | None = None) -> ToolOutcome:
    return asyncio.run(Toolbox([each]).run(each.spec.name, given_ or {}))


def made(function: Any, **more: Any) -> Tool:
    return tool({"properties": {}}, name="f", **more)(function)


def test_a_function_with_a_schema_is_a_tool() -> None:
    box: Tools = Toolbox([add])

    assert box.specs[0].name == "add"
    assert box.specs[0].description == "Add two numbers."
    assert box.specs[0].schema["additionalProperties"] is False
    assert run(add, {"a": 1}) == ToolOutcome("2")
    assert run(add, {"a": "1"}).error
    assert "did you mean 'b'" in run(add, {"a": 1, "bb": 2}).text


def test_a_function_may_be_async_or_plain_and_return_what_has_a_form() -> None:
    async def waits() -> str:
        await asyncio.sleep(1_000)
        return "x"

    class Called:
        async def __call__(self) -> ToolOutcome:
            return ToolOutcome("y", error=True, stop="end")

    assert run_virtual(Toolbox([made(waits)]).run("f", {})).text == "x"
    assert run(made(Called())) == ToolOutcome("y", error=True, stop="end")
    assert run(made(lambda: None)) == ToolOutcome("")
    assert run(made(lambda: {"a": ["\u00e9"]})).text == '{"a": ["\u00e9"]}'
    assert "which is no JSON" in run(made(object)).text


def test_a_plain_function_may_return_what_is_to_be_awaited() -> None:
    async def later() -> str:
        return "z"

    def begins() -> Any:
        return later()

    assert run(made(begins)).text == "z"


def test_a_plain_function_holds_up_nobody_and_sees_the_context() -> None:
    here: contextvars.ContextVar[str] = contextvars.ContextVar("here")
    go_on = threading.Event()

    def waits() -> str:
        go_on.wait()
        return here.get()

    async def main() -> str:
        here.set("there")
        task = asyncio.create_task(Toolbox([made(waits)]).run("f", {}))
        await asyncio.sleep(0)
        go_on.set()
        return (await task).text

    assert asyncio.run(main()) == "there"


class OddError(Exception):
    def __str__(self) -> str:
        raise ValueError


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("no"), "ValueError: no"),
        (ToolProblem("do this instead"), "do this instead"),
        (SystemExit(3), "SystemExit: 3"),
        (OddError(), "OddError: (its text cannot be had)"),
        (RuntimeError("\ud800"), "RuntimeError: ?"),
        (StopIteration("x"), "StopIteration"),
    ],
)
def test_whatever_a_tool_raises_is_a_result(error: BaseException, said: str) -> None:
    async def fails() -> None:
        raise error

    def plainly_fails() -> None:
        raise error

    for each in (fails, plainly_fails):
        outcome = run(made(each))
        assert outcome.error
        assert said in outcome.text


def test_a_result_is_bounded_and_can_be_sent() -> None:
    assert len(run(made(lambda: "x" * 3_000_000)).text) < MOST + 100
    assert run(made(lambda: "a\ud800b")).text == "a?b"


def test_a_tool_cannot_change_the_input_that_it_is_given() -> None:
    def takes(a: list[int]) -> str:
        a.append(2)
        return "x"

    given_ = {"a": [1]}
    run(
        tool({"properties": {"a": {"type": "array"}}, "required": ["a"]})(takes), given_
    )

    assert given_ == {"a": [1]}


def one(a: int = 1) -> int:
    return a


def two(a: int, b: int) -> int:
    return a + b


def unnamed(a: int, /) -> int:
    return a


def nothing() -> None:
    return None


def anything(**given_: object) -> int:
    return len(given_)


def test_a_call_is_safe_only_if_that_is_sure() -> None:
    def odd(given_: Mapping[str, object]) -> bool:
        return given_["a"] == 1

    def raises(_: Mapping[str, object]) -> bool:
        raise ValueError

    box = Toolbox(
        [
            add,
            made(lambda: 1, safe=raises),
            tool({"properties": {"a": INTEGER}}, name="g", safe=odd)(one),
            tool({}, name="h", safe=lambda _: "yes")(lambda: 1),  # type: ignore[arg-type,return-value]  # pyright: ignore[reportArgumentType] - that is the point
            tool({}, name="i")(lambda: 1),
        ]
    )

    assert box.safe("add", {"a": 1})
    assert box.safe("g", {"a": 1})
    assert not box.safe("add", {"a": "1"})
    assert not box.safe("g", {"a": 2})
    assert not box.safe("g", {})
    assert not any(box.safe(name, {}) for name in ("f", "h", "i", "unknown"))


def test_a_tool_that_is_not_there_is_told_with_the_nearest_name() -> None:
    box = Toolbox([add])

    assert "did you mean 'add'" in box.problem("Add", {})
    assert "known: add" in asyncio.run(box.run("rm", {})).text
    assert box.traits("rm") == Traits()
    assert len(box.problem("x" * 1_000_000, {})) < 1_000
    box.problem("\ud800", {}).encode("utf-8")


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "\u00e9", "a.b", "a\n"])
def test_a_name_that_the_api_does_not_take_is_refused(name: str) -> None:
    with pytest.raises(BadValue, match="name of a tool"):
        Toolbox([Tool(ToolSpec(name, "", {"type": "object"}), lambda: 1)])


def test_a_name_is_taken_once() -> None:
    with pytest.raises(BadValue, match="not taken"):
        Toolbox([add, add])


@pytest.mark.parametrize(
    ("function", "schema"),
    [
        (two, {"properties": {"a": INTEGER}}),
        (nothing, {"properties": {"a": INTEGER}}),
        (two, {"properties": {"a": INTEGER}, "required": ["a"]}),
        (unnamed, {"properties": {"a": INTEGER}, "required": ["a"]}),
    ],
)
def test_a_function_that_cannot_take_what_its_schema_lets_through_is_refused(
    function: Any, schema: Mapping[str, object]
) -> None:
    with pytest.raises(BadValue, match="schema of tool 'f'"):
        Toolbox([tool(schema, name="f")(function)])
    Toolbox([tool(schema, name="f")(anything)])
