"""A turnstile: coins open it, pushes pass it, and shaking it gets nobody through."""

from unspiral import Counter, Limit, Machine, Phase, Terminal, Transition

__all__ = ["GATE"]

GATE = Machine(
    name="gate",
    phases=(
        Phase("locked", events=("coin", "push", "close")),
        Phase("open", events=("coin", "push")),
    ),
    terminals=(Terminal("closed"), Terminal("alarm", kind="limit")),
    transitions=(
        Transition("locked", "open", "coin"),
        Transition(
            "locked",
            "locked",
            "push",
            guard="shakes < max_shakes",
            action="shakes += 1",
            reason="shaken",
            cost={"shakes": 1},
        ),
        Transition("locked", "alarm", "push", guard="otherwise"),
        Transition("locked", "closed", "close"),
        Transition("open", "open", "coin"),
        Transition(
            "open",
            "locked",
            "push",
            action="shakes = 0",
            reason="passed",
            progress=True,
        ),
    ),
    memory=(Counter("shakes", high="max_shakes"),),
    limits=(Limit("max_shakes", 3, unit="pushes", doc="Shakes before the alarm."),),
)
