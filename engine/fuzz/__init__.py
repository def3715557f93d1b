"""Hypothesis strategies for any declared loop: machines and values of their limits.

Public: made to be imported by the tests of other people.
"""

from unspiral.engine.fuzz.machines import Kind, limits_for, machines

__all__ = ["Kind", "limits_for", "machines"]
