"""The settings as text: the file that `init` writes, docs/settings.md, and the rows that `doctor` prints."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import NODEFAULT, Struct

from ajet_inbox.core.settings import HostSlot, Settings, Slurm, SlurmSlot, SshSlot
from ajet_inbox.core.settings.fields import expected, fields, is_record
from ajet_inbox.core.settings.values import written

_HEAD = """\
# How this home is watched. Every key is shown with its default; a key left out keeps it.
# What begins with "Not acted on yet" is read and checked, and has no effect so far.
# Durations and sizes need a unit: 3s, 30 min, 24h, 64 MiB. Read at start: restart the watcher after an edit.
# `ajet-inbox doctor` checks this file and says what differs from the defaults.
"""
_SLOTS = """\
#   slots:
#     - {name: left, gpus: [0, 1, 2, 3]}
#     - {name: right, gpus: [4, 5, 6, 7]}
#   Not acted on yet are slots over SSH and in Slurm:
#     - {name: far, ssh: "root@host -p 8824", gpus: 8}
#     - {name: cluster, slurm: {partition: gpu, gpus: 8, nodes: 1, max_jobs: 2}}
"""
_REFERENCE = """\
# Settings

Every key of `ajet-inbox.yaml`, made from the records in `ajet_inbox/core/settings/` by `make docs`. Every key may be
left out. An unknown key or a wrong value is an error that names its line; the file is read when the watcher starts, so
that a bad edit never stops a running one. What begins with "Not acted on yet" is read and checked, and has no effect
so far; `ajet-inbox doctor` warns where such a key is set to something else than its default. `slots` is `auto` or a
list whose items are of the kinds below.
"""
_HEADER = ("| key | default | what it may hold | meaning |", "|---|---|---|---|")


class Row(Struct, frozen=True, kw_only=True):
    """One key as it is told: `value` is empty for a group, whose keys follow one level deeper."""

    key: str
    name: str
    depth: int
    value: str
    expected: str
    meaning: str


def rows(record: Struct, prefix: str = "", depth: int = 0) -> Iterator[Row]:
    """Every key of a record with its value, groups before their keys."""
    for field in fields(type(record)).values():
        value = getattr(record, field.attribute)
        group = is_record(field.hint)
        yield Row(
            key=prefix + field.name,
            name=field.name,
            depth=depth,
            value="" if group else written(value, field.hint),
            expected=expected(field.hint),
            meaning=field.meaning,
        )
        if group:
            yield from rows(value, f"{prefix}{field.name}.", depth + 1)


def commented() -> str:
    """The file that `init` writes: every key with its default, what it may hold, and what it means."""
    return _HEAD + "".join(_entry(row) for row in rows(Settings()))


def _entry(row: Row) -> str:
    indent = "  " * row.depth
    gap = "" if row.depth else "\n"
    examples = _SLOTS if row.key == "slots" else ""
    value = f" {row.value}  # {row.expected}" if row.value else ""
    return f"{gap}{indent}# {row.meaning}\n{examples}{indent}{row.name}:{value}\n"


def reference() -> str:
    """The text of docs/settings.md."""
    lines = [_REFERENCE, *_HEADER]
    for row in rows(Settings()):
        default = f"`{row.value}`" if row.value else ""
        lines.append(f"| `{row.key}` | {default} | {row.expected if row.value else ''} | {row.meaning} |")
    for record in (HostSlot, SshSlot, SlurmSlot, Slurm):
        lines += _record(record)
    return "\n".join(lines) + "\n"


def _record(record: type[Struct]) -> list[str]:
    """The table of a record that has no defaults to start from."""
    lines = ["", f"## {record.__name__}", "", (record.__doc__ or "").strip(), "", *_HEADER]
    for field in fields(record).values():
        default = "needed" if field.default is NODEFAULT else f"`{written(field.default, field.hint)}`"
        lines.append(f"| `{field.name}` | {default} | {expected(field.hint)} | {field.meaning} |")
    return lines
