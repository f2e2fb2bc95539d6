"""Started in the folder of an attempt, as `ajet-keeper -S -m ajet_inbox.supervisor`."""

from __future__ import annotations

import sys

from ajet_inbox.supervisor.keeper import main

sys.exit(main())
