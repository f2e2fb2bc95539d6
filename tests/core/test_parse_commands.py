"""Commands written in many ways, and services beside them."""

from __future__ import annotations

import pytest

from ajet_inbox.core.blueprint import Level, Mode
from tests.core.plain import FENCE, RUN, read, wrong

COMMANDS = [
    (f"{FENCE}bash\n{RUN}\n{FENCE}", RUN),
    (f"{FENCE}shell\n$ cd /srv/aj\n$ {RUN}\nstarting ...\n{FENCE}", f"cd /srv/aj\n{RUN}"),
    (f"`{RUN}`", RUN),
    (f"{RUN}", RUN),
    (f"    {RUN}", RUN),
    (f"> {RUN}", RUN),
    (f'"{RUN}"', RUN),
    (f"$ {RUN}", RUN),
    (f"{RUN}   # about 9 hours", RUN),
    (f"`{RUN}` (about 9 hours)", RUN),
    (f"{RUN} (about 9 hours)", RUN),
    (f"`{RUN}`，不要加 `--autokill`。", RUN),
    (f"{RUN}。", RUN),
    (f"- command: {RUN}\n- hint: do not use `python train.py`", RUN),
    (f"- command: `{RUN}`\n- warning 1: never `{RUN} --autokill`", RUN),
    (f"- description: starts it\n- content 1: {RUN}\n- content 2: prints kl loss after 10 minutes", RUN),
    (f"- command:\n  {FENCE}bash\n  {RUN}\n  {FENCE}\n- hint: x", RUN),
    (f"- command:\n\n      {RUN}\n\n- hint: x", RUN),
    (f"Command:\n\n{FENCE}\n{RUN}\n{FENCE}\n\nExpected output:\n{FENCE}\nstep:1 - actor/kl_loss:0.1\n{FENCE}", RUN),
    (f"Run it like this:\n\n{FENCE}sh\n{RUN}\n{FENCE}\n\nwith this yaml:\n{FENCE}yaml\najet:\n  x: 1\n{FENCE}", RUN),
    (f"Run `{RUN}` from the codebase.", RUN),
    (f"启动命令：`{RUN}`", RUN),
    (f"- 命令：{RUN}\n- 注意：不要使用 --autokill", RUN),
    (f"执行训练的命令（字符串）：\n{RUN}", RUN),
    ("cd /srv/aj && \\\nexport A=1 && \\\npython x.py", "cd /srv/aj && \\\nexport A=1 && \\\npython x.py"),
    (
        "- command:\n    cd /srv/aj && \\\n    python x.py \\\n      --name: odd \\\n      --seed 1\n- hint: y",
        "cd /srv/aj && \\\npython x.py \\\n  --name: odd \\\n  --seed 1",
    ),
    (
        "1. cd /srv/aj\n2. source .venv/bin/activate\n3. python x.py",
        "cd /srv/aj\nsource .venv/bin/activate\npython x.py",
    ),
    ("1. Go to the code: `cd /srv/aj`\n2. Run `python x.py`", "cd /srv/aj\npython x.py"),
    ("- cd /srv/aj\n- export A=1\n- python x.py", "cd /srv/aj\nexport A=1\npython x.py"),
    (
        f"{FENCE}bash\n# three seeds\nfor s in 1 2 3; do\n  python x.py --seed $s\n\ndone\n{FENCE}",
        "# three seeds\nfor s in 1 2 3; do\n  python x.py --seed $s\n\ndone",
    ),
    (
        "for s in 1 2 3; do\n  python x.py --seed $s || exit 1\ndone",
        "for s in 1 2 3; do\n  python x.py --seed $s || exit 1\ndone",
    ),
    (
        "cat > a.py <<'EOF'\nprint('note: x')\nEOF\npython a.py",
        "cat > a.py <<'EOF'\nprint('note: x')\nEOF\npython a.py",
    ),
    ("# start it\npython x.py\n# again\npython x.py --resume", "python x.py\npython x.py --resume"),
    ('CUDA_VISIBLE_DEVICES=0,1 FOO="a b" python x.py', 'CUDA_VISIBLE_DEVICES=0,1 FOO="a b" python x.py'),
    ("bash scripts/run.sh 2>&1 | tee run.log", "bash scripts/run.sh 2>&1 | tee run.log"),
    ("./run.sh --seed 1", "./run.sh --seed 1"),
    ("python -c 'print(\"a: b\")'", "python -c 'print(\"a: b\")'"),
    ("First prepare:\n```\nexport A=1\n```\nThen train:\n```\npython x.py\n```", "export A=1\npython x.py"),
    ("### Step 1\n```\npython prepare.py\n```\n### Step 2\n```\npython x.py\n```", "python prepare.py\npython x.py"),
    ("| command | `python x.py \\| tee log` |\n|---|---|\n| note | not `python y.py` |", "python x.py | tee log"),
    (f"{FENCE}bash\npython x.py\n{FENCE}\n{FENCE}bash\npython x.py\n{FENCE}", "python x.py"),
    ("- command: make all", "make all"),
    ("- command: trainer run", "trainer run"),
    ("python x.py --out ${exp_result_dir}", "python x.py --out /srv/out/lr"),
    (
        "See below.\n\n```\npython x.py\n```\nIf it runs out of memory use:\n```\npython x.py --small\n```",
        "python x.py",
    ),
    ("- env: `export A=1`\n- command: `python x.py`", "export A=1\npython x.py"),
    (
        f"Activate first:\n{FENCE}\nsource .venv/bin/activate\n{FENCE}\nThen:\n{FENCE}\n{RUN}\n{FENCE}",
        f"source .venv/bin/activate\n{RUN}",
    ),
    (
        f"{FENCE}bash\n{RUN}\n{FENCE}\n\nMonitor with:\n{FENCE}bash\ntail -f log\n{FENCE}",
        RUN,
    ),
    (
        f"{FENCE}bash\n{RUN}\n{FENCE}\n\n查看日志：\n{FENCE}bash\ntail -f log.txt\n{FENCE}",
        RUN,
    ),
    (
        f"Start:\n{FENCE}bash\n{RUN}\n{FENCE}\nStop:\n{FENCE}bash\nray stop --force\n{FENCE}",
        RUN,
    ),
    (
        (
            f"{FENCE}bash\n{RUN}\n{FENCE}\n- note: for debugging use\n"
            f"  {FENCE}bash\n  python -m ajet.launcher --conf debug.yaml\n  {FENCE}"
        ),
        RUN,
    ),
    (
        f"Run in tmux session `ajet_math`:\n{FENCE}bash\n{RUN}\n{FENCE}",
        RUN,
    ),
    (
        f"Wrong:\n{FENCE}\n{RUN} --autokill\n{FENCE}\nRight:\n{FENCE}\n{RUN}\n{FENCE}",
        RUN,
    ),
    (
        f"{FENCE}\n{RUN}\n{FENCE}\nDo not run:\n{FENCE}\n{RUN} --autokill\n{FENCE}",
        RUN,
    ),
    (
        (
            f"The previous blueprint used:\n{FENCE}\npython -m ajet.launcher --conf old.yaml\n"
            f"{FENCE}\nThis one uses:\n{FENCE}\n{RUN}\n{FENCE}"
        ),
        RUN,
    ),
    (
        f"{RUN}\n\nIf the network fails: `proxychains {RUN}`",
        RUN,
    ),
    ("`cd /srv/aj`\n`python -m ajet.launcher --conf a.yaml`", "cd /srv/aj\npython -m ajet.launcher --conf a.yaml"),
    ("```\npython x.py   \\\n\t--with-ray\n```", "python x.py   \\\n\t--with-ray"),
    (
        'cd /srv/aj &&\nexport A="x y" &&\npython -m ajet.launcher --conf a.yaml',
        'cd /srv/aj &&\nexport A="x y" &&\npython -m ajet.launcher --conf a.yaml',
    ),
    (
        "```bash\nn=0\nwhile [ $n -lt 3 ]; do\n  python x.py && break\n  n=$((n+1))\ndone\n```",
        "n=0\nwhile [ $n -lt 3 ]; do\n  python x.py && break\n  n=$((n+1))\ndone",
    ),
    (
        '```bash\nrun() {\n  python x.py --seed "$1"\n}\n\nrun 1\nrun 2\n```',
        'run() {\n  python x.py --seed "$1"\n}\n\nrun 1\nrun 2',
    ),
    (
        "    for lr in 1e-6 2e-6; do\n        python x.py --lr $lr\n    done",
        "for lr in 1e-6 2e-6; do\n    python x.py --lr $lr\ndone",
    ),
    (
        "- command:\n\n  ```bash\n  for s in 1 2; do\n    python x.py $s\n  done\n  ```",
        "for s in 1 2; do\n  python x.py $s\ndone",
    ),
    ("> ```bash\n> python -m ajet.launcher --conf a.yaml\n> ```", "python -m ajet.launcher --conf a.yaml"),
    ('- command: "python -m ajet.launcher --conf a.yaml"', "python -m ajet.launcher --conf a.yaml"),
    (
        f"- command: |\n    cd /srv/aj\n    {RUN}",
        f"cd /srv/aj\n{RUN}",
    ),
    (
        (
            f"Command (run in the codebase):\n\n`{RUN}`\n\nFlags:\n"
            "- `--with-ray`: starts ray\n- `--skip-check-avail-gpu`: no check"
        ),
        RUN,
    ),
    (f"{FENCE}bash\n{RUN}\n{FENCE}\n\n| flag | meaning |\n|---|---|\n| `--conf` | the yaml |", RUN),
    (f"- command: |\n  {FENCE}bash\n  {RUN}\n  {FENCE}", RUN),
    (f"$ source .venv/bin/activate\n$ {RUN}", f"source .venv/bin/activate\n{RUN}"),
    (
        f"- description: launch\n- command: `cd /srv/aj && {RUN}`\n- hint: the same with `--resume` continues",
        f"cd /srv/aj && {RUN}",
    ),
    (f"执行训练的命令：\n\n{FENCE}\n{RUN}\n{FENCE}\n\n说明：不要修改参数", RUN),
    (
        f"1. 进入目录：`cd /srv/aj`\n2. 激活环境：`source .venv/bin/activate`\n3. 启动训练：`{RUN}`",
        f"cd /srv/aj\nsource .venv/bin/activate\n{RUN}",
    ),
    (
        (
            f"Set up:\n\n{FENCE}bash\nexport WANDB_MODE=offline\n"
            f"export A=1\n{FENCE}\n\nLaunch:\n\n{FENCE}bash\n{RUN}\n{FENCE}"
        ),
        f"export WANDB_MODE=offline\nexport A=1\n{RUN}",
    ),
    (f"{FENCE}bash\n{RUN}  # main run\n{FENCE}", f"{RUN}  # main run"),
    ("torchrun --nproc_per_node=8 train.py --lr 1e-6", "torchrun --nproc_per_node=8 train.py --lr 1e-6"),
    ("```\npython x.py --msg 'it is \"fine\": ok'\n```", "python x.py --msg 'it is \"fine\": ok'"),
    ("Use this:\n\n```bash\n#!/bin/bash\nset -e\npython x.py\n```", "#!/bin/bash\nset -e\npython x.py"),
    ("~~python old.py~~\n\n`python x.py`", "python x.py"),
    ("uv run python x.py --seed 1", "uv run python x.py --seed 1"),
    (f"/srv/aj/.venv/bin/{RUN}", f"/srv/aj/.venv/bin/{RUN}"),
    (f"Primary:\n{FENCE}\n{RUN}\n{FENCE}\nFallback (only if ray is broken):\n{FENCE}\n{RUN} --no-ray\n{FENCE}", RUN),
    (f"- command: {RUN}\n- example output: `step:1 - actor/kl_loss:0.001`", RUN),
    (
        (
            f"#### Description\nStarts it.\n#### Command\n{FENCE}\n{RUN}\n"
            f"{FENCE}\n#### Notes\n`python other.py --x 1` is not it"
        ),
        RUN,
    ),
]


@pytest.mark.parametrize(("body", "value"), COMMANDS)
def test_command(body: str, value: str) -> None:
    reading = read(exp_launch_command=body)
    assert reading.blueprint.launch_command == value
    assert reading.blueprint.services == ()
    assert wrong(reading) == []


SERVER = "ajet-swarm start --swarm-port=10087"
CLIENT = "python -m tutorial.train --n 8"
SERVICES = [
    f"1. Start the server:\n{FENCE}\n{SERVER}\n{FENCE}\n2. Start the client:\n{FENCE}\n{CLIENT}\n{FENCE}",
    f"- server: {SERVER}\n- client: {CLIENT}",
    f"- 服务端：`{SERVER}`\n- 客户端：`{CLIENT}`",
    f"First start the server with `{SERVER}`, in a terminal of its own.\n\n{FENCE}bash\n{CLIENT}\n{FENCE}",
    f"{FENCE}bash\n# terminal 1\n{SERVER}\n# terminal 2\n{CLIENT}\n{FENCE}",
    f"### Server\n{FENCE}\n{SERVER}\n{FENCE}\n### Client\n{FENCE}\n{CLIENT}\n{FENCE}",
    f"Client:\n{FENCE}\n{CLIENT}\n{FENCE}\nServer (start first):\n{FENCE}\n{SERVER}\n{FENCE}",
    f"1. {SERVER}\n2. {CLIENT}",
    f"- command 1: {SERVER}\n- command 2: {CLIENT}",
    f"- command:\n  - {SERVER}\n  - {CLIENT}",
]


@pytest.mark.parametrize("body", SERVICES)
def test_server_beside_its_client(body: str) -> None:
    reading = read(exp_launch_command=body, exp_yaml_path="NA")
    assert [s.command for s in reading.blueprint.services] == [SERVER]
    assert [s.ready for s in reading.blueprint.services] == ["http://127.0.0.1:10087/health"]
    assert reading.blueprint.launch_command == CLIENT
    assert reading.blueprint.mode is Mode.SWARM
    assert wrong(reading) == []


def test_one_script_that_starts_a_server_in_the_background_is_the_command() -> None:
    script = f"{SERVER} &\nsleep 30\n{CLIENT}"
    blueprint = read(exp_launch_command=f"{FENCE}\n{script}\n{FENCE}").blueprint
    assert (blueprint.launch_command, blueprint.services, blueprint.mode) == (script, (), Mode.SWARM)


AMBIGUOUS = [
    ("exp_codebase_dir", "- dir: /a/one\n- dir: /a/two"),
    ("exp_codebase_dir", "/a/one\n\n/a/two"),
    ("exp_codebase_dir", "Use /a/one or /a/two."),
    ("exp_codebase_dir", "- dir: /a/one\n- alternative: /a/two"),
    ("exp_venv_exe", "- content 1: /a/bin/python\n- content 2: /b/bin/python"),
    ("exp_yaml_path", "- path: a.yaml\n- path: b.yaml"),
    ("exp_result_dir", "/a/out\n/b/out"),
    ("exp_launch_command", "```\npython a.py\n```\n```\npython b.py\n```"),
    ("exp_launch_command", "```\npython a.py\n```\nor, with LoRA:\n```\npython b.py\n```"),
    ("exp_launch_command", "- command: python a.py\n- command: python b.py"),
    ("exp_launch_command", "方案一：\n```\npython a.py\n```\n方案二：\n```\npython b.py\n```"),
    ("exp_launch_command", "Option A: `python a.py`\n\nOption B: `python b.py`"),
    ("exp_max_time", "- time: 12 hours\n- time: 24 hours"),
    ("exp_max_time", "10 or 12 hours"),
    ("exp_max_time", "8-10 hours"),
    ("exp_venv_exe", "/a/bin/python or /b/bin/python"),
    ("exp_yaml_path", "a.yaml\n\nb.yaml"),
    (
        "exp_launch_command",
        "- content 1: `python -m ajet.launcher --conf a.yaml`\n- content 2: `python -m ajet.launcher --conf b.yaml`",
    ),
    ("exp_launch_command", "Either `python a.py --x 1` or `python b.py --x 1`."),
    ("exp_launch_command", "命令 A：\n```\npython a.py\n```\n命令 B：\n```\npython b.py\n```"),
]


@pytest.mark.parametrize(("key", "body"), AMBIGUOUS)
def test_two_values_are_an_error_that_shows_both(key: str, body: str) -> None:
    problems = [p for p in read(**{key: body}).problems if p.level is Level.ERROR]
    assert [(p.code, p.section) for p in problems] == [("value_ambiguous", key)]
    assert problems[0].line is not None
    assert problems[0].message.count("line ") == 2
