"""The long campaign: every fault in every place, alone and in pairs, for ever, aside.

    python -m tests.live.campaign [--pairs classes|entries] [--part I/N]
    python -m tests.live.campaign --table

plays what the tests of `test_fault_matrix` leave out for the sake of time, and prints
what no run may do, with the case; it ends with 1 if there is any. `--part 2/8` plays
the second eighth. With `--table` it prints the table that tests/live/fault_matrix.toml
holds: what comes of each fault at the second request, beside what the catalogue expects
of a correct client. Whoever writes it anew reads it anew, line by line.
"""

import argparse
import functools
import itertools
import json
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from tests.live.faulty import (
    LAST,
    Played,
    broken,
    conversation,
    fault,
    longest_stretch,
    play,
    table,
)
from unspiral.engine.check import check_table
from unspiral.engine.faults.catalogue import CATALOGUE
from unspiral.engine.faults.schedule import DONE, Step

__all__ = [
    "CLASSES",
    "FOR_EVER",
    "alone",
    "aside",
    "bound",
    "class_of",
    "endless",
    "entry_of",
    "outcome",
    "pair",
    "tables",
    "ways_of",
    "wrong_in",
]

#: a fault of each class, by what it is for the loop: the fact of the request, or what
#: the answer says, and whether the model is told of calls that cannot be run
CLASSES: Mapping[str, str] = {
    "prompt_too_long": "prompt_too_long",
    "output_overflow": "output_over_window",
    "media_rejected": "image_too_large",
    "permanent": "unpaired_tool_use",
    "unauthorized": "bad_key",
    "server_error": "request_timeout",
    "rate_limited": "rate_limited",
    "overloaded": "overloaded",
    "connection_lost": "connection_refused",
    "stream_died": "reset_after_first_event",
    "tool_use": "unknown_event",
    "tool_use, refused": "malformed_tool_json",
    "answer": "end_turn",
    "paused": "pause_turn",
    "truncated": "max_tokens_in_text",
    "truncated_tool_use": "max_tokens_in_tool_json",
    "empty": "empty_answer",
}
#: what a fault has for ever that has an end by itself
FOR_EVER: Mapping[str, Mapping[str, Any]] = {"connection_refused": {"seconds": 86_400}}
#: Megabytes are sent once. Elsewhere an event is huge that a window still takes.
_SMALLER: Mapping[str, Mapping[str, Any]] = {"huge_event": {"bytes": 20_000}}


# -- cases -----------------------------------------------------------------------------


def alone(
    name: str,
    position: int,
    *,
    stream: bool,
    again: bool = False,
    early: bool = False,
) -> Played:
    """One fault, at a request of the conversation."""
    path = "fault" if position < LAST else ""
    step = fault(name, path) if again else _small(name, path)
    faults = {position: (step,)}
    return play(conversation(faults), stream=stream, again=again, early=early)


def pair(first: str, second: str, *, stream: bool, apart: bool = False) -> Played:
    """Two faults: the second at the next request, or in the next turn."""
    one, two = (_small(name, f"fault-{n}") for n, name in enumerate((first, second), 1))
    faults = {2: (one,), 3: (two,)} if apart else {2: (one, two)}
    return play(conversation(faults), stream=stream)


def aside(name: str, *, stream: bool) -> Played:
    """A fault of the request for a summary."""
    faults = {3: (fault("prompt_too_long"), _small(name, ""))}
    return play(conversation(faults, side=None), stream=stream)


def endless(name: str, *, stream: bool, side: bool = True) -> Played:
    """A fault that comes for ever, to requests for summaries as well or not."""
    more = {**_SMALLER.get(name, {}), **FOR_EVER.get(name, {})}
    step = fault(name, times=1 if name in FOR_EVER else None, **more)
    return play(conversation({2: (step,)}, side=None if side else DONE), stream=stream)


def _small(name: str, path: str) -> Step:
    return fault(name, path, **_SMALLER.get(name, {}))


@functools.cache
def bound() -> int:
    """The most calls of a model between two steps that are progress, as proved."""
    bounds = check_table(table(), laws=False).bounds
    assert bounds is not None
    assert bounds.model_calls_between_progress is not None
    return bounds.model_calls_between_progress


def wrong_in(played: Played) -> list[str]:
    """What no run may do; empty."""
    found = broken(played)
    for ran in played.runs:
        longest = longest_stretch(ran.steps)
        if longest > bound():
            found.append(f"{longest} calls of the model without progress")
    return found


# -- what comes of a fault -------------------------------------------------------------


def class_of(played: Played) -> str:
    """What the second request of the conversation is for the loop."""
    fact = str(played.ran.facts("call_model.request")[1])
    if fact != "answered":
        return fact
    said = str(played.ran.facts("read_reply")[1])
    return f"{said}, refused" if played.refused and said == "tool_use" else said


def outcome(played: Played) -> str:
    """What comes of it, in a line."""
    requests, side = played.requests
    reasons = [each for each in played.ran.reasons if each != "next_turn"]
    told = [
        *_counted(reasons),
        *([f"waits {sum(played.waits):,g} s"] if played.waits else []),
        f"{requests} requests",
        *([f"{side} for a summary"] if side else []),
        f"reads {' '.join(_counted(played.files))}",
        *([f"{len(played.refused)} refused"] if played.refused else []),
    ]
    return f"{played.ran.end}: {', '.join(told)}"


def _counted(words: Iterable[str]) -> list[str]:
    times = Counter(words).items()
    return [word if n == 1 else f"{word} x{n}" for word, n in times]


def entry_of(name: str, *ways: Played) -> dict[str, Any]:
    """What comes of a fault, as the table has it.

    Args:
        name: of the fault.
        ways: streamed and whole, at the second request; and for ever, where the fault
            stands for its class.
    """
    streamed, whole, *forever = map(outcome, ways)
    entry: dict[str, Any] = {
        "expect": CATALOGUE[name].expect,
        "class": class_of(ways[0]),
        "streamed": streamed,
        "whole": whole if whole != streamed else "",
        "refused": ways[0].refused,
        "told": ways[0].remarks,
        "forever": "".join(forever),
    }
    return {key: value for key, value in entry.items() if value}


def ways_of(name: str) -> list[Played]:
    """The runs that the table tells of."""
    ways = [alone(name, 2, stream=each, again=True) for each in (True, False)]
    stands = name in CLASSES.values()
    return [*ways, endless(name, stream=True)] if stands else ways


def tables() -> str:
    """Return the table as TOML."""
    lines = [
        "# What comes of each fault at the second request, beside what the catalogue",
        "# expects of a correct client; and if it comes for ever, once a class.",
        "# `whole` is left out where it is the same as `streamed`. Written by",
        "# `python -m tests.live.campaign --table`; to be read line by line.",
    ]
    for name in CATALOGUE:
        entry = entry_of(name, *ways_of(name))
        lines += ["", f"[{name}]"]
        lines += [f"{key} = {json.dumps(each)}" for key, each in entry.items()]
    return "\n".join(lines) + "\n"


# -- the command -----------------------------------------------------------------------


Case = tuple[str, Callable[[], Played]]


def cases(names: Sequence[str]) -> Iterator[Case]:
    """All of them, with pairs of these faults."""
    for stream in (True, False):
        way = "streamed" if stream else "whole"
        for name in CATALOGUE:
            for position in range(1, LAST + 1):
                yield (
                    f"{name} at {position}, {way}",
                    partial(alone, name, position, stream=stream, again=True),
                )
            yield f"{name} aside, {way}", partial(aside, name, stream=stream)
            for side in (True, False):
                yield (
                    f"{name} for ever, {way}, aside too: {side}",
                    partial(endless, name, stream=stream, side=side),
                )
        for (one, two), apart in itertools.product(
            itertools.product(names, repeat=2), (False, True)
        ):
            yield (
                f"{one}, then {two}, {way}, apart: {apart}",
                partial(pair, one, two, stream=stream, apart=apart),
            )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--table", action="store_true", help="print the table instead")
    parser.add_argument("--pairs", choices=("classes", "entries"), default="entries")
    parser.add_argument("--part", default="1/1", metavar="I/N")
    given = parser.parse_args(arguments)
    if given.table:
        sys.stdout.write(tables())
        return 0
    part, parts = map(int, given.part.split("/"))
    names = tuple(CLASSES.values() if given.pairs == "classes" else CATALOGUE)
    played = failed = 0
    for words, run in itertools.islice(cases(names), part - 1, None, parts):
        played += 1
        for found in wrong_in(run()):
            failed += 1
            sys.stdout.write(f"{words}: {found}\n")
    sys.stdout.write(f"{played:,} runs, {failed:,} things that no run may do\n")
    return int(failed > 0)


if __name__ == "__main__":
    warnings.simplefilter("error")
    sys.exit(main())
