"""`sweep.json`: which experiments belong together, and in what they differ."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ajet_inbox.core.drafting.draft import Draft, Wish
from ajet_inbox.core.drafting.settings import Setting

SCHEMA = 1
FILE = "sweep.json"


class Sibling(Struct, frozen=True, kw_only=True):
    """One experiment of a sweep: `values` are those that the others do not share, by key."""

    name: str
    blueprint: str
    yaml: str | None
    result_dir: str
    values: dict[str, object]


class Sweep(Struct, frozen=True, kw_only=True):
    """A sweep. `keys` are what it goes over; `zipped`: they change together, not each for itself."""

    schema: int = SCHEMA
    name: str
    task: str
    parent: str | None
    base: str | None
    keys: tuple[str, ...]
    zipped: bool
    drafts: tuple[Sibling, ...]


def sweep_of(wish: Wish, drafts: Sequence[Draft]) -> Sweep:
    """What there is to know of the drafts of one wish together."""
    shared = len(wish.settings)
    return Sweep(
        name=wish.name,
        task=drafts[0].task,
        parent=drafts[0].parent,
        base=wish.base.path if wish.base else None,
        keys=tuple(each.key for each in drafts[0].settings[shared:]),
        zipped=wish.zipped,
        drafts=tuple(_sibling(draft, draft.settings[shared:]) for draft in drafts),
    )


def _sibling(draft: Draft, own: Sequence[Setting]) -> Sibling:
    return Sibling(
        name=draft.name,
        blueprint=draft.blueprint_path,
        yaml=draft.yaml_path,
        result_dir=draft.result_dir,
        values={each.key: each.plain_value for each in own},
    )
