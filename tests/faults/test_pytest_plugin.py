"""The fixtures, in somebody else's test run: a file of theirs, a process of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

THEIRS = """
import anthropic
import httpx2
import pytest

from unspiral.engine.faults import Schedule, call, fail, run_virtual, say

ASKED = dict(
    model="claude-sonnet-5-5",
    max_tokens=100,
    messages=[{"role": "user", "content": "Hello"}],
    tools=[{"name": "read", "input_schema": {"type": "object"}}],
)


def test_over_a_socket(fault_server):
    server = fault_server([call("read"), say("Well.")])
    with anthropic.Anthropic(api_key="k", base_url=server.url) as client:
        assert client.messages.create(**ASKED).stop_reason == "tool_use"
        assert client.messages.create(**ASKED).content[0].text == "Well."
    assert [each.answered.answer for each in server.journal.exchanges] == ["reply"] * 2


def test_in_the_process(fault_transport):
    transport = fault_transport(Schedule((fail("overloaded", times=2), say("Well."))))

    async def main():
        async with httpx2.AsyncClient(transport=transport) as http:
            client = anthropic.AsyncAnthropic(api_key="k", http_client=http)
            return await client.messages.create(**ASKED)

    assert run_virtual(main()).content[0].text == "Well."
    assert len(transport.journal.exchanges) == 3


def test_a_file(fault_server, tmp_path):
    path = tmp_path / "storm.toml"
    path.write_text('[[step]]\\nfault = "overloaded"\\nforever = true\\n')
    server = fault_server(path)
    with anthropic.Anthropic(api_key="k", base_url=server.url, max_retries=0) as client:
        with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
            client.messages.create(**ASKED)


def test_two_servers_and_a_failure(fault_server):
    one, two = fault_server([say("one")]), fault_server([say("two")])
    assert one.url != two.url
    with anthropic.Anthropic(api_key="k", base_url=one.url) as client:
        client.messages.create(**ASKED)
    assert False, "to see the journal"


def test_a_server_that_fails_at_its_end(fault_server):
    one, two = fault_server([say("one")]), fault_server([say("two")])

    def told():
        type(one).stop(one)
        print("the other one is stopped")

    def broken():
        type(two).stop(two)
        raise RuntimeError("broken")

    one.stop, two.stop = told, broken
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("theirs")
    (folder / "test_theirs.py").write_text(THEIRS)
    plugin = ["-p", "unspiral.engine.pytest_plugin", "-p", "no:cacheprovider"]
    found = subprocess.run(  # noqa: S603 - our own test
        [sys.executable, "-W", "error", "-m", "pytest", "-q", *plugin, str(folder)],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout + found.stderr


def test_both_fixtures_serve_the_tests_of_others(run: str) -> None:
    assert "4 passed" in run
    assert re.search(r"1 failed", run)


def test_a_failed_test_shows_what_the_server_saw(run: str) -> None:
    _, _, report = run.partition("Journal of the fault server")

    assert "200 text; end_turn" in report
    assert "run main: 1 request" in report
    assert "good order" not in report.partition("run main")[0]


def test_a_server_that_fails_at_its_end_keeps_no_other_from_ending(run: str) -> None:
    assert "1 error" in run
    assert "RuntimeError: broken" in run
    assert "the other one is stopped" in run


def test_the_plugin_costs_a_run_nothing_but_itself() -> None:
    program = (
        "import sys, unspiral.engine.pytest_plugin as plugin;"
        "names = [n for n in sys.modules if n.startswith('unspiral.')];"
        "print(sorted(names), 'attrs' in sys.modules and 'httpx2' in sys.modules)"
    )

    found = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert "faults" not in found.stdout
    assert "report" not in found.stdout
    assert "httpx2" not in found.stdout
    assert found.stdout.strip().endswith("False")


def test_the_plugin_is_found_by_pytest_once_installed() -> None:
    config = (ROOT / "setup.cfg").read_text("utf-8")

    assert "pytest11 =\n    unspiral = unspiral.engine.pytest_plugin" in config
    assert '"entry-points"' in (ROOT / "pyproject.toml").read_text("utf-8")
