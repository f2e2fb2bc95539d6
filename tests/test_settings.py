"""ajet-inbox.yaml: what it may say, what is told about a mistake, and that every telling comes from the records."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ajet_inbox.app.doctor import Health, examine_home
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.core.settings import (
    INERT,
    Autokill,
    Env,
    HostSlot,
    Limits,
    Plateau,
    PlateauAction,
    Security,
    Settings,
    Slurm,
    SlurmSlot,
    SshSlot,
    Watch,
)
from ajet_inbox.core.settings.fields import inert
from ajet_inbox.core.settings.read import MAX_CHARACTERS, SettingsError, read_settings
from ajet_inbox.core.settings.values import read_bytes, read_seconds
from ajet_inbox.core.settings.write import commented, reference, rows
from ajet_inbox.edge.settings import load

ROOT = Path(__file__).parents[1]

# What the contract names; a key that vanishes breaks the homes of others.
CONTRACT_KEYS = {
    "": "language slots watch limits gpu env progress plateau stall repair swarm deliver draft notify security"
    " retention snapshot templates_dir",
    "watch.": "settle",
    "limits.": "blueprint_bytes drop_bytes world_wait lost_after first_step",
    "repair.": "max_attempts",
    "security.": "autokill",
    "env.": "login_shell file pass",
    "plateau.": "action",
    "draft.": "auto_submit",
}


def test_every_key_of_the_contract_is_there() -> None:
    named = {prefix + name for prefix, names in CONTRACT_KEYS.items() for name in names.split()}
    assert named <= {row.key for row in rows(Settings())}


def test_the_commented_file_says_the_defaults() -> None:
    assert read_settings(commented()) == Settings()


def test_the_commented_file_names_every_key_with_its_meaning() -> None:
    lines = commented().splitlines()
    for row in rows(Settings()):
        assert any(line.strip().startswith(f"{row.name}:") for line in lines)
        assert "  " * row.depth + f"# {row.meaning}" in lines
        assert row.meaning.endswith(".")


def test_every_value_of_the_commented_file_is_read() -> None:
    """Text that was ignored would give the defaults as well; so each value is spoilt in turn."""
    for row in rows(Settings()):
        line = f"\n{'  ' * row.depth}{row.name}: {row.value}  # {row.expected}\n"
        if row.value:
            with pytest.raises(SettingsError, match="must be"):
                read_settings(commented().replace(line, f"\n{'  ' * row.depth}{row.name}: {{}}\n"))


def test_the_reference_page_is_fresh() -> None:
    assert (ROOT / "docs/settings.md").read_text(encoding="utf-8") == reference(), "stale: run `make docs`"


GOOD = {
    "": Settings(),
    "# nothing\n": Settings(),
    "watch:\nlimits:\n": Settings(),
    "watch: {settle: 500 ms}": Settings(watch=Watch(settle=0.5)),
    "watch: {scan: '3s'}": Settings(watch=Watch(scan=3.0)),
    "limits: {blueprint_bytes: 2 MiB, lost_after: 2 days}": Settings(
        limits=Limits(blueprint_bytes=2 << 20, lost_after=172800.0)
    ),
    "plateau: {action: off}": Settings(plateau=Plateau(action=PlateauAction.OFF)),
    "deliver: no": Settings(deliver=False),
    "security: {autokill: reject}": Settings(security=Security(autokill=Autokill.REJECT)),
    "env: {login_shell: false, file: my env, pass: [HF_*, '1']}": Settings(
        env=Env(login_shell=False, file="my env", pass_=("HF_*", "1"))
    ),
    "slots: []": Settings(slots=()),
    "slots: [{name: a, gpus: [0, 1]}, {name: b, host: h, gpus: []}]": Settings(
        slots=(HostSlot(name="a", gpus=(0, 1)), HostSlot(name="b", host="h", gpus=()))
    ),
    "slots: [{name: a, ssh: root@h -p 8824, gpus: 4}]": Settings(
        slots=(SshSlot(name="a", ssh="root@h -p 8824", gpus=4),)
    ),
    "slots:\n- name: s\n  slurm: {partition: gpu, max_jobs: 2, extra: [--exclusive]}\n": Settings(
        slots=(SlurmSlot(name="s", slurm=Slurm(partition="gpu", max_jobs=2, extra=("--exclusive",))),)
    ),
}


@pytest.mark.parametrize("text", GOOD)
def test_what_may_be_said(text: str) -> None:
    assert read_settings(text) == GOOD[text]


@pytest.mark.parametrize("text", GOOD)
def test_the_values_shown_can_be_read_again(text: str) -> None:
    settings = GOOD[text]
    shown = "\n".join(f"{'  ' * row.depth}{row.name}: {row.value}" for row in rows(settings))
    assert read_settings(shown) == settings


BAD = {
    "watch:\n  setle: 3s": "f:2: watch.setle is not a setting; perhaps watch.settle is meant.",
    "\nsettle: 3s": "f:2: settle is not a setting; perhaps watch.settle is meant.",
    "watch: {zzz: 1}": "f:1: watch.zzz is not a setting; watch knows settle, scan, heartbeat, silent_after.",
    "watch: {scan: 3}": 'f:1: watch.scan must be a duration such as "30 min", not 3.',
    "watch: {scan: 0s}": 'f:1: watch.scan must be a duration such as "30 min", not 0s.',
    "watch: {scan: null}": 'f:1: watch.scan must be a duration such as "30 min", not null.',
    "watch: {scan: 1s, scan: 2s}": "f:1: watch.scan is given twice.",
    "limits: {drop_bytes: 64}": 'f:1: limits.drop_bytes must be a size such as "64 MiB", not 64.',
    "repair: {max_attempts: '3'}": 'f:1: repair.max_attempts must be a whole number, 1 or more, not "3".',
    "repair: {max_attempts: 0}": "f:1: repair.max_attempts must be a whole number, 1 or more, not 0.",
    "plateau: {late: 1.5}": "f:1: plateau.late must be a number from 0 to 1, not 1.5.",
    "plateau: {action: pause}": "f:1: plateau.action must be one of auto, stop, report, off, not pause.",
    "deliver: 1": "f:1: deliver must be true or false, not 1.",
    "deliver:": "f:1: deliver must be true or false, not nothing.",
    "language: fr": "f:1: language must be one of en, zh, not fr.",
    "env: {pass: HF_TOKEN}": "f:1: env.pass must be a list, each text on one line, not HF_TOKEN.",
    'env: {file: "a\\0b"}': 'f:1: env.file must be text on one line or null, not "a\\x00b".',
    "watch: [1]": "f:1: watch must be a group of keys, not a list.",
    "- watch": "f:1: this file must be a group of keys, not a list.",
    "slots: 8": "f:1: slots must be auto or a list, each a group of keys, not 8.",
    "slots: [{name: a}]": "f:1: slots[0] needs gpus.",
    "slots: [{name: ../a, gpus: [0]}]": "f:1: slots[0].name must be a name of letters, digits, _ and -, not ../a.",
    "slots:\n- {name: a, gpus: [0]}\n- {name: a, gpus: [1]}": "f:1: two slots are named a.",
    "slots: [{name: a, gpus: [0, 0]}]": "f:1: slot a names a GPU twice.",
    "slots: [{name: a, gpus: [0, 1]}, {name: b, host: h, gpus: [1]}]": "f:1: slots a and b both name GPU 1.",
    "a: 1\n---\nb: 2": "f:2: this is not YAML: but found another document.",
    "watch: {scan: 3s": "f:1: this is not YAML: expected ',' or '}', but got '<stream end>'.",
    "deliver: true\nwatch:\n\tscan: 3s": "f:3: this is not YAML: found character '\\t' that cannot start any token.",
    "\n\x01": "f:2: this is not YAML: it holds a control character.",
    "x: !!python/object/apply:os.system [id]": (
        "f:1: tags (!) are not used here; put a text that begins so in quotes."
    ),
    "a: &a [x]\nb: [*a]": "f:1: anchors (&) and aliases (*) are not used here; put a text that begins so in quotes.",
    "[" * 500: "f:1: nothing here is nested more than 20 levels.",
    "a: " * 500: "f:1: this is not YAML: mapping values are not allowed here.",
    "#" * (MAX_CHARACTERS + 1): f"f:1: a settings file of more than {MAX_CHARACTERS} characters is not read.",
}


@pytest.mark.parametrize("text", BAD, ids=lambda text: text[:30])
def test_a_mistake_is_told_in_one_sentence_with_its_line(text: str) -> None:
    with pytest.raises(SettingsError) as error:
        read_settings(text, "f")
    assert str(error.value) == BAD[text]


def test_every_mistake_is_told_at_once() -> None:
    with pytest.raises(SettingsError) as error:
        read_settings("watch: {scan: 3, settl: 1s}\ndeliver: maybe\n", "f")
    assert [problem[:4] for problem in error.value.problems] == ["f:1:", "f:1:", "f:2:"]


@given(st.text() | st.text(alphabet="ab:-[]{}&*!|>'\"#%\n\t 01?,watchscan"))
def test_any_text_gives_settings_or_sentences(text: str) -> None:
    problems: tuple[str, ...] = ("f:1: none",)
    try:
        read_settings(text, "f")
    except SettingsError as error:
        problems = error.problems
    assert problems
    assert all(problem.startswith("f:") and len(problem.splitlines()) == 1 for problem in problems)


QUANTITIES = {
    "3s": 3, "500 ms": 0.5, "1.5h": 5400, "30 min": 1800, "30m": 1800, "2 days": 172800, "1 HOUR": 3600,
    "3": None, "s": None, "": None, "-3s": None, "3 weeks": None, "0 s": None, "1h30": None, "1e3s": None,
    "nan s": None, "٣s": None, "9999999999s": None, "3  s": None, " 3s": None,
}  # fmt: skip


@pytest.mark.parametrize("text", QUANTITIES)
def test_durations(text: str) -> None:
    assert read_seconds(text) == QUANTITIES[text]


SIZES = {
    "1 MiB": 1 << 20,
    "64MB": 64_000_000,
    "1.5 KiB": 1536,
    "7 B": 7,
    "1": None,
    "0.5 B": None,
    "0 B": None,
    "1 M": None,
}


@pytest.mark.parametrize("text", SIZES)
def test_sizes(text: str) -> None:
    assert read_bytes(text) == SIZES[text]


INERT_SET = {
    "": (),
    "plateau: {action: auto, delta: 0.01}": (),  # the defaults, written out
    "watch: {scan: 1s}\ndeliver: false": (),
    "plateau: {action: stop}\nstall: {after: 2h}\nnotify: {url: 'http://h'}\nsnapshot: true": (
        "plateau.action",
        "stall.after",
        "notify.url",
        "snapshot",
    ),
    "limits: {grace: 5s, lost_after: 1 day}": ("limits.lost_after",),
    "slots: [{name: a, gpus: [0]}, {name: b, ssh: h}, {name: c, slurm: {}}]": ("slots[1].ssh", "slots[2].slurm"),
}


@pytest.mark.parametrize("text", INERT_SET)
def test_what_is_set_and_does_nothing_is_named(text: str) -> None:
    assert inert(read_settings(text)) == INERT_SET[text]


# What the pages promise to be without effect (README, "What is not there yet"). Whoever builds one takes it out.
NOT_YET = """
limits.first_step limits.lost_after gpu.check gpu.idle_memory plateau.action plateau.evaluations
plateau.delta plateau.late stall.action stall.after swarm.ready_timeout swarm.poll notify.command notify.url
notify.events retention.prune_after snapshot
"""


def test_a_key_that_does_nothing_says_so_wherever_it_is_told() -> None:
    marked = [row.key for row in rows(Settings()) if row.meaning.startswith(f"{INERT.value}: ")]
    assert marked == NOT_YET.split()
    assert commented().count(f"# {INERT.value}: ") == len(marked)
    assert reference().count(f"| {INERT.value}: ") == len(marked) + len(("ssh", "slurm"))


def test_doctor_warns_of_what_is_set_and_does_nothing(tmp_path: Path) -> None:
    home = HomePaths(root=tmp_path)
    home.inbox.mkdir()
    home.outbox.mkdir()
    home.config.write_text("slots: []\nstall: {action: off}\n", encoding="utf-8")
    said = [found for found in examine_home(home).findings if found.check == "settings"]
    assert [found.health for found in said] == [Health.OK, Health.WARN]
    assert "stall.action" in said[1].text


# ---- the file --------------------------------------------------------------------------------------------------------


def test_no_file_means_the_defaults(tmp_path: Path) -> None:
    assert load(tmp_path / "ajet-inbox.yaml") == Settings()


def test_a_file_from_windows_and_a_link_to_it_are_read(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"\xef\xbb\xbfdeliver: false\r\nlanguage: zh\r\n")
    (tmp_path / "ajet-inbox.yaml").symlink_to("real")
    assert load(tmp_path / "ajet-inbox.yaml").deliver is False


def _fifo(path: Path) -> None:
    os.mkfifo(path)


UNREADABLE = {
    "binary": (lambda path: path.write_bytes(b"a: b\n\xff\xfe\x00"), "ajet-inbox.yaml:2: this is not text in UTF-8."),
    "huge": (lambda path: path.write_bytes(b"#" * (1 << 20)), "is larger than the limit"),
    "folder": (lambda path: path.mkdir(), "is a folder"),
    "fifo": (_fifo, "is a FIFO"),
    "dangling": (lambda path: path.symlink_to("nowhere"), "nowhere does not exist"),
    "circle": (lambda path: path.symlink_to(path.name), "is a symbolic link"),
}


@pytest.mark.parametrize("kind", UNREADABLE)
@pytest.mark.timeout(10)
def test_a_file_that_cannot_be_read_gives_one_sentence(kind: str, tmp_path: Path) -> None:
    make, sentence = UNREADABLE[kind]
    path = tmp_path / "ajet-inbox.yaml"
    make(path)
    with pytest.raises(SettingsError) as error:
        load(path)
    assert sentence in str(error.value)
    assert str(error.value).startswith("ajet-inbox.yaml:")
    assert len(error.value.problems) == 1
