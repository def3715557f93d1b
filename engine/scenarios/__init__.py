"""Scenarios: whole cases of the live loop, played without a key and without a network.

A scenario is a task, a small project, a scripted model with the faults that it meets,
and what is to come of it. Nothing here runs a loop: values, files and what is shipped.
"""

__all__: list[str] = []
