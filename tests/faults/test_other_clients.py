"""Two agents' libraries of other people against the server: are they served, and seen?

Both get one conversation: a tool is called with arguments, two overloads come upon its
result, then the last word. What they sent is taken from the journal.
"""

import asyncio
import importlib
from collections.abc import AsyncIterable, Callable, Sequence
from typing import Any, TypeAlias

import pytest

from unspiral.engine.faults.journal import Answered, Asked
from unspiral.engine.faults.reply import Reply, Text, ToolUse
from unspiral.engine.faults.schedule import Play, Schedule, Step, call, fail, say
from unspiral.engine.faults.serving import ServerThread

Import: TypeAlias = Callable[[str], Any]

MODEL = "claude-sonnet-5-5"
ARGUMENTS = {"path": "notes/a b.txt", "lines": 7}
LOOK = Step(Play(reply=Reply((Text("I will look."), ToolUse("read", ARGUMENTS)))))
CONVERSATION = Schedule((LOOK, fail("overloaded", times=2), say("All is well.")))


@pytest.fixture
def library() -> Import:
    """Import their modules when a test needs them: they take seconds."""
    return importlib.import_module


def exchanges(stopped: ServerThread) -> tuple[list[Asked], list[Answered]]:
    """Return the requests and their answers: a server that was stopped has them all."""
    found = stopped.journal.exchanges
    answers = [each.answered for each in found if each.answered is not None]
    assert len(answers) == len(found)
    return [each.asked for each in found], answers


def test_pydantic_ai_streams_the_conversation(library: Import) -> None:
    ai = library("pydantic_ai")
    models = library("pydantic_ai.models.anthropic")
    providers = library("pydantic_ai.providers.anthropic")
    anthropic = library("anthropic")
    ran: list[dict[str, object]] = []

    def read(path: str, lines: int) -> str:
        ran.append({"path": path, "lines": lines})
        return "the text"

    async def watched(_context: object, events: AsyncIterable[object]) -> None:
        async for _event in events:  # that somebody watches makes it stream
            pass

    async def converse(url: str) -> str:
        async with anthropic.AsyncAnthropic(api_key="no-key", base_url=url) as client:
            provider = providers.AnthropicProvider(anthropic_client=client)
            model = models.AnthropicModel(MODEL, provider=provider)
            agent = ai.Agent(model, tools=[read])
            result = await agent.run("Is all well?", event_stream_handler=watched)
            return str(result.output)

    with ServerThread(CONVERSATION) as server:
        last = asyncio.run(converse(server.url_of("pydantic")))

    assert last == "All is well."
    assert ran == [ARGUMENTS]
    asked, answered = exchanges(server)
    assert {each.run for each in asked} == {"pydantic"}
    assert all(each.stream for each in asked)
    check_requests(asked)
    check_answers(answered)


def test_langchain_waits_for_the_conversation(library: Import) -> None:
    chat = library("langchain_anthropic")
    messages = library("langchain_core.messages")
    tools = library("langchain_core.tools")
    ran: list[dict[str, object]] = []

    def read(path: str, lines: int) -> str:
        """Read a file."""
        ran.append({"path": path, "lines": lines})
        return "the text"

    def converse(url: str) -> str:
        tool = tools.tool(read)
        model = chat.ChatAnthropic(model=MODEL, api_key="no-key", base_url=url)
        model = model.bind_tools([tool])
        history = [messages.HumanMessage("Is all well?")]
        while (reply := model.invoke(history)).tool_calls:
            history += [reply, *(tool.invoke(each) for each in reply.tool_calls)]
        return str(reply.content)

    with ServerThread(CONVERSATION) as server:
        last = converse(server.url_of("langchain"))

    assert last == "All is well."
    assert ran == [ARGUMENTS]
    asked, answered = exchanges(server)
    assert {each.run for each in asked} == {"langchain"}
    assert not any(each.stream for each in asked)
    check_requests(asked)
    check_answers(answered)


def check_requests(asked: Sequence[Asked]) -> None:
    """The result was sent, paired, and again unchanged upon each overload."""
    assert [each.endpoint for each in asked] == ["messages"] * 4
    assert [each.model for each in asked] == [MODEL] * 4
    assert [each.tools for each in asked] == [("read",)] * 4
    assert [each.messages for each in asked] == [1, 3, 3, 3]
    assert [each.results for each in asked] == [0, 1, 0, 0]
    assert [each.same_as for each in asked] == [None, None, 2, 2]
    assert [each.since_progress for each in asked] == [1, 1, 2, 3]
    assert [each.broken for each in asked] == [()] * 4


def check_answers(answered: Sequence[Answered]) -> None:
    """Each answer was taken whole, and nobody hung up."""
    played = [(each.answer, each.status) for each in answered]
    assert played == [
        ("reply", 200),
        ("overloaded", 529),
        ("overloaded", 529),
        ("reply", 200),
    ]
    assert [each.left for each in answered] == ["kept"] * 4


def test_a_client_that_drops_the_result_is_refused_and_noted(library: Import) -> None:
    # So the checks above can fail.
    anthropic = library("anthropic")
    asked_for: dict[str, Any] = {
        "model": MODEL,
        "max_tokens": 100,
        "tools": [{"name": "read", "input_schema": {"type": "object"}}],
    }
    history: list[Any] = [{"role": "user", "content": "Is all well?"}]

    with (
        ServerThread(Schedule((call("read", ARGUMENTS), say("never")))) as server,
        anthropic.Anthropic(api_key="no-key", base_url=server.url) as client,
    ):
        first = client.messages.create(**asked_for, messages=history)
        said = [each.to_dict() for each in first.content]
        history.append({"role": "assistant", "content": said})
        history.append({"role": "user", "content": "And?"})
        with pytest.raises(anthropic.BadRequestError, match="call without result"):
            client.messages.create(**asked_for, messages=history)

    asked, answered = exchanges(server)
    assert [bool(each.broken) for each in asked] == [False, True]
    assert [each.answer for each in answered] == ["reply", "refused"]


def test_a_connection_that_is_kept_does_not_outlive_the_port(library: Import) -> None:
    anthropic = library("anthropic")
    schedule = Schedule((say("One."), fail("connection_refused", seconds=3_600)))
    asked_for: dict[str, Any] = {
        "model": MODEL,
        "max_tokens": 100,
        "tools": [{"name": "read", "input_schema": {"type": "object"}}],
        "messages": [{"role": "user", "content": "Is all well?"}],
    }

    with (
        ServerThread(schedule) as server,
        anthropic.Anthropic(
            api_key="no-key", base_url=server.url, max_retries=0
        ) as client,
    ):
        assert client.messages.create(**asked_for).content[0].text == "One."
        with pytest.raises(anthropic.APIConnectionError):
            client.messages.create(**asked_for)

    asked, _ = exchanges(server)
    assert len(asked) == 1
