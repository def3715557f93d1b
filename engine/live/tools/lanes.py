"""Who is inside a tool: any number of safe calls, or one that is not."""

import asyncio

import attrs

__all__ = ["Lanes"]


@attrs.define
class Lanes:
    """Lets calls in so that none that is unsafe is ever beside another.

    One that is kept for longer than a round remembers calls that could not be ended.

    Attributes:
        most: calls that may be inside at once.
    """

    most: int = 10
    _inside: dict[object, bool] = attrs.field(factory=dict[object, bool], init=False)
    _left: set[object] = attrs.field(factory=set[object], init=False)
    _changed: asyncio.Event = attrs.field(factory=asyncio.Event, init=False)

    async def enter(self, who: object, *, safe: bool) -> bool:
        """Wait until there is room; return whether there is.

        There is none if all the room is taken by calls that were to end and do not, or
        one of them must not be beside this one.
        """
        while not self._has_room(safe=safe):
            beside = {each for each, is_safe in self._inside.items() if is_safe}
            in_the_way = self._inside.keys() - (beside if safe else set[object]())
            if self._left & in_the_way or self._left >= self._inside.keys():
                return False
            await self._changed.wait()
        self._inside[who] = safe
        return True

    def _has_room(self, *, safe: bool) -> bool:
        if not safe:
            return not self._inside
        return len(self._inside) < self.most and all(self._inside.values())

    def leave(self, who: object) -> None:
        """Make room; whoever has not entered leaves nothing."""
        self._inside.pop(who, None)
        self._left.discard(who)
        self._tell()

    def abandon(self, who: object) -> None:
        """Note that a call does not end; it stays inside until it does."""
        self._left.add(who)
        self._tell()

    def _tell(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
