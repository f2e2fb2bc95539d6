"""Reads the part of YAML that experiment files use, nested `key: value`, so that numpy stays the only dependency."""

from __future__ import annotations

import ast
import time
from pathlib import Path
from typing import Any

WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}


def scalar(text: str) -> Any:
    """The value of one YAML scalar: a word, a number, a quoted or a plain string."""
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def read_yaml(path: Path) -> dict[str, Any]:
    """The nested mapping in `path`.

    Raises:
        ValueError: a line is not `key: value`.
        OSError: the file cannot be read.
    """
    root: dict[str, Any] = {}
    open_maps = [(-1, root)]
    for number, raw in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        line = raw.split(" #")[0].rstrip()
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        key, colon, value = line.strip().partition(":")
        if not colon:
            raise ValueError(f"{path}, line {number}: expected `key: value`, found {line.strip()!r}")
        indent = len(line) - len(line.lstrip())
        while open_maps[-1][0] >= indent:
            open_maps.pop()
        if value.strip():
            open_maps[-1][1][key] = scalar(value.strip())
        else:
            open_maps[-1][1][key] = nested = {}
            open_maps.append((indent, nested))
    return root


class Config:
    """The `ajet` section of an experiment file, asked by dotted keys."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.values = read_yaml(path).get("ajet", {})

    def get(self, dotted: str, default: Any) -> Any:
        """The value at `dotted`; `default` where the file does not say, or says null."""
        node: Any = self.values
        for key in dotted.split("."):
            node = node.get(key) if isinstance(node, dict) else None
        return default if node is None or node == {} else node

    def experiment_name(self) -> str:
        """The name of checkpoints and backups; `read_yaml_name` makes a new one each time, as AgentJet does."""
        name = self.get("experiment_name", "read_yaml_name")
        return f"{self.path.stem}_{time.strftime('%Y%m%d_%H%M%S')}" if name == "read_yaml_name" else str(name)
