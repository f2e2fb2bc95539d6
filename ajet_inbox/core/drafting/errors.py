"""Why no draft is made."""

from __future__ import annotations


class DraftError(Exception):
    """No draft can be made as it was asked for: one sentence, and what to do next."""

    def __init__(self, sentence: str, advice: str = "") -> None:
        super().__init__(sentence)
        self.advice = advice
