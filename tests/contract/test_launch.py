"""The scripts of an attempt, run by a real bash."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ajet_inbox.edge.launch import Launch, render_launch

ANY = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)


def scripts(codebase: Path, **fields: object) -> dict[str, str]:
    given_fields = {"run": "run", "number": 2, "drop": "/d", "result_dir": "/r", "interpreter": "/venv/bin/python"}
    return render_launch(Launch(codebase=str(codebase), **{**given_fields, **fields}))  # type: ignore[arg-type]


def run(folder: Path, texts: dict[str, str], *arguments: str) -> int:
    for name, text in texts.items():
        (folder / name).write_text(text, newline="")
    env = {"PATH": "/usr/bin:/bin"}
    return subprocess.run(["bash", "launch.sh", *arguments], cwd=folder, env=env, timeout=20).returncode


@given(value=ANY, path=ANY, run_name=st.from_regex(r"[\w-]{1,20}", fullmatch=True))
def test_every_value_arrives_as_it_is(
    tmp_path_factory: pytest.TempPathFactory, value: str, path: str, run_name: str
) -> None:
    folder = tmp_path_factory.mktemp("launch")
    texts = scripts(folder, command="env -0 >seen", env={"VALUE": value}, yaml_path=path, run=run_name)
    assert run(folder, texts) == 0
    seen = dict(row.split("=", 1) for row in (folder / "seen").read_bytes().decode().rstrip("\0").split("\0"))
    told = {"VALUE": value, "EXP_YAML_PATH": path, "EXP_RESULT_DIR": "/r", "AJET_INBOX_DROP": "/d"}
    assert told.items() <= seen.items()
    assert seen["AJET_INBOX_RUN"] == run_name
    assert seen["AJET_INBOX_ATTEMPT"] == "2"
    assert seen["PYTHONUNBUFFERED"] == "1"
    assert seen["PATH"] == "/venv/bin:/usr/bin:/bin"


@pytest.mark.parametrize("name", ["-n", "a b'c\"d$e", "字 `x`", "new\nline", "{{ 7 * 7 }}"])
def test_any_codebase_is_entered(tmp_path: Path, name: str) -> None:
    codebase = tmp_path / name
    codebase.mkdir()
    assert run(tmp_path, scripts(codebase, command="echo {{ 1 + 1 }} {% raw %} >seen")) == 0
    assert (codebase / "seen").read_text() == "{{ 1 + 1 }} {% raw %}\n"


def test_what_is_not_there_is_not_exported(tmp_path: Path) -> None:
    assert run(tmp_path, scripts(tmp_path, command="[ -z ${EXP_YAML_PATH+x} ]")) == 0


def test_the_blueprint_cannot_change_what_we_export(tmp_path: Path) -> None:
    env = {"AJET_INBOX_RUN": "other", "PYTHONUNBUFFERED": "", "PATH": "/bin"}
    command = '[ "$AJET_INBOX_RUN" = run ] && [ -z "$PYTHONUNBUFFERED" ] && [ "$PATH" = /venv/bin:/bin ]'
    assert run(tmp_path, scripts(tmp_path, command=command, env=env)) == 0


def test_a_bad_name_harms_nothing(tmp_path: Path) -> None:
    assert run(tmp_path, scripts(tmp_path, command="echo fine >seen", env={"A B; touch harm #": "x", "": "y"})) == 0
    assert (tmp_path / "seen").exists()
    assert not (tmp_path / "harm").exists()


STATUSES = [
    ({"command": "exit 3"}, 3, "3 command\n"),
    ({"command": "exec false"}, 1, "1 command\n"),
    ({"command": "exit 3", "prepare": "exit 4"}, 4, "4 prepare\n"),
    ({"command": "exit 3", "prepare": "true"}, 3, "3 command\n"),
    ({"command": "if ["}, 2, "2 command\n"),
    ({"command": "true", "prepare": "fi"}, 2, "2 prepare\n"),
]


@pytest.mark.parametrize(("commands", "code", "status"), STATUSES)
def test_the_status_is_left_behind(tmp_path: Path, commands: dict[str, str], code: int, status: str) -> None:
    assert run(tmp_path, scripts(tmp_path, **commands)) == code
    assert (tmp_path / "status").read_text() == status


def test_cleanup_runs_alone(tmp_path: Path) -> None:
    texts = scripts(tmp_path, command="touch harm", cleanup="echo $AJET_INBOX_RUN >seen; exit 5")
    assert run(tmp_path, texts, "cleanup") == 5
    assert (tmp_path / "seen").read_text() == "run\n"
    assert not (tmp_path / "harm").exists()
    assert not (tmp_path / "status").exists()


def test_only_what_was_asked_for_is_written(tmp_path: Path) -> None:
    assert scripts(tmp_path, command="true").keys() == {"launch.sh", "command.sh"}
    assert scripts(tmp_path, command="a\n  b", prepare="x")["command.sh"].endswith("|| exit\na\n  b\n")
