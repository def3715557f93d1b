"""Schedules as TOML: read strictly, written so that nothing is lost.

The keys are judged by `schedule_reader`, the values by the schedule itself. The one
function with I/O here is `load_schedule`.
"""

import os

from unspiral.engine.errors import ScheduleError
from unspiral.engine.faults.schedule import Schedule
from unspiral.engine.faults.schedule_reader import read_schedule
from unspiral.engine.faults.schedule_writer import write_schedule
from unspiral.engine.toml.disk import read_text
from unspiral.engine.toml.fields import shorten
from unspiral.engine.toml.text import MAX_FILE, read_tables

__all__ = ["load_schedule", "schedule_from_toml", "schedule_to_toml"]

_MAX_SHOWN = 200


def schedule_from_toml(text: str, path: str = "schedule") -> Schedule:
    """Return the schedule that a text holds.

    Args:
        text: the TOML text.
        path: what errors call it.

    Raises:
        ScheduleError: it is no TOML or no schedule: place, line and problem are told.
    """
    return read_schedule(read_tables(text, path, ScheduleError))


def schedule_to_toml(schedule: Schedule) -> str:
    """Return a text from which `schedule_from_toml` makes an equal schedule.

    Raises:
        ScheduleError: the schedule holds what no file gives back, such as null in the
            input of a tool, or a number of more than 64 bits.
    """
    name = shorten(schedule.name, _MAX_SHOWN)
    text = write_schedule(schedule, name)
    if schedule_from_toml(text, name) != schedule:
        raise ScheduleError(name, "", "reading it would not give the schedule back")
    return text


def load_schedule(path: str | os.PathLike[str]) -> Schedule:
    """Return the schedule of a file of at most 1,000,000 bytes.

    Raises:
        ScheduleError: the file cannot be read, or is no schedule.
    """
    name = os.fspath(path)
    shown = name if len(name) <= _MAX_SHOWN else "..." + name[-_MAX_SHOWN:]
    text = read_text(
        path, MAX_FILE, lambda problem, line: ScheduleError(shown, "", problem, line)
    )
    return schedule_from_toml(text, shown)
