"""Who this watcher is, and what is known of the watchers that hold runs."""

from __future__ import annotations

import os
import secrets
import socket

from ajet_inbox.core.events import Holder
from ajet_inbox.core.journal import Owner
from ajet_inbox.edge.processes import alive, boot_id, start_time


def host_name() -> str:
    """The name by which this host signs."""
    return socket.gethostname()


def myself() -> Owner:
    """This process, as it signs its claims."""
    pid = os.getpid()
    return Owner(
        host=host_name(),
        boot_id=boot_id(),
        pid_ns=os.stat("/proc/self/ns/pid").st_ino,  # noqa: PTH116  (a link that leads nowhere)
        pid=pid,
        started=start_time(pid) or 0,
        nonce=secrets.token_hex(6),
    )


def judge(me: Owner, holder: Owner | None) -> Holder:
    """What a run's holder is to this watcher, which has the lease of its host: any other watcher here has ended.

    Of another host nothing is known from here.
    """
    if holder is None:
        return Holder.NOBODY
    if holder == me:
        return Holder.ME
    if holder.host != me.host:
        return Holder.OTHER
    comparable = (holder.boot_id, holder.pid_ns) == (me.boot_id, me.pid_ns)
    return Holder.OTHER if comparable and alive(holder.pid, holder.started) else Holder.DEAD
