"""Blueprints of real files, judged by the real command and by the watcher's own look."""

from __future__ import annotations

import os
import shutil
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ajet_inbox.app import examine
from ajet_inbox.app.client.reading import patient_place, read_from
from ajet_inbox.app.gathering import Place, gather
from ajet_inbox.app.identity import myself
from ajet_inbox.core.blueprint import Blueprint, Level, Mode, Problem, errors
from ajet_inbox.core.drops import DropKind
from ajet_inbox.core.events import DropRead
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.core.settings import Security, Settings
from ajet_inbox.edge import intake
from ajet_inbox.edge.intake import Arrival, Intake
from ajet_inbox.edge.world import current_user
from tests.cli_home import AT, add_run, ajet, ajet_json, let_watch, make_home, on_a_terminal, queued

YAML = """\
ajet:
  project_name: p
  experiment_name: e
  model: {path: tiny/model}
  trainer_common:
    logger: console
    n_gpus_per_node: 1
    val_before_train: True
    val_print_to_markdown_file_path: RESULTS/val.md
    train_print_to_markdown_file_path: RESULTS/train.md
"""
LAUNCH = "python -m ajet.launcher --conf a.yaml --with-ray"


class Lab:
    """A codebase with a yaml, a home, and blueprints about them."""

    def __init__(self, folder: Path) -> None:
        self.home = make_home(folder / "home")
        self.code, self.results = folder / "code", folder / "results"
        self.code.mkdir()
        self.results.mkdir()
        self.yaml = self.code / "a.yaml"
        self.yaml.write_text(YAML.replace("RESULTS", str(self.results / "exp")))

    def blueprint(self, command: str = LAUNCH, *, python: str = sys.executable, yaml: str = "a.yaml") -> str:
        return (
            f"## [exp_purpose]\na test\n## [exp_codebase_dir]\n{self.code}\n## [exp_venv_exe]\n{python}\n"
            f"## [exp_yaml_path]\n{yaml}\n## [exp_launch_command]\n```bash\n{command}\n```\n"
            f"## [exp_result_dir]\n{self.results / 'exp'}\n## [exp_max_time]\n1 hour\n"
        )

    def file(self, text: str, name: str = "exp.md") -> Path:
        path = self.home.root / name
        path.write_text(text)
        return path

    def check(self, text: str) -> dict[str, Problem]:
        """What a patient look finds, by code."""
        reading = read_from(self.file(text), patient_place(self.home))
        return {problem.code: problem for problem in reading.problems}


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def test_a_good_blueprint_has_nothing_but_the_advice_to_explain(lab: Lab) -> None:
    assert lab.check(lab.blueprint()).keys() <= {"section_unexplained", "disk_space_low"}


def test_a_broken_yaml_is_found_at_its_place(lab: Lab) -> None:
    lab.yaml.write_text("ajet:\n  a: 1\n b: 2\n")
    found = lab.check(lab.blueprint())["yaml_unparsable"]
    assert (found.section, found.line, found.level) == ("exp_yaml_path", 8, Level.ERROR)
    assert "a.yaml cannot be read, line 3" in found.message


def test_a_yaml_may_be_a_link(lab: Lab) -> None:
    lab.yaml.rename(lab.code / "real.yaml")
    lab.yaml.symlink_to("real.yaml")
    lab.code.joinpath("real.yaml").write_text("ajet: {execute_test: True}\n")
    assert "yaml_execute_test" in lab.check(lab.blueprint())


def test_a_broken_command_is_found_by_bash_at_its_line(lab: Lab) -> None:
    found = lab.check(lab.blueprint("for i in 1 2; do\n  echo $i\nfi"))["command_syntax"]
    assert (found.section, found.line, found.level) == ("exp_launch_command", 13, Level.ERROR)


def test_a_script_and_its_base_yaml_are_read(lab: Lab) -> None:
    (lab.code / "tools").mkdir()
    script = (
        "from ajet.copilot.job import AgentJetJob\njob = AgentJetJob(base_yaml_config='a.yaml', project_name='q')\n"
    )
    (lab.code / "tools" / "roll.py").write_text(script)
    reading = read_from(lab.file(lab.blueprint("python -m tools.roll")), patient_place(lab.home))
    assert reading.blueprint.mode is Mode.SWARM
    told = {p.code: p.message for p in reading.problems}
    assert "ajet.project_name is 'p' in a.yaml line 2, and project_name='q' in line 2" in told["config_key_twice"]


def test_an_interpreter_that_is_no_python(lab: Lab) -> None:
    fake = lab.code / "python3"
    fake.write_text("#!/bin/sh\necho broken environment\n")
    fake.chmod(0o755)
    assert "broken environment" in lab.check(lab.blueprint(python=str(fake)))["interpreter_no_python"].message
    odd = lab.code / "train.sh"
    odd.write_text(f"#!/bin/sh\ntouch {lab.code}/started\n")
    odd.chmod(0o755)
    # Something that is not even called so is never started: it could be the experiment itself.
    assert lab.check(lab.blueprint(python=str(odd)))["interpreter_no_python"].level is Level.WARNING
    assert not (lab.code / "started").exists()


def test_the_environment_is_the_one_of_experiments(lab: Lab) -> None:
    lab.yaml.write_text(lab.yaml.read_text().replace("logger: console", "logger: swanlab"))
    lab.home.config.write_text("env: {login_shell: false, pass: [], file: keys.env}\n")
    (lab.home.root / "keys.env").touch()
    os.environ["SWANLAB_API_KEY"] = "of the caller"
    try:
        assert "logger_key_missing" in lab.check(lab.blueprint())
        (lab.home.root / "keys.env").write_text("SWANLAB_API_KEY=x\n")
        assert "logger_key_missing" not in lab.check(lab.blueprint())
    finally:
        del os.environ["SWANLAB_API_KEY"]


def test_what_others_use_is_seen(lab: Lab) -> None:
    mark = lab.code / "saved_checkpoints" / "p" / "e" / "latest_checkpointed_iteration.txt"
    mark.parent.mkdir(parents=True)
    mark.write_text("20")
    (lab.results / "exp").mkdir()
    (lab.results / "exp" / "finish.flag").touch()
    let_watch(lab.home)
    found = lab.check(lab.blueprint().replace("a.yaml", "b.yaml")) | lab.check(lab.blueprint())
    assert {"experiment_has_checkpoints", "result_dir_used"} <= found.keys()
    assert "yaml_gpus_differ" not in found  # one of its slots has one GPU


def test_a_queued_run_of_the_same_experiment(lab: Lab) -> None:
    other = Blueprint(codebase_dir=str(lab.code), yaml_path=str(lab.yaml), mode=Mode.CLASSIC)
    add_run(lab.home, "other", *queued())
    add_submitted(lab.home, "other", other)
    assert "other" in lab.check(lab.blueprint())["experiment_name_taken"].message
    told = {problem.code: problem.level for problem in read(lab, lab.blueprint()).submitted.problems}
    assert told["experiment_name_taken"] is Level.WARNING


def test_the_watcher_sees_checkpoints_that_would_be_resumed(lab: Lab) -> None:
    mark = lab.code / "saved_checkpoints" / "p" / "e" / "latest_checkpointed_iteration.txt"
    mark.parent.mkdir(parents=True)
    mark.write_text("20")
    found = read(lab, lab.blueprint())
    assert "experiment_has_checkpoints" in {problem.code for problem in found.submitted.problems}
    assert found.world == ()


def test_a_missing_codebase_is_one_error(lab: Lab) -> None:
    text = lab.blueprint(python=str(lab.code / "venv" / "bin" / "python"))
    text = text.replace(str(lab.results / "exp"), f"{lab.code}/out")
    shutil.rmtree(lab.code)
    found = read(lab, text)
    assert [problem.code for problem in found.world] == ["codebase_absent"]
    levels = [problem.level for problem in found.submitted.problems]
    assert levels == sorted(levels, key=list(Level).index)


def test_placeholders_are_not_looked_for(lab: Lab) -> None:
    text = lab.blueprint(python="<python>").replace(str(lab.code), "/path/to/code")
    assert [p.code for p in errors(tuple(lab.check(text).values()))] == ["placeholder_unresolved"]
    assert lab.check(text).keys().isdisjoint({"codebase_absent", "interpreter_absent", "yaml_absent"})


def add_submitted(home: HomePaths, name: str, blueprint: Blueprint) -> None:
    """Its journal tells of this blueprint instead."""
    from ajet_inbox.core.journal import Claimed, Drop, Submitted, encode

    drop = Drop(id="d", name=f"{name}.md", kind=DropKind.FILE, sha256="0" * 64)
    claim = Claimed(at=AT, owner=myself(), act="accept")
    home.run(name).segment(1).write_bytes(encode([claim, Submitted(at=AT, drop=drop, blueprint=blueprint), *queued()]))


# ---- the command ----------------------------------------------------------------------------------------------------


def test_many_files_are_one_table(lab: Lab) -> None:
    good = lab.file(lab.blueprint())
    bad = lab.file(lab.blueprint("echo 'a"), "bad.md")
    done = ajet(lab.home, "check", str(good), str(bad))
    assert done.returncode == 1
    rows = done.stdout.splitlines()
    assert rows[0].split() == ["FILE", "LINE", "CODE", "PROBLEM"]
    assert rows[1].split()[:2] == [str(good), "ok"]
    assert any("error" in row and "quote_open" in row and "Close it." in row for row in rows)
    assert "\x1b" not in done.stdout
    _, shown = on_a_terminal(lab.home, "check", str(good), str(bad), columns=200)
    assert "quote_open" in shown
    code, documents = ajet_json(lab.home, "check", str(good), str(bad))
    assert (code, [document["ok"] for document in documents]) == (1, [True, False])


def test_the_command_is_shown_as_it_will_be_run(lab: Lab) -> None:
    text = lab.file(lab.blueprint(f"{LAUNCH} --autokill"))
    shown = ajet(lab.home, "check", str(text)).stdout
    assert f"launch_command: {LAUNCH} --skip-check-avail-gpu\n" in shown
    assert ajet_json(lab.home, "check", str(text))[1]["blueprint"]["launch_command"] == f"{LAUNCH} --autokill"
    lab.home.config.write_text("security: {autokill: allow}\n")
    assert f"launch_command: {LAUNCH} --autokill\n" in ajet(lab.home, "check", str(text)).stdout


def test_a_check_needs_no_home(lab: Lab, tmp_path: Path) -> None:
    text = lab.file(lab.blueprint())
    assert ajet(None, "check", str(text), cwd=tmp_path).returncode == 0


def test_the_settings_of_the_home_count(lab: Lab) -> None:
    lab.home.config.write_text("security: {owners: [nobody-else]}\n")
    code, document = ajet_json(lab.home, "check", str(lab.file(lab.blueprint())))
    assert code == 1
    assert [p["code"] for p in document["problems"] if p["level"] == "error"] == ["refused_by_policy"]


# ---- the watcher ----------------------------------------------------------------------------------------------------


def claim(home: HomePaths, text: str, *, kind: DropKind = DropKind.FILE) -> Intake:
    name = "exp" if kind is DropKind.FOLDER else "exp.md"
    place = home.inbox / name
    if kind is DropKind.FOLDER:
        place.mkdir()
        (place / "blueprint.md").write_text(text)
    else:
        place.write_text(text)
    claimed = intake.claim(home, myself(), "d" * 12, Arrival(name=name, kind=kind, submitted_at=datetime.now(UTC)))
    assert claimed is not None
    return claimed


def read(lab: Lab, text: str, **security: Any) -> DropRead:
    return examine.read_drop(lab.home, claim(lab.home, text), Settings(security=Security(**security)), {})


def test_warnings_go_with_the_run_and_errors_alone_reject(lab: Lab) -> None:
    lab.yaml.write_text(lab.yaml.read_text().replace("val_before_train: True", "val_before_train: False"))
    found = read(lab, lab.blueprint("ray stop; " + LAUNCH))
    codes = {problem.code for problem in found.submitted.problems}
    assert {"command_ray_stop", "yaml_val_before_train_off"} <= codes
    assert (found.world, found.certain) == ((), ())
    assert errors(found.submitted.problems) == ()
    assert found.submitted.gpus == 1


def test_a_broken_yaml_rejects(lab: Lab) -> None:
    lab.yaml.write_text("ajet: [\n")
    found = read(lab, lab.blueprint())
    assert [problem.code for problem in found.certain] == ["yaml_unparsable"]


def test_only_owners_may_drop_and_a_crash_does_not_forget_who_did(lab: Lab) -> None:
    claimed = claim(lab.home, lab.blueprint())
    settings = Settings(security=Security(owners=("nobody-else",)))
    for _ in range(2):  # the second look, as after a crash, has only the copies, which are ours
        found = examine.read_drop(lab.home, claimed, settings)
        assert [p.code for p in errors(found.submitted.problems)] == ["refused_by_policy"]
        assert current_user() in found.submitted.problems[0].message
    allowed = replace(settings, security=Security(owners=(current_user(),)))
    assert errors(examine.read_drop(lab.home, claimed, allowed).submitted.problems) == ()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_a_folder_of_one_with_a_blueprint_of_another(lab: Lab) -> None:
    (lab.home.inbox / "exp").mkdir()
    (lab.home.inbox / "exp" / "blueprint.md").write_text(lab.blueprint())
    shutil.chown(lab.home.inbox / "exp" / "blueprint.md", 12345)
    arrival = Arrival(name="exp", kind=DropKind.FOLDER, submitted_at=datetime.now(UTC))
    claimed = intake.claim(lab.home, myself(), "d" * 12, arrival)
    assert claimed is not None
    settings = Settings(security=Security(owners=(current_user(),)))
    found = examine.read_drop(lab.home, claimed, settings)
    assert "12345" in found.submitted.problems[0].message


def test_nothing_of_a_refused_drop_is_asked(lab: Lab) -> None:
    fake = lab.code / "python"
    fake.write_text(f"#!/bin/sh\ntouch {lab.code}/asked\n")
    fake.chmod(0o755)
    found = read(lab, lab.blueprint(python=str(fake)), codebases=("/somewhere/else",))
    assert [p.code for p in errors(found.submitted.problems)] == ["refused_by_policy"]
    assert not (lab.code / "asked").exists()


def test_a_codebase_behind_a_link_is_judged_where_it_lies(lab: Lab, tmp_path: Path) -> None:
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    (allowed / "link").symlink_to(lab.code)
    text = lab.blueprint().replace(f"{lab.code}\n", f"{allowed / 'link'}\n")
    assert errors(read(lab, text, codebases=(str(allowed),)).submitted.problems)
    assert str(lab.code) in read(lab, text, codebases=(str(allowed),)).submitted.problems[0].message


def test_a_look_before_a_launch_does_not_wait_for_an_interpreter(lab: Lab, until: Any) -> None:
    slow = lab.code / "python"
    slow.write_text(f'#!/bin/bash\nread -t 2 < <(sleep 2)\nexec {sys.executable} "$@"\n')
    slow.chmod(0o755)
    here = Blueprint(codebase_dir=str(lab.code), venv_exe=str(slow), launch_command="true")
    began = time.monotonic()
    assert gather(here, Place()).interpreter is None
    assert time.monotonic() - began < 1.5
    # The answer is there for a later look.
    found = until(lambda: gather(here, Place()).interpreter)
    assert found.version


def test_a_look_takes_milliseconds(lab: Lab) -> None:
    """What it adds to the time from a drop to its launch; the limit is generous for a busy machine."""
    (lab.code / "roll.py").write_text(
        "from ajet.copilot.job import AgentJetJob\nAgentJetJob(base_yaml_config='a.yaml')\n"
    )
    data, place = lab.blueprint("python roll.py").encode(), Place(home=lab.home, environment={})
    examine.examine(data, "exp", None, place)
    took = []
    for _ in range(10):
        began = time.perf_counter()
        examine.examine(data, "exp", None, place)
        took.append(time.perf_counter() - began)
    assert median(took) < 0.2


def pieces(*texts: str) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(texts), max_size=16).map("".join)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pieces("ajet", ":", "\n", "  ", "- ", "[", "}", "&a ", "*a", "'", "x"),
    pieces("AgentJetJob(", ")", "\n", "x = 1", "'", "**a", ", ", "n_gpu=8"),
    pieces("python roll.py ", "rm -rf ", "'", "&", ";", "$(", "<<E\n", "\n", "sudo "),
)
def test_any_files_are_judged_without_a_crash(lab: Lab, yaml: str, script: str, command: str) -> None:
    lab.yaml.write_text(yaml)
    (lab.code / "roll.py").write_text(script)
    found = examine.examine(lab.blueprint(command).encode(), "exp", None, Place(environment={}))
    assert all(problem.message and problem.code for problem in found.problems)
