"""The slots of this host: its GPUs as the driver shows them, shared out as the settings say (contract section 1)."""

from __future__ import annotations

import contextlib
import re
import subprocess
from pathlib import Path

from msgspec import Struct

from ajet_inbox.core.settings import HostSlot, Settings
from ajet_inbox.core.slots import Slot

GPUS_OF_A_SLOT = 8
_LINE = re.compile(r"([0-9]{1,4}), *((?:GPU|MIG)-[0-9A-Za-z-]{8,})")


class CannotTell(Struct, frozen=True, kw_only=True):
    """The GPUs of this host are not known, which is not the same as having none; `message` is one sentence."""

    message: str


class Probe(Struct, frozen=True, kw_only=True):
    """How GPUs are found. `driver`: any of these paths means that there is a driver, and so may be GPUs."""

    command: tuple[str, ...] = ("nvidia-smi", "--query-gpu=index,uuid", "--format=csv,noheader")
    driver: tuple[Path, ...] = (Path("/proc/driver/nvidia"), Path("/dev/nvidia0"))
    timeout_s: float = 30.0  # without persistence mode the driver starts anew for each question: 10 s with 8 GPUs


def discover(settings: Settings, host: str, probe: Probe | None = None) -> tuple[Slot, ...] | CannotTell:
    """The slots that `settings` gives to `host`, with the UUIDs of their GPUs. May wait for the driver: not for a loop.

    Slots over SSH and in Slurm belong to no host and are left out.
    """
    probe = probe or Probe()
    if settings.slots == "auto":
        gpus = find_gpus(probe)
        return gpus if isinstance(gpus, CannotTell) else _shared_out(tuple(gpus.values()), host)
    names = (None, host, host.partition(".")[0])
    return _named([slot for slot in settings.slots if isinstance(slot, HostSlot) and slot.host in names], host, probe)


def _shared_out(uuids: tuple[str, ...], host: str) -> tuple[Slot, ...]:
    if not uuids:
        return (Slot(name=f"{host}-cpu", host=host, gpus=()),)
    groups = [uuids[i : i + GPUS_OF_A_SLOT] for i in range(0, len(uuids), GPUS_OF_A_SLOT)]
    return tuple(Slot(name=f"{host}-{i}", host=host, gpus=group) for i, group in enumerate(groups))


def _named(slots: list[HostSlot], host: str, probe: Probe) -> tuple[Slot, ...] | CannotTell:
    gpus = find_gpus(probe) if any(slot.gpus for slot in slots) else {}
    if isinstance(gpus, CannotTell):
        return gpus
    for slot in slots:
        if missing := set(slot.gpus) - gpus.keys():
            return CannotTell(message=f"Slot {slot.name} names GPU {min(missing)}, which {host} does not show.")
    return tuple(Slot(name=s.name, host=host, gpus=tuple(gpus[index] for index in s.gpus)) for s in slots)


def find_gpus(probe: Probe) -> dict[int, str] | CannotTell:
    """The UUIDs of this host's GPUs by index, in order; none only where there is no driver at all."""
    answer = _ask(probe)
    gpus = answer if isinstance(answer, CannotTell) else read_gpus(answer)
    if isinstance(gpus, dict) or any(path.exists() for path in probe.driver):
        return gpus
    return {}


def read_gpus(text: str) -> dict[int, str] | CannotTell:
    """What nvidia-smi lists as `index, uuid`. Any other line is a GPU in trouble, or a message instead of GPUs."""
    gpus: dict[int, str] = {}
    for line in text.splitlines():
        match = _LINE.fullmatch(line.strip())
        if match is None:
            return CannotTell(message=f"nvidia-smi says {line.strip()[:200]!r} where a GPU was expected.")
        gpus[int(match[1])] = match[2]
    return dict(sorted(gpus.items())) or CannotTell(message="nvidia-smi shows no GPU although there is a driver.")


def _ask(probe: Probe) -> str | CannotTell:
    name = probe.command[0]
    try:
        child = subprocess.Popen(
            probe.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace"
        )
    except OSError as error:
        return CannotTell(message=f"{name} cannot be started: {error.strerror}.")
    try:
        output, _ = child.communicate(timeout=probe.timeout_s)
    except subprocess.TimeoutExpired:
        _abandon(child)
        return CannotTell(message=f"{name} gave no answer within {probe.timeout_s:g} s.")
    if child.returncode != 0:
        return CannotTell(message=f"{name} failed ({child.returncode}): {' '.join(output.split())[:200]}.")
    return output


def _abandon(child: subprocess.Popen[str]) -> None:
    """Ends a child without waiting for its end: a process stuck in the driver does not die."""
    child.kill()
    if child.stdout:
        child.stdout.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(timeout=1)
