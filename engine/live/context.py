"""The context of a run: what is sent of its history, and how big that is.

Performs the stages of `shape`, `preflight` and `drain`, and holds what outlives an
iteration: decisions on results, cleared results, folds, and what the API said of sizes.
Where the facts lead is not known here; limits of the table only switch stages off.
"""

from collections.abc import Callable, Mapping

import attrs

from unspiral.engine.errors import BadValue
from unspiral.engine.live.estimate import Gauge, Grown, Size, Tally, Window
from unspiral.engine.live.folds import Folding, Folds, Projecting, collapse, drain
from unspiral.engine.live.message import History
from unspiral.engine.live.result_budget import (
    Decisions,
    Keep,
    ResultLimits,
    budget_results,
)
from unspiral.engine.live.shaping import (
    Clearing,
    Shaped,
    Snipping,
    after_boundary,
    answers,
    cleared_from_plain,
    last_summary,
    microcompact,
    snip,
)
from unspiral.engine.live.state import Here, Workspace
from unspiral.engine.live.untyped import fields_of

__all__ = ["Context"]


_NOTHING = (0, dict[str, object](), frozenset[str](), Folds())


def _nobody_knows() -> float | None:
    return None


@attrs.define
class Context:
    """Performs `shape.*`, `preflight` and `drain`.

    Attributes:
        window: of the model.
        keep: where large results are kept.
        results: how large they may be.
        snipping: how many rounds there may be.
        clearing: when old results are cleared.
        folding: what is folded.
        idle: seconds since the last answer; None: nobody knows.
        decisions: on results.
        cleared: calls whose results are cleared.
        folds: committed and staged.
        gauge: what the API said of sizes.
        freed: tokens that the stages of this iteration freed.
        latest: the size of what was looked at last.
    """

    window: Window
    keep: Keep
    results: ResultLimits = attrs.field(factory=ResultLimits)
    snipping: Snipping = attrs.field(factory=Snipping)
    clearing: Clearing = attrs.field(factory=Clearing)
    folding: Folding = attrs.field(factory=Folding)
    idle: Callable[[], float | None] = _nobody_knows
    decisions: Decisions = attrs.field(factory=Decisions, init=False)
    cleared: frozenset[str] = attrs.field(default=frozenset(), init=False)
    folds: Folds = attrs.field(factory=Folds, init=False)
    gauge: Gauge = attrs.field(init=False)
    freed: int = attrs.field(default=0, init=False)
    latest: Size = attrs.field(default=Size(0, 0), init=False)
    _count: Tally = attrs.field(factory=Tally, init=False)
    _summary: Grown = attrs.field(factory=lambda: Grown(last_summary), init=False)
    _answers: Grown = attrs.field(factory=lambda: Grown(answers), init=False)
    _projected: Projecting = attrs.field(factory=Projecting, init=False)
    _known: History = attrs.field(default=(), init=False)
    _kept: tuple[object, ...] = attrs.field(default=_NOTHING, init=False)

    def __attrs_post_init__(self) -> None:
        self.gauge = Gauge(self.window.floor)

    def performers(self) -> Mapping[str, Callable[[Here], str]]:
        """Return the performers by the names of their phases."""
        return {
            "shape.result_budget": self.result_budget,
            "shape.snip": self.snip,
            "shape.microcompact": self.microcompact,
            "shape.collapse": self.collapse,
            "preflight": self.preflight,
            "drain": self.drain,
        }

    def size(self, view: History) -> Size:
        """Return the size of a view of the present history."""
        return self.gauge.size(view, self._count)

    def facts(self) -> dict[str, int | str]:
        """Return numbers for the record of a step, as they were measured last."""
        latest = self.latest
        return {"tokens": latest.tokens, "epoch": latest.epoch, "freed": self.freed}

    def follow(self, history: History) -> None:
        """Take note of the history. If others rewrote it, a new epoch begins."""
        if history[: len(self._known)] != self._known:
            self.gauge = self.gauge.rewritten(history)
        self._known = history

    def replace(self, work: Workspace, history: History) -> None:
        """Replace the history; a new epoch begins, with no fold and no old size."""
        self.folds = Folds()
        self._forget(history)
        self.gauge = self.gauge.rewritten(history)
        self.lighten(work, history)
        self.sending(history)

    def _forget(self, history: History) -> None:
        """Forget what was decided on what is gone: it would only grow."""
        calls = frozenset(
            str(block.get("tool_use_id"))
            for message in history
            for block in message.content
            if block.get("type") == "tool_result"
        )
        stubs = {c: t for c, t in self.decisions.stubs.items() if c in calls}
        self.decisions = Decisions(stubs, self.decisions.frozen & calls)
        self.cleared &= calls
        self.folds = self.folds.of(history)

    def lighten(self, work: Workspace, history: History) -> None:
        """Go on from a history of the same epoch that is lighter."""
        work.base = work.view = self._known = history

    def sending(self, view: History) -> None:
        """Take note of what is sent; the next answer speaks of its size."""
        self.gauge = self.gauge.sending(view, self._count)
        self.latest = self.size(view)

    # -- performers --------------------------------------------------------------------

    def result_budget(self, here: Here) -> str:
        """Look at what there is, and put results that are too large aside."""
        self.follow(here.work.base)
        view = after_boundary(here.work.base, self._summary)
        self.gauge = self.gauge.seen(view, self._count)
        self.freed = 0
        shaped, self.decisions = budget_results(
            view, self.decisions, self.keep, limits=self.results, size=self._tokens
        )
        return self._lighter(here, shaped)

    def snip(self, here: Here) -> str:
        """Remove old rounds."""
        if not here.limits.get("history_snip", True):
            return "kept"
        shaped = snip(here.work.view, self.snipping, self._tokens, self._answers)
        if shaped.event == "snipped":
            self._forget(shaped.view)
        return self._lighter(here, shaped)

    def microcompact(self, here: Here) -> str:
        """Clear old results."""
        if not here.limits.get("microcompact_on", True):
            return "kept"
        view = here.work.view
        shaped, self.cleared = microcompact(
            view,
            self.cleared,
            idle=self.idle(),
            tight=self._tokens(view) >= self.window.target,
            clearing=self.clearing,
            size=self._tokens,
        )
        return self._lighter(here, shaped)

    def collapse(self, here: Here) -> str:
        """Show committed folds, and commit some if room is short."""
        if not here.limits.get("context_collapse", True):
            return "kept"
        shaped, self.folds = collapse(
            here.work.view,
            self.folds,
            self.window,
            folding=self.folding,
            size=self._tokens,
            projected=self._projected,
        )
        here.work.view = shaped.view  # a projection: the history stays as it is
        self.freed += shaped.freed
        return shaped.event

    def preflight(self, here: Here) -> str:
        """Measure what is about to be sent."""
        self.sending(here.work.view)
        over = self.latest.tokens >= self.window.blocking
        return "over_limit" if over else "fits"

    def drain(self, here: Here) -> str:
        """Commit all folds at once."""
        event, self.folds, _ = drain(here.work.base, self.folds, self.folding)
        return event

    def _tokens(self, view: History) -> int:
        return self.size(view).tokens

    def _lighter(self, here: Here, shaped: Shaped) -> str:
        self.lighten(here.work, shaped.view)
        self.freed += shaped.freed
        return shaped.event

    # -- what outlives the process -----------------------------------------------------

    def plain(self) -> dict[str, object]:
        """Return what has to outlive the process, as plain JSON."""
        return {
            "epoch": self.gauge.epoch,
            "stubs": dict(self.decisions.stubs),
            "cleared": sorted(self.cleared),
            "folds": self.folds.plain(),
        }

    def news(self) -> dict[str, object] | None:
        """Return what `plain` does if that has changed since the last time, or None."""
        now = self._now()
        if now == self._kept:
            return None
        self._kept = now
        return self.plain()

    def decided(self) -> dict[str, object] | None:
        """Return what `news` does, but for what belongs to a history not yet kept.

        A decision must be kept before it is sent: what is sent once stays as it is.
        """
        return self.news() if self.gauge.epoch == self._kept[0] else None

    def _now(self) -> tuple[object, ...]:
        return self.gauge.epoch, self.decisions.stubs, self.cleared, self.folds

    def restore(self, value: object, history: History) -> None:
        """Take up what `plain` returned.

        Args:
            value: it.
            history: that belongs to it. Results that the model has seen stay as they
                are.

        Raises:
            BadValue: it is no context.
        """
        kept = fields_of(value)
        epoch = kept.get("epoch")
        if not isinstance(epoch, int) or isinstance(epoch, bool) or epoch < 0:
            raise BadValue("a context's 'epoch'", repr(epoch), "a number, 0 or more")
        decisions = Decisions.restored(kept.get("stubs"), history)
        cleared = cleared_from_plain(kept.get("cleared"))
        folds = Folds.from_plain(kept.get("folds"))
        self.decisions, self.cleared, self.folds = decisions, cleared, folds
        self.gauge = attrs.evolve(self.gauge, epoch=epoch)
        self._kept = self._now()
