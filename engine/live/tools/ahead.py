"""Calls of an answer that is still streamed: begun ahead, then taken or thrown away.

Nobody hears of them before the answer is whole and kept, so that what is told, and what
is written down, is the same as if they had begun then. If the answer is withdrawn, it
is as if they had never been.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import attrs

from unspiral.engine.live.message import Block
from unspiral.engine.live.tools.executor import Executor

__all__ = ["Ahead", "Hear"]

Hear: TypeAlias = Callable[[object], None]


@attrs.define
class Ahead:
    """The calls that have begun ahead of their answer.

    `forget` must be awaited in the end, whatever happens.

    Attributes:
        make: makes an executor, which says each step to what it is given.
    """

    make: Callable[[Hear], Executor]
    _executor: Executor | None = attrs.field(default=None, init=False)
    _held: list[object] = attrs.field(factory=list[object], init=False)
    _tell: Hear | None = attrs.field(default=None, init=False)

    def add(self, call: Block) -> None:
        """Take a call that is complete; if it is safe, it starts as soon as it may."""
        if self._executor is None:
            self._executor = self.make(self._hear)
        self._executor.add(call)

    async def take(self, calls: Sequence[Block], tell: Hear) -> Executor | None:
        """Return the executor of calls that have begun; it is the caller's then.

        Args:
            calls: of the answer, now that it is whole. If those that have begun are not
                the first of them as they are, all are thrown away.
            tell: is told what was held back, and then each step as it happens.
        """
        executor = self._executor
        if executor is None:
            return None
        if executor.blocks != tuple(calls[: len(executor.blocks)]):
            await self.forget()
            return None
        held, self._held, self._executor = self._held, [], None
        for each in held:
            tell(each)
        self._tell = tell
        return executor

    async def forget(self) -> None:
        """Throw away what has begun."""
        executor, self._executor, self._tell = self._executor, None, None
        if executor is not None:
            await executor.discard()
        self._held.clear()

    def _hear(self, step: object) -> None:
        if self._tell is None:
            self._held.append(step)
        else:
            self._tell(step)
