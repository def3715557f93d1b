"""Hooks that are commands: JSON on their input, exit status and JSON back.

A command gets one JSON object: the facts of the point, with `hook_event_name`. Exit 2
blocks, and what it wrote to its error stream is the reason. Any other exit is a crash,
unless a JSON object on its output says something; exit 0 without one says nothing.
`read_word` is pure; `CommandHook` runs the command in a process group of its own, which
is killed when time is out, and keeps no more of its output than `MOST` bytes.

The output is hostile: what is repeated of it is cut, and holds no control characters.
"""

import asyncio
import contextlib
import json
import os
import re
import signal
import tempfile
import unicodedata
from collections.abc import AsyncGenerator, Mapping
from typing import Any, BinaryIO, cast

import attrs

from unspiral.engine.live.ports import (
    Clock,
    HookCall,
    HookPoint,
    HookWord,
    LoopClock,
    Ruling,
)

__all__ = ["MOST", "CommandHook", "filtered", "read_word"]

MOST = 65_536  #: bytes that are kept of each stream
_LONGEST = 10_000  # characters of a text that is repeated
_BLOCK = 2  # the exit status that blocks
_LINGER = 1.0  # seconds for output that is still on its way when a command has ended
_SECRET = re.compile(
    r"ANTHROPIC_|.*(?:KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|COOKIE|PRIVATE)|"
    r".*_(?:PAT|PWD|DSN)\Z",
    re.IGNORECASE,
)
_RULINGS: Mapping[str, Ruling] = {
    "allow": "allow",
    "approve": "allow",
    "ask": "ask",
    "defer": "ask",
    "deny": "deny",
    "block": "deny",
}
#: where output that is no JSON is told to the model
_TALKS: frozenset[HookPoint] = frozenset({"UserPromptSubmit", "SessionStart"})


def filtered(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without what looks like a secret by its name."""
    return {
        name: value for name, value in environment.items() if not _SECRET.match(name)
    }


# -- what it says ----------------------------------------------------------------------


def read_word(point: HookPoint, status: int, output: bytes, errors: bytes) -> HookWord:
    """Read what a command says.

    Args:
        point: at which it was called.
        status: its exit status; negative: the signal that ended it.
        output: what it wrote.
        errors: what it wrote to its error stream.
    """
    if status == _BLOCK:
        return _blocked(point, _clean(errors) or "(a hook gave no reason)")
    text = output.decode("utf-8", "replace").strip()
    if text.startswith("{"):
        return _read_object(point, text, whole=len(output) <= MOST)
    if status != 0:
        return _crash(f"exit status {status}: {_clean(errors)[:500]}")
    talks = point in _TALKS and text
    return HookWord(context=(_clean(output),)) if talks else HookWord()


def _read_object(point: HookPoint, text: str, *, whole: bool) -> HookWord:
    if not whole:
        return _crash(f"it wrote more than {MOST} bytes")
    try:
        value: object = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return _crash("what it wrote begins like JSON, and is none")
    return _Reading(point, cast("dict[str, object]", value)).word()


def _no_constant(name: str) -> object:
    raise ValueError(name)


def _blocked(point: HookPoint, reason: str) -> HookWord:
    denies: Ruling | None = "deny" if point == "PreToolUse" else None
    return HookWord(blocks=(reason,), ruling=denies)


def _crash(problem: str) -> HookWord:
    return HookWord(crashes=(problem,))


def _clean(text: object) -> str:
    """Return a text of a hook as it may be repeated; "" for what is no text."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    if not isinstance(text, str):
        return ""
    cut = text.strip()[:_LONGEST]
    return "".join(
        each
        if each in "\n\t" or unicodedata.category(each) not in {"Cc", "Cf", "Cs"}
        else "\ufffd"
        for each in cut
    )


@attrs.frozen
class _Reading:
    """Reads the JSON object of a hook; what is not understood is told, and no more."""

    point: HookPoint
    value: Mapping[str, object]

    def word(self) -> HookWord:
        """Return what it says."""
        specific = self._specific()
        ruling = self._ruling(specific)
        context = self._texts(specific, "additionalContext")
        feedback = context if self.point == "Stop" else ()
        return HookWord(
            prevent=self._prevent(),
            blocks=(*self._blocks(specific, ruling), *feedback),
            ruling=ruling,
            given=self._given(specific),
            context=() if feedback else context,
            crashes=self._nonsense(specific),
        )

    def _specific(self) -> Mapping[str, object]:
        found = self.value.get("hookSpecificOutput")
        if not isinstance(found, dict):
            return {}
        specific = cast("dict[str, object]", found)
        named = specific.get("hookEventName", self.point)
        return specific if named == self.point else {}

    def _prevent(self) -> str:
        if self.value.get("continue") is not False:
            return ""
        return _clean(self.value.get("stopReason")) or "A hook ended the run."

    def _ruling(self, specific: Mapping[str, object]) -> Ruling | None:
        """Return the stricter of the two places in which a hook may rule."""
        if self.point != "PreToolUse":
            return None
        words = (self.value.get("decision"), specific.get("permissionDecision"))
        rulings = {_RULINGS[str(word)] for word in words if _known(word)}
        order: tuple[Ruling, ...] = ("deny", "ask", "allow")
        return next((each for each in order if each in rulings), None)

    def _blocks(
        self, specific: Mapping[str, object], ruling: Ruling | None
    ) -> tuple[str, ...]:
        reason = _clean(self.value.get("reason"))
        if ruling == "deny":
            denied = _clean(specific.get("permissionDecisionReason"))
            return (denied or reason or "(a hook gave no reason)",)
        if self.value.get("decision") == "block":
            return (reason or "(a hook gave no reason)",)
        return ()

    def _given(self, specific: Mapping[str, object]) -> Mapping[str, object] | None:
        found = specific.get("updatedInput")
        if self.point != "PreToolUse" or not isinstance(found, dict):
            return None
        return cast("dict[str, object]", found)

    def _texts(self, specific: Mapping[str, object], key: str) -> tuple[str, ...]:
        text = _clean(specific.get(key) or self.value.get(key))
        return (text,) if text else ()

    def _nonsense(self, specific: Mapping[str, object]) -> tuple[str, ...]:
        understood = {
            "continue": isinstance(self.value.get("continue"), bool | None),
            "decision": _silent_or_known(self.value.get("decision")),
            "permissionDecision": _silent_or_known(specific.get("permissionDecision")),
            "updatedInput": isinstance(specific.get("updatedInput"), dict | None),
            "hookSpecificOutput": "hookSpecificOutput" not in self.value
            or bool(specific),
        }
        return tuple(
            f"its {key!r} is not understood" for key, ok in understood.items() if not ok
        )


def _known(word: object) -> bool:
    return isinstance(word, str) and word in _RULINGS


def _silent_or_known(word: object) -> bool:
    return word is None or _known(word)


# -- running it ------------------------------------------------------------------------


@attrs.frozen
class CommandHook:
    """A command that is called as a hook. Equal ones of a point run once.

    Attributes:
        arguments: the program and its arguments; no shell reads them.
        folder: to run it in.
        environment: all of it; see `filtered`.
        clock: for output that is late.
    """

    arguments: tuple[str, ...]
    folder: str
    environment: Mapping[str, str] = attrs.field(factory=dict[str, str])
    clock: Clock = attrs.field(factory=LoopClock, eq=False)

    async def __call__(self, call: HookCall) -> HookWord:
        """Run it to its end; if it is cancelled, the whole group is killed."""
        facts = {**call.facts, "hook_event_name": call.point}
        text = json.dumps(facts, default=str).encode("utf-8", "surrogatepass")
        try:
            status, output, errors = await self._run(text)
        except (OSError, ValueError) as error:
            return _crash(f"it cannot be run: {_clean(str(error))[:500]}")
        return read_word(call.point, status, output, errors)

    async def _run(self, text: bytes) -> tuple[int, bytes, bytes]:
        async with _sink() as output, _sink() as errors:
            with tempfile.TemporaryFile() as given:
                given.write(text)
                given.seek(0)
                process = await self._start(given, output, errors)
            output.close_writer()
            errors.close_writer()
            try:
                status = await process.wait()
                await self._linger(output, errors)
            finally:
                ended = output.ended.is_set() and errors.ended.is_set()
                if process.returncode is None or not ended:
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.killpg(process.pid, signal.SIGKILL)
                await asyncio.shield(process.wait())
        return status, bytes(output.kept), bytes(errors.kept)

    async def _linger(self, *sinks: "_Sink") -> None:
        """Wait for output that is on its way, though a child may hold it open."""
        tasks = [asyncio.ensure_future(each.ended.wait()) for each in sinks]
        both: asyncio.Future[Any] = asyncio.gather(*tasks)
        timer = asyncio.ensure_future(self.clock.sleep(_LINGER))
        waited: set[asyncio.Future[Any]] = {both, timer}
        try:
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        finally:
            both.cancel()
            timer.cancel()

    async def _start(
        self, given: BinaryIO, output: "_Sink", errors: "_Sink"
    ) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *self.arguments,
            stdin=given,
            stdout=output.writer,
            stderr=errors.writer,
            cwd=self.folder,
            env=dict(self.environment),
            start_new_session=True,
        )


class _Sink(asyncio.Protocol):
    """Keeps the first bytes of a pipe, and reads on, so that nobody has to wait.

    A pipe of our own: one of `asyncio.subprocess` stays open as long as a descendant
    that left the group holds it.
    """

    def __init__(self) -> None:
        self.kept = bytearray()
        self.ended = asyncio.Event()
        self.reader, self.writer = os.pipe()
        self._open = True

    def data_received(self, data: bytes) -> None:
        """Keep what there is room for; one byte more tells that it was too much."""
        self.kept += data[: MOST + 1 - len(self.kept)]

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that nobody holds the other end any more."""
        del exc
        self.ended.set()

    def close_writer(self) -> None:
        """Close our own copy of the end that the command writes to."""
        if self._open:
            self._open = False
            os.close(self.writer)


@contextlib.asynccontextmanager
async def _sink() -> AsyncGenerator[_Sink]:
    sink = _Sink()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(
        lambda: sink, os.fdopen(sink.reader, "rb")
    )
    try:
        yield sink
    finally:
        sink.close_writer()
        transport.close()
