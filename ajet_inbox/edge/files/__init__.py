"""The only place that knows how to write safely, and how to read what is not ours. Import from here."""

from ajet_inbox.edge.files.reading import Tail, list_names, read_regular, tail_from
from ajet_inbox.edge.files.refusal import Unreadable, Why, too_large, unreadable, unreadable_by
from ajet_inbox.edge.files.trees import copy_tree, fingerprint
from ajet_inbox.edge.files.writing import (
    Appender,
    create_exclusive,
    fsync_dir,
    move_aside,
    remove_torn,
    write_atomic,
    write_quick,
)

__all__ = [
    "Appender",
    "Tail",
    "Unreadable",
    "Why",
    "copy_tree",
    "create_exclusive",
    "fingerprint",
    "fsync_dir",
    "list_names",
    "move_aside",
    "read_regular",
    "remove_torn",
    "tail_from",
    "too_large",
    "unreadable",
    "unreadable_by",
    "write_atomic",
    "write_quick",
]
