"""What is judged in the runs of one table; what can be made once is made once.

It also says what of a snapshot can matter, so that a judge can tell that a run has come
back to where it was. It knows no run.
"""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from unspiral.engine.check.interval import ENDLESS, interval
from unspiral.engine.core.language import FALSE, TRUE, names
from unspiral.engine.core.laws import Watcher, compile_law
from unspiral.engine.core.observer import Observer
from unspiral.engine.core.step import MemoryValue, Snapshot
from unspiral.engine.core.table import Row, Table, Variable
from unspiral.engine.errors import UnknownName

__all__ = ["Place", "Rules"]

Place: TypeAlias = tuple[str, tuple[MemoryValue, ...]]


class Rules:
    """What is judged: laws, spirals, the agreement of the two interpreters.

    Args:
        table: the machine.
        laws: the names of the laws to watch; all of the machine unless given.
        spirals: whether a death spiral is a failure.
        driver: whether each step is also taken by the machine of `transitions`.

    Raises:
        UnknownName: no such law.
        DeclarationError: a law that cannot be compiled.
    """

    def __init__(
        self,
        table: Table,
        laws: Iterable[str] | None = None,
        *,
        spirals: bool = True,
        driver: bool = True,
    ) -> None:
        self.table = table
        self.spirals = spirals
        self.driver = driver
        self.watchers = tuple(_watchers(table, laws))
        self.moved = tuple(self._moved(row) for row in table.rows)
        self.kept = _kept(table, [each.observer for each in self.watchers])

    @property
    def laws(self) -> tuple[str, ...]:
        """The laws that some run could break."""
        return tuple(each.observer.law.name for each in self.watchers)

    def _moved(self, row: Row) -> tuple[int, ...]:
        """Return which laws a step by this row can move, by number."""
        return tuple(
            number
            for number, each in enumerate(self.watchers)
            if _moves(each.observer, row)
        )

    def place(self, snapshot: Snapshot) -> Place:
        """Return what of a snapshot can matter for the rest of the run."""
        return snapshot.phase, tuple(snapshot.memory[i] for i in self.kept)


def _watchers(table: Table, laws: Iterable[str] | None) -> Iterator[Watcher]:
    known = {law.name: law for law in table.machine.laws}
    for name in known if laws is None else laws:
        if name not in known:
            within = f"machine {table.machine.name}"
            raise UnknownName("law", name, tuple(known), within)
        observer = compile_law(known[name], table)
        if not observer.trivial:
            yield Watcher(observer, table)


def _moves(observer: Observer, row: Row) -> bool:
    letters = observer.letters[row.index]
    if any(node not in {TRUE, FALSE} for node in letters):
        return True
    letter = sum(1 << bit for bit, node in enumerate(letters) if node == TRUE)
    if observer.recurrent is not None and letter >> observer.recurrent & 1:
        return True
    return any(after[letter] != state for state, after in enumerate(observer.delta))


def _kept(table: Table, observers: Iterable[Observer]) -> tuple[int, ...]:
    """Return the places of the memory that can matter.

    What cannot: a counter without a greatest value that no condition depends on,
    however indirectly, and that never falls below its least; such as the number of
    turns where turns have no limit.
    """
    read = frozenset[str]().union(
        *(names(row.guard) for row in table.rows),
        *(names(node) for node in table.available.values()),
        *(observer.names for observer in observers),
        frozenset(v.name for v in table.variables if not _endless(v, table)),
    )
    actions = [assign for row in table.rows for assign in row.action]
    while True:
        more = read.union(*(names(a.value) for a in actions if a.name in read))
        if more == read:
            break
        read = more
    return tuple(i for i, v in enumerate(table.variables) if v.name in read)


def _endless(variable: Variable, table: Table) -> bool:
    """Tell whether a memory is a counter that cannot leave its domain."""
    if variable.kind != "counter" or variable.high is not None:
        return False
    box = {
        v.name: (v.low, ENDLESS if v.high is None else v.high) for v in table.variables
    }
    return all(
        interval(assign.value, box)[0] >= variable.low
        for row in table.rows
        for assign in row.action
        if assign.name == variable.name
    )
