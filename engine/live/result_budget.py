"""The first stage of shaping: results of tools that are too large become stubs.

What is too large is kept aside whole, and the model is told where, with its beginning.
Once a result was seen it stays as it was seen, byte for byte, in this process and the
next: a prompt cache lives on that. So there is one decision an id, made once. The only
thing done besides is to keep a text, over a port.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import attrs

from unspiral.engine.errors import BadValue, FileProblem
from unspiral.engine.live.estimate import Sizing, rough
from unspiral.engine.live.message import Block, History, Message, calls_of
from unspiral.engine.live.shaping import Shaped, reshaped, with_results
from unspiral.engine.live.untyped import fields_of, is_text, items_of, text_at

__all__ = ["Decisions", "Keep", "ResultLimits", "budget_results", "preview"]

_PREVIEW = 2_000  # bytes


class Keep(Protocol):
    """Where large results are kept."""

    def keep(self, call: str, text: str, /) -> str:
        """Keep a text under the id of its call, and return its path.

        Only creates. An id that is kept already keeps its text: the path of that is
        returned, always the same. The id is the model's, and is no name of a file.

        Raises:
            FileProblem: it cannot be kept.
        """
        ...


@attrs.frozen
class ResultLimits:
    """How large results may be, in characters.

    Attributes:
        result: one.
        message: all between two answers together.
        by_tool: one of a tool, by its name; None: as large as it likes, and never
            kept aside (what reads files would only be sent to read another).
    """

    result: int = 50_000
    message: int = 200_000
    by_tool: Mapping[str, int | None] = attrs.field(factory=dict[str, int | None])

    def of(self, tool: str) -> float:
        """Return the most for a result of a tool."""
        limit = self.by_tool.get(tool, self.result)
        return float("inf") if limit is None else min(limit, self.result)


@attrs.frozen
class Decisions:
    """What was decided on each result, by the id of its call.

    Attributes:
        stubs: what stands for it from now on.
        frozen: seen whole; never replaced any more.
    """

    stubs: Mapping[str, str] = attrs.field(factory=dict[str, str])
    frozen: frozenset[str] = frozenset()

    def __contains__(self, call: str) -> bool:
        return call in self.stubs or call in self.frozen

    @classmethod
    def restored(cls, stubs: object, history: History) -> "Decisions":
        """Take up decisions that were kept.

        Args:
            stubs: as they were kept.
            history: what the model has seen of it whole is frozen; results that no
                answer follows are decided on again, with the same outcome.

        Raises:
            BadValue: they are none.
        """
        kept = {c: t for c, t in fields_of(stubs).items() if is_text(t)}
        if kept != stubs:
            raise BadValue("decisions on results", repr(stubs), "texts by call")
        answers = (n for n, m in enumerate(history) if m.role == "assistant")
        last = max(answers, default=0)
        seen = (call for call, _ in _texts(history[:last]))
        return cls(kept, frozenset(call for call in seen if call not in kept))


def budget_results(
    view: History,
    decisions: Decisions,
    keep: Keep,
    *,
    limits: ResultLimits | None = None,
    size: Sizing = rough,
) -> tuple[Shaped, Decisions]:
    """Replace results that are too large, and those that were replaced before.

    Of the results between two answers that are too large together, the largest go
    first. What cannot be kept aside is cut all the same, and the model is told.

    Returns:
        "within" or "replaced", and all decisions up to now.
    """
    fresh = _fresh(view, decisions)
    if fresh:
        limits = limits or ResultLimits()
        stubs, frozen = dict(decisions.stubs), set(decisions.frozen)
        for group in fresh:
            large = _too_large(group, decisions, limits)
            for call, text in group.fresh.items():
                stub = _stub(call, text, keep) if call in large else text
                if len(stub) < len(text):
                    stubs[call] = stub
                else:
                    frozen.add(call)
        decisions = Decisions(stubs, frozenset(frozen))
    after = view
    if decisions.stubs:
        after = with_results(view, lambda block: _as_decided(block, decisions))
    return reshaped("within", "replaced", view, after, size), decisions


@attrs.frozen
class _Group:
    """The results between two answers.

    Attributes:
        fresh: text by call, of those on which nothing is decided.
        decided: calls and texts of the others.
        tools: tool by call.
    """

    fresh: dict[str, str]
    decided: dict[str, str]
    tools: dict[str, str]


def _fresh(view: History, decisions: Decisions) -> list[_Group]:
    """Return the groups with something to decide. All before them is decided."""
    found: list[_Group] = []
    for answer, messages in _backwards(view):
        texts = {call: text for call, text in _texts(messages) if text is not None}
        undecided = {c: t for c, t in texts.items() if c not in decisions}
        if texts and not undecided:
            break
        if undecided:
            tools = {str(c.get("id")): str(c.get("name")) for c in calls_of(answer)}
            decided = {c: t for c, t in texts.items() if c in decisions}
            found.append(_Group(undecided, decided, tools))
    return found[::-1]


def _backwards(view: History) -> Iterator[tuple[Message, list[Message]]]:
    """Yield each answer with the messages up to the next one, the last first."""
    after: list[Message] = []
    for message in reversed(view):
        if message.role == "assistant" and message.kind != "error":
            yield message, after[::-1]
            after = []
        else:
            after.append(message)
    yield Message("assistant", (), "answer"), after[::-1]


def _texts(messages: Sequence[Message]) -> Iterator[tuple[str, str | None]]:
    for message in messages:
        for block in message.content:
            if block.get("type") == "tool_result":
                yield str(block.get("tool_use_id")), _text(block)


def _text(block: Block) -> str | None:
    """Return the text of a result; None if there is more in it: media are not cut."""
    content = block.get("content")
    if isinstance(content, str):
        return content
    parts: list[str] = []
    for each in items_of(content) or (None,):
        text = text_at(each, "text")
        if text is None or text_at(each, "type") != "text":
            return None
        parts.append(text)
    return "\n".join(parts)


def _too_large(
    group: _Group, decisions: Decisions, limits: ResultLimits
) -> frozenset[str]:
    """Return the fresh results that have to go."""
    most = {call: limits.of(group.tools.get(call, "")) for call in group.fresh}
    large = {call for call, text in group.fresh.items() if len(text) > most[call]}
    total = sum(len(decisions.stubs.get(c, t)) for c, t in group.decided.items())
    total += sum(
        _PREVIEW if call in large else len(text) for call, text in group.fresh.items()
    )
    by_size = sorted(group.fresh.items(), key=lambda each: -len(each[1]))
    for call, text in by_size:
        if total <= limits.message:
            break
        if call not in large and most[call] < float("inf") and len(text) > _PREVIEW:
            large.add(call)
            total += _PREVIEW - len(text)
    return frozenset(large)


def _stub(call: str, text: str, keep: Keep) -> str:
    try:
        path = keep.keep(call, text)
    except FileProblem:
        where = "It could not be kept; call the tool for less of it to see the rest."
    else:
        where = f"It is kept whole in {path}"
    return (
        f"[This result is too large to show: {len(text)} characters. {where}\n"
        f"It begins:]\n{preview(text)}\n[...]"
    )


def preview(text: str, most: int = _PREVIEW) -> str:
    """Return the beginning of a text, cut after a line if one ends in its second half.

    Args:
        text: of any length.
        most: bytes.
    """
    encoded = text[:most].encode("utf-8", "replace")
    if len(encoded) <= most and len(text) <= most:
        return text
    start = encoded[:most].decode("utf-8", "ignore")
    middle = len(encoded[: most // 2].decode("utf-8", "ignore"))
    line = start.rfind("\n", middle)
    return start if line < 0 else start[:line]


def _as_decided(block: Block, decisions: Decisions) -> Block:
    stub = decisions.stubs.get(str(block.get("tool_use_id")))
    if stub is None or block.get("content") == stub:
        return block
    return {**block, "content": stub}
