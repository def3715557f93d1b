"""Paths: nothing that a text, a link or a change in between can do leads out."""

import contextlib
import os
import shutil
import socket
import stat
import threading
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspiral.engine.errors import BadValue
from unspiral.engine.live.tools.paths import DEEPEST, LONGEST, LONGEST_NAME, parts_of
from unspiral.engine.live.tools.problems import PathRefused
from unspiral.engine.live.tools.workspace import Workspace

SECRET = b"secret"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret").write_bytes(SECRET)
    return folder


@pytest.fixture
def root(tmp_path: Path, outside: Path) -> Path:
    del outside
    folder = tmp_path / "work"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "main.py").write_text("print()\n")
    (folder / "README").write_text("hello\n")
    return folder


@pytest.fixture
def workspace(root: Path) -> Workspace:
    return Workspace(root)


def read(workspace: Workspace, path: str) -> bytes:
    return workspace.read(path, 1_000).data


def write(workspace: Workspace, path: str) -> bool:
    return workspace.write(path, b"x")


def everything(folder: Path) -> dict[str, bytes | str]:
    """Return all that is in a folder, links as what they say."""
    return {
        str(each.relative_to(folder)): (
            str(each.readlink())
            if each.is_symlink()
            else each.read_bytes()
            if each.is_file()
            else "folder"
        )
        for each in sorted(folder.rglob("*"))
        if each.is_symlink() or each.is_file() or each.is_dir()
    }


# -- texts -----------------------------------------------------------------------------

HOSTILE = (
    "",
    "..",
    "../outside/secret",
    "src/../../outside/secret",
    "src/..",
    "./../outside/secret",
    "src/./../../outside/secret",
    "//etc/passwd",
    "/",
    "/etc/passwd",
    "/etc/../etc/passwd",
    "/proc/self/environ",
    "/proc/self/root/etc/passwd",
    "/proc/self/fd/0",
    "/proc/1/cwd",
    "/dev/zero",
    "/dev/tty",
    "/dev/stdin",
    "/sys/kernel/notes",
    "/tmp/x",  # noqa: S108 - that is the point
    "~",
    "~/.ssh/id_rsa",
    "~root/.bashrc",
    "README\0.png",
    "\0",
    "src\\main.py",
    "..\\outside\\secret",
    "C:\\Windows\\win.ini",
    "\uff0e\uff0e/outside/secret",  # full width dots
    "\u2025/outside/secret",  # a two dot leader
    "src\uff0fmain.py",  # a full width slash
    "\uff5e/.ssh/id_rsa",  # a full width tilde
    "\uff3coutside",  # a full width backslash
    "READ\u200bME",  # a space without width
    "\u202eEMDAER",  # from right to left
    "README\ufeff",
    "README\n",
    "\x1b[2JREADME",
    "README\ud800",
    "a" * (LONGEST_NAME + 1),
    "\u00e9" * (LONGEST_NAME // 2 + 1),
    "a/" * LONGEST + "b",
    "x" * 10_000_000,
    "/".join(["a"] * (DEEPEST + 1)),
)


@pytest.mark.parametrize("path", HOSTILE, ids=lambda path: ascii(path[:30]))
def test_a_hostile_path_is_refused_in_words_and_nothing_is_touched(
    workspace: Workspace, tmp_path: Path, path: str
) -> None:
    before = everything(tmp_path)
    uses: tuple[Callable[[], object], ...] = (
        lambda: workspace.read(path, 1_000),
        lambda: workspace.write(path, b"x"),
        lambda: list(workspace.walk(path)),
        lambda: workspace.is_folder(path),
    )

    for use in uses:
        with pytest.raises(PathRefused) as caught:
            use()
        told = str(caught.value)
        assert "workspace" in told or "name a file" in told
        assert len(told) < 1_000
        assert told.isprintable()
        told.encode("utf-8")
    assert everything(tmp_path) == before


@pytest.mark.parametrize(
    "path", ["README", "./README", ".//README", "{root}/README", "{root}//./README"]
)
def test_the_plain_ways_to_name_a_file_are_taken(
    workspace: Workspace, root: Path, path: str
) -> None:
    assert read(workspace, path.format(root=root)) == b"hello\n"


def test_a_folder_whose_name_begins_like_the_workspace_is_outside(
    workspace: Workspace, root: Path
) -> None:
    twin = root.with_name("workshop")
    twin.mkdir()
    (twin / "x").write_bytes(SECRET)

    with pytest.raises(PathRefused, match="outside the workspace"):
        read(workspace, str(twin / "x"))


def test_another_case_of_letters_is_another_path(
    workspace: Workspace, root: Path
) -> None:
    with pytest.raises(PathRefused, match="outside"):
        read(workspace, str(root).upper() + "/README")
    with pytest.raises(PathRefused, match="did you mean 'README'"):
        read(workspace, "readme")


@given(
    st.text(max_size=60)
    | st.lists(st.sampled_from(["..", ".", "", "a", "~", "/", "\0"])).map("/".join)
)
def test_no_text_at_all_has_parts_that_could_leave(path: str) -> None:
    with contextlib.suppress(PathRefused):
        parts = parts_of(path, ("/work",))
        assert not {"", ".", ".."} & set(parts)
        assert not any("/" in part or "\0" in part for part in parts)


# -- links -----------------------------------------------------------------------------

LINKS: dict[str, Callable[[Path, Path], str]] = {
    "to a file outside": lambda root, outside: link(root / "x", outside / "secret"),
    "to a folder outside": lambda root, outside: link(root / "d", outside) + "/secret",
    "relative, outside": lambda root, _: link(root / "x", "../outside/secret"),
    "dangling": lambda root, outside: link(root / "x", outside / "new"),
    "dangling folder": lambda root, _: link(root / "d", "/nowhere/at/all") + "/new",
    "to itself": lambda root, _: link(root / "x", "x"),
    "to the root": lambda root, _: link(root / "d", "/") + "/etc/passwd",
    "to proc": lambda root, _: link(root / "d", "/proc/self") + "/environ",
    "to a device": lambda root, _: link(root / "x", "/dev/zero"),
    "inside": lambda root, _: link(root / "x", "README"),
    "to a folder inside": lambda root, _: link(root / "d", "src") + "/main.py",
    "to a link": lambda root, outside: link(
        root / "y", link(root / "x", outside / "secret")
    ),
    "below a folder": lambda root, outside: (
        "src/" + link(root / "src" / "x", outside / "secret")
    ),
}


def link(at: Path, to: str | Path) -> str:
    at.symlink_to(to)
    return at.name


@pytest.mark.parametrize("name", LINKS)
def test_no_link_is_followed(
    workspace: Workspace, root: Path, outside: Path, name: str
) -> None:
    path = LINKS[name](root, outside)
    before = everything(root.parent)

    for use in (read, write, Workspace.is_folder):
        with pytest.raises(PathRefused, match="link"):
            use(workspace, path)
    assert everything(root.parent) == before
    met = [each.path for each in workspace.walk(".")]
    assert met == ["README", "src/main.py"]


@contextlib.contextmanager
def swapped(one: Callable[[], object], other: Callable[[], object]) -> Generator[None]:
    """Change something to and fro in another thread."""
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            one()
            other()

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_a_folder_that_is_swapped_for_a_link_all_the_time_never_leads_out(
    workspace: Workspace, root: Path, outside: Path
) -> None:
    (outside / "main.py").write_bytes(SECRET)
    (root / "link").symlink_to(outside)
    src, link_, aside = root / "src", root / "link", root / "aside"

    def put(what: Path) -> None:
        while True:
            try:
                what.rename(src)
            except OSError:  # a write has made the folder anew
                shutil.rmtree(src, ignore_errors=True)
            else:
                return

    def there() -> None:
        src.rename(aside)
        put(link_)

    def back() -> None:
        src.rename(link_)
        put(aside)

    seen: set[bytes] = set()
    with swapped(there, back):
        for _ in range(1_500):
            with contextlib.suppress(PathRefused):
                seen.add(read(workspace, "src/main.py"))
            with contextlib.suppress(PathRefused):
                workspace.write("src/new", b"mine")
            for each in workspace.walk("."):
                assert "secret" not in each.path

    assert seen <= {b"print()\n"}
    assert sorted(each.name for each in outside.iterdir()) == ["main.py", "secret"]
    assert (outside / "main.py").read_bytes() == SECRET


def test_a_file_that_is_swapped_for_a_link_all_the_time_is_never_followed(
    workspace: Workspace, root: Path, outside: Path
) -> None:
    target = root / "README"

    def there() -> None:
        (root / "l").symlink_to(outside / "secret")
        (root / "l").replace(target)

    def back() -> None:
        (root / "f").write_bytes(b"hello\n")
        (root / "f").replace(target)

    seen: set[bytes] = set()
    with swapped(there, back):
        for _ in range(1_500):
            with contextlib.suppress(PathRefused):
                seen.add(read(workspace, "README"))
            with contextlib.suppress(PathRefused):
                workspace.write("README", b"mine")

    assert seen <= {b"hello\n", b"mine"}
    assert (outside / "secret").read_bytes() == SECRET


def test_a_workspace_that_is_replaced_by_a_link_is_still_the_folder_it_was(
    workspace: Workspace, root: Path, outside: Path
) -> None:
    root.rename(root.with_name("moved"))
    root.symlink_to(outside)

    assert read(workspace, "README") == b"hello\n"
    with pytest.raises(PathRefused):
        read(workspace, "secret")
    assert not workspace.is_in_place()


# -- what is no file -------------------------------------------------------------------


def test_what_is_no_plain_file_is_refused_without_waiting_for_it(
    workspace: Workspace, root: Path
) -> None:
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.open(root, os.O_RDONLY)
        try:  # a short name: the system takes 107 bytes
            listener.bind(f"/proc/self/fd/{here}/sock")
        finally:
            os.close(here)
        for name, kind in (
            ("pipe", "a pipe"),
            ("sock", "a socket"),
            ("src", "a folder"),
        ):
            for use in (read, write):
                with pytest.raises(PathRefused, match=kind):
                    use(workspace, name)
    assert [each.path for each in workspace.walk(".")] == ["README", "src/main.py"]


def test_a_device_is_refused(workspace: Workspace, root: Path) -> None:
    try:
        os.mknod(root / "zero", stat.S_IFCHR | 0o600, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only root makes devices")

    with pytest.raises(PathRefused, match="a device"):
        read(workspace, "zero")


def test_a_file_where_a_folder_should_be_is_refused(workspace: Workspace) -> None:
    for path in ("README/x", "README/../x"):
        with pytest.raises(PathRefused):
            read(workspace, path)
        with pytest.raises(PathRefused):
            workspace.write(path, b"x")


@pytest.mark.parametrize("folder", ["/", "/proc/self", "/dev", "/nowhere/at/all"])
def test_what_cannot_be_a_workspace_is_none(folder: str) -> None:
    with pytest.raises(BadValue):
        Workspace(folder)


# -- writing ---------------------------------------------------------------------------


def test_a_new_file_is_made_with_its_folders(workspace: Workspace, root: Path) -> None:
    assert workspace.write("a/b/c.txt", b"x") is True
    assert (root / "a" / "b" / "c.txt").read_bytes() == b"x"
    assert workspace.write("a/b/c.txt", b"y") is False
    assert list((root / "a" / "b").iterdir()) == [root / "a" / "b" / "c.txt"]


def test_the_mode_of_a_file_is_kept_but_not_what_gives_rights(
    workspace: Workspace, root: Path
) -> None:
    file = root / "README"
    file.chmod(0o4751)

    workspace.write("README", b"x")

    assert stat.S_IMODE(file.stat().st_mode) == 0o751


def test_a_hard_link_to_a_file_outside_is_not_written_through(
    workspace: Workspace, root: Path, outside: Path
) -> None:
    os.link(outside / "secret", root / "x")

    workspace.write("x", b"mine")

    assert (outside / "secret").read_bytes() == SECRET


def test_a_write_that_fails_leaves_everything_as_it_was(
    workspace: Workspace, root: Path
) -> None:
    before = everything(root)
    stamp = workspace.read("README", 100).stamp
    (root / "README").write_bytes(b"other!\n")
    before["README"] = b"other!\n"

    with pytest.raises(PathRefused, match="changed in between"):
        workspace.write("README", b"x", stamp)
    with pytest.raises(TypeError):
        workspace.write("README", "no bytes")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] - to fail in the middle

    assert everything(root) == before


def test_whoever_reads_while_it_is_written_sees_the_old_or_the_new_whole(
    workspace: Workspace, root: Path
) -> None:
    old, new = b"a" * 500_000, b"b" * 700_000
    workspace.write("big", old)
    seen: set[bytes] = set()

    def look() -> None:
        seen.add((root / "big").read_bytes())

    with swapped(look, look):
        for _ in range(30):
            workspace.write("big", new)
            workspace.write("big", old)

    assert seen <= {old, new}


def test_a_file_that_is_too_large_is_not_read(workspace: Workspace) -> None:
    workspace.write("big", b"x" * 1_001)

    with pytest.raises(PathRefused, match="more than 1,000 bytes"):
        read(workspace, "big")


def test_a_walk_passes_over_git_and_names_that_cannot_be_given(
    workspace: Workspace, root: Path
) -> None:
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("x")
    (root / "a\nb").write_text("x")
    with contextlib.suppress(OSError):  # some file systems take no such name
        (Path(os.fsdecode(bytes(root) + b"/\xff"))).write_text("x")
    deep = root / "d"
    for _ in range(DEEPEST + 3):
        deep.mkdir()
        (deep / "f").write_text("x")
        deep /= "d"

    met = [each.path for each in workspace.walk(".")]

    assert met == sorted(met, key=lambda path: [*path.split("/")])
    assert not [path for path in met if ".git" in path or "\n" in path]
    assert max(path.count("/") + 1 for path in met) == DEEPEST
    assert all(workspace.parts(path) for path in met)


def test_no_open_file_is_left_behind(workspace: Workspace, root: Path) -> None:
    def count() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    os.mkfifo(root / "pipe")
    before = count()

    for path in (
        "README",
        "src/main.py",
        "src/none",
        "pipe",
        "README/x",
        "../x",
        "src",
    ):
        with contextlib.suppress(PathRefused):
            read(workspace, path)
        with contextlib.suppress(PathRefused):
            workspace.write(path, b"x")
        with contextlib.suppress(PathRefused):
            list(workspace.walk(path))
        next(iter(workspace.walk(".")))

    assert count() == before
