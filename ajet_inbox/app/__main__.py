"""The watcher as a process of its own, with a name and command line that tell nothing (`edge.neutral`)."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from ajet_inbox.edge import neutral


def main() -> int:
    """Watch as told by whoever executed this process; the exit code of the command `watch`."""
    luggage = neutral.arrive()
    if luggage is None:
        sys.stderr.write("This is started by `ajet-inbox watch`.\n")
        return 2
    home, *flags = luggage
    from ajet_inbox.app.daemon import watch
    from ajet_inbox.core.paths import HomePaths
    from ajet_inbox.core.settings.read import SettingsError
    from ajet_inbox.edge import logs
    from ajet_inbox.edge import settings as settings_file

    logs.set_up(debug="debug" in flags)
    paths = HomePaths(Path(home))
    try:
        settings = settings_file.load(paths.config)
        asyncio.run(watch(paths, settings, drain="drain" in flags, once="once" in flags))
    except (SettingsError, neutral.UnsafeFolderError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2 if isinstance(error, SettingsError) else 1
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # a thread that hangs in a dead mount must not keep a watcher from ending
