"""Faults on demand: what a Messages API can do to a client, as often as you like.

One catalogue of faults, schedules of them, a loopback server and an in-process
transport that play a schedule byte for byte alike, and a journal of what really
happened. It plays the outside world: it knows nothing of the rest of unspiral, counts
tokens in its own way, and serves any client.

    from unspiral.engine.faults import Schedule, call, fail, say

    storm = Schedule((call("read"), fail("overloaded", times=3), say("Done.")))

A name is imported when it is first used: a schedule needs neither socket nor client.
"""

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from unspiral.engine.faults.catalogue import CATALOGUE
    from unspiral.engine.faults.clock import run_virtual
    from unspiral.engine.faults.journal import MemoryJournal
    from unspiral.engine.faults.journal_file import FileJournal, read_journal
    from unspiral.engine.faults.player import Player
    from unspiral.engine.faults.reply import Reply, Text, Thinking, ToolUse
    from unspiral.engine.faults.schedule import (
        Context,
        Pattern,
        Play,
        Rule,
        Schedule,
        Step,
        call,
        fail,
        say,
    )
    from unspiral.engine.faults.schedule_file import (
        load_schedule,
        schedule_from_toml,
        schedule_to_toml,
    )
    from unspiral.engine.faults.server import FaultServer
    from unspiral.engine.faults.serving import ServerThread
    from unspiral.engine.faults.transport import FaultTransport

__all__ = [
    "CATALOGUE",
    "Context",
    "FaultServer",
    "FaultTransport",
    "FileJournal",
    "MemoryJournal",
    "Pattern",
    "Play",
    "Player",
    "Reply",
    "Rule",
    "Schedule",
    "ServerThread",
    "Step",
    "Text",
    "Thinking",
    "ToolUse",
    "call",
    "fail",
    "load_schedule",
    "read_journal",
    "run_virtual",
    "say",
    "schedule_from_toml",
    "schedule_to_toml",
]

_HOMES = {
    "CATALOGUE": "catalogue",
    "FaultServer": "server",
    "FaultTransport": "transport",
    "FileJournal": "journal_file",
    "MemoryJournal": "journal",
    "Player": "player",
    "Reply": "reply",
    "ServerThread": "serving",
    "Text": "reply",
    "Thinking": "reply",
    "ToolUse": "reply",
    "load_schedule": "schedule_file",
    "read_journal": "journal_file",
    "run_virtual": "clock",
    "schedule_from_toml": "schedule_file",
    "schedule_to_toml": "schedule_file",
}  #: every other public name is of the module `schedule`


def __getattr__(name: str) -> object:
    if name not in __all__:
        problem = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(problem, name=name, obj=None)
    home = f"{__name__}.{_HOMES.get(name, 'schedule')}"
    value: object = getattr(_importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
