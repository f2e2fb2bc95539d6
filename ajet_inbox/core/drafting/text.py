"""Text of strangers in a draft: one plain line, and names that are safe anywhere."""

from __future__ import annotations

import re

from ajet_inbox.core.drops import run_slug

NAME_LENGTH = 40
_LONGEST = 4000  # of a line; an open remark is searched for to its end, again for each that is opened
_UNSEEN = re.compile(r"<!--.*?-->|</?(?:code|b|strong|em|kbd|tt|br)\s?/?>|\*\*", re.I)


def plain(text: str) -> str:
    """`text` on one line, its first 4000 characters, without what a reader of Markdown would take off.

    Those are marks, remarks and what cannot be seen.
    """
    shown = "".join(c if c.isprintable() else " " for c in text[:_LONGEST])
    while (less := _UNSEEN.sub("", shown)) != shown:
        shown = less
    return " ".join(shown.split())


def shortened(text: str, length: int) -> str:
    """At most `length` characters of a line, cut between words where there are any."""
    if len(text) <= length:
        return text
    words = text[: length - 1].rpartition(" ")[0] or text[: length - 1]
    return words.rstrip() + "…"


def headline(task: str) -> str:
    """What a task is about: its first line that says anything, without the marks of a heading or a list."""
    lines = (plain(line).lstrip("#>*-• ") for line in task.splitlines())
    return next((line for line in lines if line), "")


def name_for(text: str) -> str:
    """A name for a draft about `text`; `experiment` where nothing of it can be used."""
    slug = re.sub(r"__+", "_", run_slug(text + " ")).strip("_-")
    if len(slug) > NAME_LENGTH:
        slug = slug[:NAME_LENGTH].rpartition("_")[0] or slug[:NAME_LENGTH]
    return slug.rstrip("_-") or "experiment"


def is_name(text: str) -> bool:
    """Whether `text` can be a draft's name as it is: a run will be called so."""
    return run_slug(text) == text and not text.startswith("_")
