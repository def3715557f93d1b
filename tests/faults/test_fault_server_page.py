"""The page on the fault server: its curl session and its tests, run as they stand."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from unspiral.engine.faults.schedule_file import load_schedule
from unspiral.engine.faults.serving import ServerThread

ROOT = Path(__file__).parents[2]
HOW_TO = ROOT / "docs" / "how-to"
PAGE = (HOW_TO / "fault-server.md").read_text("utf-8")
SHOWN_URL = "http://127.0.0.1:8377"
MARK = "-- end of the output --"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def session() -> tuple[list[str], list[str]]:
    """Return the commands of the curl session, and what the page shows below each."""
    told = re.split(r"^\$ ", "".join(blocks("shell-session")), flags=re.MULTILINE)
    parts = [each.partition("\n") for each in told if each]
    return [command for command, _, _ in parts], [shown.strip() for *_, shown in parts]


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_the_session_with_curl_shows_what_is_answered() -> None:
    commands, shown = session()
    script = "".join(f"{command}\necho '\n{MARK}'\n" for command in commands)

    with ServerThread(load_schedule(HOW_TO / "storm.toml")) as server:
        done = subprocess.run(  # noqa: S603 - our own page
            ["bash", "-c", script.replace(SHOWN_URL, server.url)],  # noqa: S607 - same
            capture_output=True,
            text=True,
            check=True,
        )

    assert len(commands) > 3
    assert [each.strip() for each in done.stdout.split(MARK)[:-1]] == shown
    assert {each.asked.run for each in server.journal.exchanges} == {"curl", "second"}


def test_the_tests_of_the_page_pass(tmp_path: Path) -> None:
    program = next(each for each in blocks("python") if "def test_" in each)
    (tmp_path / "test_page.py").write_text(program)
    plugins = ["-p", "unspiral.engine.pytest_plugin", "-p", "no:cacheprovider"]

    done = subprocess.run(  # noqa: S603 - our own page
        [sys.executable, "-W", "error", "-m", "pytest", "-q", *plugins, str(tmp_path)],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )

    assert f"{program.count('def test_')} passed" in done.stdout, done.stdout


def test_the_libraries_are_told_where_the_server_is() -> None:
    programs = [each for each in blocks("python") if SHOWN_URL in each]

    for program in programs:
        exec(program, {})  # noqa: S102 - our own page

    assert len(programs) == 3
