"""A plain blueprint in which one section at a time is written otherwise."""

from __future__ import annotations

from ajet_inbox.core.blueprint import Level, Reading
from ajet_inbox.core.reading.parse import read_blueprint

PLAIN = {
    "exp_purpose": "Compare two learning rates.",
    "exp_codebase_dir": "/srv/aj",
    "exp_venv_exe": "/srv/aj/.venv/bin/python",
    "exp_yaml_path": "/srv/aj/a.yaml",
    "exp_launch_command": "```bash\npython -m ajet.launcher --conf a.yaml\n```",
    "exp_result_dir": "/srv/out/lr",
    "exp_max_time": "12 hours",
}
FENCE = "```"
RUN = "python -m ajet.launcher --conf a.yaml"


def document(**sections: str | None) -> str:
    bodies = PLAIN | sections
    return "\n\n".join(f"## [{key}]\n{body}" for key, body in bodies.items() if body is not None)


def read(**sections: str | None) -> Reading:
    return read_blueprint(document(**sections))


def wrong(reading: Reading) -> list[str]:
    return [p.message for p in reading.problems if p.level is Level.ERROR]
