"""Faults on demand: what a Messages API can do to a client, as often as you like.

One catalogue of faults, schedules of them, a loopback server and an in-process
`httpx2` transport that play a schedule byte for byte alike, and a journal of what
really happened. It plays the outside world: it knows nothing of the rest of unspiral,
counts tokens in its own way, and can be used with any client.

    from unspiral.engine.faults import Schedule, call, fail, say

    storm = Schedule(steps=(call("read"), fail("overloaded", times=3), say("Done.")))
"""
