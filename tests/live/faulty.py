"""A conversation with a server that fails as it is told, through the real SDK.

The agent is the one that people run: the machine `agent_loop` as `hardened` has it, the
client of `engine.live`, the fault transport in place of the network. Its one tool reads
what is nowhere, and keeps what it was asked for: what has really run.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import attrs

from tests.live.running import Ran, Script, Shelf, Yes, compiled, wrong
from unspiral.engine.core.step import Step as LoopStep
from unspiral.engine.core.table import Table
from unspiral.engine.faults.catalogue import CATALOGUE
from unspiral.engine.faults.clock import run_virtual
from unspiral.engine.faults.journal import Exchange, Outaged
from unspiral.engine.faults.reply import Reply, Text, ToolUse
from unspiral.engine.faults.schedule import DONE, Play, Schedule, Step
from unspiral.engine.faults.transport import FaultTransport
from unspiral.engine.live.agent import Agent, Settings, World
from unspiral.engine.live.client import AnthropicModel, make_model
from unspiral.engine.live.estimate import Window
from unspiral.engine.live.events import (
    Answered,
    Called,
    Calling,
    Decided,
    LiveEvent,
    Said,
    Tombstone,
    Warned,
)
from unspiral.engine.live.hooks import HookList
from unspiral.engine.live.message import History, Message, calls_of
from unspiral.engine.live.ports import Abort, Ask, LoopClock, Outcome, Piece
from unspiral.engine.live.session import MemoryStore
from unspiral.engine.live.tools.executor import Bounds
from unspiral.engine.live.tools.registry import Tool, Toolbox, tool
from unspiral.engine.live.waiting import Backoff
from unspiral.engine.live.watchdog import Patience
from unspiral.machines.agent_loop import AGENT_LOOP

__all__ = [
    "LAST",
    "Played",
    "broken",
    "conversation",
    "fault",
    "longest_stretch",
    "play",
    "table",
]

LAST = 4  #: the request of the conversation that is answered in words
T = TypeVar("T")

KEY = "sk-ant-api03-not-a-real-key-0123456789"
PATIENCE = Patience(idle=20, total=60, whole=40)
#: a small window, so that a few results fill it, and are worth a summary
WINDOW = Window.scaled(20_000)
RESULT = "This line says that all is well. " * 240

_DAY = 1_800_000_000.0  # seconds since 1970, when time begins
_WORDS = Text("I will read the file first, and then say what is in it.")
_INPUT = {"path": {"type": "string"}}


def table() -> Table:
    """The machine that is run."""
    return compiled(AGENT_LOOP, "hardened", {"token_budget_on": False})


# -- what the server does --------------------------------------------------------------


def _turn(path: str) -> Reply:
    return Reply((_WORDS, ToolUse("read", {"path": path})))


def fault(name: str, path: str = "fault", times: int | None = 1, **more: Any) -> Step:
    """A fault in a turn that would have read a path; "": that would have been words."""
    entry = CATALOGUE[name]
    if entry.speaks:
        return Step(Play(name, None, more), times)
    words = not path and not entry.calls
    reply = Reply((_WORDS,)) if words else _turn(path or "fault")
    return Step(Play(name, reply, more), times)


def conversation(
    faults: Mapping[int, Sequence[Step]], *, side: Play | None = DONE
) -> Schedule:
    """Three turns that read a path each, and one in words, with faults before them.

    Args:
        faults: by the number of the turn that they come before, from 1.
        side: what summaries are answered; None: what comes next.
    """
    steps: list[Step] = []
    for turn in range(1, LAST + 1):
        reply = _turn(f"turn-{turn}") if turn < LAST else Reply((Text("Mended."),))
        steps += [*faults.get(turn, ()), Step(Play(reply=reply))]
    ends = [n for n, each in enumerate(steps, 1) if each.times is None]
    return Schedule(tuple(steps[: ends[0]] if ends else steps), side=side)


# -- a run -----------------------------------------------------------------------------


@attrs.define
class Line(Script):
    """The real client, which is listened to.

    Attributes:
        client: it.
        streams: whether it may stream.
    """

    client: AnthropicModel | None = None
    streams: bool = True

    async def attempt(self, ask: Ask, tell: Callable[[Piece], None], /) -> Outcome:
        assert self.client is not None
        self.asks.append(ask)
        sent = attrs.evolve(ask, stream=ask.stream and self.streams)
        return await self.client.attempt(sent, tell)

    async def refresh(self) -> bool:
        assert self.client is not None
        return await self.client.refresh()


@attrs.define
class Played:
    """A run that is over, and what really happened.

    Attributes:
        ran: it.
        transport: what the server did.
        read: the paths that were read, in order.
        asked: how often the model was asked.
        again: the run of another prompt, when the first had ended.
        early: tools may have begun for an answer that was withdrawn then.
    """

    ran: Ran
    transport: FaultTransport
    read: list[str]
    asked: int
    again: Ran | None = None
    early: bool = False

    @property
    def runs(self) -> tuple[Ran, ...]:
        return (self.ran,) if self.again is None else (self.ran, self.again)

    @property
    def exchanges(self) -> list[Exchange]:
        return self.transport.journal.exchanges

    @property
    def requests(self) -> tuple[int, int]:
        """How many the run made, and how many of them for summaries."""
        asks = self.ran.model.asks[: self.asked]
        return len(asks), sum(each.source != "main" for each in asks)

    @property
    def files(self) -> list[str]:
        """The paths that the run read, in order."""
        return self.read[: len(self.told(Calling))]

    @property
    def waits(self) -> list[float]:
        """The seconds of each wait between two attempts, as they really passed."""
        return [
            round(each.seconds, 3)
            for each in self.told(Decided)
            if each.step.before.phase == "call_model.backoff"
        ]

    @property
    def refused(self) -> list[str]:
        """What the model is told of calls that could not be run."""
        return [each.text for each in self.told(Called) if each.error]

    @property
    def remarks(self) -> list[str]:
        """What whoever watches is told of the run, besides the answers."""
        warned = [each.text for each in self.told(Warned)]
        return [*warned, *self.ran.shown]

    def told(self, kind: type[T]) -> list[T]:
        return [each for each in self.ran.events if isinstance(each, kind)]


def play(  # noqa: PLR0913 - each is named
    schedule: Schedule,
    *,
    stream: bool = True,
    key: str | Callable[[], str] = KEY,
    history: History = (),
    again: bool = False,
    machine: Table | None = None,
    early: bool = False,
) -> Played:
    """Run the agent over a schedule, in virtual time.

    Args:
        schedule: what the server does.
        stream: whether answers are streamed.
        key: of the API.
        history: a conversation that went before.
        again: whether there is another prompt when the run has ended.
        machine: what is run.
        early: whether safe calls begin while their answer is still streamed.
    """
    transport, read = FaultTransport(schedule), list[str]()
    transport.player.wall = _wall
    played: list[Played] = []

    async def main() -> None:
        client = make_model(
            key,
            base_url="http://faults.invalid",
            transport=transport,
            patience=PATIENCE,
            wall=_wall,
        )
        line = Line((), client=client, streams=stream)
        agent = _agent(line, _reader(read), machine or table(), early=early)
        agent.history = history
        first = await _run(agent, line, "What does the file say?")
        asked = len(line.asks)
        second = await _run(agent, line, "And now?") if again else None
        await client.aclose()
        await asyncio.sleep(0.001)  # what was closed last comes to its end
        assert asyncio.all_tasks() == {asyncio.current_task()}
        # Not returned: asyncio makes a text of what a task returns, as long as a run.
        played.append(Played(first, transport, read, asked, second, early))

    run_virtual(main())
    return played[0]


def _wall() -> float:
    """The time of day of the client and of the server: the same."""
    return _DAY + LoopClock().now()


def _reader(read: list[str]) -> Tool:
    @tool({"properties": _INPUT, "required": ["path"]}, name="read", safe=True)
    async def reader(path: str) -> str:
        """Read a file."""
        read.append(path)
        await LoopClock().sleep(0.1)
        return f"{path}: {RESULT}"

    return reader


def _agent(line: Line, reader: Tool, machine: Table, *, early: bool) -> Agent:
    world = World(
        model=line,
        tools=Toolbox((reader,)),
        permission=Yes(),
        hooks=HookList(),
        store=MemoryStore(),
        keep=Shelf(),
        clock=LoopClock(),
        waits=LoopClock(),
        wall=_wall,
        pause=Backoff(lambda: 0.0),
    )
    settings = Settings(
        "claude-sonnet-5-5",
        "claude-haiku-5-5",
        window=WINDOW,
        rounds=Bounds(early=early),
    )
    return Agent(machine, world, settings, Abort())


async def _run(agent: Agent, line: Line, prompt: str) -> Ran:
    events = [each async for each in agent.run(prompt)]
    return Ran(events, line, agent)


# -- what no run may do ----------------------------------------------------------------


def broken(played: Played) -> list[str]:
    """What no run may do, whatever the server does; empty."""
    found = [*_journal(played), *_tools(played)]
    for each in played.runs:
        found += [*wrong(each), *_screen(each.events)]
    return found


def _journal(played: Played) -> Iterator[str]:
    """What the server saw: every history well formed, and no request uncounted."""
    for each in played.exchanges:
        asked, answered = each.asked, each.answered
        yield from (f"request {asked.n}: {found}" for found in asked.broken)
        if any(w.startswith("a:") and w.endswith("k") for w in asked.shape.split()):
            yield f"request {asked.n}: thinking ends a message"
        if answered is None:
            yield f"request {asked.n} was not left"
        elif answered.answer == "refused" and "too long" not in answered.detail:
            yield f"request {asked.n} was refused: {answered.detail}"
    steps = [each for ran in played.runs for each in ran.steps]
    sent, asks = len(played.exchanges), len(played.ran.model.asks)
    # What finds a closed port is no request.
    closed = any(isinstance(r, Outaged) for r in played.transport.journal.records)
    if sent != asks and not (closed and sent < asks):
        yield f"{sent} requests came of {asks}"
    if asks != counted(steps):
        yield f"{asks} calls of the model, of which rows count {counted(steps)}"


def _tools(played: Played) -> Iterator[str]:
    """Each call ran once at most, and none of an answer that is not kept."""
    kept: dict[str, object] = {}
    begun: list[Calling] = []
    for event in (each for ran in played.runs for each in ran.events):
        if isinstance(event, Answered):
            kept |= {str(c["id"]): c["input"] for c in calls_of(event.message)}
        elif isinstance(event, Calling):
            begun.append(event)
            if kept.get(event.id) != event.given:
                yield f"the call {event.id} ran, which is in no answer"
    times = Counter(each.id for each in begun)
    yield from (f"the call {id_} ran {n} times" for id_, n in times.items() if n > 1)
    paths, read = Counter(str(e.given.get("path")) for e in begun), Counter(played.read)
    if not (paths <= read if played.early else paths == read):
        yield f"{len(begun)} calls were told, and {played.read} were read"


def _screen(events: Sequence[LiveEvent]) -> Iterator[str]:
    """What was said piece by piece is in the answer that is kept, or is withdrawn."""
    said: dict[int, str] = {}
    for event in events:
        match event:
            case Said():
                said[event.attempt] = said.get(event.attempt, "") + event.text
            case Tombstone():
                if not said.pop(event.attempt, ""):
                    yield f"attempt {event.attempt} is withdrawn, but said nothing"
            case Answered():
                if said and list(said.values()) != [_visible(event.message)]:
                    yield f"{said} was said, but not answered"
                said.clear()
            case _:
                pass
    if said:
        yield f"{said} was said, and neither kept nor withdrawn"


def _visible(message: Message) -> str:
    told = (each.get("text", each.get("thinking")) for each in message.content)
    return "".join(each for each in told if isinstance(each, str))


# -- counting --------------------------------------------------------------------------


def counted(steps: Sequence[LoopStep]) -> int:
    """The calls of a model that the rows of some steps count."""
    return sum(each.row.cost.get("model_calls", 0) for each in steps)


def longest_stretch(steps: Sequence[LoopStep]) -> int:
    """The most calls of a model between two steps that are progress."""
    longest = now = 0
    for each in steps:
        now += each.row.cost.get("model_calls", 0)
        longest = max(longest, now)
        if each.row.progress:
            now = 0
    return longest
