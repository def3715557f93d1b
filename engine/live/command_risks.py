"""What makes a shell command one that a person must see before it runs; pure.

Each finding is a reason in words, with nothing of the command in it: it may end in a
record that is kept. The lists are of what is known to be dangerous; that a command is
not in them allows nothing, it only forbids nothing. Names of files are compared as
texts: what a link leads to is not known here.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from unspiral.engine.live.commands import Command, Word, is_long, is_short
from unspiral.engine.live.git_risks import DELETES, LATER, OTHER_PROGRAM, git_risk

__all__ = ["carries", "in_git", "leaves", "risk_of"]

_AS_ROOT = "it acts as another user"
_MACHINE = "it acts on the machine"
_DISK = "it acts on disks"
_RIGHTS = "it changes the rights of many files, or gives special ones"
_LEAVES = "it leaves the workspace"
_IN_GIT = "it touches the inside of .git"
_OPTION = "names of files may be taken for options (write ./*)"

_USERS = "doas pkexec run0 runuser setpriv su sudo sudoedit"
_MACHINES = (
    "at batch crontab docker halt init insmod ip iptables kill killall launchctl "
    "modprobe nft passwd pkill podman poweroff reboot rmmod service shutdown sysctl "
    "systemctl systemd-run telinit ufw useradd userdel usermod visudo"
)
_DISKS = (
    "blkdiscard cfdisk cryptsetup dd diskutil fdisk hdparm losetup lvremove mkswap "
    "mount parted sfdisk shred swapoff swapon umount vgremove wipefs zfs zpool"
)
_SETTINGS = (
    "alias bind complete declare enable export hash local popd pushd read readonly set "
    "shopt trap typeset umask unalias unset"
)
_PROGRAMS = (
    ". ash bash builtin bunx busybox bwrap chroot chrt command csh dash ed emacs entr "
    "env eval ex exec expect fakeroot faketime fish flock gdb ionice ksh ltrace "
    "mapfile nc ncat netcat nice nohup npx nsenter nvim osascript parallel pipx proot "
    "pwsh rbash readarray rlwrap screen script setsid sh socat source ssh stdbuf "
    "strace taskset tcsh telnet time timeout tmux toybox unbuffer unshare uvx vi vim "
    "watch xargs zsh"
)
#: tools of projects that run the rest of the line as a command
_CARRIERS = "bundle cargo conda hatch npm pdm pipenv pixi pnpm poetry rye uv yarn"
_BY_NAME: Mapping[str, str] = MappingProxyType(
    {
        name: risk
        for risk, names in (
            (_AS_ROOT, _USERS),
            (_MACHINE, _MACHINES),
            (_DISK, _DISKS),
            (LATER, _SETTINGS),
            (OTHER_PROGRAM, _PROGRAMS),
        )
        for name in names.split()
    }
)
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*")
_PYTHON_FLAGS = frozenset({"-u", "-B", "-O", "-I", "-s", "-m"})
_PYTHON_MODULES = frozenset({"code", "idlelib", "pdb", "timeit"})  # run what they get
_INTERPRETER = re.compile(
    r"(?:perl|ruby|node|nodejs|deno|bun|php|lua|luajit|Rscript|tclsh|guile)[0-9.]*"
)
_RUNS_PROGRAM = (
    "--checkpoint-action",
    "--compress-program",
    "--eval",
    "--exec",
    "--exec-batch",
    "--exec-path",
    "--execute",
    "--ext-diff",
    "--extcmd",
    "--info-script",
    "--new-volume-script",
    "--open-files-in-pager",
    "--pager",
    "--receive-pack",
    "--rsh",
    "--rsync-path",
    "--to-command",
    "--unzip-command",
    "--upload-pack",
    "--use-askpass",
    "--use-compress-program",
)
_FIND_ACTS = re.compile(r"-(?:delete|exec(?:dir)?|ok(?:dir)?|f(?:printf?|print0|ls))")
_SED_FLAGS = frozenset({"-n", "-E", "-r", "-i", "-e", "-s", "-u", "-z", "-ne", "-nE"})
_SED_SCRIPT = re.compile(
    r"[0-9,$]*(?:[pdq=]|s([/|,#:@])(?:(?!\1)[^;\n{}\\])*\1(?:(?!\1)[^;\n{}\\])*\1"
    r"[gpiI0-9]*)"
)
_AWK_RUNS = re.compile(r"system|getline|[|>@]|^-[fliE]|^--(?!version)")
_SPECIAL_RIGHTS = re.compile(r"[0-7]?[2-7][0-7]{3}|.*[+=][rwx]*[st].*")
_URL = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]*://")
_MANY = 5  # operands of one `rm` that are many


def risk_of(command: Command, workspace: str) -> str:
    """Return why a person must see a command, or "".

    Args:
        command: as it was read.
        workspace: the absolute path of the folder that is worked in.
    """
    name = command.name
    if name in _BY_NAME:
        return _BY_NAME[name]
    if name.startswith(("mkfs", "fsck", "ld-linux", "ld.so")):
        return _DISK if name.startswith(("mkfs", "fsck")) else OTHER_PROGRAM
    special = _SPECIAL.get(_kind(name))
    return (
        (special(command.words[1:]) if special else "")
        or _first(_general(command.texts[1:]), OTHER_PROGRAM)
        or _where(command, workspace)
        or (_carried(command, workspace) if carries(command) else "")
    )


def carries(command: Command) -> bool:
    """Tell whether a command is a project's tool that runs the rest of the line."""
    return command.name in _CARRIERS.split() and command.texts[1:2] in {
        ("run",),
        ("exec",),
        ("x",),
    }


def leaves(path: str, workspace: str) -> bool:
    """Tell whether a path leads out of the workspace, as far as its text says."""
    plain = re.sub(r"/+", "/", path)
    if ".." in plain.split("/") or plain.startswith("~"):
        return True
    root = workspace.rstrip("/")
    return plain.startswith("/") and plain != root and not plain.startswith(root + "/")


def in_git(path: str) -> bool:
    """Tell whether a path is `.git` or inside it, in any case of letters."""
    return ".git" in path.casefold().split("/")


def _kind(name: str) -> str:
    if _PYTHON.fullmatch(name):
        return "python"
    return "perl" if _INTERPRETER.fullmatch(name) else name


def _carried(command: Command, workspace: str) -> str:
    """Return what is risky about any end of a line that is run by something else."""
    ends = (Command(command.words[n:]) for n in range(2, len(command.words)))
    return next(filter(None, (risk_of(each, workspace) for each in ends)), "")


def _first(found: bool, risk: str) -> str:  # noqa: FBT001 - the finding itself
    return risk if found else ""


def _general(texts: Sequence[str]) -> bool:
    return any(
        text.startswith("ext::")
        or (len(text) > len("--ex") and is_long(text, *_RUNS_PROGRAM))
        for text in texts
    )


# -- where a command works -------------------------------------------------------------


def _where(command: Command, workspace: str) -> str:
    if command.name == "cd" and command.texts[1:] in {(), ("-",)}:
        return _LEAVES
    targets = tuple(each.target for each in command.redirects if not each.harmless)
    for word in (*command.words[1:], *targets):
        if word.home or any(leaves(each, workspace) for each in _places(word.text)):
            return _LEAVES
        if not word.text.startswith("--exclude") and any(
            in_git(each) for each in _places(word.text)
        ):
            return _IN_GIT
        if word.globs and word.text[0] in "*?[":
            return _OPTION
    name = command.texts[0] if command.words else ""
    return _first("/" in name and leaves(name, workspace), _LEAVES)


def _places(text: str) -> Iterator[str]:
    """Yield what of a word may be a path: all of it, and what follows an option."""
    if _URL.match(text):
        return
    glued = re.match(r"-[A-Za-z]+(?=[/.~])", text)
    pieces = [*re.split(r"[=:,@]", text), text, text[glued.end() :] if glued else ""]
    for piece in pieces:
        if piece != "/dev/null":
            yield piece.removeprefix("~")


# -- single commands -------------------------------------------------------------------


def _rm(words: Sequence[Word]) -> str:
    operands = [word for word in words if not word.text.startswith("-")]
    many = (
        any(is_short(w.text, "rR") or is_long(w.text, "--recursive") for w in words)
        or any(word.globs for word in words)
        or len(operands) >= _MANY
    )
    return _first(many, DELETES)


def _find(words: Sequence[Word]) -> str:
    acts = any(_FIND_ACTS.fullmatch(word.text) for word in words)
    return _first(acts, "it acts on whatever it finds")


def _fd(words: Sequence[Word]) -> str:
    return _first(any(is_short(w.text, "xX") for w in words), OTHER_PROGRAM)


def _chmod(words: Sequence[Word]) -> str:
    risky = any(
        is_short(word.text, "R")
        or is_long(word.text, "--recursive")
        or _SPECIAL_RIGHTS.fullmatch(word.text)
        for word in words
    )
    return _first(risky, _RIGHTS)


def _recursive(words: Sequence[Word]) -> str:
    risky = any(is_short(w.text, "R") or is_long(w.text, "--recursive") for w in words)
    return _first(risky, _RIGHTS)


def _always(risk: str) -> Callable[[Sequence[Word]], str]:
    return lambda _: risk


def _rsync(words: Sequence[Word]) -> str:
    if any(is_short(word.text, "e") for word in words):
        return OTHER_PROGRAM
    deletes = any(
        word.text.startswith("--del") or is_long(word.text, "--remove-source-files")
        for word in words
    )
    return _first(deletes, DELETES)


def _tar(words: Sequence[Word]) -> str:
    texts = [word.text for word in words]
    if any(is_short(text, "IF") for text in texts):
        return OTHER_PROGRAM
    if any(is_long(text, "--remove-files") for text in texts):
        return DELETES
    out = any(is_short(t, "P") or is_long(t, "--absolute-names") for t in texts)
    return _first(out, _LEAVES)


def _sed(words: Sequence[Word]) -> str:
    texts = [word.text for word in words]
    flags = [text for text in texts if text.startswith("-")]
    plain = [text for text in texts if not text.startswith("-")]
    scripts = [texts[n + 1] for n, t in enumerate(texts[:-1]) if t in {"-e", "-ne"}]
    understood = set(flags) <= _SED_FLAGS and all(
        _SED_SCRIPT.fullmatch(each) for each in scripts or plain[:1]
    )
    return _first(not understood, OTHER_PROGRAM)


def _awk(words: Sequence[Word]) -> str:
    return _first(any(_AWK_RUNS.search(word.text) for word in words), OTHER_PROGRAM)


def _python(words: Sequence[Word]) -> str:
    texts = [word.text for word in words]
    if texts in (["--version"], ["-V"]):
        return ""
    for n, text in enumerate(texts):
        if not text.startswith("-"):
            module = n > 0 and texts[n - 1] == "-m"
            return _first(module and text in _PYTHON_MODULES, OTHER_PROGRAM)
        if text not in _PYTHON_FLAGS:
            break
    return OTHER_PROGRAM  # code on the line, or code that it reads


def _interpreter(words: Sequence[Word]) -> str:
    begin = words[0].text if words else "-"
    code = begin.startswith("-") or begin in {"eval", "repl"}
    return _first(code and begin != "--version", OTHER_PROGRAM)


def _curl(words: Sequence[Word]) -> str:
    told = any(is_short(w.text, "K") or is_long(w.text, "--config") for w in words)
    return _first(told, OTHER_PROGRAM)


_SPECIAL: Mapping[str, Callable[[Sequence[Word]], str]] = MappingProxyType(
    {
        "awk": _awk,
        "chattr": _always(_RIGHTS),
        "chgrp": _recursive,
        "chmod": _chmod,
        "chown": _recursive,
        "curl": _curl,
        "fd": _fd,
        "find": _find,
        "gawk": _awk,
        "git": git_risk,
        "mawk": _awk,
        "nawk": _awk,
        "perl": _interpreter,
        "python": _python,
        "rm": _rm,
        "rsync": _rsync,
        "sed": _sed,
        "setfacl": _recursive,
        "tar": _tar,
        "truncate": _always(DELETES),
    }
)
