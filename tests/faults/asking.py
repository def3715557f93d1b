"""Requests for tests of the faults, as they come over the wire."""

import json
from collections.abc import Mapping

from unspiral.engine.faults.acts import Body
from unspiral.engine.faults.journal import MemoryJournal
from unspiral.engine.faults.player import Performance, Player
from unspiral.engine.faults.request import Incoming
from unspiral.engine.faults.schedule import Schedule, Step

HEADERS: Mapping[str, str] = {"x-api-key": "secret", "anthropic-version": "2023-06-01"}
READ: Mapping[str, object] = {
    "name": "read",
    "input_schema": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "line": {"type": "integer"}},
        "required": ["path"],
    },
}


def user(text: str = "Hello") -> dict[str, object]:
    return {"role": "user", "content": text}


def assistant(*blocks: Mapping[str, object]) -> dict[str, object]:
    return {"role": "assistant", "content": list(blocks)}


def called(name: str = "t1") -> dict[str, object]:
    return {"type": "tool_use", "id": name, "name": "read", "input": {}}


def result(name: str = "t1") -> dict[str, object]:
    block = {"type": "tool_result", "tool_use_id": name, "content": "text"}
    return {"role": "user", "content": [block]}


def incoming(
    *messages: Mapping[str, object],
    target: str = "/v1/messages",
    headers: Mapping[str, str] = HEADERS,
    **more: object,
) -> Incoming:
    """Make a request with a tool, unless `tools` says otherwise."""
    body: dict[str, object] = {
        "model": "claude-sonnet-5-5",
        "max_tokens": 1_000,
        "stream": True,
        "messages": list(messages) or [user()],
        "tools": [READ],
    }
    data = json.dumps(body | more).encode()
    return Incoming("POST", target, headers, data, len(data))


class Played:
    """A player whose answers end at once, a second after each other."""

    def __init__(self, *steps: Step, **more: object) -> None:
        schedule = Schedule(steps, **more)  # type: ignore[arg-type]
        self.journal = MemoryJournal()
        self.player = Player(schedule, self.journal, wall=lambda: 1_800_000_000)
        self.now = 0.0

    def ask(self, request: Incoming | None = None) -> Performance:
        performance = self.player.receive(request or incoming(), self.now)
        self.now += 1
        sent = len(body_of(performance))
        self.player.finish(performance, self.now, sent, "kept")
        return performance

    def names(self, *requests: Incoming) -> list[str]:
        """Return the names of what is answered."""
        return [self.ask(each).answer.name for each in requests]


def body_of(performance: Performance) -> bytes:
    acts = performance.answer.acts
    return b"".join(act.data for act in acts if isinstance(act, Body))
