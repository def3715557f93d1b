"""What is answered when, as values that are checked as soon as they are made.

    steps    one after the other: a request for the user's work takes the current one
    rules    looked at before the steps; what matches is answered and takes no step
    rates    a seeded draw before the steps: a fault comes in between, and takes no step
    side     requests without tools (titles, summaries) are answered apart
    then     what comes when the steps are used up

The order for each request: is it refused by itself (malformed, history broken, prompt
longer than the window)? the rules; is it a side request? the rates; the steps.
"""

import fnmatch
import math
from collections.abc import Mapping

import attrs

from unspiral.engine.errors import BadDeclaration, suggestion
from unspiral.engine.faults.catalogue import CATALOGUE, find_fault
from unspiral.engine.faults.fault import Fault
from unspiral.engine.faults.plans import Number, Outage
from unspiral.engine.faults.reply import Reply, Text, ToolUse

__all__ = [
    "DONE",
    "Context",
    "Pattern",
    "Play",
    "Rule",
    "Schedule",
    "Seen",
    "Step",
    "call",
    "fail",
    "say",
]

_MAX_TIMES = 10**9
_LEAST = {
    "min_tokens": 0,
    "max_tokens": 0,
    "min_messages": 0,
    "nth": 1,
    "every": 1,
    "since_progress": 1,
}  # of the numbers of a pattern


@attrs.frozen
class Play:
    """What is answered once: a reply, or a fault, or a fault of a given reply.

    Attributes:
        fault: its name in the catalogue, or "" for none.
        reply: the reply, or the one that is broken; None: the fault's own.
        numbers: the parameters of the fault that differ from their defaults.
    """

    fault: str = ""
    reply: Reply | None = None
    numbers: Mapping[str, Number] = attrs.field(factory=dict[str, Number])

    def __attrs_post_init__(self) -> None:
        place = f"fault {self.fault!r}" if self.fault else "reply"
        if not self.fault:
            if self.reply is None:
                raise BadDeclaration("answer", "it has neither a reply nor a fault")
            if self.numbers:
                raise BadDeclaration(place, "a reply has no parameters")
            return
        fault = find_fault(self.fault)
        _check_numbers(fault, self.numbers)
        if self.reply is None:
            return
        if fault.speaks:
            raise BadDeclaration(place, "it takes no reply: it brings its own, or none")
        calls = any(isinstance(block, ToolUse) for block in self.reply.blocks)
        if fault.calls and not calls:
            raise BadDeclaration(place, "it breaks a tool call; the reply has none")
        if not self.reply.blocks:
            raise BadDeclaration(place, "the reply that it breaks has no content")

    @property
    def entry(self) -> Fault | None:
        """The entry of the catalogue, or None if nothing is broken."""
        return CATALOGUE[self.fault] if self.fault else None

    @property
    def said(self) -> Reply:
        """The good reply behind it."""
        if self.reply is not None:
            return self.reply
        return CATALOGUE[self.fault].reply

    @property
    def all_numbers(self) -> dict[str, Number]:
        """The parameters with their values."""
        entry = self.entry
        defaults = entry.parameters.items() if entry else ()
        numbers = {name: each.default for name, each in defaults} | dict(self.numbers)
        whole = {name for name, each in defaults if each.whole}
        return {n: int(x) if n in whole else x for n, x in numbers.items()}

    @property
    def outage(self) -> float:
        """Seconds that the port is closed; 0: it is open."""
        entry = self.entry
        if entry is None or not isinstance(entry.plan, Outage):
            return 0
        return float(self.all_numbers["seconds"])


def _check_numbers(fault: Fault, numbers: Mapping[str, Number]) -> None:
    place = f"fault {fault.name!r}"
    for name, value in numbers.items():
        if name not in fault.parameters:
            meant = suggestion(name, fault.parameters)
            raise BadDeclaration(place, f"no parameter {name!r}{meant}")
        limits = fault.parameters[name]
        if not limits.low <= value <= limits.high:  # nan is nowhere between
            allowed = f"between {limits.low:,} and {limits.high:,}"
            raise BadDeclaration(place, f"{name} is {value!r}; it must be {allowed}")
        if limits.whole and value != int(value):
            raise BadDeclaration(place, f"{name} is {value!r}; it must be whole")


DONE = Play(reply=Reply((Text("Done."),)))


@attrs.frozen
class Step:
    """A place in the sequence.

    Attributes:
        play: what is answered.
        times: to so many requests; None: to all from here on.
    """

    play: Play
    times: int | None = 1

    def __attrs_post_init__(self) -> None:
        _check_times("step", self.times)
        if self.play.outage and self.times is None:
            fix = "give `times`"
            raise BadDeclaration("step", "a port closed for ever answers nothing", fix)


def _check_times(place: str, times: int | None) -> None:
    if times is not None and not 1 <= times <= _MAX_TIMES:
        allowed = f"between 1 and {_MAX_TIMES:,}"
        raise BadDeclaration(place, f"times is {times}; it must be {allowed}")


@attrs.frozen
class Seen:
    """What a pattern is asked about: one request, and its place in the run.

    Attributes:
        endpoint: "messages", "count_tokens" or "models".
        model: as asked for.
        tools: the names offered.
        stream: whether a stream was asked for.
        tokens: of the input, as estimated.
        messages: their number.
        text: of the last message, the text blocks.
        nth: this is the n-th request to that endpoint in the run, from 1.
        since_progress: the n-th since one that brought something new, from 1.
        repeated: the same body came earlier in the run.
        side: no tools are offered.
    """

    endpoint: str
    model: str
    tools: tuple[str, ...]
    stream: bool
    tokens: int
    messages: int
    text: str
    nth: int
    since_progress: int
    repeated: bool
    side: bool


@attrs.frozen
class Pattern:
    """Which requests a rule is for; what is None does not matter.

    Attributes:
        endpoint: "messages", "count_tokens" or "models".
        has_tools: whether tools are offered.
        tool: the name of a tool that is offered.
        model: a name, in which `*` and `?` stand for what they do in a shell.
        stream: whether a stream is asked for.
        min_tokens: at least so many input tokens, as the estimator counts.
        max_tokens: at most so many.
        min_messages: at least so many messages.
        text: is part of the text of the last message.
        nth: the n-th request of the run, from 1.
        every: each n-th request of the run.
        since_progress: at least the n-th request since progress: the request that
            brings a new tool result, or new words of the user, is the first.
        repeated: whether the same body came earlier in the run.
    """

    endpoint: str = "messages"
    has_tools: bool | None = None
    tool: str | None = None
    model: str | None = None
    stream: bool | None = None
    min_tokens: int | None = None
    max_tokens: int | None = None
    min_messages: int | None = None
    text: str | None = None
    nth: int | None = None
    every: int | None = None
    since_progress: int | None = None
    repeated: bool | None = None

    def __attrs_post_init__(self) -> None:
        if self.endpoint not in ("messages", "count_tokens", "models"):
            known = "messages, count_tokens, models"
            problem = f"no endpoint {self.endpoint!r} (known: {known})"
            raise BadDeclaration("pattern", problem)
        for name, least in _LEAST.items():
            value: int | None = getattr(self, name)
            if value is not None and value < least:
                problem = f"{name} is {value}; it begins at {least}"
                raise BadDeclaration("pattern", problem)

    def matches(self, seen: Seen) -> bool:
        """Tell whether a request is meant."""
        return all(
            (
                self.endpoint == seen.endpoint,
                self.has_tools in (None, not seen.side),
                self.tool is None or self.tool in seen.tools,
                self.model is None or fnmatch.fnmatchcase(seen.model, self.model),
                self.stream in (None, seen.stream),
                self.min_tokens is None or self.min_tokens <= seen.tokens,
                self.max_tokens is None or seen.tokens <= self.max_tokens,
                self.min_messages is None or self.min_messages <= seen.messages,
                self.text is None or self.text in seen.text,
                self.nth in (None, seen.nth),
                self.every is None or seen.nth % self.every == 0,
                self.since_progress is None
                or self.since_progress <= seen.since_progress,
                self.repeated in (None, seen.repeated),
            )
        )


#: groups of faults that any endpoint can have; the others are about a message
_ANYWHERE = frozenset({"status", "connection"})


@attrs.frozen
class Rule:
    """An answer for all requests of a pattern, whatever the steps say.

    Attributes:
        when: the pattern.
        play: what is answered.
        times: so many times; None: always.
        then: what is answered after that; None: the rule is over.
    """

    when: Pattern
    play: Play
    times: int | None = None
    then: Play | None = None

    def __attrs_post_init__(self) -> None:
        _check_times("rule", self.times)
        if self.then is not None and self.times is None:
            raise BadDeclaration("rule", "`then` never comes", "give `times`")
        for each in (self.play, self.then or self.play):
            if each.outage:
                problem = "a closed port sees no request, so no pattern can choose it"
                raise BadDeclaration("rule", problem, "make it a step")
            if self.when.endpoint != "messages":
                _check_elsewhere(self.when.endpoint, each)


def _check_elsewhere(endpoint: str, play: Play) -> None:
    """Refuse an answer that only a request for a message can have."""
    if play.entry is None:
        problem = f"{endpoint} has answers of its own"
        raise BadDeclaration("rule", problem, "name a fault")
    if play.entry.group not in _ANYWHERE:
        problem = f"{play.fault} is about a message, which {endpoint} does not give"
        raise BadDeclaration("rule", problem)


@attrs.frozen
class Context:
    """The window of the model.

    Attributes:
        window: its size in tokens, or None for no limit: a longer prompt is refused
            with 400.
        overflow: when the input and `max_tokens` together exceed it: "stop" cuts the
            reply at the window (model_context_window_exceeded), "error" refuses.
    """

    window: int | None = 200_000
    overflow: str = "stop"

    def __attrs_post_init__(self) -> None:
        if self.window is not None and self.window < 1:
            raise BadDeclaration("context", f"window is {self.window}", "begin at 1")
        if self.overflow not in ("stop", "error"):
            problem = f"overflow cannot be {self.overflow!r}"
            raise BadDeclaration("context", problem, "write 'stop' or 'error'")


@attrs.frozen
class Schedule:
    """What is answered when.

    Attributes:
        steps: the sequence.
        rules: looked at first, in this order; the first that matches answers.
        then: what is answered when the steps are used up.
        side: what requests without tools are answered; None: they take steps as all.
        rates: faults that come in between at random, each with its probability.
        seed: of that; each run draws for itself, whatever the others do.
        context: the window.
        strict: refuse with 400 a history whose tool calls and results are not paired,
            as the API does.
        name: for people.
    """

    steps: tuple[Step, ...] = ()
    rules: tuple[Rule, ...] = ()
    then: Play = DONE
    side: Play | None = DONE
    rates: Mapping[str, float] = attrs.field(factory=dict[str, float])
    seed: int = 0
    context: Context = Context()
    strict: bool = True
    name: str = "schedule"

    def __attrs_post_init__(self) -> None:
        for number, step in enumerate(self.steps[:-1], 1):
            if step.times is None:
                problem = f"step {number} is for ever: those after it never come"
                raise BadDeclaration("schedule", problem)
        for name, rate in self.rates.items():
            if isinstance(find_fault(name).plan, Outage):
                raise BadDeclaration("rates", f"{name} can only be a step")
            if not 0 <= rate <= 1:
                raise BadDeclaration("rates", f"{name} has the rate {rate!r}")
        if math.fsum(self.rates.values()) > 1:
            raise BadDeclaration("rates", "they sum up to more than 1")
        for what, play in (("then", self.then), ("side", self.side)):
            if play is not None and play.outage:
                raise BadDeclaration(what, "a closed port can only be a step")


def say(text: str, times: int | None = 1) -> Step:
    """Return a step in which the model says something and ends its turn."""
    return Step(Play(reply=Reply((Text(text),))), times)


def call(tool: str = "", given: Mapping[str, object] | None = None) -> Step:
    """Return a step in which the model calls a tool.

    Args:
        tool: its name; "" for the first that the request offers.
        given: its arguments; None for an example that its schema allows.
    """
    return Step(Play(reply=Reply((ToolUse(tool, given),))))


def fail(fault: str, times: int | None = 1, **numbers: Number) -> Step:
    """Return a step in which an entry of the catalogue is played.

    Raises:
        UnknownName: there is no such fault.
        BadDeclaration: a parameter is unknown or out of its range.
    """
    return Step(Play(fault, None, numbers), times)
