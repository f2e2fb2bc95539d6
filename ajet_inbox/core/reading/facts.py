"""What was looked up in the world about the paths of a blueprint."""

from __future__ import annotations

from msgspec import Struct


class PathFacts(Struct, frozen=True, kw_only=True):
    """One path as it was found.

    `answered` is False where the look-up took too long or failed for a reason other than absence; nothing but `why`
    is known then. `ancestor` is the nearest folder above that exists, `ancestor_empty` whether nothing is in it, as in
    an empty mount point; both are about paths that do not exist.
    """

    answered: bool = True
    why: str = ""
    exists: bool = False
    is_dir: bool = False
    is_file: bool = False
    readable: bool = False
    writable: bool = False
    executable: bool = False
    ancestor: str | None = None
    ancestor_empty: bool = False
    ancestor_writable: bool = False


class Facts(Struct, frozen=True, kw_only=True):
    """What was looked up, by path as the blueprint writes it."""

    paths: dict[str, PathFacts] = {}

    def about(self, path: str) -> PathFacts:
        """The facts about `path`; one that nobody looked up did not answer."""
        return self.paths.get(path, PathFacts(answered=False, why="nobody looked"))
