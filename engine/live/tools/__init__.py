"""The tools of a run: what can be called, how calls are checked, and who runs them.

`workspace` keeps every path inside one folder; `files`, `search` and `shell` are the
built-in tools; `registry` holds them and those of users; `executor` runs the calls of
an answer, each on the machine `tool_call`. The model and the loop are not known here.
"""

__all__: list[str] = []
