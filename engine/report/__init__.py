"""What was found, told to people (lines of text) and to programs (JSON objects).

It reads values and computes nothing of its own. The reports on verdicts live in
`verdict_text`, `readings` and `objects`, which are imported by name, so that a command
that shows a list does not load the checker.
"""

from unspiral.engine.report.lines import Line, clean, coloured, plain

__all__ = ["Line", "clean", "coloured", "plain"]
