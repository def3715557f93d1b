"""The catalogue: everything that a Messages API can do to a client, by name."""

from collections.abc import Mapping
from types import MappingProxyType

from unspiral.engine.errors import UnknownName
from unspiral.engine.faults.catalogue_line import CONNECTION, PACE
from unspiral.engine.faults.catalogue_reply import REPLY
from unspiral.engine.faults.catalogue_status import STATUS
from unspiral.engine.faults.catalogue_stream import STREAM
from unspiral.engine.faults.fault import Fault

__all__ = ["CATALOGUE", "find_fault"]

CATALOGUE: Mapping[str, Fault] = MappingProxyType(
    {each.name: each for each in (*STATUS, *CONNECTION, *STREAM, *PACE, *REPLY)}
)


def find_fault(name: str) -> Fault:
    """Return an entry.

    Raises:
        UnknownName: there is no such fault.
    """
    if name not in CATALOGUE:
        raise UnknownName("fault", name, tuple(CATALOGUE))
    return CATALOGUE[name]
