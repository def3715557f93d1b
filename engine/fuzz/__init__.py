"""Hypothesis strategies for any declared loop, and a fuzzer that judges its runs.

Public: made to be imported by the tests of other people. What needs the parts of the
live loop is in `unspiral.engine.fuzz.live`.
"""

from unspiral.engine.fuzz.broken import ill_formed
from unspiral.engine.fuzz.campaign import Campaign, fuzz
from unspiral.engine.fuzz.differential import Departure, compare, differential
from unspiral.engine.fuzz.failure import Failure, Found
from unspiral.engine.fuzz.finding import Finding
from unspiral.engine.fuzz.judge import failures, failures_of
from unspiral.engine.fuzz.machines import Kind, limits_for, machines
from unspiral.engine.fuzz.rules import Rules
from unspiral.engine.fuzz.schedules import (
    events,
    reach_of,
    schedules,
    snapshots,
    traces,
)
from unspiral.engine.fuzz.stateful import MachineRuns, stateful
from unspiral.engine.fuzz.walk import Subject, Walk
from unspiral.engine.fuzz.wire import faults, replies

__all__ = [
    "Campaign",
    "Departure",
    "Failure",
    "Finding",
    "Found",
    "Kind",
    "MachineRuns",
    "Rules",
    "Subject",
    "Walk",
    "compare",
    "differential",
    "events",
    "failures",
    "failures_of",
    "faults",
    "fuzz",
    "ill_formed",
    "limits_for",
    "machines",
    "reach_of",
    "replies",
    "schedules",
    "snapshots",
    "stateful",
    "traces",
]
