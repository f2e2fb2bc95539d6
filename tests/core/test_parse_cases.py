"""The score: real blueprints, and beside each what a careful reader takes from it, field by field."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ajet_inbox.core.blueprint import Reading
from ajet_inbox.core.checking.check import text_problems
from ajet_inbox.core.checking.rule import Case
from ajet_inbox.core.reading.parse import decode, read_blueprint

CASES = sorted((Path(__file__).parent.parent / "data" / "blueprints").glob("*.md"))


def tidy_path(text: object) -> object:
    return text.rstrip("/") if isinstance(text, str) else text


def tidy_command(text: str | None) -> str:
    joined = re.sub(r"[ \t]*\\\r?\n[ \t]*", " ", text or "")
    return "\n".join(line.rstrip() for line in joined.strip().splitlines())


def answers(reading: Reading) -> dict[str, Any]:
    found = reading.blueprint
    return {
        "codebase_dir": tidy_path(found.codebase_dir),
        "venv_exe": tidy_path(found.venv_exe),
        "yaml_path": tidy_path(found.yaml_path),
        "result_dir": tidy_path(found.result_dir),
        "mode": found.mode,
        "max_time_s": found.max_time_s,
        "first_step_timeout_s": found.first_step_timeout_s,
        "launch_command": tidy_command(found.launch_command),
        "services": [tidy_command(service.command) for service in found.services],
    }


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_case(case: Path) -> None:
    want = json.loads(case.with_suffix(".json").read_text())
    text, bad_bytes = decode(case.read_bytes())
    reading = read_blueprint(text)
    problems = (*bad_bytes, *reading.problems, *text_problems(Case(blueprint=reading.blueprint, text=text)))
    errors = [p for p in problems if p.level == "error"]
    if section := want.get("error_section"):
        assert any(p.line for p in errors if p.section == section)
    elif not want.get("may_reject"):
        assert errors == []
    found = answers(reading)
    assert {key: found[key] for key in want if key in found} == {key: want[key] for key in want if key in found}
    assert want.get("purpose_contains", "") in (reading.blueprint.purpose or "")
