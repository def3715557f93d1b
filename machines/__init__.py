"""The machines that are shipped: declarations only, each made when it is asked for.

They know the core, and nothing of who checks, draws or runs them.
"""

from unspiral.machines.registry import SHIPPED, load, names

__all__ = ["SHIPPED", "load", "names"]
