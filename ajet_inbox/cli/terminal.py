"""A foreign console on a terminal: its colours stay, everything else that would act on the terminal goes."""

from __future__ import annotations

import codecs
import re

_ESCAPE = re.compile(
    r"\x1b(?:(\[[0-9;:]*m)|\[[0-?]*+[ -/]*+[@-~]|[\]PX^_][^\x07\x1b]*+(?:\x07|\x1b\\)|[ -/]*+[0-Z\\^-~])"
)
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*+[ -/]*+|[\]PX^_][^\x07\x1b]*+\x1b?|[ -/]*+)$")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]|\x1b(?!\[[0-9;:]*m)")
_HELD = 4096  # what is longer without an end is no sequence


class Harmless:
    """Bytes in any pieces to text; a sequence or character cut in two is held back until the rest comes."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._held = ""

    def feed(self, data: bytes) -> str:
        """What of it may be printed now."""
        text = self._held + self._decoder.decode(data)
        unfinished = _UNFINISHED.search(text, max(0, len(text) - _HELD))
        cut = unfinished.start() if unfinished else len(text)
        self._held = text[cut:]
        return _cleaned(text[:cut])

    def end(self) -> str:
        """What was still held back."""
        return _cleaned(self._held + self._decoder.decode(b"", final=True))


def _cleaned(text: str) -> str:
    coloured = _ESCAPE.sub(lambda found: found[0] if found[1] else "", text)
    return _CONTROL.sub("", coloured)
