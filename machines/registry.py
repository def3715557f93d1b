"""The shipped machines by name. Listing them imports none of them."""

import importlib
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from unspiral.engine.core.declare import Machine
from unspiral.engine.errors import UnknownName

__all__ = ["SHIPPED", "Shipped", "load", "names"]

_MODULES: Mapping[str, str] = MappingProxyType(
    {
        "turnstile": "A turnstile that counts how often its locked arm is shaken",
        "tool_call": "One tool call, from the queue to its one result",
        "api_attempt": "One model request: retries, back-off, fallback model",
        "shaping": "The light stages of context shaping, in order",
        "token_budget": "Whether a valid answer is followed by a nudge",
        "compaction": "Proactive compaction of a history, with its breaker",
        "recompaction": "A compaction that was ordered: summary, repeats, gain",
        "query_loop": "The agent loop: shape, call, run tools, decide",
        "agent_loop": "The query loop with budgets and a fuse, as it is run",
    }
)


class Shipped(Mapping[str, Machine]):
    """The shipped machines; each is declared when it is first looked up."""

    def __getitem__(self, name: str) -> Machine:
        if name not in _MODULES:
            raise KeyError(name)
        module = importlib.import_module(f"unspiral.machines.{name}")
        machine: Machine = getattr(module, name.upper())
        return machine

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)

    def __contains__(self, name: object) -> bool:
        return name in _MODULES

    def subject(self, name: str) -> str:
        """Return in one line what a machine describes, without declaring it.

        Raises:
            UnknownName: no such machine.
        """
        if name not in _MODULES:
            raise UnknownName("machine", name, names())
        return _MODULES[name]


SHIPPED = Shipped()


def names() -> tuple[str, ...]:
    """Return the names of the shipped machines, the smallest first."""
    return tuple(_MODULES)


def load(name: str) -> Machine:
    """Return a shipped machine.

    Raises:
        UnknownName: no such machine; the nearest name is said.
    """
    if name not in SHIPPED:
        raise UnknownName("machine", name, names())
    return SHIPPED[name]
