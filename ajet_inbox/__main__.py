"""`python -m ajet_inbox` is `ajet-inbox`."""

from __future__ import annotations

import sys

from ajet_inbox.cli import main

if __name__ == "__main__":
    sys.exit(main())
