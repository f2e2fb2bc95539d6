"""What kind of filesystem a folder lies on, and how long a drop there has to lie still."""

from __future__ import annotations

import re
from pathlib import Path, PurePath, PurePosixPath

LOCAL_SETTLE_S = 3.0
NETWORK_SETTLE_S = 10.0
_NETWORK = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "cpfs", "lustre", "gpfs", "beegfs", "ceph", "glusterfs", "afs"}
    | {"9p", "virtiofs", "fuse", ""}  # shared with another kernel, or unknown
)
_MOUNT = re.compile(r"^[^ \n]* ([^ \n]+) ([^ \n]+)", re.MULTILINE)
_OCTAL = re.compile(r"\\([0-7]{3})")


def settle_for(folder: Path) -> float:
    """How many seconds two looks lie apart where the settings do not say."""
    mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="surrogateescape")
    kind = filesystem_of(folder.resolve(), mounts)
    return NETWORK_SETTLE_S if kind in _NETWORK or kind.startswith("fuse.") else LOCAL_SETTLE_S


def filesystem_of(path: PurePath, mounts: str) -> str:
    """The type of the filesystem that holds an absolute path, by the text of /proc/mounts; "" where none does."""
    best, kind = -1, ""
    for point, name in _MOUNT.findall(mounts):
        place = PurePosixPath(_OCTAL.sub(lambda code: chr(int(code[1], 8)), point))
        # Of two at one place the later one lies on top.
        if path.is_relative_to(place) and len(place.parts) >= best:
            best, kind = len(place.parts), name
    return kind
