"""A TOML text to tables, without a hang and with one kind of error.

Knows the traps of the parser; not what the tables mean.
"""

import re
import tomllib
from collections.abc import Callable
from typing import TypeAlias, TypeVar

from unspiral.engine.toml.fields import Fields, Place, shorten
from unspiral.engine.toml.lines import find_line

__all__ = ["MAX_FILE", "Failure", "read_tables"]

MAX_FILE = 1_000_000  #: bytes; the greatest machine needs a tenth of it

_Error = TypeVar("_Error", bound=Exception)

#: from (path, place, problem, line) to the error that says so
Failure: TypeAlias = Callable[[str, str, str, int], _Error]

_AT = re.compile(r" \(at line (\d+), column \d+\)$")
# tomllib takes quadratic time over a key of very many parts. Possessive, and never
# begun inside a word, so that this search itself is linear.
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+"""
_LONG_KEY = re.compile(rf"(?<![\w-]){_PART}(?:\.[ \t]*+{_PART}){{40}}")


def read_tables(text: str, path: str, failure: Failure[Exception]) -> Fields:
    """Return the tables of a text; whatever is wrong in them is told with its line.

    Args:
        text: the TOML text.
        path: what errors call it.
        failure: makes the error out of the path, the place such as
            `transitions[3].guard`, the problem, and the line (0: not known).

    Raises:
        Exception: what `failure` makes, if the text is no TOML.
    """
    shown = shorten(path, 200)
    tables = _parse(text, shown, failure)

    def fail(place: Place, problem: str) -> Exception:
        return failure(shown, _spell(place), problem, find_line(text, place))

    return Fields(tables, (), fail)


def _parse(text: str, path: str, failure: Failure[Exception]) -> dict[str, object]:
    problem, line = "", 0
    if len(text) > MAX_FILE:
        problem = f"it has more than {MAX_FILE:,} characters"
    elif text.startswith("\ufeff"):
        problem, line = "it begins with a byte order mark; save it without one", 1
    elif found := _LONG_KEY.search(text):
        problem = "a key has too many parts"
        line = text.count("\n", 0, found.start()) + 1
    else:
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            at = _AT.search(str(error))
            line = int(at[1]) if at else text.count("\n") + 1
            said = shorten(_AT.sub("", str(error)), 200)
            problem = f"it is no valid TOML: {said[:1].lower()}{said[1:]}"
        except RecursionError:
            problem = "lists or tables are nested too deeply"
        except ValueError:  # of int() and of datetime
            problem = "a number or date in it cannot be read"
    raise failure(path, "", problem, line)


def _spell(place: Place) -> str:
    """Write a place as `transitions[3].guard`."""
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            bare = re.fullmatch(r"[\w-]{1,60}", part, re.ASCII)
            text += f".{part if bare else repr(shorten(part, 60))}"
    return text.removeprefix(".")
