"""The command line: thin, and quick to say what it can do.

Each command has a file, and imports what takes long to load when it is run. Data goes to stdout,
notes to stderr.
"""

from understudy.cli.app import app, main

__all__ = ["app", "main"]
