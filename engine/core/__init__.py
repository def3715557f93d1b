"""The core: declarations, their language, tables, steps, traces, laws. Pure.

It does no I/O and imports nothing of ours but the errors. Nothing is gathered here;
`unspiral` itself is the public face.
"""

__all__: list[str] = []
