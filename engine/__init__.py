"""The engine: all but the declared machines and the drawings.

Nothing is imported here, so that a part is loaded only where it is used.
"""

__all__: list[str] = []
