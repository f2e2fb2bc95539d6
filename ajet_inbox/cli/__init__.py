"""The command line: thin, one file per group of commands. Each command is imported only when it is called."""

from ajet_inbox.cli.entry import main

__all__ = ["main"]
