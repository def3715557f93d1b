"""An agent: the parts of a run put together, and what it must not forget written down.

The phases are performed by the parts; the table decides; the session is told of each
continue before the next iteration begins. Nothing here goes on, stops, retries or
counts: whoever wants other behaviour passes another table.
"""

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from typing import Protocol

import attrs

from unspiral.engine.core.plain import read_snapshot
from unspiral.engine.core.step import Snapshot, initial_snapshot
from unspiral.engine.core.table import Table
from unspiral.engine.errors import BadValue
from unspiral.engine.live.bookkeeping import SessionDiary, fixed_facts, floor_of
from unspiral.engine.live.budgets import BUDGETS, Budgets, Ledger
from unspiral.engine.live.calling import Caller, read_reply
from unspiral.engine.live.compacting import Compactor
from unspiral.engine.live.context import Context
from unspiral.engine.live.estimate import Window
from unspiral.engine.live.events import (
    Continued,
    Decided,
    Ended,
    LiveEvent,
    Refused,
    Shown,
    Warned,
)
from unspiral.engine.live.fuse import Fuse
from unspiral.engine.live.greeting import greet
from unspiral.engine.live.loop import Loop
from unspiral.engine.live.message import History, user_text
from unspiral.engine.live.ports import (
    Abort,
    Clock,
    Hooks,
    Model,
    Permission,
    Tools,
)
from unspiral.engine.live.record import Facts, plain_record_of
from unspiral.engine.live.restoring import Restored
from unspiral.engine.live.result_budget import Keep, ResultLimits
from unspiral.engine.live.rounds import Rounds
from unspiral.engine.live.session_events import Keeper, Notes
from unspiral.engine.live.spending import Purse, Spending
from unspiral.engine.live.state import Performer
from unspiral.engine.live.stopping import Stopping
from unspiral.engine.live.tools.executor import Bounds

__all__ = ["Agent", "Settings", "World"]


_NOTHING = Spending("", "", 0, 0)
_SPENT = {f"spent.{name}": name for name in BUDGETS}


class Pause(Protocol):
    """Says how long to wait before a request is repeated."""

    def __call__(self, retry: int, hint: float | None, /) -> float:
        """Return seconds, from the retry that is ahead and what the server asks for."""
        ...


@attrs.frozen
class World:
    """What an agent acts on.

    Attributes:
        model: whoever answers.
        tools: what it may call.
        permission: the gate.
        hooks: that are heard.
        store: the session.
        keep: where large results are kept.
        clock: time.
        waits: the clock of the waits between attempts.
        wall: seconds since 1970, for records.
        pause: how long to wait between attempts.
        notes: the running notes of the session, which compaction tries as a summary
            before it asks a model for one; "": there are none.
    """

    model: Model
    tools: Tools
    permission: Permission
    hooks: Hooks
    store: Notes
    keep: Keep
    clock: Clock
    waits: Clock
    wall: Callable[[], float]
    pause: Pause
    notes: Callable[[], str] = str


@attrs.frozen
class Settings:
    """What an agent is told once.

    Attributes:
        model: the name of the model.
        fallback: of the one that takes over; "": the same.
        system: the system prompt.
        window: of the model.
        budgets: what may be spent, over all runs of the session.
        results: how large results of tools may be.
        rounds: limits of a round of tools.
        output_limit: the most output tokens of an answer, or None.
        about: facts that every hook is told.
    """

    model: str
    fallback: str = ""
    system: str = ""
    window: Window = attrs.field(factory=Window)
    budgets: Budgets = attrs.field(factory=Budgets)
    results: ResultLimits = attrs.field(factory=ResultLimits)
    rounds: Bounds = attrs.field(factory=Bounds)
    output_limit: int | None = None
    about: Mapping[str, object] = attrs.field(factory=dict[str, object])


class Agent:
    """A conversation with a session; each prompt is a run of the table.

    Args:
        table: the machine at its limits.
        world: what it acts on.
        settings: what it is told.
        abort: how a run can be stopped.
        restored: what the session has come to, if it is resumed.

    Raises:
        UnknownName: the table has a phase or continue that has no meaning here.
        BadValue: what was restored is no state of an agent.
    """

    def __init__(
        self,
        table: Table,
        world: World,
        settings: Settings,
        abort: Abort | None = None,
        restored: Restored | None = None,
    ) -> None:
        self.table, self.world, self.settings = table, world, settings
        self.abort = abort or Abort()
        kept = () if restored is None else restored.kept
        ledgers = dict[str, object]() if restored is None else restored.ledgers
        now = world.clock.now()
        ledger = ledgers.get("spent")
        self.purse = Purse(
            settings.budgets,
            world.clock,
            Ledger(now) if ledger is None else Ledger.from_plain(ledger, now),
            self._spent,
        )
        self.history: History = () if restored is None else restored.history
        floor = settings.window.floor or floor_of(settings.system, world.tools.specs)
        window = attrs.evolve(settings.window, floor=floor)
        self.context = Context(window, world.keep, settings.results, idle=self._idle)
        if "context" in ledgers:
            self.context.restore(ledgers["context"], self.history)
        self.fuse = Fuse.from_plain(ledgers["fuse"]) if "fuse" in ledgers else Fuse()
        heard = ledgers.get("heard")
        self._heard = heard if isinstance(heard, int | float) else None
        self._restored = restored
        self._resumes: Mapping[str, object] | None = None
        self._keeper = Keeper(world.store, table, kept)
        self._numbered = 0 if restored is None else restored.last
        self._cost, self._before = _NOTHING, 0
        self._facts_of: tuple[object, ...] = ()
        self._known_facts: Mapping[str, int | str] = {}
        self._fixed_facts = fixed_facts(window, settings.budgets)
        self._stopping = Stopping(world.hooks, lambda: dict(settings.about))
        self._rounds = self._make_rounds()
        self._loop = self._make_loop()

    # -- the parts ---------------------------------------------------------------------

    def _make_rounds(self) -> Rounds:
        world = self.world
        return Rounds(
            world.tools,
            world.permission,
            world.hooks,
            world.clock,
            self.abort,
            SessionDiary(self._keeper, self._spent_now),
            self._entered,
            self.settings.rounds,
            self.fuse,
        )

    def _make_loop(self) -> Loop:
        world, settings = self.world, self.settings
        names = settings.model, settings.fallback or settings.model
        caller = Caller(
            world.model,
            world.waits,
            world.pause,
            lambda: world.tools.specs,
            names,
            settings.system,
            self.purse,
            settings.output_limit,
            self._rounds.ahead if settings.rounds.early else None,
        )
        asker = self.purse.asker(world.model)
        compactor = Compactor(self.context, asker, world.hooks, names, world.notes)
        performers: dict[str, Performer] = {
            **self.context.performers(),
            **compactor.performers(),
            "call_model.request": caller.request,
            "call_model.backoff": caller.backoff,
            "call_model.refresh": caller.refresh,
            "read_reply": read_reply,
            "run_tools": self._rounds.run_tools,
            "stop_hooks": self._stopping.stop_hooks,
            "token_budget.count": self.purse.count,
            "which_budget": self.purse.which_budget,
        }
        return Loop(
            self.table,
            performers,
            world.clock,
            self.abort,
            settles=frozenset({"run_tools"}),
            facts=self._facts,
        )

    # -- a run -------------------------------------------------------------------------

    async def run(self, prompt: str | None = None) -> AsyncGenerator[LiveEvent]:
        """Run until the table ends; the last event is `Ended`, or `Refused`.

        Args:
            prompt: of the user; None: go on with what was interrupted, from where the
                table stood at its last continue.
        """
        for each in self._taken_up():
            yield each
        stands = self._stands(prompt)
        async for each in self._greeted(prompt, stands):
            yield each
            if isinstance(each, Refused):
                return
        shown = ""
        try:
            async for each in self._loop.run(self.history, stands):
                self._note(each)
                if isinstance(each, Shown):
                    shown = each.text
                if isinstance(each, Ended) and shown:
                    await self._stopping.failed(shown, each.terminal)
                yield each
        finally:
            await self._rounds.ahead.forget()

    def _taken_up(self) -> Iterator[LiveEvent]:
        """Tell what is uncertain, then make the history of a resumed session whole.

        Not the other way round: whoever is killed in between has told it at least once.
        """
        restored = self._restored
        if restored is None:
            return
        for call in restored.in_flight:
            yield Warned(
                f"The call {call.id} of {call.name!r} was running when the run was "
                "interrupted. It may have had effects."
            )
        self._keeper.became(restored.history)
        self._resumes, self._restored = restored.machine, None

    def _stands(self, prompt: str | None) -> Snapshot:
        resumes, self._resumes = self._resumes, None
        if prompt is not None or resumes is None:
            return initial_snapshot(self.table)
        if resumes.get("digest") != self.table.digest:
            what = "the machine of the session", "the one that it was begun with"
            raise BadValue(what[0], self.table.machine.name, what[1])
        return read_snapshot(self.table, resumes.get("phase"), resumes.get("memory"))

    async def _greeted(
        self, prompt: str | None, stands: Snapshot
    ) -> AsyncGenerator[LiveEvent]:
        """Tell the hooks of the beginning; keep the prompt, with what they add."""
        about, hooks = self.settings.about, self.world.hooks
        greeting = await greet(hooks, about, prompt, self.abort)
        for crash in greeting.crashes:
            yield Warned(f"A hook failed: {crash}")
        if greeting.refused:
            yield Refused(greeting.refused, greeting.stopped)
            return
        told = () if prompt is None else (user_text(prompt),)
        notes = (user_text(note, "note") for note in greeting.notes if note)
        added = (*told, *notes)
        self.history = (*self.history, *added)
        self._keeper.began(stands)
        self._keeper.appended(added)

    # -- what is written down ----------------------------------------------------------

    def _note(self, event: LiveEvent) -> None:
        """Write down what must outlive the process, before anybody is told."""
        match event:
            case Decided():
                self._decided(event)
            case Continued():
                if event.reason == "next_turn":
                    self.purse.ledger = self.purse.ledger.took_turn()
                self.history = event.history
                self._keeper.became(event.history, event.snapshot, self._ledgers())
            case Ended():
                self.history = event.history
                self._keeper.became(event.history, event.snapshot, self._ledgers())
                self._keeper.ended(event.terminal)
            case _:
                pass

    def _decided(self, event: Decided) -> None:
        self._numbered += 1
        after = int(event.facts.get("tokens", 0))
        cost = self._cost
        facts = Facts(
            self._before, after, cost.model, cost.micro_dollars, event.seconds
        )
        self._before, self._cost = after, _NOTHING
        now = self.world.wall()
        self._keeper.decided(
            plain_record_of(self.table, event.step, self._numbered, now, facts)
        )
        context = self.context.decided()
        if context is not None:
            self._keeper.appended((), ledgers={"context": context})

    def _facts(self) -> Mapping[str, int | str]:
        """Return numbers of the moment; the same object while they are the same."""
        ledger, context = self.purse.ledger, self.context
        seconds = int(ledger.seconds(self.world.clock.now()))
        now = context.latest, context.freed, ledger, seconds, self._cost.model
        if now != self._facts_of:
            self._facts_of, self._known_facts = now, self._new_facts()
        return self._known_facts

    def _new_facts(self) -> Mapping[str, int | str]:
        spent = self.purse.ledger.spent(self.world.clock.now())
        return {
            **self.context.facts(),
            **self._fixed_facts,
            "model": self._cost.model,
            **{name: int(spent[of]) for name, of in _SPENT.items()},
        }

    def _ledgers(self) -> dict[str, object]:
        ledgers: dict[str, object] = {
            **self._spent_now(),
            "fuse": self._rounds.fuse.plain(),
        }
        context = self.context.news()
        if context is not None:
            ledgers["context"] = context
        return ledgers

    def _spent(self, spending: Spending) -> None:
        cost = self._cost.micro_dollars + spending.micro_dollars
        self._cost = attrs.evolve(spending, micro_dollars=cost)
        self._heard = self.world.wall()
        self._keeper.appended((), ledgers={**self._spent_now(), "heard": self._heard})

    def _spent_now(self) -> dict[str, object]:
        return {"spent": self.purse.ledger.plain(self.world.clock.now())}

    def _idle(self) -> float | None:
        """Return the seconds since the model was heard, in this process or before."""
        return None if self._heard is None else self.world.wall() - self._heard

    def _entered(self, calls: int) -> None:
        self.purse.ledger = self.purse.ledger.called_tools(calls)
