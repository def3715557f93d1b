"""The proof: exploration, cycles, worst cases, laws, certificates.

numpy and scipy are imported here; `core` is all of ours that it knows.
"""

from unspiral.engine.check.ablate import Attempt, smallest_spirals
from unspiral.engine.check.check import check, check_law, check_table
from unspiral.engine.check.readings import ReadingVerdict, check_readings
from unspiral.engine.check.verdict import (
    Bounds,
    Lasso,
    LawVerdict,
    Outcome,
    Verdict,
)

__all__ = [
    "Attempt",
    "Bounds",
    "Lasso",
    "LawVerdict",
    "Outcome",
    "ReadingVerdict",
    "Verdict",
    "check",
    "check_law",
    "check_readings",
    "check_table",
    "smallest_spirals",
]
