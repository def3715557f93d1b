"""Keeps the environment of this process, which holds the key, from commands it runs.

Commands of tools and hooks get an environment without secrets, but could read that of
their parent in `/proc`. On Linux a process can forbid that to all but root. Best
effort: where it cannot be done nothing is said, since the gate asks for such paths.
"""

import contextlib
import ctypes
import sys

__all__ = ["hide_environment"]

_SET_DUMPABLE = 4  # PR_SET_DUMPABLE of <sys/prctl.h>


def hide_environment() -> None:
    """Forbid other processes of this user to read the memory of this one."""
    if not sys.platform.startswith("linux"):
        return
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)
