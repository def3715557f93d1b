"""The project of a scenario: unpacked into an empty folder, looked at later."""

import os
from pathlib import Path

import pytest

from unspiral.engine.errors import BadDeclaration, BadValue
from unspiral.engine.faults.schedule import Schedule
from unspiral.engine.scenarios.paths import clash
from unspiral.engine.scenarios.project import check, write
from unspiral.engine.scenarios.scenario import Expected, Scenario, Wanted


def scenario(files: dict[str, str], **wanted: Wanted) -> Scenario:
    expected = Expected("completed", wanted)
    return Scenario("own", "Do it.", Schedule(), files=files, expected=expected)


def differences(folder: Path, wanted: Wanted) -> tuple[str, ...]:
    return check(scenario({}, a=wanted), "completed", folder)


def test_a_project_is_unpacked_byte_for_byte(tmp_path: Path) -> None:
    files = {"a.py": "x = 1\r\n", "src/deep/b.py": "\u00e9\x00", "empty": ""}

    write(scenario(files), tmp_path)

    found = {
        each.relative_to(tmp_path).as_posix(): each.read_bytes()
        for each in tmp_path.rglob("*")
        if each.is_file()
    }
    assert found == {path: text.encode() for path, text in files.items()}


def test_a_folder_that_is_not_empty_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")

    with pytest.raises(BadValue, match="empty"):
        write(scenario({"mine": "", "b": ""}), tmp_path)

    assert [each.name for each in tmp_path.iterdir()] == ["mine"]
    assert (tmp_path / "mine").read_text() == "precious"


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadValue):
        write(scenario({"a": ""}), tmp_path / "missing")


def test_a_project_follows_no_link_that_waits_for_it(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (inside / "src").symlink_to(outside)

    with pytest.raises(BadValue):
        write(scenario({"src/a.py": "x"}), inside)

    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("path", ["../a", "/a", "a/../../b", "con", "", "a\0"])
def test_no_scenario_holds_a_path_that_leads_out(path: str) -> None:
    with pytest.raises(BadDeclaration):
        scenario({path: ""})


def test_a_text_that_is_no_unicode_is_refused() -> None:
    with pytest.raises(BadDeclaration):
        scenario({"a": "\ud800"})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a", "A"),
        ("caf\u00e9", "cafe\u0301"),
        ("a", "a/b"),
        ("a/b", "a"),
        ("A/b/c", "a/b"),
        ("stra\u00dfe", "STRASSE"),
    ],
)
def test_two_paths_clash(one: str, other: str) -> None:
    assert clash(["x", one, "y/z", other]) == (one, other)


def test_paths_in_one_folder_do_not_clash() -> None:
    assert clash(["a/b", "a/c", "ab", "b"]) is None


# -- what is not as expected -----------------------------------------------------------


def test_what_came_as_expected_has_no_line(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one\ntwo\n")

    assert differences(tmp_path, Wanted("exact", ("one\ntwo\n",))) == ()
    assert differences(tmp_path, Wanted("contains", ("one", "two"))) == ()
    assert check(scenario({}, b=Wanted("absent")), "completed", tmp_path) == ()


def test_another_end_is_told(tmp_path: Path) -> None:
    assert check(scenario({}), "max_turns", tmp_path) == (
        "it ended in max_turns, not in completed",
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("one\n2\n", "a, line 2: there is '2', not 'two'"),
        ("one", "a, line 2: there is its end, not 'two'"),
        ("one\ntwo\n\n", "a, line 4: there is '', not its end"),
        ("\x1b[2J\ntwo\n", "a, line 1: there is '\\x1b[2J', not 'one'"),
    ],
)
def test_where_a_text_differs_is_told(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "a").write_text(text)

    assert differences(tmp_path, Wanted("exact", ("one\ntwo\n",))) == (said,)


def test_each_part_that_is_missing_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one")

    assert differences(tmp_path, Wanted("contains", ("two", "one", "three"))) == (
        "a: it does not hold 'two'",
        "a: it does not hold 'three'",
    )


def test_a_file_that_is_missing_is_told(tmp_path: Path) -> None:
    assert len(differences(tmp_path, Wanted("exact", ("",)))) == 1


def test_a_file_that_should_not_be_there_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")

    assert differences(tmp_path, Wanted("absent")) == ("a: it should not be there",)


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
@pytest.mark.parametrize("wanted", [Wanted("absent"), Wanted("exact", ("secret",))])
def test_what_is_no_plain_file_is_told_and_not_read(
    tmp_path: Path, kind: str, wanted: Wanted
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (tmp_path / "outside").write_text("secret")
    match kind:
        case "link":
            (folder / "a").symlink_to(tmp_path / "outside")
        case "folder":
            (folder / "a").mkdir()
        case _:
            os.mkfifo(folder / "a")

    lines = differences(folder, wanted)

    assert len(lines) == 1
    assert "secret" not in lines[0]
