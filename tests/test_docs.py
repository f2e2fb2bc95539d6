"""What the pages say is so: their commands run, their blueprints are read, what comes from the code is fresh."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import psutil
import pytest
from msgspec.structs import fields

from ajet_inbox.app.client.states import RunState
from ajet_inbox.app.errors import Code
from ajet_inbox.cli.base import COMMANDS
from ajet_inbox.core.blueprint import Level, errors
from ajet_inbox.core.checking.check import text_problems
from ajet_inbox.core.checking.rule import Case
from ajet_inbox.core.lifecycle import Outcome, State
from ajet_inbox.core.reading.keys import KEYS
from ajet_inbox.core.reading.parse import read_blueprint
from ajet_inbox.core.settings.read import read_settings
from ajet_inbox.edge.neutral import runtime_dir

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^(`{3,})(\w+) ?([^\n]*)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
# Named in the pages as what is to come. Whoever builds one takes it out here, and out of "not yet" there.
TO_COME = {"rehearse", "compare", "digest", "diagnose", "prune", "service", "completion"}


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def fences(page: Path, language: str, about: str) -> list[str]:
    """The fenced blocks that are marked so behind their language."""
    found = FENCE.findall(page.read_text(encoding="utf-8"))
    return [text for _, kind, mark, text in found if kind == language and mark.startswith(about)]


def marked(language: str, about: str) -> Iterator[tuple[str, str]]:
    """Those of all pages, each with a name for the report."""
    for page in PAGES:
        for number, text in enumerate(fences(page, language, about), 1):
            yield f"{page.name} {number}", text


# ---- commands -----------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A fresh folder; what a page has started in it, and left running, is ended."""
    yield tmp_path
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and Path(process.cwd()).is_relative_to(tmp_path):
                process.kill()
        except (psutil.Error, OSError):
            continue
    for home in {path.parent for path in tmp_path.rglob("ajet-inbox.yaml")}:
        runtime = runtime_dir(home)
        subprocess.run(["tmux", "-S", str(runtime / "tmux"), "kill-server"], capture_output=True, timeout=10)
        shutil.rmtree(runtime, ignore_errors=True)


@pytest.mark.parametrize("page", [page for page in PAGES if fences(page, "sh", "tested")], ids=lambda page: page.name)
def test_commands_run(page: Path, folder: Path) -> None:
    """In order, as one who reads types them; each must succeed."""
    script = "\n".join(["set -eux", *fences(page, "sh", "tested")])
    kept = {name: value for name, value in os.environ.items() if name != "AJET_INBOX_HOME"}
    env = {**kept, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    output = folder / "output"
    with output.open("wb") as file:  # no pipe: what goes on in the background would hold it open
        done = subprocess.run(["bash", "-c", script], cwd=folder, env=env, stdout=file, stderr=file, timeout=90)
    assert done.returncode == 0, output.read_text()
    assert "Traceback" not in output.read_text()


def test_the_first_five_minutes_are_tested() -> None:
    """A page whose mark is lost would be tested no more."""
    script = "\n".join(fences(ROOT / "README.md", "sh", "tested"))
    for command in ("init", "doctor", "check", "watch", "submit --wait", "status", "logs", "show"):
        assert f"ajet-inbox {command}" in script


def test_commands_exist() -> None:
    named = {
        name
        for page in [*PAGES, ROOT / "inbox/README.md", ROOT / "outbox/README.md"]
        for name in re.findall(r"\bajet-inbox (?:--home \S+ )?([a-z]+)\b", code_of(page.read_text(encoding="utf-8")))
    }
    assert named > {"watch", "submit", "wait"}
    assert named - set(COMMANDS) <= TO_COME
    assert not TO_COME & set(COMMANDS), "it is built: say so in README.md and docs/contract.md"


def test_pages_beside_the_drops_name_only_what_is_built() -> None:
    """Nobody looks up there what is to come."""
    for page in (ROOT / "inbox/README.md", ROOT / "outbox/README.md"):
        assert set(re.findall(r"\bajet-inbox ([a-z]+)\b", page.read_text(encoding="utf-8"))) <= set(COMMANDS)
        assert "plots" not in page.read_text(encoding="utf-8")


def code_of(page: str) -> str:
    return "\n".join(re.findall(r"`[^`\n]+`|^ {4}.+$|^```.*?^```$", page, re.MULTILINE | re.DOTALL))


# ---- examples -----------------------------------------------------------------------------------------------------

BLUEPRINTS = dict(marked("markdown", "blueprint"))
WRONG = dict(marked("markdown", "wrong: "))


@pytest.mark.parametrize("name", BLUEPRINTS)
def test_blueprints_are_read(name: str) -> None:
    reading = read_blueprint(BLUEPRINTS[name], name="x", folder_drop="exp_codebase_dir]: ./" in BLUEPRINTS[name])
    assert errors(reading.problems) == ()
    blueprint = reading.blueprint
    for key in re.findall(r"\[exp_(\w+)\]", BLUEPRINTS[name]):
        field = {"max_time": "max_time_s"}.get(key, key)
        assert getattr(blueprint, field) not in (None, (), {}), key


@pytest.mark.parametrize("name", BLUEPRINTS)
def test_blueprints_keep_the_advice_of_the_check(name: str) -> None:
    """What is shown as good is copied, and must not be warned of in its first check."""
    in_folder = "exp_codebase_dir]: ./" in BLUEPRINTS[name]
    reading = read_blueprint(BLUEPRINTS[name], name="x", folder_drop=in_folder)
    case = Case(blueprint=reading.blueprint, text=BLUEPRINTS[name], folder_drop=in_folder)
    found = [*reading.problems, *text_problems(case)]
    assert [problem.message for problem in found if problem.level is not Level.INFO] == []
    command = reading.blueprint.launch_command or ""
    assert ("ajet.launcher" in command) == ("--with-ray" in command)


def test_a_blueprint_that_is_shown_as_wrong_is() -> None:
    assert len(WRONG) == 1
    for text in WRONG.values():
        lines = [problem.message for problem in errors(read_blueprint(text, name="x").problems)]
        assert lines


def test_every_section_is_explained() -> None:
    page = text_of("docs/blueprint.md")
    assert [key for key in KEYS if f"`[{key}]`" not in page] == []


def test_settings_can_be_used() -> None:
    found = dict(marked("yaml", "settings"))
    assert len(found) == 3
    for text in found.values():
        read_settings(text)


# ---- facts --------------------------------------------------------------------------------------------------------


def test_the_contract_names_all_that_programs_meet() -> None:
    page = text_of("docs/contract.md")
    assert [value for value in (*State, *Outcome) if f"`{value}`" not in page] == []
    codes = {int(code) for code in re.findall(r"^\| (\d+) \| ", page.partition("### Exit codes")[2], re.MULTILINE)}
    assert codes == set(Code) - {Code.CLOSED_PIPE}
    (listed,) = re.findall(r"^\| `state.json` \| a snapshot: `(.*?)` \|$", page, re.MULTILINE)
    assert listed.split(", ") == [field.name for field in fields(RunState)]
    built = page.partition("## 5. Command line")[2].partition("*Not yet:*")[0]
    assert {name for part in re.findall(r"`([a-z|]+)", built) for name in part.split("|")} >= set(COMMANDS)


def test_anchors_lead_somewhere() -> None:
    dead = [
        f"{page.name}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\(([^)\s:]*#[^)\s]+)\)", page.read_text(encoding="utf-8"))
        if target.partition("#")[2] not in anchors(page.parent / target.partition("#")[0] if target[0] != "#" else page)
    ]
    assert not dead


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_architecture_names_every_room() -> None:
    page = text_of("ARCHITECTURE.md")
    rooms = {path.stem for floor in ("app", "edge", "core") for path in (ROOT / "ajet_inbox" / floor).iterdir()}
    assert [room for room in sorted(rooms) if room[0] != "_" and not re.search(rf"\b{room}\b", page)] == []


# ---- what is made -------------------------------------------------------------------------------------------------


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pages_are_fresh() -> None:
    stale = [path for path, text in script("make_docs").pages().items() if text_of(path) != text]
    assert not stale, "run: make docs"


def test_a_page_that_lost_its_markers_is_told() -> None:
    with pytest.raises(SystemExit, match="diagram are there 0 times"):
        script("make_docs").renewed("no markers", "diagram", "x")


def test_the_picture_is_one() -> None:
    picture = ROOT / "docs/terminal.svg"
    assert picture.stat().st_size < 200_000
    words = "".join(ElementTree.fromstring(picture.read_text(encoding="utf-8")).itertext()).replace("\xa0", " ")
    for said in ("ajet-inbox demo", "good", "succeeded", "failing", "failed", "invalid", "rejected", "60/60"):
        assert said in words


def test_the_wheel_has_what_the_demo_and_the_service_need() -> None:
    listed = tomllib.loads(text_of("pyproject.toml"))["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    left_out = [
        path
        for path in (ROOT / "examples").rglob("*")
        if path.is_file()
        and not any(part.startswith(("saved_", "__pycache__")) for part in path.parts)
        and not any(path.is_relative_to(ROOT / each) for each in listed)
    ]
    assert not left_out
    assert all((ROOT / each).exists() for each in listed)
    assert "systemd/ajet-inbox.service" in listed
