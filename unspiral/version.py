"""The version, in a module that imports nothing, so that packaging can read it."""

__version__ = "0.1.0"
