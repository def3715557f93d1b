"""One subcommand a module; each module's `command` is what the group runs."""

__all__: list[str] = []
