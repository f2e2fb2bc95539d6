"""Which filesystem a folder lies on."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from ajet_inbox.edge.mounts import LOCAL_SETTLE_S, filesystem_of, settle_for

MOUNTS = """\
overlay / overlay rw,relatime 0 0
proc /proc proc rw 0 0
server:/export /mnt nfs4 rw 0 0
/dev/sdb1 /mnt/local ext4 rw 0 0
server:/a /mnt/with\\040space nfs rw 0 0
dataset /data cpfs rw 0 0
/dev/sdc1 /over ext4 rw 0 0
sshfs /over fuse.sshfs rw 0 0
server:/z /实验 nfs rw 0 0
broken line
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/me/inbox", "overlay"),
        ("/mnt", "nfs4"),
        ("/mnt/inbox", "nfs4"),
        ("/mntx/inbox", "overlay"),
        ("/mnt/local/inbox", "ext4"),
        ("/mnt/with space/inbox", "nfs"),
        ("/data/inbox", "cpfs"),
        ("/over/inbox", "fuse.sshfs"),
        ("/实验/inbox", "nfs"),
    ],
)
def test_filesystem_of(path: str, kind: str) -> None:
    assert filesystem_of(PurePosixPath(path), MOUNTS) == kind
    assert filesystem_of(PurePosixPath(path), "") == ""


def test_settle_for_a_local_folder(tmp_path: Path) -> None:
    assert settle_for(tmp_path) == LOCAL_SETTLE_S
