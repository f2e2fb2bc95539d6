"""A watcher that is killed just before the Nth change to the filesystem, or the Nth start of a program, it would make.

`python mortal.py HOME N` drains the home. One that outlives N prints how many changes it made.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import sys
import tempfile
from pathlib import Path

from ajet_inbox.app.daemon import watch
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.edge import logs, settings

CHANGES = ("os.rename", "os.link", "os.mkdir", "os.remove", "os.rmdir", "subprocess.Popen")
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def main(home: HomePaths, last: int) -> None:
    places = (str(home.root.parent), tempfile.gettempdir() + "/aj-")
    made = itertools.count(1)

    def strike(event: str, arguments: tuple[object, ...]) -> None:
        if event in CHANGES:
            is_ours = event == "subprocess.Popen" or str(arguments[0]).startswith(places)
        else:
            is_ours = event == "open" and bool(int(arguments[2]) & WRITES) and str(arguments[0]).startswith(places)  # type: ignore[call-overload]
        if is_ours and next(made) >= last:
            os.kill(os.getpid(), signal.SIGKILL)

    logs.set_up(debug=False)
    sys.addaudithook(strike)
    asyncio.run(watch(home, settings.load(home.config), drain=True))
    print(next(made) - 1)


if __name__ == "__main__":
    main(HomePaths(Path(sys.argv[1])), int(sys.argv[2]))
