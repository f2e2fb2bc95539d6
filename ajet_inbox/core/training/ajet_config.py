"""What an AgentJet experiment is configured with: its yaml, and what its client script sets over that."""

from __future__ import annotations

from msgspec import Struct

from ajet_inbox.core.training.ajet_job import Given, Job
from ajet_inbox.core.training.ajet_keys import ARGUMENTS, DEFAULTS, NAME_OF_YAML, SWARM_DEFAULTS
from ajet_inbox.core.training.yaml_file import Fault, Value, YamlFile, read_yaml

_TRAINER = "ajet.trainer_common."
_CHECKPOINT_BASE = f"{_TRAINER}checkpoint_base_dir"


class Setting(Struct, frozen=True, kw_only=True):
    """A value and where it comes from. `known` is False where a script computes it; `file` is None for a default."""

    value: Value = None
    known: bool = True
    file: str | None = None
    line: int | None = None

    @property
    def place(self) -> str:
        """Where it was set, for a person."""
        return f"{self.file} line {self.line}" if self.file else "AgentJet's default"


class Config(Struct, frozen=True, kw_only=True):
    """The settings by dotted key, and what holds for keys that nobody sets."""

    settings: dict[str, Setting] = {}
    defaults: dict[str, str | int | bool] = {}

    def get(self, key: str) -> Setting:
        """What holds for `key`, as given or by default; None where AgentJet has none."""
        return self.settings.get(key, Setting(value=self.defaults.get(key)))

    def number(self, key: str) -> int | None:
        """The whole number that holds for `key`, if it is one and known."""
        value = self.get(key).value
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def text(self, key: str) -> str | None:
        """The text that holds for `key`, if it is one and known."""
        value = self.get(key).value
        return value if isinstance(value, str) and value else None


def configured(yaml: YamlFile | None, yaml_name: str, job: Job | None, job_name: str, *, swarm: bool) -> Config:
    """What holds: the yaml, over it the arguments that are not None, over both what is written afterwards."""
    settings = _of_yaml(yaml or YamlFile(), yaml_name)
    if job is not None:
        given = {ARGUMENTS[name]: value for name, value in job.arguments.items() if name in ARGUMENTS}
        overlay = {key: value for key, value in given.items() if value.value is not None or not value.known}
        settings |= _of_script(overlay | job.writes, job_name)
    return Config(settings=settings, defaults=SWARM_DEFAULTS if swarm else DEFAULTS)


def _of_yaml(yaml: YamlFile, name: str) -> dict[str, Setting]:
    return {
        key: Setting(value=leaf.value, file=name, line=leaf.line) for key, leaf in yaml.leaves.items() if not leaf.empty
    }


def _of_script(given: dict[str, Given], name: str) -> dict[str, Setting]:
    return {key: Setting(value=each.value, known=each.known, file=name, line=each.line) for key, each in given.items()}


class AjetConfig(Struct, frozen=True, kw_only=True):
    """The values that matter to whoever watches a training. Paths are as written; what is not there is None.

    `checkpoints` is the folder of the experiment's own; None where its name changes with each start.
    """

    n_gpus_per_node: int | None = None
    val_file: str | None = None
    train_file: str | None = None
    total_training_steps: int | None = None
    test_freq: int | None = None
    project_name: str | None = None
    experiment_name: str | None = None
    checkpoints: str | None = None


def read_config(text: str) -> AjetConfig:
    """The values of a yaml; empty where it is none."""
    yaml = read_yaml(text)
    return watched(Config(settings=_of_yaml(YamlFile() if isinstance(yaml, Fault) else yaml, "")))


def watched(config: Config) -> AjetConfig:
    """The values of `config` that matter to the watcher."""
    return AjetConfig(
        n_gpus_per_node=config.number(f"{_TRAINER}n_gpus_per_node"),
        val_file=config.text(f"{_TRAINER}val_print_to_markdown_file_path"),
        train_file=config.text(f"{_TRAINER}train_print_to_markdown_file_path"),
        total_training_steps=config.number(f"{_TRAINER}total_training_steps"),
        test_freq=config.number(f"{_TRAINER}test_freq"),
        project_name=config.text("ajet.project_name"),
        experiment_name=config.text("ajet.experiment_name"),
        checkpoints=_checkpoints(config),
    )


def _checkpoints(config: Config) -> str | None:
    names = (_CHECKPOINT_BASE, "ajet.project_name", "ajet.experiment_name")
    base, project, name = (config.text(key) or str(DEFAULTS[key]) for key in names)
    return None if name == NAME_OF_YAML else f"{base}/{project}/{name.replace('|', '-')}"
