"""Where one run stands: its place in the schedule, and what it has sent so far.

Runs share a server and know nothing of each other; each draws its own random faults.
"""

import hashlib
import itertools
import random
from collections.abc import Iterable, Mapping
from typing import cast

import attrs

from unspiral.engine.faults.journal import Asked
from unspiral.engine.faults.pairing import find_breaks
from unspiral.engine.faults.request import Request
from unspiral.engine.faults.schedule import Play, Schedule, Seen

__all__ = ["Choice", "Run"]

_LETTERS = {
    "text": "t",
    "thinking": "k",
    "redacted_thinking": "k",
    "tool_use": "u",
    "tool_result": "r",
    "image": "i",
    "document": "d",
    "compaction": "c",
}
_SHAPE = 400  # characters of a shape: a history of a thousand turns is told by its end
_TOOLS = 200  # names of tools that a journal holds of one request
_REMEMBERED = 100_000  # bodies and results a run is remembered by


@attrs.frozen
class Choice:
    """What is answered, and what chose it."""

    play: Play
    why: str


class Run:
    """One client's way through a schedule."""

    def __init__(self, name: str, schedule: Schedule) -> None:
        self.name = name
        self.schedule = schedule
        self.draws = random.Random(f"{schedule.seed}/{name}")  # noqa: S311 - no secret
        self.step = 0  #: index of the current step
        self.taken = 0  #: requests that it has answered
        self.used = [0] * len(schedule.rules)
        self.asked = dict.fromkeys(("messages", "count_tokens", "models", "unknown"), 0)
        self.requests = 0
        self.since_progress = 0
        self.results: set[bytes] = set()  # digests: an id may be very long
        self.users = 0  # texts of the user, of the request before
        self.last: tuple[str, ...] = ()
        self.bodies: dict[str, int] = {}

    def note(self, request: Request, n: int, t: float) -> Asked:
        """Take a request into the run, and say what is worth a journal."""
        results = _results(request.messages) - self.results
        body = f"{request.endpoint} {request.hash}" if request.hash else ""
        same = self.bodies.get(body)
        side = self._is_side(request)
        self.asked[request.endpoint] += 1
        self.requests += 1
        if request.endpoint == "messages":
            self._progress(request, results, side=side)
        if body and len(self.bodies) < _REMEMBERED:
            self.bodies.setdefault(body, n)
        kept = _shared(self.last, request.hashes)
        if request.endpoint == "messages" and not side:
            self.last = request.hashes
        return Asked(
            n=n,
            run=self.name,
            t=t,
            endpoint=request.endpoint,
            path=request.path,
            side=side,
            version=request.version,
            beta=request.beta,
            key=request.key,
            model=request.model,
            stream=request.stream,
            max_tokens=request.max_tokens,
            messages=len(request.messages),
            shape=_shape(request.messages),
            tools=request.tools[:_TOOLS],
            size=request.size,
            tokens=request.tokens,
            hash=request.hash,
            same_as=same,
            kept=kept,
            results=len(results),
            since_progress=max(1, self.since_progress),
            broken=tuple(find_breaks(request.messages)),
        )

    def _is_side(self, request: Request) -> bool:
        """Tell whether it is answered apart; a body that cannot be read is not."""
        apart = self.schedule.side is not None and request.problem is None
        return apart and request.endpoint == "messages" and not request.tools

    def choose(self, asked: Asked, request: Request) -> Choice | None:
        """Choose the answer; None if the endpoint answers by itself."""
        seen = self._seen(asked, request)
        if found := self._by_rule(seen):
            return found
        if asked.endpoint != "messages":
            return None
        if asked.side and self.schedule.side is not None:
            return Choice(self.schedule.side, "side")
        return self._by_rate() or self._by_step()

    def outage(self) -> Play | None:
        """Return the step that closes the port, if that is the current one."""
        steps = self.schedule.steps
        if self.step < len(steps) and steps[self.step].play.outage:
            return steps[self.step].play
        return None

    def pass_outage(self) -> None:
        """Count one closing of the port."""
        self._advance()

    def pass_outages(self) -> float:
        """Pass all steps that close the port; return for how long they all do, or 0."""
        seconds = 0.0
        while (play := self.outage()) is not None:
            times = self.schedule.steps[self.step].times or 1
            seconds += (times - self.taken) * play.outage
            self.step += 1
            self.taken = 0
        return seconds

    def _progress(self, request: Request, results: set[bytes], *, side: bool) -> None:
        users = self.users if side else sum(1 for _ in _words(request.messages))
        new = bool(results) or users > self.users
        self.users = users
        room = max(_REMEMBERED - len(self.results), 0)
        self.results.update(itertools.islice(results, room))
        self.since_progress = 1 if new else self.since_progress + (not side)

    def _seen(self, asked: Asked, request: Request) -> Seen:
        last = request.messages[-1:]
        return Seen(
            endpoint=asked.endpoint,
            model=asked.model,
            tools=asked.tools,
            stream=asked.stream,
            tokens=asked.tokens,
            messages=asked.messages,
            text="\n".join(_texts(last)),
            nth=self.asked[request.endpoint],
            since_progress=asked.since_progress,
            repeated=asked.same_as is not None,
            side=asked.side,
        )

    def _by_rule(self, seen: Seen) -> Choice | None:
        for number, rule in enumerate(self.schedule.rules):
            if not rule.when.matches(seen):
                continue
            used = self.used[number]
            if rule.times is None or used < rule.times:
                self.used[number] += 1
                of = f" ({used + 1} of {rule.times:,})" if rule.times else ""
                return Choice(rule.play, f"rule {number + 1}{of}")
            if rule.then is not None:
                return Choice(rule.then, f"rule {number + 1}, then")
        return None

    def _by_rate(self) -> Choice | None:
        if not self.schedule.rates:
            return None
        drawn = self.draws.random()
        for name, rate in self.schedule.rates.items():
            drawn -= rate
            if drawn < 0:
                return Choice(Play(name), "rates")
        return None

    def _by_step(self) -> Choice:
        if self.step >= len(self.schedule.steps):
            return Choice(self.schedule.then, "then")
        number, step = self.step + 1, self.schedule.steps[self.step]
        self._advance()
        if step.times is None:
            return Choice(step.play, f"step {number} (for ever)")
        taken = self.taken if self.step < number else step.times
        of = f" ({taken:,} of {step.times:,})" if step.times > 1 else ""
        return Choice(step.play, f"step {number}{of}")

    def _advance(self) -> None:
        times = self.schedule.steps[self.step].times
        self.taken += 1
        if times is not None and self.taken >= times:
            self.step += 1
            self.taken = 0


def _blocks(message: Mapping[str, object]) -> Iterable[Mapping[str, object]]:
    content = message.get("content")
    if not isinstance(content, list):
        return ()
    items = cast("list[object]", content)
    return (cast("dict[str, object]", each) for each in items if isinstance(each, dict))


def _texts(messages: Iterable[Mapping[str, object]]) -> Iterable[str]:
    for message in messages:
        content = message.get("content")
        if isinstance(content, str):
            yield content
        for block in _blocks(message):
            text = block.get("text")
            if isinstance(text, str):
                yield text


def _words(messages: Iterable[Mapping[str, object]]) -> Iterable[str]:
    """Yield what the user said."""
    return _texts(each for each in messages if each.get("role") == "user")


def _results(messages: Iterable[Mapping[str, object]]) -> set[bytes]:
    return {
        hashlib.blake2b(
            str(block.get("tool_use_id")).encode("utf-8", "surrogatepass"),
            digest_size=16,
        ).digest()
        for message in messages
        for block in _blocks(message)
        if block.get("type") == "tool_result"
    }


def _shared(before: tuple[str, ...], after: tuple[str, ...]) -> int:
    """Return how many messages both histories begin with."""
    count = 0
    for one, two in zip(before, after, strict=False):
        if one != two:
            break
        count += 1
    return count


def _shape(messages: Iterable[Mapping[str, object]]) -> str:
    words = [_word(message) for message in messages]
    text = " ".join(words)
    return text if len(text) <= _SHAPE else "... " + text[-_SHAPE:].split(" ", 1)[-1]


def _word(message: Mapping[str, object]) -> str:
    role = str(message.get("role"))[:1]
    if isinstance(message.get("content"), str):
        return f"{role}:t"
    kinds = [_LETTERS.get(str(each.get("type")), "o") for each in _blocks(message)]
    more = f"+{len(kinds) - 12}" if len(kinds) > 12 else ""  # noqa: PLR2004 - as above
    return f"{role}:{''.join(kinds[:12])}{more}"
