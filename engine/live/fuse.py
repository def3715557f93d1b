"""Does the run turn in a circle? A fuse that looks at rounds of tools; pure.

A round is its calls (tool and arguments) with their outcomes; ids do not count. It
trips when the last rounds are one cycle of at most three rounds, five times over: the
same round five times, or A-B-A-B-A-B-A-B-A-B. Whoever asks is told "tripped", once, and
may compact and warn. If then nothing but the same cycle comes five times more, it is
"stuck". Any other round arms the fuse anew.

Outcomes count, so that waiting for something that changes is no circle; an outcome that
holds the time of day never repeats, and other budgets must end that. The fuse knows
nothing of histories, so that compactions leave it as it is, and it outlives a process
as plain JSON.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, cast

import attrs

from unspiral.engine.errors import BadValue
from unspiral.engine.live.message import Block

__all__ = ["LONGEST_CYCLE", "REPEATS", "Fuse", "Verdict", "round_digest"]

REPEATS = 5  #: times that a cycle is seen before the fuse trips
LONGEST_CYCLE = 3  #: rounds in a cycle

Verdict: TypeAlias = Literal["", "tripped", "stuck"]


def round_digest(calls: Sequence[Block], results: Sequence[Block]) -> str:
    """Return a digest of a round: equal for equal calls with equal outcomes.

    Args:
        calls: the `tool_use` blocks of an answer.
        results: the `tool_result` blocks that answer them, in any order.
    """
    outcomes = {str(each.get("tool_use_id")): each for each in results}
    nothing: Block = {}
    rows: list[object] = []
    for call in calls:
        outcome = outcomes.get(str(call.get("id")), nothing)
        rows.append(
            [
                call.get("name"),
                call.get("input"),
                outcome.get("content"),
                bool(outcome.get("is_error")),
            ]
        )
    text = json.dumps(rows, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@attrs.frozen
class Fuse:
    """The rounds that were seen, as far as they matter.

    Attributes:
        recent: digests of the last rounds since it tripped, the newest last.
        tripped_on: the digests of the cycle that it tripped on, if nothing else has
            come since; sorted.
    """

    recent: tuple[str, ...] = ()
    tripped_on: tuple[str, ...] = ()

    def after(self, digest: str) -> tuple["Fuse", Verdict]:
        """Return the fuse after one more round, and what it says."""
        recent = (*self.recent, digest)[-REPEATS * LONGEST_CYCLE :]
        tripped_on = self.tripped_on if digest in self.tripped_on else ()
        cycle = _cycle(recent)
        if not cycle:
            return Fuse(recent, tripped_on), ""
        return Fuse((), cycle), "stuck" if cycle == tripped_on else "tripped"

    def plain(self) -> dict[str, list[str]]:
        """Return it as plain JSON."""
        return {"recent": list(self.recent), "tripped_on": list(self.tripped_on)}

    @classmethod
    def from_plain(cls, value: object) -> "Fuse":
        """Take up a fuse that was kept.

        Raises:
            BadValue: it is no fuse.
        """
        if not isinstance(value, Mapping):
            raise BadValue("a fuse", repr(value), "an object")
        kept = cast("Mapping[str, object]", value)
        if set(kept) != {"recent", "tripped_on"}:
            raise BadValue("a fuse", repr(sorted(kept)), "'recent' and 'tripped_on'")
        recent, tripped_on = _texts(kept["recent"]), _texts(kept["tripped_on"])
        return cls(recent[-REPEATS * LONGEST_CYCLE :], tripped_on)


def _texts(value: object) -> tuple[str, ...]:
    items = cast("list[object]", value) if isinstance(value, list) else [None]
    texts = tuple(each for each in items if isinstance(each, str))
    if len(texts) != len(items):
        raise BadValue("digests of a fuse", repr(items), "a list of texts")
    return texts


def _cycle(recent: tuple[str, ...]) -> tuple[str, ...]:
    """Return the rounds of the shortest cycle that the last rounds are, sorted."""
    for period in range(1, LONGEST_CYCLE + 1):
        last = recent[-REPEATS * period :]
        if len(last) == REPEATS * period and last[:period] * REPEATS == last:
            return tuple(sorted(set(last)))
    return ()
