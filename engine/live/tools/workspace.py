"""The one folder that tools may touch: every file is opened name by name below it.

Each name is opened relative to the folder before it, already open, and never if it is a
link. So nothing that is swapped between a check and its use leads out of the workspace:
there is no path that is looked up twice. Links are refused even where they stay inside,
so that a file has one name, which rules on paths can rely on.

What it cannot tell: a hard link inside to a file outside, and a mount. What is written
is another file put in place, so the first is only ever read. Knows no tools.
"""

import contextlib
import os
import secrets
import stat
import weakref
from collections.abc import Generator, Iterator
from pathlib import Path

import attrs

from unspiral.engine.errors import BadValue
from unspiral.engine.live.tools.entries import (
    INSTEAD,
    Stamp,
    kind,
    meant_by,
    names_are_loose,
    refusal,
    require_plain,
    stamp_of,
    virtual_devices,
)
from unspiral.engine.live.tools.paths import parts_of
from unspiral.engine.live.tools.problems import PathRefused

__all__ = ["Content", "Found", "Stamp", "Workspace"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@attrs.frozen
class Content:
    """What was read of a file.

    Attributes:
        data: its bytes.
        stamp: of the file as it was read.
    """

    data: bytes
    stamp: Stamp


@attrs.frozen
class Found:
    """A file that was met on a walk.

    Attributes:
        path: from the workspace.
        folder: the folder that it is in, open.
        name: in that folder.
    """

    path: str
    folder: int
    name: str


class Workspace:
    """A folder, held open.

    Args:
        folder: its path; links that lead to it are followed, once.
        exact: whether a name counts only as it is spelled in its folder, which matters
            where names are found in any case or form; None: look whether they are.

    Attributes:
        root: the absolute path of the folder.
        fd: the folder, open.
        exact: whether a name counts only as it is spelled.

    Raises:
        BadValue: it is no folder that can be worked in.
    """

    def __init__(
        self, folder: str | os.PathLike[str], *, exact: bool | None = None
    ) -> None:
        given = Path(folder).absolute()
        self.root = str(given.resolve())
        self._roots: tuple[str, ...] = (self.root, str(given))
        if self.root == "/":
            raise BadValue("the workspace", self.root, "a folder below '/'")
        try:
            self.fd = os.open(self.root, _FOLDER)
        except OSError as error:
            problem = f"a folder that can be opened ({error.strerror})"
            raise BadValue("the workspace", str(given), problem) from None
        self._take_over(
            self.fd, exact=names_are_loose(self.root) if exact is None else exact
        )
        if os.fstat(self.fd).st_dev in self._virtual:
            raise BadValue("the workspace", self.root, "a folder of real files")

    def _take_over(self, fd: int, *, exact: bool) -> None:
        weakref.finalize(self, os.close, fd)
        self._virtual = virtual_devices()
        self.exact = exact

    @classmethod
    def opened(cls, fd: int, *, exact: bool) -> "Workspace":
        """Return the workspace that somebody else has opened.

        Args:
            fd: the folder; it is closed with the workspace.
            exact: as theirs is.
        """
        self = cls.__new__(cls)
        self.root, self._roots, self.fd = "", (), fd
        self._take_over(fd, exact=exact)
        return self

    def is_in_place(self) -> bool:
        """Tell whether the folder still is where it was, for who goes by its path."""
        try:
            found = Path(self.root).stat(follow_symlinks=False)
        except OSError:
            return False
        return os.path.samestat(found, os.fstat(self.fd))

    def parts(self, path: str) -> tuple[str, ...]:
        """Return the names on the way to what a path means.

        Raises:
            PathRefused: it may mean nothing in the workspace.
        """
        return parts_of(path, self._roots)

    @contextlib.contextmanager
    def folder(self, path: str) -> Generator[int]:
        """Open a folder for a while.

        Raises:
            PathRefused: there is no such folder that may be used.
        """
        with self._folder(path, self.parts(path)) as fd:
            yield fd

    def is_folder(self, path: str) -> bool:
        """Tell whether a path leads to a folder rather than to a file.

        Raises:
            PathRefused: it leads to neither, or may not be used.
        """
        parts = self.parts(path)
        if not parts:
            return True
        with self._folder(path, parts[:-1]) as fd:
            mode = self._look(path, fd, parts[-1]).st_mode
        if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
            raise PathRefused(path, f"it is {kind(mode)}", INSTEAD)
        return stat.S_ISDIR(mode)

    def open(self, path: str) -> int:
        """Open a plain file to read it; it must be closed.

        Raises:
            PathRefused: there is no such file that may be used.
        """
        parts = self.parts(path)
        if not parts:
            raise PathRefused(path, "it is a folder", "name a file")
        with self._folder(path, parts[:-1]) as fd:
            return self.open_in(fd, parts[-1], path)

    def open_in(self, folder: int, name: str, path: str) -> int:
        """Open a plain file of an open folder to read it; it must be closed.

        Raises:
            PathRefused: there is no such file that may be used.
        """
        require_plain(path, self._look(path, folder, name))
        try:
            fd = os.open(name, _FILE, dir_fd=folder)
        except OSError as error:
            raise refusal(path, folder, name, error) from None
        try:  # it may be another one by now
            require_plain(path, self._real(path, os.fstat(fd)))
        except PathRefused:
            os.close(fd)
            raise
        return fd

    def read(self, path: str, most: int) -> Content:
        """Read a whole file.

        Args:
            path: of it.
            most: bytes that it may have.

        Raises:
            PathRefused: there is no such file that may be used, or it is too large.
        """
        with os.fdopen(self.open(path), "rb") as file:
            data = file.read(most + 1)
            stamp = stamp_of(os.fstat(file.fileno()))
        if len(data) > most:
            raise PathRefused(path, f"it has more than {most:,} bytes", "read parts")
        return Content(data, stamp)

    def write(self, path: str, data: bytes, read_as: Stamp | None = None) -> bool:
        """Write a whole file, or leave everything as it was. Folders are made.

        Args:
            path: of it.
            data: all that it is to hold.
            read_as: refuse if the file is no longer what was read; None: whatever.

        Returns:
            Whether it is new.

        Raises:
            PathRefused: there may be no such file, or it cannot be written.
        """
        parts = self.parts(path)
        if not parts:
            raise PathRefused(path, "it is a folder", "name a file")
        with self._folder(path, parts[:-1], make=True) as fd:
            try:
                return self._replace(path, fd, parts[-1], data, read_as)
            except OSError as error:
                raise refusal(path, fd, parts[-1], error) from None

    def walk(self, path: str) -> Iterator[Found]:
        """Yield the plain files below a folder, in order; links are not followed.

        The insides of `.git` are passed over, and names that are no text.

        Raises:
            PathRefused: there is no such folder that may be used.
        """
        parts = self.parts(path)
        with self._folder(path, parts) as fd:
            yield from self._walk(fd, parts)

    # -- name by name ------------------------------------------------------------------

    @contextlib.contextmanager
    def _folder(
        self, path: str, parts: tuple[str, ...], *, make: bool = False
    ) -> Generator[int]:
        fd = os.dup(self.fd)
        try:
            for name in parts:
                below = self._step(path, fd, name, make=make)
                os.close(fd)
                fd = below
            yield fd
        finally:
            os.close(fd)

    def _step(self, path: str, folder: int, name: str, *, make: bool) -> int:
        if make:
            with contextlib.suppress(OSError):  # it is there, or opening says why not
                os.mkdir(name, dir_fd=folder)
        self._require_spelling(path, folder, name)
        try:
            fd = os.open(name, _FOLDER, dir_fd=folder)
        except OSError as error:
            raise refusal(path, folder, name, error) from None
        try:
            self._real(path, os.fstat(fd))
        except PathRefused:
            os.close(fd)
            raise
        return fd

    def _look(self, path: str, folder: int, name: str) -> os.stat_result:
        self._require_spelling(path, folder, name)
        try:
            return os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError as error:
            raise refusal(path, folder, name, error) from None

    def _real(self, path: str, found: os.stat_result) -> os.stat_result:
        if found.st_dev in self._virtual:
            raise PathRefused(path, "it belongs to the system", INSTEAD)
        return found

    def _require_spelling(self, path: str, folder: int, name: str) -> None:
        if not self.exact or name in os.listdir(folder):
            return
        with contextlib.suppress(OSError):
            os.stat(name, dir_fd=folder, follow_symlinks=False)
            meant = meant_by(folder, name)
            raise PathRefused(path, "it is spelled differently", f"its name is {meant}")

    def _replace(
        self, path: str, folder: int, name: str, data: bytes, read_as: Stamp | None
    ) -> bool:
        old = self._old(path, folder, name, read_as)
        mode = 0o666 if old is None else 0o600
        temporary = f".{secrets.token_hex(8)}.unspiral-new"
        fd = os.open(temporary, _NEW, mode, dir_fd=folder)
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(data)
                file.flush()
                if old is not None:
                    os.fchmod(fd, stat.S_IMODE(old.st_mode) & 0o777)
                os.fsync(fd)
            if read_as is not None:
                self._old(path, folder, name, read_as)
            # Whatever has this name by now is replaced, not followed.
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise
        return old is None

    def _old(
        self, path: str, folder: int, name: str, read_as: Stamp | None
    ) -> os.stat_result | None:
        self._require_spelling(path, folder, name)
        old: os.stat_result | None = None
        with contextlib.suppress(FileNotFoundError):
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            require_plain(path, self._real(path, found))
            old = found
        if read_as is not None and (old is None or stamp_of(old) != read_as):
            raise PathRefused(path, "it was changed in between", "read it again")
        return old

    def _walk(self, folder: int, parts: tuple[str, ...]) -> Iterator[Found]:
        with os.scandir(folder) as entries:
            found = sorted((each.name, _leads(each)) for each in entries)
        for name, leads in found:
            path = "/".join((*parts, name))
            with contextlib.suppress(PathRefused):  # no such text, gone or forbidden
                self.parts(path)
                if leads == "file":
                    yield Found(path, folder, name)
                elif leads == "folder" and name != ".git":
                    below = self._step(path, folder, name, make=False)
                    try:
                        yield from self._walk(below, (*parts, name))
                    finally:
                        os.close(below)


def _leads(entry: "os.DirEntry[str]") -> str:
    if entry.is_file(follow_symlinks=False):
        return "file"
    return "folder" if entry.is_dir(follow_symlinks=False) else ""
