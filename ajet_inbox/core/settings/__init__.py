"""Every setting with its default and its meaning (contract section 10): the one source for reading and telling them.

A key's meaning stands in its annotation, with the form its value is written in, and the mark of a key that does nothing
yet; a group's meaning is its docstring.
The file that `init` writes, docs/settings.md and `doctor` all come from these records.
"""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import Annotated, Literal

from msgspec import Struct


class Form(StrEnum):
    """How a value is written where its Python type alone does not tell; the text is what an error says was expected."""

    DURATION = 'a duration such as "30 min"'  # seconds in the record, above zero
    SIZE = 'a size such as "64 MiB"'  # bytes in the record, at least one
    COUNT = "a whole number, 0 or more"
    POSITIVE = "a whole number, 1 or more"
    NAME = "a name of letters, digits, _ and -"  # safe in a file name
    SHARE = "a number from 0 to 1"


class Mark(Enum):
    """What else is to be said of a key."""

    INERT = "Not acted on yet"  # read and checked, and without effect: whoever sets it must not feel protected by it


INERT = Mark.INERT
Seconds = Annotated[float, Form.DURATION]
Bytes = Annotated[int, Form.SIZE]
Count = Annotated[int, Form.COUNT]
Positive = Annotated[int, Form.POSITIVE]
Share = Annotated[float, Form.SHARE]
Name = Annotated[str, Form.NAME]


class Language(StrEnum):
    """The language of pages, logs for people and drafted blueprints."""

    EN = "en"  # English
    ZH = "zh"  # Chinese


class PlateauAction(StrEnum):
    """What happens to a run in its late part whose validation metrics no longer move."""

    AUTO = "auto"  # stopped only when another run waits for its slot
    STOP = "stop"  # stopped
    REPORT = "report"  # told, not stopped
    OFF = "off"  # not looked for


class StallAction(StrEnum):
    """What happens to a run that makes no progress while its GPUs are known to be idle."""

    STOP = "stop"  # stopped
    REPORT = "report"  # told, not stopped
    OFF = "off"  # not looked for


class Autokill(StrEnum):
    """What happens to a launch whose `--autokill` would end every python, ray and vllm on the host."""

    STRIP = "strip"  # replaced by --skip-check-avail-gpu, and told
    REJECT = "reject"  # the blueprint is rejected
    ALLOW = "allow"  # started as written


class Notice(StrEnum):
    """What a person may want to be told at once."""

    FINISHED = "finished"  # a run has its finish.flag
    BLOCKED = "blocked"  # a queued run waits for something other than a slot
    UNREACHABLE = "unreachable"  # a host with a running run fell silent


class HostSlot(Struct, frozen=True, kw_only=True):
    """GPUs of a host that runs a watcher."""

    name: Annotated[Name, "The slot's name, unique in the home."]
    host: Annotated[str | None, "The host it belongs to; null: every host with a watcher has one."] = None
    gpus: Annotated[tuple[Count, ...], "Indices of its GPUs as nvidia-smi shows them; [] is a slot without GPUs."]


class SshSlot(Struct, frozen=True, kw_only=True):
    """GPUs of a machine reached over SSH."""

    name: Annotated[Name, "The slot's name, unique in the home."]
    ssh: Annotated[str, "How it is reached: the arguments of ssh, such as root@host -p 8824.", INERT]
    gpus: Annotated[Count, "How many GPUs it has."] = 8


class Slurm(Struct, frozen=True, kw_only=True):
    """What is asked of Slurm for each run of a slurm slot, which is not acted on yet."""

    partition: Annotated[str | None, "The partition; null: the cluster's default."] = None
    account: Annotated[str | None, "The account to charge."] = None
    qos: Annotated[str | None, "The quality of service."] = None
    constraint: Annotated[str | None, "Features a node must have."] = None
    gpus: Annotated[Count, "GPUs of one node."] = 8
    nodes: Annotated[Positive, "Nodes of one run."] = 1
    max_jobs: Annotated[Positive, "How many runs at a time."] = 1
    extra: Annotated[tuple[str, ...], "Further options of sbatch, one an item."] = ()


class SlurmSlot(Struct, frozen=True, kw_only=True):
    """A share of a Slurm partition."""

    name: Annotated[Name, "The slot's name, unique in the home."]
    slurm: Annotated[Slurm, "What is asked of Slurm for each run.", INERT]


class Watch(Struct, frozen=True, kw_only=True):
    """How the inbox and the other watchers are looked at."""

    settle: Annotated[
        Seconds | None,
        "How long a drop must stay the same before it is taken; null: 3 s, 10 s on a network filesystem.",
    ] = None
    scan: Annotated[Seconds, "How often the inbox is looked through, whatever the filesystem reports."] = 2.0
    heartbeat: Annotated[Seconds, "How often a watcher shows the other hosts that it lives."] = 5.0
    silent_after: Annotated[
        Seconds, "How long another host shows nothing before its watcher no longer counts as living."
    ] = 180.0


class Limits(Struct, frozen=True, kw_only=True):
    """What is too large or takes too long."""

    blueprint_bytes: Annotated[Bytes, "A larger blueprint is rejected unread."] = 1 << 20
    drop_bytes: Annotated[Bytes, "A larger folder drop is rejected unread."] = 64 << 20
    world_wait: Annotated[Seconds, "How long a run that is due waits for a missing path, mount or interpreter."] = (
        1800.0
    )
    first_step: Annotated[
        Seconds, "How long a training may take to its first step, where the blueprint does not say.", INERT
    ] = 1200.0
    grace: Annotated[Seconds, "How long a stopped experiment has to end by itself before it is killed."] = 60.0
    free_disk: Annotated[Bytes, "With less space free for results and checkpoints, the check warns."] = 20 << 30
    lost_after: Annotated[
        Seconds | None, "How long a run may be unreachable before it is given up as lost; null: for ever.", INERT
    ] = None


class Gpu(Struct, frozen=True, kw_only=True):
    """When a GPU counts as free."""

    check: Annotated[bool, "Whether a run waits until its GPUs are seen free.", INERT] = True
    idle_memory: Annotated[Bytes, "Memory that a GPU without processes may hold and still be free.", INERT] = 1 << 30


class Env(Struct, frozen=True, kw_only=True, rename={"pass_": "pass"}):
    """The environment experiments get; `check` and `doctor` test this one."""

    login_shell: Annotated[bool, "Whether it starts from what a login shell sets."] = True
    file: Annotated[str | None, "A file of NAME=VALUE lines that are added, relative to the home."] = None
    pass_: Annotated[
        tuple[str, ...], "Variables taken over from the watcher's own environment; * stands for any characters."
    ] = ("*",)


class Progress(Struct, frozen=True, kw_only=True):
    """How closely a running experiment is followed."""

    read: Annotated[Seconds, "How often its console and metrics files are read."] = 2.0
    render: Annotated[Seconds, "How often its trial log and its page are written anew while it goes on."] = 30.0


class Plateau(Struct, frozen=True, kw_only=True):
    """When a training is taken to have stopped improving."""

    action: Annotated[
        PlateauAction, "What is done then; auto stops it only when another run waits for the slot.", INERT
    ] = PlateauAction.AUTO
    evaluations: Annotated[Positive, "How many evaluations in a row must show no movement.", INERT] = 5
    delta: Annotated[Share, "The change of a metric that counts as movement.", INERT] = 0.01
    late: Annotated[Share, "The share of its steps or time that must be over before.", INERT] = 0.5


class Stall(Struct, frozen=True, kw_only=True):
    """When a training is taken to hang: its GPUs are known to be idle; never in generic mode."""

    action: Annotated[StallAction, "What is done then.", INERT] = StallAction.STOP
    after: Annotated[
        Seconds,
        "The least time without progress; three times the longest step, evaluation or checkpoint if longer.",
        INERT,
    ] = 3600.0


class Repair(Struct, frozen=True, kw_only=True):
    """What follows a failed attempt."""

    max_attempts: Annotated[
        Positive, "Attempts of a run in all, where they follow losses; [exp_retry] says whether any may."
    ] = 3
    backoff: Annotated[Seconds, "The pause before the second attempt, doubled before each further one."] = 60.0


class Swarm(Struct, frozen=True, kw_only=True):
    """Swarm servers that a run needs."""

    ready_timeout: Annotated[Seconds, "How long a swarm server that was started may take to answer.", INERT] = 600.0
    poll: Annotated[Seconds, "How often a swarm server is asked how it is.", INERT] = 10.0


class Agent(Struct, frozen=True, kw_only=True):
    """The coding agent that may write blueprints."""

    command: Annotated[str | None, "The command line that starts it, the prompt on its standard input; null: none."] = (
        None
    )
    rounds: Annotated[Positive, "How often it may be asked until what it wrote passes check."] = 3
    timeout: Annotated[Seconds, "How long one round may take."] = 1800.0


class Draft(Struct, frozen=True, kw_only=True):
    """Blueprints written from task descriptions."""

    auto_submit: Annotated[bool, "Whether the draft of a dropped NAME.task.md is run without a review."] = False
    agent: Agent = Agent()


class Notify(Struct, frozen=True, kw_only=True):
    """How people are told."""

    command: Annotated[
        str | None, "A command that gets each notice as JSON on its standard input; null: none.", INERT
    ] = None
    url: Annotated[str | None, "An address that each notice is sent to as JSON by POST; null: none.", INERT] = None
    events: Annotated[tuple[Notice, ...], "What is told.", INERT] = (Notice.FINISHED, Notice.UNREACHABLE)


class Security(Struct, frozen=True, kw_only=True):
    """What a blueprint may do."""

    autokill: Annotated[
        Autokill, "What becomes of --autokill, which would end every python, ray and vllm on the host."
    ] = Autokill.STRIP
    owners: Annotated[tuple[str, ...], "Users that may drop blueprints, by the owner of the file; []: all."] = ()
    codebases: Annotated[tuple[str, ...], "Folders below which codebases must lie; []: anywhere."] = ()


class Retention(Struct, frozen=True, kw_only=True):
    """What is kept."""

    prune_after: Annotated[
        Seconds | None, "Finished runs older than this are removed from outbox; null: never.", INERT
    ] = None


class Settings(Struct, frozen=True, kw_only=True):
    """All of `ajet-inbox.yaml`."""

    language: Annotated[
        Language, "The language of pages and drafted blueprints; checks, rejections and commands speak English."
    ] = Language.EN
    slots: Annotated[
        Literal["auto"] | tuple[HostSlot | SshSlot | SlurmSlot, ...],
        "Where runs go; auto: one slot per 8 GPUs of each host, one with what there is below 8; or a list of slots.",
    ] = "auto"
    watch: Watch = Watch()
    limits: Limits = Limits()
    gpu: Gpu = Gpu()
    env: Env = Env()
    progress: Progress = Progress()
    plateau: Plateau = Plateau()
    stall: Stall = Stall()
    repair: Repair = Repair()
    swarm: Swarm = Swarm()
    deliver: Annotated[bool, "Whether results are also written into exp_result_dir."] = True
    draft: Draft = Draft()
    notify: Notify = Notify()
    security: Security = Security()
    retention: Retention = Retention()
    snapshot: Annotated[bool, "Whether a run uses a copy of its codebase, where the blueprint does not say.", INERT] = (
        False
    )
    templates_dir: Annotated[str | None, "A folder of templates that come before the built-in ones."] = None
