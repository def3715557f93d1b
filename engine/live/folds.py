"""Context collapse: old rounds are shown folded, as a summary that is made locally.

A fold covers whole rounds of answers and says which tools were called, on what, and
with what outcome. Staged, it changes nothing; committed, it replaces its rounds in each
view from then on. The stored history never changes: a view is a projection of it.

No model is asked, and the same rounds always fold to the same text. Rounds are known by
their answers, not by their places, so that what other stages remove moves no fold.
"""

import functools
import hashlib
import json
from collections.abc import Callable, Sequence
from itertools import groupby

import attrs

from unspiral.engine.errors import BadValue
from unspiral.engine.live.estimate import Sizing, Window, rough
from unspiral.engine.live.message import (
    Block,
    History,
    Message,
    calls_of,
    groups,
    text_of,
    user_text,
)
from unspiral.engine.live.shaping import Shaped, reshaped
from unspiral.engine.live.untyped import fields_of, is_text, items_of, text_at

__all__ = [
    "Fold",
    "Folding",
    "Folds",
    "Projecting",
    "collapse",
    "drain",
    "project",
    "stage",
]

_ASKED, _SAID, _GIVEN, _CAME = 200, 200, 120, 120  # characters that are quoted
_TELLING = ("path", "file_path", "file", "command", "pattern", "query", "url")


@attrs.frozen
class Fold:
    """Some rounds, and what is shown instead of them.

    Attributes:
        rounds: the keys of their answers.
        text: the summary.
    """

    rounds: tuple[str, ...]
    text: str


@attrs.frozen
class Folds:
    """All folds of a history.

    Attributes:
        committed: are shown.
        staged: could be.
    """

    committed: tuple[Fold, ...] = ()
    staged: tuple[Fold, ...] = ()

    @functools.cached_property
    def folded(self) -> frozenset[str]:
        """The keys of all rounds in the place of which a fold is shown."""
        return frozenset(key for fold in self.committed for key in fold.rounds)

    def of(self, history: History) -> "Folds":
        """Return those of which at least one round is in a history."""
        keys = {_key([message]) for message in history}
        committed, staged = (
            tuple(fold for fold in folds if not keys.isdisjoint(fold.rounds))
            for folds in (self.committed, self.staged)
        )
        same = len(committed) == len(self.committed) and len(staged) == len(self.staged)
        return self if same else Folds(committed, staged)

    def plain(self) -> dict[str, object]:
        """Return them as plain JSON."""
        return {
            "committed": [[list(each.rounds), each.text] for each in self.committed],
            "staged": [[list(each.rounds), each.text] for each in self.staged],
        }

    @classmethod
    def from_plain(cls, value: object) -> "Folds":
        """Take up folds that were kept.

        Raises:
            BadValue: they are none.
        """
        kept = fields_of(value)
        read = cls(_folds(kept.get("committed")), _folds(kept.get("staged")))
        if read.plain() != value:
            allowed = "'committed' and 'staged', each [[keys, text], ...]"
            raise BadValue("folds", repr(value), allowed)
        return read


def _folds(value: object) -> tuple[Fold, ...]:
    pairs = [(*items_of(each), None, None)[:2] for each in items_of(value)]
    return tuple(
        Fold(tuple(key for key in items_of(rounds) if is_text(key)), text)
        for rounds, text in pairs
        if rounds and is_text(text)
    )


@attrs.frozen
class Folding:
    """What is folded.

    Attributes:
        keep: so many of the newest rounds never are.
        rounds: so many, at most, are folded together.

    Raises:
        BadValue: a number below 1.
    """

    keep: int = 6
    rounds: int = 10

    def __attrs_post_init__(self) -> None:
        if self.keep < 1 or self.rounds < 1:
            raise BadValue("rounds", f"{self.keep} and {self.rounds}", "1 or more")


def stage(view: History, folds: Folds, folding: Folding | None = None) -> Folds:
    """Stage folds for all old rounds that have none. Staging changes no view.

    A fold that would not be smaller than its rounds is not made.
    """
    folding = folding or Folding()
    known = {key for fold in (*folds.committed, *folds.staged) for key in fold.rounds}
    rounds = groups(view)
    keys = [_key(each) for each in rounds]
    answers = [n for n, key in enumerate(keys) if key]
    foldable = set(answers[: -folding.keep])
    asked, staged = "", list(folds.staged)
    runs = groupby(range(len(rounds)), lambda n: n in foldable and keys[n] not in known)
    for old, run in runs:
        at = list(run)
        for start in range(0, len(at) if old else 0, folding.rounds):
            part = at[start : start + folding.rounds]
            fold = _fold(asked, [rounds[n] for n in part], [keys[n] for n in part])
            staged += [] if fold is None else [fold]
        prompts = [m for n in at for m in rounds[n] if m.kind == "prompt"]
        asked = text_of(prompts[-1]) if prompts else asked
    return attrs.evolve(folds, staged=tuple(staged))


def collapse(  # noqa: PLR0913 - each is of another kind, and named
    view: History,
    folds: Folds,
    window: Window,
    *,
    folding: Folding | None = None,
    size: Sizing = rough,
    projected: Callable[[History, Folds], History] | None = None,
) -> tuple[Shaped, Folds]:
    """Show what is committed; commit more, the oldest first, if room is short.

    Args:
        view: what is shown.
        folds: all of them up to now.
        window: of the model.
        folding: what is folded.
        size: measures.
        projected: does what `project` does; None: that itself.

    Returns:
        "kept" or "projected", and all folds.
    """
    projected = projected or project
    after = projected(view, folds)
    if size(after) >= window.commit_at:
        folds = stage(view, folds, folding)
        while folds.staged and size(after) >= window.target:
            folds = Folds((*folds.committed, folds.staged[0]), folds.staged[1:])
            after = projected(view, folds)
    return reshaped("kept", "projected", view, after, size), folds


def drain(
    view: History, folds: Folds, folding: Folding | None = None
) -> tuple[str, Folds, int]:
    """Commit all folds at once.

    Returns:
        "committed" or "nothing", all folds, and how many were committed.
    """
    folds = stage(view, folds, folding)
    count = len(folds.staged)
    if not count:
        return "nothing", folds, 0
    return "committed", Folds((*folds.committed, *folds.staged)), count


def project(view: History, folds: Folds) -> History:
    """Return the view with its committed folds in place of their rounds."""
    fold_of = {key: fold for fold in folds.committed for key in fold.rounds}
    if not fold_of:
        return view
    shown: list[Message] = []
    told: set[Fold] = set()
    for each in groups(view):
        fold = fold_of.get(_key(each))
        if fold is None:
            shown += each
        elif fold not in told:
            told.add(fold)
            shown.append(user_text(fold.text, "note", f"fold:{fold.rounds[0]}"))
    return tuple(shown) if told else view


@attrs.define
class Projecting:
    """Projects views, and goes on from the last one while it only grows."""

    _folds: Folds = attrs.field(factory=Folds)
    _view: History = ()
    _shown: History = ()

    def __call__(self, view: History, folds: Folds) -> History:
        """Return what `project` returns."""
        if not folds.committed:
            return view
        if not self._goes_on(view, folds):
            self._shown = project(view, folds)
        elif len(view) > len(self._view):
            self._shown = (*self._shown, *view[len(self._view) :])
        self._folds, self._view = folds, view
        return self._shown

    def _goes_on(self, view: History, folds: Folds) -> bool:
        """Tell whether what is new in a view is shown as it is, after what was shown.

        So it is if the last round is shown, to which it may belong, and none that
        begins with it is folded.
        """
        known = len(self._view)
        if folds.committed != self._folds.committed or view[:known] != self._view:
            return False
        if not self._shown or self._shown[-1] is not self._view[-1]:
            return False
        return not any(_key([message]) in folds.folded for message in view[known:])


def _key(messages: Sequence[Message]) -> str:
    """Return what a round is known by; "" if it is none of an answer."""
    first = messages[0]
    if first.role != "assistant" or first.kind != "answer":
        return ""
    if first.id:
        return first.id
    text = json.dumps(first.content, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# -- the summary -----------------------------------------------------------------------


def _fold(
    asked: str, rounds: Sequence[Sequence[Message]], keys: Sequence[str]
) -> Fold | None:
    lines = [f"[{len(rounds)} rounds, folded."]
    lines += [f"The user had asked: {_quoted(asked, _ASKED)}"] if asked else []
    for each in rounds:
        lines += _told(each)
    text = "\n".join(lines) + "]"
    messages = [message for each in rounds for message in each]
    smaller = rough([user_text(text, "note")]) < rough(messages)
    return Fold(tuple(keys), text) if smaller else None


def _told(messages: Sequence[Message]) -> list[str]:
    """Return what happened in a round, a line a thing."""
    lines: list[str] = []
    results = {
        str(block.get("tool_use_id")): block
        for message in messages
        for block in message.content
        if block.get("type") == "tool_result"
    }
    for message in messages:
        said = text_of(message).strip()
        who = "answer" if message.role == "assistant" else "told"
        lines += [f"- {who}: {_quoted(said, _SAID)}"] if said else []
        for call in calls_of(message):
            outcome = _outcome(results.get(str(call.get("id")), {}))
            lines.append(f"- {call.get('name')}{_given(call)}: {outcome}")
    return lines


def _given(call: Block) -> str:
    told = [text_at(call.get("input"), name) for name in _TELLING]
    return "".join(f" {_quoted(each, _GIVEN)}" for each in told if each)


def _outcome(result: Block) -> str:
    content = result.get("content")
    parts = [text_at(each, "text") or "" for each in items_of(content)]
    text = content if isinstance(content, str) else "\n".join(parts)
    if result.get("is_error"):
        return f"failed: {_quoted(text, _CAME)}"
    return f"ok, {len(text)} characters"


def _quoted(text: str, most: int) -> str:
    """Return the beginning of a text, in one line."""
    words = " ".join(text[: 4 * most].split())
    cut = len(words) > most or len(text) > 4 * most
    return words[:most] + ("..." if cut else "")
