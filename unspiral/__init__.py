"""Agent loops you can draw, run and prove: the public face.

A name is imported when it is first used, so that `import unspiral` costs nothing; the
submodules `unspiral.engine`, `unspiral.machines` and `unspiral.diagrams` hold the rest.
"""

import importlib as _importlib
import typing as _typing

from unspiral.version import __version__

if _typing.TYPE_CHECKING:
    from unspiral.engine.check import check
    from unspiral.engine.cli.machine_files import load_machine, save_machine
    from unspiral.engine.core.declare import (
        REASONS,
        Assumption,
        Choice,
        Counter,
        Edition,
        Event,
        Flag,
        Law,
        Limit,
        Machine,
        Phase,
        Scope,
        Terminal,
        Transition,
    )
    from unspiral.engine.core.language import UNLIMITED
    from unspiral.engine.core.step import initial_snapshot, step
    from unspiral.engine.core.table import compile_table
    from unspiral.engine.core.validate import validate
    from unspiral.engine.errors import UnspiralError

__all__ = [
    "REASONS",
    "UNLIMITED",
    "Assumption",
    "Choice",
    "Counter",
    "Edition",
    "Event",
    "Flag",
    "Law",
    "Limit",
    "Machine",
    "Phase",
    "Scope",
    "Terminal",
    "Transition",
    "UnspiralError",
    "__version__",
    "check",
    "compile_table",
    "initial_snapshot",
    "load_machine",
    "save_machine",
    "step",
    "validate",
]

_HOMES = {
    "UNLIMITED": "engine.core.language",
    "UnspiralError": "engine.errors",
    "check": "engine.check",
    "compile_table": "engine.core.table",
    "initial_snapshot": "engine.core.step",
    "load_machine": "engine.cli.machine_files",
    "save_machine": "engine.cli.machine_files",
    "step": "engine.core.step",
    "validate": "engine.core.validate",
}  #: every other public name is of engine.core.declare


def __getattr__(name: str) -> object:
    if name not in __all__:
        problem = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(problem, name=name, obj=None)
    home = _HOMES.get(name, "engine.core.declare")
    value: object = getattr(_importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
