"""Objects that begin alike again and again: what is fixed in them is looked at once.

A record of a decision says mostly what its row says. Whoever looks through records, or
writes them, may keep what came of the fixed part; two parts are the same if they are
the same object. What they say, and who writes them, is not known here.
"""

from collections.abc import Iterator, Mapping
from typing import cast

import attrs

__all__ = ["Based", "Fixed"]


@attrs.frozen(eq=False)
class Fixed:
    """Fields that never change, nor anything in them.

    Attributes:
        fields: them, as plain JSON.
    """

    fields: Mapping[str, object]


@attrs.frozen(eq=False)
class Based(Mapping[str, object]):
    """An object: fixed fields, then others, none of which has the name of a fixed one.

    Attributes:
        base: the fixed ones.
        rest: the others.
    """

    base: Fixed
    rest: Mapping[str, object]

    def __getitem__(self, name: str) -> object:
        """Return a field."""
        return self.rest[name] if name in self.rest else self.base.fields[name]

    def __iter__(self) -> Iterator[str]:
        """Return the names of the fields."""
        yield from self.base.fields
        yield from self.rest

    def __len__(self) -> int:
        """Return how many fields there are."""
        return len(self.base.fields) + len(self.rest)

    def __eq__(self, other: object) -> bool:
        """Tell whether two objects have equal fields."""
        if not isinstance(other, Mapping):
            return False
        return dict(self) == dict(cast("Mapping[object, object]", other))

    __hash__ = None  # type: ignore[assignment]
