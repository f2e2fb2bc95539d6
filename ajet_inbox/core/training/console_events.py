"""What a console is watched for, and what was seen on it."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from ajet_inbox.core.training.console import Origin
from ajet_inbox.core.training.evals import Eval
from ajet_inbox.core.training.step_lines import Mark, StepPatterns, StepSeen


class Phase(StrEnum):
    """What the experiment is busy with."""

    STARTING_RAY = "starting_ray"
    LOADING_MODEL = "loading_model"
    VALIDATING = "validating"
    TRAINING = "training"
    SAVING = "saving"  # a checkpoint is being written: a bad moment to end anything


class Severity(StrEnum):
    """How bad a line calls itself."""

    WARNING = "warning"
    ERROR = "error"


class Patterns(Struct, frozen=True, kw_only=True):
    """What to look for, as plain strings. The defaults are verl's and AgentJet's."""

    step: StepPatterns = StepPatterns()
    training_bar: str = "Training Progress"
    # A line tells its phases in this order. It may follow a bar on the same line, so that what is rare comes first.
    phases: tuple[tuple[Mark, Phase], ...] = (
        ("local_global_step_folder", Phase.SAVING),
        ("Saving checkpoint", Phase.SAVING),
        ("Saved checkpoint", Phase.SAVING),
        ("Started a local Ray instance", Phase.STARTING_RAY),
        ("Connecting to existing Ray cluster", Phase.STARTING_RAY),
        ("Loading checkpoint shards", Phase.LOADING_MODEL),
        ("Loading safetensors checkpoint shards", Phase.LOADING_MODEL),
        ("Starting to load model", Phase.LOADING_MODEL),
        ("test_gen_batch meta info", Phase.VALIDATING),
        ("Starting validate rollout", Phase.VALIDATING),
        ("Training Progress", Phase.TRAINING),
        ("rollout step begin", Phase.TRAINING),
    )
    errors: tuple[Mark, ...] = ("Traceback (most recent call last)", "Error", "ERROR", "CRITICAL", "Exception")
    warnings: tuple[Mark, ...] = ("Warning", "WARN")
    max_complaints: int = 20  # of each severity; the first are the telling ones


AGENTJET = Patterns()


class EvalSeen(Struct, frozen=True, kw_only=True):
    """An evaluation was reported."""

    eval: Eval


class PhaseSeen(Struct, frozen=True, kw_only=True):
    """The experiment turned to something else."""

    phase: Phase


class Complaint(Struct, frozen=True, kw_only=True):
    """A line that calls itself a warning or an error. Whether it matters is for the diagnosis to say."""

    severity: Severity
    origin: Origin
    text: str


ConsoleEvent = StepSeen | EvalSeen | PhaseSeen | Complaint
