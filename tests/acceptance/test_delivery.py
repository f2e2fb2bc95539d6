"""Results where they are waited for: to the letter of contract section 3, "Delivery"."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.acceptance.home import Home, names, poll, read_tree

MakeHome = Callable[..., Home]
UNTIL_GO = "until [ -e go ]; do sleep 0.05; done"
EVALUATED = """cat >val.txt <<'END'
{'global_steps': 1, 'pass_n': 1, 'total_tasks': 10, 'task_pass_rate@1': 0.1, 'mean_reward': 0.1}
{'global_steps': 2, 'pass_n': 1, 'total_tasks': 10, 'task_pass_rate@1': 0.3, 'mean_reward': 0.2}
END"""
STALE = re.compile(r"(.+)\.stale-\d{8}T\d{6}[+-]\d{4}(?:-\d+)?$")


def flag_in(folder: Path) -> dict[str, Any]:
    told: dict[str, Any] = yaml.safe_load((folder / "finish.flag").read_text(encoding="utf-8"))
    return told


def true_hash(flag: dict[str, Any]) -> bool:
    return bool(flag["result_sha256"] == hashlib.sha256(Path(flag["result"]).read_bytes()).hexdigest())


def test_results_and_last_the_flag(home: Home) -> None:
    conf = f"ajet: {{trainer_common: {{val_print_to_markdown_file_path: {home.code}/val.txt}}}}\n"
    (home.code / "conf.yaml").write_text(conf)
    home.move_in("exp.md", home.blueprint(EVALUATED, yaml_path="conf.yaml"))
    home.drain()
    folder = home.results / "exp"
    assert names(folder) - {"plots"} == {"finish.flag", "trial_log.md", "result.md", "metrics.csv"}
    flag = flag_in(folder)
    assert flag["result"] == str(folder / "result.md")
    assert true_hash(flag)
    ours = home.flag()
    assert {**ours, "result": flag["result"]} == flag
    assert ours["result"] == str(home.run().root / "result.md")
    for name in ("trial_log.md", "result.md", "metrics.csv"):
        assert (folder / name).read_bytes() == (home.run().root / name).read_bytes()
    assert read_tree(folder / "plots") == read_tree(home.run().root / "plots")
    flagged_at = (folder / "finish.flag").stat().st_mtime_ns
    assert all(path.stat().st_mtime_ns <= flagged_at for path in folder.rglob("*") if path.is_file())
    assert "0.3" in (folder / "metrics.csv").read_text()


def test_what_lay_there_is_moved_aside_before_the_run_begins(home: Home) -> None:
    folder = home.results / "exp"
    (folder / "plots").mkdir(parents=True)
    old = {
        "finish.flag": "old flag",
        "trial_log.md": "old log",
        "result.md": "old result",
        "metrics.csv": "old",
    }
    for name, text in old.items():
        (folder / name).write_text(text)
    (folder / "plots" / "old.svg").write_text("old plot")
    (folder / "model.pt").write_text("theirs")
    (folder / "notes.md").write_text("theirs too")
    home.move_in("exp.md", home.blueprint(f"ls $EXP_RESULT_DIR; {UNTIL_GO}"))
    watcher = home.watch("--drain")
    home.until("exp", state="running")
    assert "finish.flag" not in names(folder)
    stale = {match[1]: path for path in folder.iterdir() if (match := STALE.match(path.name))}
    assert {name: stale[name].read_text() for name in old} == old
    assert (stale["plots"] / "old.svg").read_text() == "old plot"
    (home.code / "go").touch()
    assert watcher.wait() == 0
    assert flag_in(folder)["outcome"] == "succeeded"
    assert ((folder / "model.pt").read_text(), (folder / "notes.md").read_text()) == ("theirs", "theirs too")
    assert {name: stale[name].read_text() for name in old} == old
    assert home.console().split()[0].startswith("finish.flag.stale-")


def test_a_second_run_into_the_same_folder_keeps_the_first_ones_results(home: Home) -> None:
    for command in ("true", "exit 3"):
        home.move_in("exp.md", home.blueprint(command))
        home.drain()
    folder = home.results / "exp"
    stale = next(path for path in folder.iterdir() if path.name.startswith("finish.flag.stale-"))
    assert yaml.safe_load(stale.read_text())["run"] == "exp"
    assert (flag_in(folder)["run"], flag_in(folder)["outcome"]) == ("exp-2", "failed")


def test_the_experiments_own_flag_is_kept(home: Home) -> None:
    command = "cd $EXP_RESULT_DIR; echo mine >finish.flag; echo my result >result.md"
    home.move_in("exp.md", home.blueprint(command))
    home.drain()
    folder = home.results / "exp"
    assert (folder / "finish.flag.experiment").read_text() == "mine\n"
    assert (folder / "result.md.experiment").read_text() == "my result\n"
    assert flag_in(folder)["outcome"] == "succeeded"
    assert true_hash(flag_in(folder))


ENDINGS = {"failed": "exit 3", "succeeded": "true"}


@pytest.mark.parametrize("outcome", ENDINGS)
def test_the_folder_is_made_where_its_parents_are_missing(home: Home, outcome: str) -> None:
    folder = home.results / "a" / "b" / "c"
    (home.results / "theirs").touch()  # else it could be the place of a mount that is away
    home.move_in("exp.md", home.blueprint(ENDINGS[outcome], result_dir=str(folder)))
    home.drain()
    assert flag_in(folder)["outcome"] == outcome


def test_a_relative_folder_lies_in_the_codebase(home: Home) -> None:
    home.move_in("exp.md", home.blueprint("true", result_dir="./exp_results/exp"))
    home.drain()
    assert flag_in(home.code / "exp_results" / "exp")["outcome"] == "succeeded"


def test_a_rejection_is_delivered(home: Home) -> None:
    folder = home.results / "exp"
    folder.mkdir()
    (folder / "finish.flag").write_text("outcome: succeeded\n")
    home.move_in("exp.md", home.blueprint("true", max_time="3 parsecs", codebase_dir=None))
    home.drain()
    assert flag_in(folder)["outcome"] == "rejected"
    assert flag_in(folder)["reason"]["code"] == home.flag()["reason"]["code"]
    stale = next(path for path in folder.iterdir() if path.name.startswith("finish.flag.stale-"))
    assert stale.read_text() == "outcome: succeeded\n"
    assert "result.md" in names(folder)


def test_a_cancellation_is_delivered(home: Home) -> None:
    home.ajet("pause")
    home.watch()
    home.submit("true")
    home.until("exp", state="queued")
    home.ajet("cancel", "exp")
    home.flag()
    assert flag_in(home.results / "exp")["outcome"] == "cancelled"


def test_a_folder_belongs_to_one_unfinished_run(home: Home) -> None:
    folder = home.results / "shared"
    home.move_in("exp.md", home.blueprint(f"echo mine >$EXP_RESULT_DIR/result.md; {UNTIL_GO}", result_dir=str(folder)))
    watcher = home.watch("--drain")
    home.until("exp", state="running")
    poll(lambda: "result.md" in names(folder))
    before = read_tree(folder)
    (home.results / "link").symlink_to("shared")
    ways = ("shared", "shared/../shared/", "/shared", "link")
    for name, spelled in {f"e{n}": f"{home.results}/{way}" for n, way in enumerate(ways)}.items():
        home.move_in(f"{name}.md", home.counted("true", name, result_dir=spelled))
        assert home.flag(name)["reason"]["code"] == "result_dir_in_use", spelled
    assert read_tree(folder) == before
    (home.code / "go").touch()
    assert watcher.wait() == 0
    assert flag_in(folder)["run"] == "exp"
    assert home.counts() == (0, 0)
    home.move_in("later.md", home.blueprint("true", "later", result_dir=str(folder)))
    home.drain()
    assert flag_in(folder)["run"] == "later"


def test_of_drops_that_come_together_one_gets_the_folder(home: Home) -> None:
    folder = str(home.results / "shared")
    for name in ("a", "b", "c"):
        home.mark_and_move_in(f"{name}.md", home.counted("true", name, result_dir=folder))
    home.drain()
    outcomes = [(home.flag(name)["outcome"], home.flag(name)["reason"]["code"]) for name in ("a", "b", "c")]
    assert outcomes == [("succeeded", "completed"), *[("rejected", "result_dir_in_use")] * 2]
    assert flag_in(Path(folder))["run"] == "a"


def test_a_home_folder_is_that_of_the_service(home: Home) -> None:
    home.move_in("exp.md", home.blueprint("true", result_dir="~/exp"))
    watcher = home.watch("--drain", prefix=["env", f"HOME={home.results}"])
    assert watcher.wait() == 0, watcher.log
    assert flag_in(home.results / "exp")["outcome"] == "succeeded"


def test_a_duplicate_delivers_nothing(home: Home) -> None:
    text = home.blueprint(UNTIL_GO)
    home.move_in("exp.md", text)
    watcher = home.watch("--drain")
    home.until("exp", state="running")
    home.move_in("exp.md", text)
    assert home.flag("exp-2")["reason"]["code"] == "duplicate"
    assert "finish.flag" not in names(home.results / "exp")
    (home.code / "go").touch()
    assert watcher.wait() == 0
    assert flag_in(home.results / "exp")["run"] == "exp"


def test_delivery_can_be_off(make_home: MakeHome) -> None:
    home = make_home(deliver=False)
    folder = home.results / "exp"
    folder.mkdir()
    (folder / "finish.flag").write_text("theirs")
    home.move_in("exp.md", home.blueprint("true"))
    home.drain()
    assert home.flag()["outcome"] == "succeeded"
    assert read_tree(folder) == {"finish.flag": b"theirs"}


def test_nothing_is_made_under_a_mount_that_is_away(home: Home) -> None:
    mount = home.root.parent / "mount"
    mount.mkdir()
    home.move_in("exp.md", home.counted("true", result_dir=str(mount / "deep" / "er" / "exp")))
    home.drain()
    assert home.flag()["outcome"] == "succeeded"
    assert names(mount) == set()
    assert "result_dir_below_empty" in (home.run().root / "result.json").read_text()


def test_a_folder_that_cannot_be_written_costs_the_run_nothing(home: Home) -> None:
    home.move_in("exp.md", home.counted("rmdir $EXP_RESULT_DIR && echo file >$EXP_RESULT_DIR"))
    log = home.drain()
    assert home.flag()["outcome"] == "succeeded"
    assert (home.results / "exp").read_text() == "file\n"
    assert home.counts() == (1, 1)
    assert "is not a folder" in log


def test_a_link_of_the_experiments_is_not_followed(home: Home) -> None:
    secret = home.root.parent / "secret"
    secret.mkdir()
    (secret / "result.md").write_text("keep me")
    links = f"ln -s {secret}/result.md $EXP_RESULT_DIR/result.md; ln -s {secret} $EXP_RESULT_DIR/plots"
    home.move_in("exp.md", home.blueprint(links))
    home.drain()
    assert flag_in(home.results / "exp")["outcome"] == "succeeded"
    assert read_tree(secret) == {"result.md": b"keep me"}


def test_render_never_touches_what_was_delivered(home: Home) -> None:
    home.move_in("exp.md", home.blueprint("true"))
    home.drain()
    folder = home.results / "exp"
    before = read_tree(folder)
    for path in folder.iterdir():
        if path.is_file():
            path.unlink()
    (home.run().root / "result.md").unlink()
    assert home.ajet("render", "exp").returncode == 0
    assert names(folder) <= {"plots"}
    assert true_hash(home.flag())
    assert (home.run().root / "result.md").read_bytes() == before["result.md"]


OWN_FOLDERS = {"./": "./out", "{inbox}/exp": "{inbox}/exp/out"}


@pytest.mark.parametrize("codebase", OWN_FOLDERS)
def test_a_folder_drop_may_bring_its_result_folder(home: Home, codebase: str) -> None:
    """It lies in `work/`, where the experiment writes; what came with the drop there is moved aside."""
    where = {"codebase_dir": codebase, "result_dir": OWN_FOLDERS[codebase]}
    text = home.blueprint(
        "ls $EXP_RESULT_DIR; echo mine >$EXP_RESULT_DIR/model.pt",
        **{key: path.format(inbox=home.paths.inbox) for key, path in where.items()},
    )
    home.move_in("exp", {"blueprint.md": text, ".ready": "key: k\n", "out/finish.flag": "old", "out/notes": "theirs"})
    home.drain()
    work = home.run().work
    folder = work / "out"
    assert flag_in(folder)["outcome"] == "succeeded", home.console()
    assert true_hash(flag_in(folder))
    stale, notes = home.console().split()
    assert (notes, (folder / stale).read_text()) == ("notes", "old")
    assert STALE.match(stale)
    assert (folder / "model.pt").read_text() == "mine\n"
    assert ".ready" not in names(work)
    assert ".ready" in names(home.run().drop)
    page = (folder / "result.md").read_text()
    assert f"Codebase: `{work}`" in page
    assert f"Results of the experiment: `{folder}`" in page


def test_the_rejection_of_a_folder_drop_is_delivered_into_it(home: Home) -> None:
    text = home.blueprint("true", codebase_dir="./", result_dir="./out", venv_exe=None)
    home.move_in("exp", {"blueprint.md": text})
    home.drain()
    assert flag_in(home.run().work / "out")["outcome"] == "rejected"


@pytest.mark.parametrize("where", ["inbox", "outbox/other", "."])
def test_results_do_not_go_among_the_runs(home: Home, where: str) -> None:
    home.move_in("exp.md", home.counted("true", result_dir=str(home.root / where)))
    home.drain()
    assert (home.flag()["outcome"], home.flag()["reason"]["code"]) == ("rejected", "result_dir_in_home")
    assert home.runs() == ["exp"]
    assert "finish.flag" not in names(home.root) | names(home.paths.inbox)
