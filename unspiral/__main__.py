"""`python -m unspiral` is the command `unspiral`."""

from unspiral.engine.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
