"""Fixtures for anybody's tests of an agent: a Messages API with faults on demand.

    def test_my_agent_gives_up_within_bounds(fault_server):
        server = fault_server([call("read"), fail("overloaded", times=None)])
        run_my_agent(base_url=server.url)
        assert len(server.journal.exchanges) < 20

pytest loads this module in every run of everybody who has unspiral installed, so that
it imports nothing until a fixture is used. The report of a test that fails shows the
journal.
"""

import contextlib
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

import pytest

if TYPE_CHECKING:
    from unspiral.engine.faults.journal import MemoryJournal
    from unspiral.engine.faults.schedule import Schedule, Step
    from unspiral.engine.faults.serving import ServerThread
    from unspiral.engine.faults.transport import FaultTransport

__all__ = ["fault_server", "fault_transport"]

#: a schedule, its steps, or the path of its file
Playable: TypeAlias = "Schedule | Sequence[Step] | str | os.PathLike[str]"

_JOURNALS = pytest.StashKey[list["MemoryJournal"]]()


@pytest.fixture
def fault_server(
    request: pytest.FixtureRequest,
) -> Iterator[Callable[[Playable], "ServerThread"]]:
    """Start loopback servers that play schedules, each until the test ends.

    Returns:
        A function: from a schedule, a list of steps or the path of a schedule file, to
        a running server with `url`, `url_of(run)` and `journal`.
    """
    from unspiral.engine.faults.serving import ServerThread  # noqa: PLC0415 - if used

    with contextlib.ExitStack() as started:  # one that fails keeps no other from ending

        def start(what: Playable) -> "ServerThread":
            server = ServerThread(_schedule(what), _journal(request.node))
            return started.enter_context(server)

        yield start


@pytest.fixture
def fault_transport(
    request: pytest.FixtureRequest,
) -> Callable[[Playable], "FaultTransport"]:
    """Make `httpx2` transports that play schedules in the process, without a socket.

    Returns:
        A function: from what `fault_server` takes to an `httpx2.AsyncBaseTransport`
        with `journal`. With `unspiral.engine.faults.clock.run_virtual` its time, and
        that of the client's back-off, is virtual.
    """
    from unspiral.engine.faults.transport import FaultTransport  # noqa: PLC0415 - if used

    def make(what: Playable) -> "FaultTransport":
        return FaultTransport(_schedule(what), _journal(request.node))

    return make


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put the journals of a failed test into its report."""
    report = yield
    if report.when == "call" and report.failed:
        for journal in item.stash.get(_JOURNALS, list["MemoryJournal"]()):
            report.sections.append(("Journal of the fault server", _drawn(journal)))
    return report


def _journal(node: pytest.Item) -> "MemoryJournal":
    from unspiral.engine.faults.journal import MemoryJournal  # noqa: PLC0415 - if used

    journal = MemoryJournal()
    node.stash.setdefault(_JOURNALS, []).append(journal)
    return journal


def _schedule(what: Playable) -> "Schedule":
    from unspiral.engine.faults.schedule import Schedule  # noqa: PLC0415 - if used
    from unspiral.engine.faults.schedule_file import load_schedule  # noqa: PLC0415 - same

    if isinstance(what, Schedule):
        return what
    if isinstance(what, str | os.PathLike):
        return load_schedule(what)
    return Schedule(tuple(what))


def _drawn(journal: "MemoryJournal") -> str:
    from unspiral.engine.report.journal import journal_lines  # noqa: PLC0415 - if failed
    from unspiral.engine.report.lines import plain  # noqa: PLC0415 - same

    # The server runs until the fixture ends: that its journal has no end says nothing.
    return plain(journal_lines(journal.records, going=True))
