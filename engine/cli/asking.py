"""Asks a person whether a call may run; only where a person is.

What is asked about is hostile: it is shown cleaned and short, on the terminal, and
anything but a plain yes is a no.
"""

import sys

import click

from unspiral.engine.live.permission import Asker, Question
from unspiral.engine.live.secrets import Redaction
from unspiral.engine.live.tools.threads import in_thread
from unspiral.engine.report.lines import clean
from unspiral.engine.report.live_lines import digest
from unspiral.engine.report.live_screen import Paused

__all__ = ["asker"]


def asker(paused: Paused, redaction: Redaction) -> Asker | None:
    """Return what asks the person at the terminal; None if there is none.

    Args:
        paused: leaves the terminal to the question for a while.
        redaction: takes secrets out of what is shown.
    """
    streams = (sys.stdin, sys.stderr)
    if not all(each is not None and each.isatty() for each in streams):
        return None

    async def ask(question: Question) -> bool:
        call = digest(question.tool, question.given, redaction)
        text = f"{call}\n  {clean(question.why)}. Let it run?"
        with paused():
            return await in_thread(_confirmed, text)

    return ask


def _confirmed(text: str) -> bool:
    try:
        return click.confirm(text, default=False, err=True)
    except click.Abort:
        return False
