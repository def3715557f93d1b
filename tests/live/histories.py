"""Histories for tests: by hand, and as strategies. All are as the loop leaves them."""

from collections.abc import Callable, Mapping, Sequence

from hypothesis import strategies as st

from unspiral.engine.core.language import Value
from unspiral.engine.live.events import LiveEvent
from unspiral.engine.live.message import (
    Block,
    History,
    Message,
    results_message,
    tool_result,
    user_text,
)
from unspiral.engine.live.state import Here, State, Workspace

LIMITS: Mapping[str, Value] = {
    "history_snip": True,
    "microcompact_on": True,
    "context_collapse": True,
    "history_groups": 6,
    "max_compact_retries": 3,
}


def call(id_: str, name: str = "read", **given: object) -> Block:
    return {"type": "tool_use", "id": id_, "name": name, "input": given}


def answer(*blocks: Block | str, id_: str = "", tokens: int = 0) -> Message:
    content = tuple(
        {"type": "text", "text": each} if isinstance(each, str) else each
        for each in blocks
    )
    return Message("assistant", content, "answer", id_, tokens)


def turn(number: int, text: str = "x", name: str = "read", tokens: int = 0) -> History:
    """One round: an answer with a call, and its result."""
    each = call(f"c{number}", name, path=f"src/file{number}.py")
    return (
        answer(each, id_=f"a{number}", tokens=tokens),
        results_message([tool_result(f"c{number}", text)]),
    )


def talk(turns: int, text: str = "x", name: str = "read") -> History:
    """A prompt and some rounds."""
    rounds = [message for n in range(turns) for message in turn(n, text, name)]
    return (user_text("Mend the parser."), *rounds)


def here(
    history: History,
    memory: Mapping[str, Value] | None = None,
    limits: Mapping[str, Value] | None = None,
    tell: Callable[[LiveEvent], None] = lambda _: None,
) -> Here:
    work = Workspace(history, history, 0)
    return Here(
        "any", State(history), work, memory or {}, {**LIMITS, **(limits or {})}, tell
    )


def pairs(history: Sequence[Message]) -> list[str]:
    """Return what is wrong with the pairs of calls and results."""
    wrong: list[str] = []
    waiting: list[str] = []
    for message in history:
        for block in message.content:
            if block.get("type") == "tool_result":
                id_ = str(block.get("tool_use_id"))
                if id_ in waiting:
                    waiting.remove(id_)
                else:
                    wrong.append(f"{id_} answers nothing")
        if message.role == "assistant" and message.kind != "error":
            wrong += [f"{each} has no result" for each in waiting]
            waiting = [
                str(block.get("id"))
                for block in message.content
                if block.get("type") == "tool_use"
            ]
    return wrong + [f"{each} has no result" for each in waiting]


# -- strategies ------------------------------------------------------------------------

NAMES = ("read", "bash", "grep", "edit", "ask_somebody")


@st.composite
def texts(draw: st.DrawFn) -> str:
    if draw(st.booleans()):
        return draw(st.text(max_size=30))
    return (draw(st.text(max_size=20)) + "\n") * draw(st.integers(1, 300))


TEXTS = texts()
IMAGE: Block = {"type": "image", "source": {"type": "base64", "data": "AA=="}}
THINKING: Block = {"type": "thinking", "thinking": "hm", "signature": "s1gn3d"}


@st.composite
def histories(draw: st.DrawFn, *, measured: bool = False) -> History:
    """Prompts, answers with and without calls, results together and apart, notes."""
    history: list[Message] = []
    if draw(st.booleans()):
        history.append(user_text(draw(TEXTS), "summary", "summary:1"))
    for n in range(draw(st.integers(0, 14))):
        kind = draw(st.sampled_from(["prompt", "tools", "tools", "tools", "text"]))
        if kind == "prompt" or not history:
            history.append(user_text(draw(TEXTS), "prompt", f"p{n}"))
        tokens = (
            draw(st.integers(1, 300_000)) if measured and draw(st.booleans()) else 0
        )
        if kind == "text":
            history.append(answer(draw(TEXTS), id_=f"a{n}", tokens=tokens))
            history.append(user_text(draw(TEXTS), "note"))
        if kind == "tools":
            history += draw(rounds(n, tokens))
    return tuple(history)


@st.composite
def rounds(draw: st.DrawFn, n: int, tokens: int) -> list[Message]:
    count = draw(st.integers(1, 4))
    calls = [
        call(f"c{n}.{k}", draw(st.sampled_from(NAMES)), path=draw(st.text(max_size=9)))
        for k in range(count)
    ]
    thinking = [THINKING] if draw(st.booleans()) else []
    results = [draw(results_of(f"c{n}.{k}")) for k in range(count)]
    id_ = f"a{n}" if draw(st.booleans()) else ""
    messages = [answer(*thinking, draw(TEXTS), *calls, id_=id_, tokens=tokens)]
    cut = draw(st.integers(0, count))
    messages += [
        results_message(part) for part in (results[:cut], results[cut:]) if part
    ]
    if draw(st.booleans()):
        messages.append(user_text("Look at the tests as well.", "note"))
    return messages


@st.composite
def results_of(draw: st.DrawFn, id_: str) -> Block:
    if draw(st.integers(0, 5)) == 0:
        text: Block = {"type": "text", "text": draw(TEXTS)}
        content = [text, IMAGE] if draw(st.booleans()) else [text]
        return {"type": "tool_result", "tool_use_id": id_, "content": content}
    return tool_result(id_, draw(TEXTS), error=draw(st.booleans()))
