"""A coding agent writes a draft: told, timed, checked, and kept to its folder. Small scripts stand in for one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from ajet_inbox.core.paths import HomePaths
from ajet_inbox.edge.agent import touched
from ajet_inbox.edge.neutral import runtime_dir
from ajet_inbox.edge.workplace import sources
from tests.cli_home import ajet, make_home

GOOD = """\
# Halve the learning rate
[exp_purpose]: halve it
[exp_codebase_dir]: {code}
[exp_venv_exe]: {code}/venv/bin/python
[exp_launch_command]: `python train.py`
[exp_result_dir]: {code}/results
[exp_max_time]: 2 hours
"""


class Bench:
    """A home, a codebase under version control, and an agent."""

    def __init__(self, root: Path) -> None:
        self.home: HomePaths = make_home(root / "home")
        self.code = root / "code"
        (self.code / "venv" / "bin").mkdir(parents=True)
        (self.code / "venv" / "bin" / "python").symlink_to(sys.executable)
        (self.code / "train.py").write_text("print(1)\n")
        (self.code / "good.md").write_text(GOOD.format(code=self.code))
        subprocess.run(["git", "-C", str(self.code), "init", "-q"], check=True)
        subprocess.run(["git", "-C", str(self.code), "add", "train.py"], check=True)

    def draft(self, script: str, *, rounds: int = 2, timeout: str = "30 s", **options: Any) -> Any:
        agent = self.code.parent / "agent.sh"
        agent.write_text(script)
        settings = {"command": f"bash {agent}", "rounds": rounds, "timeout": timeout}
        self.home.config.write_text(yaml.safe_dump({"draft": {"agent": settings}, "env": {"login_shell": False}}))
        task = ("draft", "Halve the learning rate: 减半", "--name", "half", "--agent", "--json")
        return ajet(self.home, *task, cwd=self.code, CODE=str(self.code), **options)

    def sessions(self) -> str:
        socket = runtime_dir(self.home.root) / "tmux"
        listing = ["tmux", "-N", "-S", str(socket), "list-sessions"]
        return subprocess.run(listing, capture_output=True, text=True, timeout=10).stdout

    def close(self) -> None:
        socket = runtime_dir(self.home.root) / "tmux"
        subprocess.run(["tmux", "-N", "-S", str(socket), "kill-server"], capture_output=True, timeout=10)


@pytest.fixture
def bench(tmp_path: Path) -> Any:
    bench = Bench(tmp_path)
    yield bench
    bench.close()


def test_a_good_agent(bench: Bench) -> None:
    done = bench.draft('cat >"$CODE/../prompt.md"; cp "$CODE/good.md" blueprint.md; pwd >"$CODE/../where"')
    assert done.returncode == 0, done.stderr
    (told,) = json.loads(done.stdout)["drafts"]
    assert told["ok"]
    folder = bench.code / "half"
    assert (folder / "blueprint.md").read_text().startswith("# Halve the learning rate")
    assert (bench.code.parent / "where").read_text().strip() == str(folder)
    prompt = (bench.code.parent / "prompt.md").read_text()
    for said in (
        "Halve the learning rate: 减半",
        f"`{folder}`",
        "never `--autokill`",
        "## [exp_venv_exe]",
        "half.yaml",
    ):
        assert said in prompt
    assert bench.sessions() == ""


def test_problems_go_back_to_the_agent(bench: Bench) -> None:
    done = bench.draft(
        'cat >>"$CODE/../prompts"; [ -e blueprint.md ] && cp "$CODE/good.md" blueprint.md || echo "# a" >blueprint.md'
    )
    assert done.returncode == 0, done.stderr
    prompts = (bench.code.parent / "prompts").read_text()
    assert prompts.count("# Your task: write an experiment blueprint") == 2
    assert prompts.count("The section [exp_result_dir] is missing.") == 1


FAILING = [
    ("true", "in 2 rounds: blueprint.md"),
    ("echo '# nothing' >blueprint.md", "in 2 rounds: The section [exp_codebase_dir] is missing."),
    ("echo; echo no model; exit 7", "ended with exit code 7: no model."),
    ("nosuchprogram", "exit code 127"),
    ('cp "$CODE/good.md" blueprint.md; ln -s /etc/passwd link', "link"),
]


@pytest.mark.parametrize(("script", "said"), FAILING)
def test_what_does_not_pass_is_refused_and_kept(bench: Bench, script: str, said: str) -> None:
    done = bench.draft(script)
    told = json.loads(done.stdout)
    assert done.returncode == 1
    assert "wrote nothing that passes" in told["error"]
    assert said in told["error"]
    assert not (bench.code / "half").exists()
    assert (bench.code / "half.refused").is_dir()
    assert bench.sessions() == ""


def test_an_agent_that_takes_too_long_is_ended_with_all_that_it_started(bench: Bench) -> None:
    script = 'setsid sleep 600 & echo $! >>"$CODE/../pids"; echo $$ >>"$CODE/../pids"; echo thinking; sleep 600'
    done = bench.draft(script, rounds=1, timeout="1 s")
    assert done.returncode == 1
    assert "was not ready within 1 s: thinking" in json.loads(done.stdout)["error"]
    for pid in (bench.code.parent / "pids").read_text().split():
        cmdline = Path(f"/proc/{pid}/cmdline")
        assert not cmdline.exists() or not cmdline.read_bytes()


STRAYING = [
    'echo "print(2)" >>"$CODE/train.py"',
    'rm "$CODE/train.py"',
    'touch "$CODE/new_file"',
]


@pytest.mark.parametrize("script", STRAYING)
def test_what_is_changed_elsewhere_is_refused(bench: Bench, script: str) -> None:
    done = bench.draft(f'cp "$CODE/good.md" blueprint.md; {script}')
    assert done.returncode == 1
    assert "this changed outside its folder: " in json.loads(done.stdout)["error"]
    assert (bench.code / "half.refused").is_dir()


def test_a_sweep_is_no_work_for_an_agent(bench: Bench) -> None:
    bench.home.config.write_text("draft: {agent: {command: 'true'}}\n")
    done = ajet(bench.home, "draft", "x", "--agent", "--sweep", "lr=1,2", cwd=bench.code)
    assert (done.returncode, "one draft, not a sweep" in done.stderr) == (2, True)


def test_sources_are_what_git_tracks(bench: Bench) -> None:
    (bench.code / "untracked").touch()
    before = sources(bench.code)
    assert list(before) == ["train.py"]
    assert sources(bench.code / "venv") == before
    assert sources(bench.home.root) == {}
    (bench.code / "train.py").write_text("print(22)\n")
    assert touched(before, sources(bench.code)) == ("train.py",)
    assert touched(before, {}) == ("train.py",)
    assert touched(before, before) == ()
