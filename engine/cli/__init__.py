"""The command line: the composition root, one subcommand a module.

`main` is the entry point. Each command imports what it needs when it runs, so that
`unspiral --help` stays fast.
"""

from unspiral.engine.cli.app import app, main

__all__ = ["app", "main"]
