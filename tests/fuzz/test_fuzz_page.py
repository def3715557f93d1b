"""The page of the fuzzing API runs, and tells of everything that is public."""

import doctest
import re
from pathlib import Path

import unspiral.engine.fuzz as api

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "fuzz-api.md"
TEXT = PAGE.read_text("utf-8")
BLOCK = re.compile(r"^```\{(testcode|doctest)\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: told where they are used, with no words of their own
TYPES = {"Kind", "Subject"}


def test_the_page_runs_as_it_stands() -> None:
    space: dict[str, object] = {}
    failed = 0

    for kind, source in BLOCK.findall(TEXT):
        if kind == "testcode":
            exec(source, space)  # noqa: S102 - our page
            continue
        parsed = doctest.DocTestParser().get_doctest(source, {}, "page", str(PAGE), 0)
        parsed.globs = space
        failed += doctest.DocTestRunner().run(parsed, clear_globs=False).failed

    assert failed == 0
    assert isinstance(space["TestTurnstile"], type)


def test_everything_public_is_on_the_page() -> None:
    missing = [name for name in api.__all__ if not re.search(rf"\b{name}\b", TEXT)]

    assert set(missing) <= TYPES
