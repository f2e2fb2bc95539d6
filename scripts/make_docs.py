#!/usr/bin/env python3
"""Writes what the pages take from the code; `make docs` calls it. tests/test_docs.py fails where a page is stale."""

from __future__ import annotations

import re
from pathlib import Path

from ajet_inbox.cli.base import GROUPS
from ajet_inbox.core.checking.page import page
from ajet_inbox.core.lifecycle import diagram
from ajet_inbox.core.settings.write import reference

ROOT = Path(__file__).parents[1]


def renewed(page: str, name: str, text: str) -> str:
    """`page` with `text` between the markers called `name`, which must be there once."""
    marked = re.compile(rf"(<!-- {name}: made by make docs -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
    new, count = marked.subn(lambda found: f"{found[1]}{text}\n{found[2]}", page)
    if count != 1:
        raise SystemExit(f"The markers of {name} are there {count} times.")
    return new


def pages() -> dict[str, str]:
    """The pages as they should be, by their path."""
    readme, architecture = (
        ROOT.joinpath(name).read_text(encoding="utf-8") for name in ("README.md", "ARCHITECTURE.md")
    )
    return {
        "docs/checks.md": page(),
        "docs/settings.md": reference(),
        "README.md": renewed(readme, "commands", commands()),
        "ARCHITECTURE.md": renewed(architecture, "diagram", f"```mermaid\n{diagram()}\n```"),
    }


def commands() -> str:
    """The commands as a table, group by group."""
    rows = ["| command | what it does |", "|---|---|"]
    for title, summaries in GROUPS.values():
        rows.append(f"| **{title}** | |")
        rows += [f"| `{name}` | {summary} |" for name, summary in summaries.items()]
    return "\n".join(rows)


if __name__ == "__main__":
    for path, text in pages().items():
        ROOT.joinpath(path).write_text(text, encoding="utf-8")
