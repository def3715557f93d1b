"""The conversation that is killed, and what must be there when it has ended.

Each effect of a tool can be counted: a command appends its own name to a file, an edit
fills its own slot of another, a write makes a file of its own. None needs another one,
so one that a kill has cut short spoils no later one. What the model says follows from
the request alone, by its length: so it goes on where the history does, whoever asks.
On its way it is overloaded once, cut off once, and the prompt gets too long, so that
the run has something to wait for, to recover from and to compact.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import attrs

from unspiral.engine.faults.reply import Block, Reply, Text, ToolUse
from unspiral.engine.faults.schedule import Pattern, Play, Rule, Schedule

__all__ = ["NAMES", "TASK", "Effects", "Story", "effects", "name_of", "prepare"]

LOG, SLOTS = "log.txt", "slots.txt"
SUMMARY = "All that was asked for up to here is done; the rest is still to be done."

#: long, so that the requests before the compaction can be told from those after it
TASK = "Do all that has to be done. " + "It has to be done well, and in order. " * 1_800
_SMALL = 8_000  # tokens: less than any request before the compaction, more than after


def _appends(name: str, seconds: float = 0) -> ToolUse:
    slow = f"sleep {seconds}; " if seconds else ""
    return ToolUse("bash", {"command": f"{slow}echo {name} >> {LOG}"}, name)


def _fills(name: str) -> ToolUse:
    given = {"path": SLOTS, "old": f"{name}: empty", "new": f"{name}: full"}
    return ToolUse("edit", given, name)


def _makes(name: str) -> ToolUse:
    given = {"path": f"{name}.txt", "content": f"{name}\n"}
    return ToolUse("write", given, name)


def _reads(name: str) -> ToolUse:
    return ToolUse("read", {"path": SLOTS}, name)


Round = tuple[ToolUse, ...]
#: what the model calls, round by round: before the compaction, and after it
_BEFORE: tuple[Round, ...] = (
    (_appends("b1"), _reads("r1")),
    (_makes("w1"), _appends("b2", 0.03)),
)
_AFTER: tuple[Round, ...] = (
    (_reads("r2"), _reads("r3"), _fills("e1"), _fills("e2")),
    (_appends("b3"), _appends("b4", 0.02), _appends("b5")),
    (_appends("b6", 0.02),),
    (_fills("e3"), _makes("w2")),
    (_appends("b7"), _reads("r4"), _appends("b8", 0.02)),
    (_appends("b9"),),
)
NAMES: Mapping[str, ToolUse] = {
    each.id: each for calls in (*_BEFORE, *_AFTER) for each in calls
}


def name_of(call: str) -> str:
    """Return whose effect a call has: that of the call that it repeats, or its own."""
    return call.partition("_")[0]


@attrs.define
class Story:
    """What the model says from now on, whatever it has said.

    Attributes:
        rounds: its calls, round by round.
        compaction: the number of the round before which the prompt is too long.
        repeated: the calls that were made again.
    """

    rounds: list[Round] = attrs.field(factory=lambda: [*_BEFORE, *_AFTER])
    compaction: int = len(_BEFORE)
    repeated: set[str] = attrs.field(factory=set[str])

    def again(self, at: int, calls: Iterable[str]) -> None:
        """Let the model call again what it has been told was not begun.

        Args:
            at: how many rounds there were up to now.
            calls: the ids of those calls.
        """
        new = [each for each in calls if each not in self.repeated]
        if not new:
            return
        self.repeated.update(new)
        round_ = tuple(attrs.evolve(NAMES[name_of(e)], id=f"{e}_x") for e in new)
        self.rounds.insert(at, round_)
        self.compaction += at <= self.compaction

    def schedule(self, had: Iterable[str] = ()) -> Schedule:
        """Return what is answered, by what a request holds.

        Args:
            had: the faults that were played already.
        """
        faults = {"overloaded": 3, "max_tokens_in_text": 5}
        rules = [
            Rule(_asks(place), Play(fault), times=1)
            for fault, place in faults.items()
            if fault not in had
        ]
        for number in range(len(self.rounds), -1, -1):
            after = number >= self.compaction
            pattern = _asks(2 * number + 1, _SMALL if after else None)
            rules.append(Rule(pattern, Play(reply=self._says(number))))
            if number == self.compaction:
                pattern = _asks(2 * number + 1)
                rules.append(Rule(pattern, Play("prompt_too_long")))
        side = Play(reply=Reply((Text(f"<summary>{SUMMARY}</summary>"),)))
        return Schedule(rules=tuple(rules), side=side, name="killed")

    def _says(self, number: int) -> Reply:
        """Return the answer of a round; of the one after the last, the end."""
        if number == len(self.rounds):
            return Reply((Text("All is done."),))
        blocks: tuple[Block, ...] = (Text(f"Round {number}."), *self.rounds[number])
        return Reply(blocks)


def _asks(at_least: int, tokens: int | None = None) -> Pattern:
    """Return the pattern of the user's requests; those for a summary offer no tools."""
    return Pattern(has_tools=True, min_messages=at_least, max_tokens=tokens)


def prepare(folder: Path) -> None:
    """Write what is there before anything is done."""
    names = [each.id for each in NAMES.values() if each.name == "edit"]
    (folder / SLOTS).write_text("".join(f"{n}: empty\n" for n in names), "utf-8")


@attrs.frozen
class Effects:
    """What is to be seen of a run in its folder.

    Attributes:
        done: how often each call has had its effect.
        strange: what no call has done.
    """

    done: Mapping[str, int]
    strange: tuple[str, ...] = ()


def effects(folder: Path) -> Effects:
    """Look at a folder."""
    done, strange = Counter[str](), list[str]()
    log = folder / LOG
    for line in log.read_text("utf-8").splitlines() if log.exists() else ():
        done[line] += 1
    for line in (folder / SLOTS).read_text("utf-8").splitlines():
        name, _, state = line.partition(": ")
        if state == "full":
            done[name] += 1
        elif state != "empty":
            strange.append(f"{SLOTS} has {line!r}")
    for path in sorted(folder.iterdir()):
        if path.name in {LOG, SLOTS}:
            continue
        if path.name.startswith("."):
            strange.append(path.name)
            continue
        done[path.stem] += 1
        if path.is_dir() or path.read_text("utf-8") != f"{path.stem}\n":
            strange.append(f"{path.name} is not as it was written")
    strange += [f"{name!r} was done by nobody" for name in done if name not in NAMES]
    return Effects(done, tuple(strange))
