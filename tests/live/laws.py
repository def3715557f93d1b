"""The message-level laws of SPEC I, by name, and what else no run may do.

Each is a function of a run that yields what is wrong; its text is its docstring. Left
out are laws that concern nothing that is built, and those that others prove:

    10-12, 18-32, 44-48, 65-68, 72-73, 82
          what the table decides: proved of it, and that a run takes its rows, one after
          the other, `_steps` of `running` shows; one end, and nothing after it, `_ends`
    17    there are no commands that are queued, so none is reported as consumed
    37    whether errors are withheld is no switch: there is nothing that could change
    42    is of hooks that are commands: tests/live/test_hooks.py
    52    nothing is attached after a compaction: what was read is read again
    55    there is no budget that the server keeps for a task
    58    is a row of the table: proved of it
    74-75 there are no summaries of tools, and no memory is fetched
    81    there are no snapshots of rounds, and no rewind

Law 71 speaks of an error that is never retried after visible output. Here it is, but
what was seen is withdrawn first: that is what `law_71` asserts.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import cast

from tests.live import laws_done, laws_told
from tests.live.running import steps_wrong
from tests.live.watched import Told, Watched
from unspiral.engine.live.events import Ended, Refused

Law = Callable[[Watched], Iterator[str]]

LAWS: Mapping[str, Law] = {
    name: cast("Law", getattr(module, name))
    for module in (laws_told, laws_done)
    for name in sorted(vars(module))
    if name.startswith("law_")
}


def one_end(run: Watched) -> Iterator[str]:
    """There is one end, nothing is told after it, and it is a terminal of the table."""
    told = [each.event for each in run.records if isinstance(each, Told)]
    ends = [n for n, e in enumerate(told) if isinstance(e, Ended | Refused)]
    if ends and ends != [len(told) - 1]:
        yield f"it ends at {ends} of {len(told)}"


def rows(run: Watched) -> Iterator[str]:
    """Each step is one that the table takes, and follows the one before."""
    steps = [each.step for each in run.decided]
    yield from steps_wrong(steps, run.table, ended=run.end is not None)


ALL: Mapping[str, Law] = {**LAWS, "one_end": one_end, "rows": rows}


def broken(runs: Sequence[Watched]) -> list[str]:
    """What is wrong with the runs of a plan, each with the law that says so."""
    return [
        f"{name}: {found}  [{law.__doc__}] in run {number}"
        for number, run in enumerate(runs, 1)
        for name, law in ALL.items()
        for found in law(run)
    ]
