"""Finding this host's GPUs by asking a real child process, which may answer, fail, lie or hang."""

from __future__ import annotations

from pathlib import Path

import pytest

from ajet_inbox.core.settings import HostSlot, Settings, SshSlot
from ajet_inbox.core.slots import Slot
from ajet_inbox.edge.slots import CannotTell, Probe, discover, read_gpus


def uuid(index: int) -> str:
    return f"GPU-0b1c2d3e-0000-0000-0000-00000000{index:04d}"


def probe(folder: Path, script: str, *, driver: bool = True, timeout_s: float = 20.0) -> Probe:
    """A stand-in for nvidia-smi that runs `script`."""
    (folder / "driver").mkdir() if driver else None
    return Probe(command=("sh", "-c", script), driver=(folder / "driver",), timeout_s=timeout_s)


def listing(count: int) -> str:
    return "printf '" + "".join(f"{i}, {uuid(i)}\\n" for i in range(count)) + "'"


def uuids(*indices: int) -> tuple[str, ...]:
    return tuple(uuid(i) for i in indices)


@pytest.mark.parametrize(("count", "sizes"), [(1, [1]), (4, [4]), (8, [8]), (12, [8, 4]), (16, [8, 8])])
def test_auto_makes_a_slot_for_every_8_gpus(count: int, sizes: list[int], tmp_path: Path) -> None:
    slots = discover(Settings(), "h", probe(tmp_path, listing(count)))
    assert isinstance(slots, tuple)
    assert [len(slot.gpus) for slot in slots] == sizes
    assert sum((slot.gpus for slot in slots), ()) == uuids(*range(count))
    assert len({slot.name for slot in slots}) == len(slots)


CPU = (Slot(name="h-cpu", host="h", gpus=()),)


@pytest.mark.parametrize("script", ["exit 9", "echo NVIDIA-SMI has failed; exit 9", "exec sleep 60"])
def test_without_a_driver_there_is_one_slot_without_gpus(script: str, tmp_path: Path) -> None:
    assert discover(Settings(), "h", probe(tmp_path, script, driver=False, timeout_s=0.3)) == CPU


def test_without_a_driver_or_nvidia_smi_there_is_one_slot_without_gpus(tmp_path: Path) -> None:
    assert discover(Settings(), "h", Probe(command=(str(tmp_path / "nothing"),), driver=())) == CPU


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("echo Driver/library version mismatch >&2; exit 18", "failed (18): Driver/library version mismatch"),
        ("exec sleep 60", "gave no answer within 0.5 s"),
        ("trap '' TERM; while :; do sleep 0.1; done", "gave no answer within 0.5 s"),
        ("true", "shows no GPU although there is a driver"),
        ("kill -SEGV $$", "failed (-11)"),
        (f"echo '0, {uuid(0)}'; echo 'Unable to determine the device handle for GPU1'", "'Unable to determine"),
    ],
)
def test_with_a_driver_no_answer_is_not_no_gpus(script: str, sentence: str, tmp_path: Path) -> None:
    found = discover(Settings(), "h", probe(tmp_path, script, timeout_s=0.5))
    assert isinstance(found, CannotTell)
    assert sentence in found.message


SLOTS = (
    HostSlot(name="left", gpus=(0, 1)),
    HostSlot(name="right", host="h", gpus=(3, 2)),
    HostSlot(name="other", host="elsewhere", gpus=(0,)),
    HostSlot(name="cpu", gpus=()),
    SshSlot(name="far", ssh="root@far"),
)


@pytest.mark.parametrize("host", ["h", "h.example.org"])
def test_named_slots_of_this_host_get_their_gpus(host: str, tmp_path: Path) -> None:
    assert discover(Settings(slots=SLOTS), host, probe(tmp_path, listing(4))) == (
        Slot(name="left", host=host, gpus=uuids(0, 1)),
        Slot(name="right", host=host, gpus=uuids(3, 2)),
        Slot(name="cpu", host=host, gpus=()),
    )


def test_a_named_gpu_that_is_not_there_is_told(tmp_path: Path) -> None:
    found = discover(Settings(slots=SLOTS), "h", probe(tmp_path, listing(3)))
    assert found == CannotTell(message="Slot right names GPU 3, which h does not show.")


def test_slots_without_gpus_do_not_wait_for_the_driver(tmp_path: Path) -> None:
    settings = Settings(slots=(HostSlot(name="cpu", gpus=()),))
    script = f"touch '{tmp_path}/asked'"
    assert discover(settings, "h", probe(tmp_path, script)) == (Slot(name="cpu", host="h", gpus=()),)
    assert not (tmp_path / "asked").exists()


ANSWERS = {
    f"0, {uuid(0)}\n1, {uuid(1)}\n": {0: uuid(0), 1: uuid(1)},
    f"1, {uuid(1)}\r\n0,{uuid(0)}": {0: uuid(0), 1: uuid(1)},
    f"0, MIG-{uuid(0)[4:]}": {0: f"MIG-{uuid(0)[4:]}"},
    "No devices were found": None,
    "[N/A], [N/A]": None,
    f"0, {uuid(0)}\n\n": None,
    "": None,
}


@pytest.mark.parametrize("text", ANSWERS)
def test_what_nvidia_smi_says(text: str) -> None:
    gpus = read_gpus(text)
    assert gpus == ANSWERS[text] or (ANSWERS[text] is None and isinstance(gpus, CannotTell))
