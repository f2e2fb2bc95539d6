"""What is known of AgentJet from its command lines."""

from __future__ import annotations

import pytest

from ajet_inbox.core.blueprint import Blueprint, Mode
from ajet_inbox.core.reading.resolve import command_folder, interpreter, join, rebase
from ajet_inbox.core.training.ajet import conf_path, detect_mode, starts_swarm_server, strip_autokill, swarm_health_url

LAUNCH = "python -m ajet.launcher --conf a.yaml"
SKIP = "--skip-check-avail-gpu"

STRIPPED = [
    (f"{LAUNCH} --autokill", f"{LAUNCH} {SKIP}"),
    (f"python -m ajet.launcher --autokill --conf a.yaml {SKIP}", f"{LAUNCH} {SKIP}"),
    (f"{LAUNCH} --autokill --kill 'ray|vllm' --with-ray", f"{LAUNCH} {SKIP} --with-ray"),
    (f'{LAUNCH} --kill "ray|python"', f"{LAUNCH} {SKIP}"),
    (f"{LAUNCH} --kill=ray", f"{LAUNCH} {SKIP}"),
    (f"{LAUNCH} --kill ray;echo done", f"{LAUNCH} {SKIP};echo done"),
    (f"{LAUNCH} --autok", f"{LAUNCH} {SKIP}"),  # argparse takes a beginning for the flag
    (f"cd /a && {LAUNCH} \\\n  --autokill \\\n  --with-ray", f"cd /a && {LAUNCH} \\\n  {SKIP} \\\n  --with-ray"),
    (f"bash -c '{LAUNCH} --autokill'", f"bash -c '{LAUNCH} {SKIP}'"),
    ("ajet --conf a.yaml --autokill && other --autokill", f"ajet --conf a.yaml {SKIP} && other --autokill"),
]


@pytest.mark.parametrize(("command", "stripped"), STRIPPED)
def test_autokill_is_taken_out_of_a_launch(command: str, stripped: str) -> None:
    assert strip_autokill(command) == (stripped, True)


@pytest.mark.parametrize(
    "command",
    [LAUNCH, "python x.py --autokill", f"{LAUNCH} --autokiller", f"{LAUNCH} --killer x", f"echo '--kill'\n{LAUNCH}"],
)
def test_other_commands_stay_as_they_are(command: str) -> None:
    assert strip_autokill(command) == (command, False)


SERVERS = {
    "ajet-swarm start": True,
    "ajet-swarm start --swarm-port=10086 > log 2>&1 &": True,
    "cd /a && /a/bin/ajet-swarm start": True,
    "ajet swarm server --port 10086": True,
    "tmux new -d 'ajet-swarm start'": True,
    "# ajet-swarm start\npython x.py": False,
    "ajet-swarm overwatch": False,
    "python swarm_search.py": False,
}


@pytest.mark.parametrize("command", SERVERS)
def test_swarm_servers(command: str) -> None:
    assert starts_swarm_server(command) is SERVERS[command]


def test_the_health_of_a_swarm_server_is_asked_at_its_port() -> None:
    assert swarm_health_url("ajet-swarm start") == "http://127.0.0.1:10086/health"
    assert swarm_health_url("ajet swarm server --port 7") == "http://127.0.0.1:7/health"


MODES = [
    (LAUNCH, (), "", "", Mode.CLASSIC),
    ("ajet --conf=a.yaml", (), "", "", Mode.CLASSIC),
    ("python ajet/launcher.py --conf a.yaml", (), "", "", Mode.CLASSIC),
    ("python x.py", (), "", "", Mode.GENERIC),
    ("python x.py", ("ajet-swarm start",), "", "", Mode.SWARM),
    ("ajet-swarm start & python x.py", (), "", "", Mode.SWARM),
    ("python x.py", (), "job = AgentJetJob(model='q')", "", Mode.SWARM),
    ("AJET_SWARM_URL=http://h:1 python x.py", (), "", "", Mode.SWARM),
    ("python x.py", (), "", "It uses swarm mode.", Mode.SWARM),
    ("python x.py", (), "", "No swarm mode here.", Mode.GENERIC),
    ("python x.py", (), "", "使用 swarm 模式", Mode.SWARM),
    (LAUNCH, (), "", "Unlike the swarm mode runs.", Mode.CLASSIC),
]


@pytest.mark.parametrize(("command", "services", "script", "prose", "mode"), MODES)
def test_modes(command: str, services: tuple[str, ...], script: str, prose: str, mode: Mode) -> None:
    assert detect_mode(command, services, script=script, prose=prose) is mode


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("ajet --conf a.yaml", "a.yaml"),
        ("ajet --conf='my a.yaml' -x", "my a.yaml"),
        ("ajet \\\n  --conf \\\n  a.yaml", "a.yaml"),
        ("ajet --conf $CONF", None),
        ("ajet --config a.yaml", None),
    ],
)
def test_conf(command: str, path: str | None) -> None:
    assert conf_path(command) == path


@pytest.mark.parametrize(
    ("path", "base", "joined"),
    [
        ("a/b", "/srv", "/srv/a/b"),
        ("./a/../b/", "/srv", "/srv/b"),
        ("../out", "/srv/aj", "/srv/out"),
        ("../../..", "/srv", "/"),
        ("/a//b/./c/", "/srv", "/a/b/c"),
        ("~/a", "/srv", "~/a"),
        ("../a", None, "../a"),
        (".", None, "."),
    ],
)
def test_join(path: str, base: str | None, joined: str) -> None:
    assert join(path, base) == joined


@pytest.mark.parametrize(
    ("path", "python"),
    [
        ("/v/bin/python3.11", "/v/bin/python3.11"),
        ("/v/bin/activate", "/v/bin/python"),
        ("/v/bin/activate.fish", "/v/bin/python"),
        ("/v/bin", "/v/bin/python"),
        ("/v/.venv", "/v/.venv/bin/python"),
        ("/v/aj-env", "/v/aj-env/bin/python"),
        ("/c/envs/aj", "/c/envs/aj/bin/python"),
        ("/v/run", "/v/run"),
    ],
)
def test_interpreter(path: str, python: str) -> None:
    assert interpreter(path) == python


def test_the_folder_of_a_command() -> None:
    assert command_folder("python x.py --conf a", "/srv") == "/srv"
    assert command_folder("cd sub && cd ../other\npython x.py --conf a; cd /later", "/srv") == "/srv/other"
    assert command_folder("cd $HOME && python x.py", "/srv") == "/srv"


def test_a_dropped_folder_is_found_where_its_copy_lies() -> None:
    dropped = Blueprint(codebase_dir=".", venv_exe="/v/bin/python", yaml_path="a.yaml", result_dir="/home/inbox/x/out")
    moved = rebase(dropped, "/home/outbox/x/work", dropped_at="/home/inbox/x")
    assert (moved.codebase_dir, moved.venv_exe) == ("/home/outbox/x/work", "/v/bin/python")
    assert (moved.yaml_path, moved.result_dir) == ("/home/outbox/x/work/a.yaml", "/home/outbox/x/work/out")
    elsewhere = Blueprint(codebase_dir="/srv/aj", result_dir="/home/inbox/xy")
    assert rebase(elsewhere, "/home/outbox/x/work", dropped_at="/home/inbox/x") == elsewhere


def test_what_commands_and_variables_say_of_the_dropped_folder_is_the_copy_too() -> None:
    command = "cat '/home/inbox/x/a' --conf=/home/inbox/x; ls /home/inbox/xy /home/inbox/x.md /old/home/inbox/x"
    dropped = Blueprint(
        launch_command=command, prepare_command="cd /home/inbox/x/src", env={"A": "/home/inbox/x/a:/home/inbox/x/b"}
    )
    moved = rebase(dropped, "/w", dropped_at="/home/inbox/x")
    assert moved.launch_command == "cat '/w/a' --conf=/w; ls /home/inbox/xy /home/inbox/x.md /old/home/inbox/x"
    assert (moved.prepare_command, moved.env) == ("cd /w/src", {"A": "/w/a:/w/b"})
