"""read, write, edit, glob, grep: what the model asked for, bounded, or why not."""

import asyncio
import os
import re
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspiral.engine.live.ports import LoopClock, ToolOutcome
from unspiral.engine.live.tools.builtin import builtin_tools
from unspiral.engine.live.tools.files import LARGEST, MOST_LINES, MOST_READ
from unspiral.engine.live.tools.problems import ToolProblem
from unspiral.engine.live.tools.process import Ran
from unspiral.engine.live.tools.registry import Toolbox
from unspiral.engine.live.tools.search import MOST_LINES as MOST_FOUND
from unspiral.engine.live.tools.search import MOST_PATHS, Searcher, read_found
from unspiral.engine.live.tools.searching import Pattern, expanded
from unspiral.engine.live.tools.texts import (
    bounded,
    decoded,
    sendable,
    whole_characters,
)
from unspiral.engine.live.tools.workspace import Workspace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def told(root: Path, name: str, **given_: Any) -> ToolOutcome:
    box = Toolbox(builtin_tools(Workspace(root), os.environ, LoopClock()))
    running: Coroutine[Any, Any, ToolOutcome] = box.run(name, given_)
    return asyncio.run(running)


def good(root: Path, name: str, **given_: Any) -> str:
    outcome = told(root, name, **given_)
    assert not outcome.error, outcome.text
    return outcome.text


def refused(root: Path, name: str, **given_: Any) -> str:
    outcome = told(root, name, **given_)
    assert outcome.error, outcome.text
    return outcome.text


# -- read ------------------------------------------------------------------------------


def test_lines_are_read_with_their_numbers(root: Path) -> None:
    (root / "a").write_text("one\ntwo\n\nfour")

    assert good(root, "read", path="a") == (
        "     1\tone\n     2\ttwo\n     3\t\n     4\tfour"
    )
    assert good(root, "read", path="a", offset=2, limit=1) == (
        "     2\ttwo\n[there is more: go on with offset 3]"
    )
    assert "it has 4" in refused(root, "read", path="a", offset=5)
    (root / "empty").write_text("")
    assert good(root, "read", path="empty") == "[empty is empty]"


@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\n\0")), min_size=1
    ),
    st.integers(1, 5),
)
def test_reading_on_and_on_gives_every_line_once(lines: list[str], limit: int) -> None:
    text = "\n".join(lines)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "a").write_bytes(text.encode())
        wanted = text.split("\n")
        wanted = wanted[:-1] if wanted[-1] == "" else wanted
        got: list[str] = []
        while len(got) < len(wanted):
            said = good(root, "read", path="a", offset=len(got) + 1, limit=limit)
            more = f"\n[there is more: go on with offset {len(got) + limit + 1}]"
            assert said.endswith(more) == (len(got) + limit < len(wanted))
            said = said.removesuffix(more)
            for line in said.split("\n"):
                number, _, line_text = line.partition("\t")
                got.append(line_text)
                assert int(number) == len(got)
        assert got == wanted


def test_what_is_read_is_bounded_in_lines_in_bytes_and_across(root: Path) -> None:
    (root / "many").write_text("x\n" * 10_000)
    (root / "wide").write_text("y" * 3_000_000 + "\nend\n")
    (root / "both").write_text(("z" * 3_999 + "\n") * 1_000)

    many, wide, both = (good(root, "read", path=p) for p in ("many", "wide", "both"))

    assert many.count("\n") == MOST_LINES
    assert "[2996000 bytes of this line are left out]" in wide
    assert wide.endswith("     2\tend")
    assert MOST_READ < len(both) < MOST_READ + 5_000
    assert "there is more" in both


def test_what_is_no_text_is_told(root: Path) -> None:
    (root / "latin").write_bytes(b"caf\xe9\nna\xefve\n")
    (root / "binary").write_bytes(b"\x7fELF\0\0")

    said = good(root, "read", path="latin")

    assert said.startswith("[not UTF-8")
    assert "     1\tcaf\ufffd\n     2\tna\ufffdve" in said
    assert "no text" in refused(root, "read", path="binary")


# -- write and edit --------------------------------------------------------------------


def test_a_file_is_written_and_that_is_told(root: Path) -> None:
    assert good(root, "write", path="d/a", content="h\u00e9\n") == "Made d/a: 4 bytes."
    assert good(root, "write", path="d/a", content="") == "Replaced d/a: 0 bytes."
    assert (root / "d" / "a").read_bytes() == b""
    assert "surrogate" in refused(root, "write", path="b", content="\ud800")
    assert "more than" in refused(root, "write", path="b", content="x" * (LARGEST + 1))
    assert not (root / "b").exists()


def test_an_edit_needs_a_text_that_is_there_once(root: Path) -> None:
    file = root / "a"
    file.write_text("x = 1\ny = 2\nx = 1\n")

    assert "2 times, in lines 1, 3" in refused(
        root, "edit", path="a", old="x = 1", new="z"
    )
    assert "not in a" in refused(root, "edit", path="a", old="x = 2", new="z")
    assert "begins in line 2" in refused(root, "edit", path="a", old="  y = 2", new="z")
    assert "nothing to do" in refused(root, "edit", path="a", old="y", new="y")
    assert file.read_text() == "x = 1\ny = 2\nx = 1\n"

    assert good(root, "edit", path="a", old="y = 2", new="y = 3") == (
        "Replaced 1 in a, in line 2."
    )
    assert "Replaced 2" in good(root, "edit", path="a", old="x", new="z", all=True)
    assert file.read_text() == "z = 1\ny = 3\nz = 1\n"


def test_an_edit_changes_no_other_byte(root: Path) -> None:
    file = root / "a"
    file.write_bytes("\ufeffone\r\ntwo\r\n\u00e9".encode())

    assert "CR LF" in refused(root, "edit", path="a", old="one\ntwo", new="1")
    good(root, "edit", path="a", old="two", new="2")

    assert file.read_bytes() == "\ufeffone\r\n2\r\n\u00e9".encode()


def test_what_is_no_utf8_is_not_edited(root: Path) -> None:
    (root / "a").write_bytes(b"one\xff")

    assert "not UTF-8" in refused(root, "edit", path="a", old="one", new="two")
    assert (root / "a").read_bytes() == b"one\xff"


# -- glob and grep ---------------------------------------------------------------------


@pytest.fixture
def tree(root: Path) -> Path:
    for path in ("a.py", "b.md", "src/c.py", "src/deep/d.py", "src/deep/e.toml"):
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"first line of {path}\nneedle in {path}\n")
    (root / ".git").mkdir()
    (root / ".git" / "x.py").write_text("needle\n")
    return root


@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("*.py", ".", "a.py"),
        ("**/*.py", ".", "a.py src/c.py src/deep/d.py"),
        ("**/*.{toml,md}", ".", "b.md src/deep/e.toml"),
        ("src/*/*.py", ".", "src/deep/d.py"),
        ("src/**", ".", "src/c.py src/deep/d.py src/deep/e.toml"),
        ("*.py", "src", "src/c.py"),
        ("**/[de].*", ".", "src/deep/d.py src/deep/e.toml"),
        ("./a.py", ".", "a.py"),
        ("{root}/*.md", ".", "b.md"),
        ("{root}/*.md", "{root}", "b.md"),
        ("*.rs", ".", "[no file has such a path]"),
        ("A.py", ".", "[no file has such a path]"),
    ],
)
def test_paths_are_found_by_a_pattern(
    tree: Path, pattern: str, path: str, found: str
) -> None:
    where = path.replace("{root}", str(tree))

    said = good(tree, "glob", pattern=pattern.replace("{root}", str(tree)), path=where)

    assert said.split("\n") == (found.split(" ") if found[0] != "[" else [found])


@pytest.mark.parametrize("pattern", ["../*", "src/../../*", "/etc/*", "a\0"])
def test_a_pattern_that_leaves_the_folder_is_refused(tree: Path, pattern: str) -> None:
    assert "patterns go on" in refused(tree, "glob", pattern=pattern)
    assert "patterns go on" in refused(tree, "grep", pattern="x", glob=pattern)


@pytest.mark.parametrize("path", ["..", "/etc", "none", "~"])
def test_a_search_stays_in_the_workspace(tree: Path, path: str) -> None:
    for name in ("glob", "grep"):
        refused(tree, name, pattern="root", path=path)


def test_lines_are_found_by_a_regular_expression(tree: Path) -> None:
    assert good(tree, "grep", pattern=r"ne{2}dle in \w\.", glob="*.py") == (
        "a.py:2:needle in a.py"
    )
    assert good(tree, "grep", pattern="NEEDLE", path="src", ignore_case=True).split(
        "\n"
    ) == [
        "src/c.py:2:needle in src/c.py",
        "src/deep/d.py:2:needle in src/deep/d.py",
        "src/deep/e.toml:2:needle in src/deep/e.toml",
    ]
    assert good(tree, "grep", pattern="needle", files_only=True, glob="*.md") == "b.md"
    assert good(tree, "grep", pattern="needle", path="b.md") == "b.md:2:needle in b.md"
    assert good(tree, "grep", pattern="nowhere") == "[it is found nowhere]"
    assert good(tree, "grep", pattern="^$") == "[it is found nowhere]"
    assert "missing )" in refused(tree, "grep", pattern="(")


def test_files_that_are_no_text_are_counted_and_links_are_not_followed(
    root: Path,
) -> None:
    (root / "binary").write_bytes(b"needle\0")
    (root.parent / "secret").write_text("needle\n")
    (root / "link").symlink_to(root.parent / "secret")
    (root / "latin").write_bytes(b"needle \xe9\n")

    assert good(root, "grep", pattern="needle") == (
        "latin:1:needle \ufffd\n[1 files are no text, or too large]"
    )


def test_what_is_found_is_bounded(root: Path) -> None:
    (root / "many").write_text("needle\n" * 2_000)
    (root / "wide").write_text("a" * 50_000 + "needle" + "b" * 50_000)
    for n in range(MOST_PATHS + 5):
        (root / f"f{n}").write_text("")

    lines = good(root, "grep", pattern="needle", path="many").split("\n")
    wide = good(root, "grep", pattern="needle", path="wide")
    paths = good(root, "glob", pattern="*").split("\n")

    assert len(lines) == MOST_FOUND + 1
    assert "there are more than these" in lines[-1]
    assert "needle" in wide
    assert len(wide) < 1_000
    assert len(paths) == MOST_PATHS + 1


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|a)*b", "(.*)*x", r"(a*)*\1c", "((a{1,30}){1,30}){1,30}b"]
)
def test_a_pattern_that_would_take_for_ever_is_ended(root: Path, pattern: str) -> None:
    (root / "b").write_text("a" * 200 + "!\n")
    (root / "a").write_text("aaab\naaax\naaac\n")
    searcher = Searcher(Workspace(root), dict(os.environ), LoopClock(), seconds=1.0)

    async def grep() -> str:
        try:
            return await searcher.grep(pattern)
        except ToolProblem as problem:
            return str(problem)

    said = asyncio.run(grep())

    assert "the search took longer than 1 s and was ended" in said
    assert "b:1:" not in said


def test_what_was_found_before_a_search_was_ended_is_told() -> None:
    ran = Ran(None, b'["a", 1, "x"]\n["b", 2, "y', b"", 0, lingered=False)

    assert read_found(ran, 5).told(["a:1:x"], "", "") == (
        "a:1:x\n[the search took longer than 5 s and was ended: search for less]"
    )


def test_patterns_for_paths() -> None:
    assert Pattern(("**", "a", "**", "b")).matches(["x", "a", "b"])
    assert not Pattern(("**", "a", "**", "b")).matches(["x", "b", "a"])
    assert Pattern(("b",), anywhere=True).matches(["x", "b"])
    assert not Pattern(("b",)).matches(["x", "b"])
    assert expanded("{a,b}{c,d}") == ("ac", "ad", "bc", "bd")
    assert expanded("a{b}c") == ("a{b}c",)
    assert len(expanded("{a,b}" * 100)) < 1_000


@given(
    st.lists(st.sampled_from(["a", "b", "**", "*", "?"]), max_size=5),
    st.lists(st.sampled_from("ab"), max_size=5),
)
def test_a_pattern_means_what_the_regular_expression_of_it_means(
    parts: list[str], path: list[str]
) -> None:
    one = {"**": "(?:[^/]+/)*", "*": "[^/]*/", "?": "[^/]/"}
    regex = "".join(one.get(part, f"{part}/") for part in parts)

    matches = re.fullmatch(regex, "".join(f"{part}/" for part in path)) is not None

    assert Pattern(tuple(parts)).matches(path) == matches


# -- texts -----------------------------------------------------------------------------


@given(st.text(), st.integers(0, 20))
def test_a_text_is_left_alone_or_loses_its_middle(text: str, most: int) -> None:
    said = bounded(text, most)

    if len(text) <= most:
        assert said == text
    else:
        head, tail = most - most // 2, most // 2
        assert said.startswith(text[:head])
        assert said.endswith(text[len(text) - tail :])
        assert f"{len(text) - most:,} characters" in said


@given(st.text(st.characters()))
def test_every_text_can_be_sent_and_most_are_as_they_were(text: str) -> None:
    sent = sendable(text)
    sent.encode("utf-8")
    if not any(0xD800 <= ord(char) < 0xE000 for char in text):
        assert sent == text


@given(st.text(st.characters(codec="utf-8"), min_size=1), st.data())
def test_a_cut_through_a_character_is_not_called_a_wrong_encoding(
    text: str, data: st.DataObject
) -> None:
    raw = text.encode()
    cut = data.draw(st.integers(0, len(raw)))

    head, tail = whole_characters(raw[:cut], raw[cut:])

    assert text.startswith(decoded(head))
    assert text.endswith(decoded(tail))
    assert len(raw) - len(head) - len(tail) <= 4
