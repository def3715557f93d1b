"""Pictures of a verdict: the machine, and each counterexample drawn over it."""

import re
from collections.abc import Iterator
from pathlib import Path

from unspiral.diagrams import Overlay, render
from unspiral.engine.check.verdict import Bounds, Lasso, Verdict
from unspiral.engine.cli.output import write_whole
from unspiral.engine.errors import FileProblem

__all__ = ["draw_verdict", "overlay_of"]


def overlay_of(lasso: Lasso, title: str) -> Overlay:
    """Return a counterexample as plain data for a drawing."""
    return Overlay(
        steps=tuple(step.row.name for step in lasso.stem),
        loop=tuple(step.row.name for step in lasso.loop),
        title=title,
    )


def draw_verdict(verdict: Verdict, folder: Path) -> list[Path]:
    """Draw the machine and each counterexample as SVG; return the files written.

    Raises:
        FileProblem: the folder or a file in it cannot be written.
        MissingTool: there is no `dot` to draw with.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        words = error.strerror if isinstance(error, OSError) else str(error)
        raise FileProblem(
            str(folder), "written", (words or "unknown").lower()
        ) from None
    name = verdict.table.machine.name
    written: list[Path] = []
    for label, overlay in _pictures(verdict):
        path = folder / f"{name}{_file_name(label)}.svg"
        write_whole(path, render(verdict.table, "svg", overlay=overlay))
        written.append(path)
    return written


def _pictures(verdict: Verdict) -> Iterator[tuple[str, Overlay | None]]:
    """Give each picture with the label that names its file."""
    yield "", None
    if verdict.bounds is not None:
        yield "bounds", _bounds(verdict, verdict.bounds)
    for label, lasso in _counterexamples(verdict):
        yield label, overlay_of(lasso, label)


def _bounds(verdict: Verdict, bounds: Bounds) -> Overlay:
    numbers: dict[str, str] = {}
    for row in verdict.table.rows:
        most = bounds.per_reason.get(row.reason)
        if row.reason in bounds.per_reason:
            numbers[row.name] = "unbounded" if most is None else f"at most {most:,}"
    return Overlay(numbers=numbers, title="continues between two progress events")


def _counterexamples(verdict: Verdict) -> Iterator[tuple[str, Lasso]]:
    for kind, lassos in (
        ("spiral", verdict.spirals),
        ("deadlock", verdict.deadlocks),
        ("out of range", verdict.out_of_range),
        ("open-ended", verdict.open_ended),
    ):
        for number, lasso in enumerate(lassos, 1):
            yield f"{kind} {number}", lasso
    for law in verdict.laws:
        if law.counterexample is not None:
            yield f"law {law.name}", law.counterexample


def _file_name(label: str) -> str:
    return "-" * bool(label) + re.sub(r"[^a-z0-9_.]+", "-", label.lower())
