"""Talking to systemd: the readiness protocol of sd_notify(3), which is one datagram."""

from __future__ import annotations

import os
import socket

READY = "READY=1"
STOPPING = "STOPPING=1"
WATCHDOG = "WATCHDOG=1"
_PATIENCE_S = 1.0  # systemd's socket can be full for a moment


def status(text: str) -> str:
    """The message that `systemctl status` shows as `text`."""
    return "STATUS=" + " ".join(text.split())


def notify(*messages: str) -> bool:
    """Sends messages to systemd in one datagram; False where nobody listens or it could not be sent within a second."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return False
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.settimeout(_PATIENCE_S)
            sender.sendto("\n".join(messages).encode(), address.replace("@", "\0", 1) if address[0] == "@" else address)
    except OSError:
        return False
    return True


def watchdog_interval() -> float | None:
    """Seconds between two WATCHDOG messages, half of what systemd allows; None where it does not watch this process."""
    limit = os.environ.get("WATCHDOG_USEC", "")
    watched = os.environ.get("WATCHDOG_PID", str(os.getpid()))
    if not (limit.isascii() and limit.isdigit()) or watched != str(os.getpid()):
        return None
    return int(limit) / 2e6 or None
