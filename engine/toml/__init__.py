"""Reading TOML of strangers: strictly, within limits, with a place in each error.

It lies below everything that has files of its own (machines, schedules) and knows none
of them: whoever reads says how to fail.
"""

__all__: list[str] = []
