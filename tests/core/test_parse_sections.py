"""One section written in many ways, the rest of the blueprint plain: what a careful reader takes from it."""

from __future__ import annotations

from typing import Any

import pytest

from ajet_inbox.core.blueprint import Blueprint, Level, Mode, Reading
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


def document(**sections: str | None) -> str:
    bodies = PLAIN | sections
    return "\n\n".join(f"## [{key}]\n{body}" for key, body in bodies.items() if body is not None)


def read(**sections: str | None) -> Reading:
    return read_blueprint(document(**sections))


def wrong(reading: Reading) -> list[str]:
    return [p.message for p in reading.problems if p.level is Level.ERROR]


CODEBASE = [
    ("/data/aj", "/data/aj"),
    ("`/data/aj`", "/data/aj"),
    ("**/data/aj**", "/data/aj"),
    ('"/data/my code/aj"', "/data/my code/aj"),
    ("“/data/aj”。", "/data/aj"),
    ("/data/aj/", "/data/aj"),
    ("/data/aj   # the new clone", "/data/aj"),
    ("/data/aj // not /data/old", "/data/aj"),
    ("/data/aj （不是 /data/old）", "/data/aj"),
    ("code: `/data/aj` (not /data/old)", "/data/aj"),
    ("- dir: /data/aj\n- hint: cd here, not to /data/old", "/data/aj"),
    ("- **dir**: `/data/aj`\n- **note**: was `/data/old` before", "/data/aj"),
    ("* path:/data/aj", "/data/aj"),
    (
        "- description: where the code lives, e.g. /x/y\n- hint: absolute\n- content 1: /data/aj\n- content 2:\n",
        "/data/aj",
    ),
    ("- content 1: The code lives at `/data/aj`.\n- content 2: It is a clean checkout.", "/data/aj"),
    ("The code is in /data/aj, copied from /data/old.", "/data/aj"),
    ("Use /data/aj instead of /data/old.", "/data/aj"),
    ("Not /data/old but /data/aj.", "/data/aj"),
    ("~~/data/old~~ /data/aj", "/data/aj"),
    ("Description: main code\nDir: /data/aj\nHint: read-only", "/data/aj"),
    ("Main experiment code path (absolute path, for example /x/y): /data/aj", "/data/aj"),
    ("路径：/data/aj。", "/data/aj"),
    ("- 描述：主代码路径，例如 /x/y\n- 路径：`/data/aj`\n- 提示：不要用 /data/old", "/data/aj"),
    ("- 描述（description）：代码\n- 目录（dir）：/data/aj；只读", "/data/aj"),
    ("代码位于/data/aj目录下，而不是/data/old。", "/data/aj"),
    ("主代码在 `/data/aj`（从 `/data/old` 复制）", "/data/aj"),
    (f"{FENCE}\n/data/aj\n{FENCE}", "/data/aj"),
    (f"{FENCE}text\n/data/aj   # code\n{FENCE}\nNote: /data/old is stale.", "/data/aj"),
    ("    /data/aj", "/data/aj"),
    ("> /data/aj", "/data/aj"),
    ("> **Note:** /data/old is stale\n\n/data/aj", "/data/aj"),
    ("| dir | /data/aj |\n|---|---|\n| note | not /data/old |", "/data/aj"),
    ("| field | value |\n|---|---|\n| dir | `/data/aj` |\n| hint | not `/data/old` |", "/data/aj"),
    ("- [x] dir: /data/aj", "/data/aj"),
    ("• dir: /data/aj\n• hint: not /data/old", "/data/aj"),
    ("1. /data/aj", "/data/aj"),
    ("dir = /data/aj", "/data/aj"),
    ("dir → /data/aj", "/data/aj"),
    ("Path is /data/aj", "/data/aj"),
    ("/data/aj\n---", "/data/aj"),
    ("<!-- absolute path, e.g. /x/y -->\n/data/aj", "/data/aj"),
    ("<!--\n- dir: /x/y\n-->\n- dir: /data/aj", "/data/aj"),
    ("- path: /data/aj\n- path: /data/aj/", "/data/aj"),
    ("- path:\n  - /data/aj", "/data/aj"),
    ("- path:\n\n  `/data/aj`", "/data/aj"),
    ("### Path\n/data/aj\n\n### Notes\n/data/old is stale", "/data/aj"),
    ("https://github.com/modelscope/AgentJet cloned to /data/aj", "/data/aj"),
    ("Repo: git@github.com:x/y.git\nPath: /data/aj", "/data/aj"),
    ("/data/aj (branch main, see /data/aj/README.md)", "/data/aj"),
    ("- path: /data/aj\n- warning 1: never write to /data/aj/core\n- warning 2: /data/old must stay", "/data/aj"),
    ("/mnt/数据/代码", "/mnt/数据/代码"),
    ("~/aj", "~/aj"),
    ("./", "."),
    ("- description: /data/aj", "/data/aj"),
    ("dir:\t/data/aj\t", "/data/aj"),
    ("The codebase (a fork) lives under `/data/aj`; logs go to `saved_experiments/`.", "/data/aj"),
    ("- dir: /data/aj\n- yaml: /data/cfg/a.yaml", "/data/aj"),
    ("/data/aj/../aj2/./x", "/data/aj2/x"),
    ("- description: code (Default: ./)\n- default: ./\n- value: /data/aj", "/data/aj"),
    ("/data/aj\n\n```\n/data/aj\n├── ajet/\n└── tests/\n```", "/data/aj"),
    ("- path: /data/aj\n- branch: main\n- commit: abc/def\n- remote: https://github.com/a/b", "/data/aj"),
    ("```bash\ncd /data/aj\n```", "/data/aj"),
    ("host: gpu01\npath: /data/aj", "/data/aj"),
    ('codebase_dir = "/data/aj"', "/data/aj"),
    ("exp_codebase_dir: /data/aj", "/data/aj"),
    ("export CODEBASE=/data/aj", "/data/aj"),
    ("- path：/data/aj（绝对路径）", "/data/aj"),
    (
        "- **content 1**: `/data/aj` — main checkout\n- **content 2**: `/data/aj/ajet/launcher.py` is the entry",
        "/data/aj",
    ),
    ("- content 1: /data/aj\n- content 2: contains ajet/, tests/, tutorial/", "/data/aj"),
    ("Absolute path:\n\n/data/aj\n\nSize: small (no venv inside).", "/data/aj"),
    ("/data/aj\n\nRemember: `cd /data/aj` before the launch; never touch `/data/aj_prod`.", "/data/aj"),
    ("Description: The main code.\n\n    /data/aj\n\nHint: `/data/aj_old` is stale.", "/data/aj"),
    ("`/data/aj` *(mounted from NAS, see /etc/fstab)*", "/data/aj"),
    ("<code>/data/aj</code>", "/data/aj"),
    ("[/data/aj](file:///data/aj)", "/data/aj"),
    ("1. main: /data/aj\n2. backup: /backup/aj", "/data/aj"),
    ("- codebase: /data/aj\n- venv: /data/v/bin/python", "/data/aj"),
    ("- dir: `/data/aj`.\n\n  Previously: `/data/old`.", "/data/aj"),
    ("/data/aj, branch `feature/x`", "/data/aj"),
    ("在 /data/aj（注意不是 /data/aj_v1）", "/data/aj"),
    ("主代码：/data/aj；备份：/backup/aj（不要用）", "/data/aj"),
    ("请先 `cd /data/aj`，所有代码都在这里", "/data/aj"),
    ("- absolute path: /data/aj\n- relative to home: ~/aj", "/data/aj"),
]


@pytest.mark.parametrize(("body", "value"), CODEBASE)
def test_codebase(body: str, value: str) -> None:
    reading = read(exp_codebase_dir=body, exp_yaml_path=None, exp_launch_command="```\npython x.py\n```")
    assert reading.blueprint.codebase_dir == value
    assert wrong(reading) == []


RESULT = [
    ("- path: /srv/out/x\n- val file: /srv/out/x/val.md\n- train file: /srv/out/x/train.md", "/srv/out/x"),
    (
        "Results go to `/srv/out/x`. The report is `/srv/out/x/result.md`; the flag is `/srv/out/x/finish.flag`.",
        "/srv/out/x",
    ),
    ("结果保存到 /srv/out/x 目录，验证结果文件为 /srv/out/x/val.md", "/srv/out/x"),
    ("${exp_codebase_dir}/auto_agent/exp_results/x", "/srv/aj/auto_agent/exp_results/x"),
    ("- dir: /srv/out/x\n- previous results: /srv/out/y", "/srv/out/x"),
    ("./auto_agent/exp_results/x/", "/srv/aj/auto_agent/exp_results/x"),
    ("- path: /srv/out/x/ (create it if it does not exist)", "/srv/out/x"),
    ("/srv/out/x\n\nFiles: trial_log.md, result.md, finish.flag", "/srv/out/x"),
    ("Output: /srv/out/x; checkpoints: /srv/ckpt/x", "/srv/out/x"),
    ("结果放到 `/srv/out/x`；checkpoint 在 `saved_checkpoints/` 下", "/srv/out/x"),
    ("- dir: /srv/out/x\n- checkpoints: /srv/ckpt/x", "/srv/out/x"),
]


@pytest.mark.parametrize(("body", "value"), RESULT)
def test_result(body: str, value: str) -> None:
    reading = read(exp_result_dir=body)
    assert reading.blueprint.result_dir == value
    assert wrong(reading) == []


VENV = [
    ("/v/bin/python", "/v/bin/python"),
    ("- path: /v/bin/python3.10\n- hint: or `source /w/bin/activate`", "/v/bin/python3.10"),
    ("source /v/.venv/bin/activate", "/v/.venv/bin/python"),
    ("/v/.venv", "/v/.venv/bin/python"),
    ("/v/.venv/bin", "/v/.venv/bin/python"),
    ("/root/miniconda3/envs/ajet", "/root/miniconda3/envs/ajet/bin/python"),
    ("- venv: /v/.venv\n- python: /v/.venv/bin/python", "/v/.venv/bin/python"),
    (".venv/bin/python", "/srv/aj/.venv/bin/python"),
    ("`./venv/bin/python` (relative to the codebase)", "/srv/aj/venv/bin/python"),
    ("[exp_codebase_dir]/.venv/bin/python", "/srv/aj/.venv/bin/python"),
    ("${exp_codebase_dir}/venv/bin/python", "/srv/aj/venv/bin/python"),
    ("Python virtual environment path (absolute path to python): /v/bin/python", "/v/bin/python"),
    ("python虚拟环境路径（python的绝对路径）: /v/bin/python", "/v/bin/python"),
    ("使用 conda 环境 aj，解释器为 /opt/conda/envs/aj/bin/python。", "/opt/conda/envs/aj/bin/python"),
    ("Python 3.10 at /v/bin/python (torch 2.5, vllm 0.8)", "/v/bin/python"),
    ("- content 1: /v/bin/python\n- content 2: activate with `source /v/bin/activate`", "/v/bin/python"),
    ("/v/bin/python -u", "/v/bin/python"),
    (
        "- conda env: aj\n- path: /opt/conda/envs/aj/bin/python\n- version: Python 3.10.14",
        "/opt/conda/envs/aj/bin/python",
    ),
    ("/v/bin/python\n\nCheck with:\n```\n/v/bin/python -c 'import ajet'\n```", "/v/bin/python"),
    ("- exe: /v/bin/python\n- activate: source /v/bin/activate", "/v/bin/python"),
    ("/v/bin/python (Python 3.10, created with uv)", "/v/bin/python"),
    ("解释器：/v/bin/python3 ，不要用系统的 /usr/bin/python3", "/v/bin/python3"),
    ("/v/bin/python\n\nIf it is missing: `uv venv /v && uv pip install -e .`", "/v/bin/python"),
    ("```bash\nsource /v/bin/activate\n```", "/v/bin/python"),
    ("- path: /v/bin/python  # py3.10\n- warning: not /v311/bin/python", "/v/bin/python"),
]


@pytest.mark.parametrize(("body", "value"), VENV)
def test_venv(body: str, value: str) -> None:
    reading = read(exp_venv_exe=body)
    assert reading.blueprint.venv_exe == value
    assert wrong(reading) == []


YAML = [
    ("cfg/x.yaml", "/srv/aj/cfg/x.yaml"),
    ("`./cfg/x.yml`", "/srv/aj/cfg/x.yml"),
    ("x.yaml", "/srv/aj/x.yaml"),
    ("/etc/x.yaml\n\nThe yaml must hold:\n- data.path: /data/y\n- base: /srv/base.yaml", "/etc/x.yaml"),
    ("- path: cfg/x.yaml\n\n```yaml\najet:\n  model: {path: /m/q}\n```", "/srv/aj/cfg/x.yaml"),
    ("The config is cfg/x.yaml (relative to the code).", "/srv/aj/cfg/x.yaml"),
    ("config: cfg/x.yaml, based on cfg/base.yaml? no, not cfg/base.yaml", "/srv/aj/cfg/x.yaml"),
    ("实验配置文件路径（相对路径，相对于主实验代码路径）：cfg/x.yaml", "/srv/aj/cfg/x.yaml"),
    ("配置文件为 cfg/x.yaml，与 cfg/base.yaml 不同于 batch", "/srv/aj/cfg/x.yaml"),
    ("{exp_codebase_dir}/cfg/x.yaml", "/srv/aj/cfg/x.yaml"),
    ("NA", "/srv/aj/a.yaml"),
    ("None. The script builds its own config.", "/srv/aj/a.yaml"),
    ("无", "/srv/aj/a.yaml"),
    (None, "/srv/aj/a.yaml"),
    ("", "/srv/aj/a.yaml"),
    ("The yaml is `/data/aj/b.yaml`:\n```yaml\najet:\n  data:\n    path: /data/x.yaml\n```", "/data/aj/b.yaml"),
    (
        "- path: b.yaml\n\n| key | value |\n|---|---|\n| ajet.model.path | /m/q |\n| base | /x/base.yaml |",
        "/srv/aj/b.yaml",
    ),
    ("- path: b.yaml\n- absolute path: /srv/aj/b.yaml", "/srv/aj/b.yaml"),
    ("`cfg/x.yaml` (copy of `cfg/base.yaml` with lr=1e-6)", "/srv/aj/cfg/x.yaml"),
    ("cfg/x.yaml → lr: 1e-6", "/srv/aj/cfg/x.yaml"),
    ("- path: cfg/x.yaml\n- note: base is cfg/base.yaml\n- content: lr 1e-6", "/srv/aj/cfg/x.yaml"),
    ("见 cfg/x.yaml，由 cfg/base.yaml 修改而来", "/srv/aj/cfg/x.yaml"),
    ("NA, config is in code (base yaml: ajet/default_config/ajet_swarm_default.yaml)", "/srv/aj/a.yaml"),
    (
        (
            "/srv/aj/cfg/x.yaml\n\n**Must contain:**\n\n| key | value |\n|---|---|\n"
            "| ajet.trainer_common.val_print_to_markdown_file_path | /srv/out/val.md |"
        ),
        "/srv/aj/cfg/x.yaml",
    ),
]


@pytest.mark.parametrize(("body", "value"), YAML)
def test_yaml(body: str | None, value: str) -> None:
    reading = read(exp_yaml_path=body)
    assert reading.blueprint.yaml_path == value
    assert wrong(reading) == []


@pytest.mark.parametrize(
    "body",
    [
        "NA",
        "n/a",
        "N/A (generic script)",
        "none",
        "-",
        "无（配置写在脚本里）",
        "不需要",
        "Not needed.",
        "暂无",
        "Null",
        "无需配置文件，见 /a/b.yaml",
    ],
)
def test_no_yaml(body: str) -> None:
    reading = read(exp_yaml_path=body, exp_launch_command="```\npython x.py\n```")
    assert reading.blueprint.yaml_path is None
    assert wrong(reading) == []


RUN = "python -m ajet.launcher --conf a.yaml"
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


TIMES = [
    ("12 hours", 12, None),
    ("`8h`", 8, None),
    ("90 min", 1.5, None),
    ("PT12H", 12, None),
    ("12:00:00", 12, None),
    ("- time: 12 hours\n- note: ended after 12 hours; a first step is expected within 20 minutes", 12, 20),
    ("- MaxTime per run: 24 hours\n- First step success timeout: 20 minutes", 24, 20),
    ("- content 1: 24 hours\n- content 2: first step success timeout: 30 minutes", 24, 30),
    ("Maximum runtime is 12 hours; each experiment is forcefully terminated after 12 hours", 12, None),
    ("${MaxTime} = 12 hours\nNote: must not exceed 12 hours.", 12, None),
    ("运行时间不超过 12 小时，每个实验强制在 12 小时后终止", 12, None),
    ("最长24小时；首步成功超时：20分钟", 24, 20),
    ("- 时间：两天\n- 首步超时：半小时", 48, 30),
    ("一天半", 36, None),
    ("At most 6h30m.", 6.5, None),
    ("About 9 hours expected, hard limit 12 hours", 12, None),
    ("about 9 hours", 9, None),
    ("12 hours (the previous run took 9 hours)", 12, None),
    ("12 hours, not 24 hours", 12, None),
    ("12 hours # was 24 hours", 12, None),
    ("24 小时（上次用了 9 小时）", 24, None),
    ("- description: upper bound, or ${MaxTime}\n- time: 0.5 days", 12, None),
    ("| time | 12 h |\n|---|---|\n| first step | 25 min |", 12, 25),
    ("12 hours with the first step within 20 minutes", 12, 20),
    ("**12 hours**", 12, None),
    ("1 day, 12 hours", 36, None),
    ("1 day and 12 hours", 36, None),
    ("- time: 12 hours\n- test every 30 minutes, save a checkpoint each 2 hours", 12, None),
    ("12", 12, None),
    ("- time: 12", 12, None),
    ("unlimited", 24, None),
    ("Maximum runtime is ${MaxTime}; each experiment is forcefully terminated after ${MaxTime}", 24, None),
    ("", 24, None),
    (None, 24, None),
    ("- time: 12 hours\n- description: typical runs take 8-10 hours", 12, None),
    ("不超过12小时（含验证），首个 step 应在 20 分钟内完成", 12, 20),
    ("${MaxTime} = 12 小时；首步成功超时 = 15 分钟", 12, 15),
    ("MaxTime：12小时\n首步超时：20分钟", 12, 20),
    ("Hard limit: 12 hours. If no kl loss is printed within 20 minutes, the first step has failed.", 12, 20),
    ("MaxTime per run: 12 hours; first-step timeout 25min", 12, 25),
    ("24h total wall clock (3 epochs, 500 steps)", 24, None),
    ("- time: 24 hours per run\n- hint: the previous one needed 19 hours", 24, None),
    ("43200 seconds", 12, None),
    ("12 hours (720 minutes)", 12, None),
    ("- default: 24 hours\n- time: 12 hours", 12, None),
    ("12 hours, then SIGTERM with a grace period of 60 seconds", 12, None),
    ("0.5h", 0.5, None),
    ("- max: 12h\n- expected: 9h", 12, None),
    ("12 hours per experiment; 20 minutes for the first step", 12, 20),
    ("12h / first step 20min", 12, 20),
    ("≤ 12 小时", 12, None),
    ("12 小时内必须结束（首步 20 分钟内）", 12, 20),
    ("- time: 12 hours\n- first step success timeout: 20 minutes (default)", 12, 20),
    ("- 最长运行时间：12 小时\n- 首个 kl loss 需在 20 分钟内出现", 12, 20),
    ("12 hours max, usually done in 9", 12, None),
    ("- description: ${MaxTime} = upper bound\n- ${MaxTime}: 12 hours", 12, None),
    ("12 hours. (Plus 30 minutes of start-up do not count.)", 12, None),
    ("`${MaxTime}` = `12 hours`", 12, None),
    ("Maximum: **12 h**. Evaluate every 30 min.", 12, None),
]


@pytest.mark.parametrize(("body", "hours", "first_minutes"), TIMES)
def test_times(body: str | None, hours: float, first_minutes: float | None) -> None:
    reading = read(exp_max_time=body)
    assert reading.blueprint.max_time_s == hours * 3600
    assert reading.blueprint.first_step_timeout_s == (first_minutes and first_minutes * 60)
    assert wrong(reading) == []


PURPOSES = [
    ("- purpose: lower lr\n- description: what it is for\n- hint: short", "lower lr"),
    ("- description: lower lr to 1e-6\n- content 1: only lr differs", "lower lr to 1e-6"),
    ("- description: lower lr to 1e-6\n- content 1: only lr differs", "only lr differs"),
    ("Lower\nlr.\n\n- difference: lr 1e-6", "Lower lr."),
    ("实验目的：降低学习率。", "降低学习率"),
    ("Hypothesis: a lower lr helps; see [exp_yaml_path].", "Hypothesis: a lower lr"),
    ("> lower lr", "lower lr"),
    ("```\nlower lr\n```", "lower lr"),
]


@pytest.mark.parametrize(("body", "part"), PURPOSES)
def test_purpose(body: str, part: str) -> None:
    assert part in (read(exp_purpose=body).blueprint.purpose or "")


OPTIONS: list[tuple[str, str, str, Any]] = [
    ("exp_mode", "swarm", "mode", Mode.SWARM),
    ("exp_mode", "- mode: `generic`", "mode", Mode.GENERIC),
    ("exp_mode", "classic (non-swarm)", "mode", Mode.CLASSIC),
    ("exp_prepare_command", "```\npip install -e .\n```", "prepare_command", "pip install -e ."),
    ("exp_prepare_command", "none", "prepare_command", None),
    ("exp_cleanup_command", "`rm -rf tmp`", "cleanup_command", "rm -rf tmp"),
    ("exp_env", "- A=1\n- B: two words\n- export C='3'", "env", {"A": "1", "B": "two words", "C": "3"}),
    ("exp_env", "```\nA=1\n# b\nB=2\n```", "env", {"A": "1", "B": "2"}),
    ("exp_priority", "5", "priority", 5),
    ("exp_priority", "- value: -3", "priority", -3),
    ("exp_after", "- lr1\n- lr2", "after", ("lr1", "lr2")),
    ("exp_after", "lr1, lr2", "after", ("lr1", "lr2")),
    ("exp_after", "无", "after", ()),
    ("exp_gpus", "8", "gpus", 8),
    ("exp_gpus", "4 GPUs", "gpus", 4),
    ("exp_gpus", "0 (CPU only)", "gpus", 0),
    ("exp_host", "`gpu07`", "host", "gpu07"),
    ("exp_first_step_timeout", "30 minutes", "first_step_timeout_s", 1800.0),
    ("exp_plateau", "off", "plateau", "off"),
    (
        "exp_retry",
        "- resume\n- on oom: ajet.rollout.max_num_seqs=8",
        "retry",
        "resume\non oom: ajet.rollout.max_num_seqs=8",
    ),
    ("exp_parent", "lr1", "parent", "lr1"),
    ("exp_snapshot", "yes", "snapshot", True),
    ("exp_snapshot", "否", "snapshot", False),
]


@pytest.mark.parametrize(("key", "body", "field", "value"), OPTIONS)
def test_options(key: str, body: str, field: str, value: object) -> None:
    reading = read(**{key: body})
    assert getattr(reading.blueprint, field) == value
    assert wrong(reading) == []


def test_services_section() -> None:
    body = """
- vllm: vllm serve /m/q --port 8000 (ready: http://127.0.0.1:8000/health)
- web: python -m http.server
  - ready: port 8000
"""
    services = read(exp_services=body).blueprint.services
    assert [(s.name, s.command, s.ready) for s in services] == [
        ("vllm", "vllm serve /m/q --port 8000", "http://127.0.0.1:8000/health"),
        ("web", "python -m http.server", "port 8000"),
    ]


UNREADABLE = [
    ("exp_codebase_dir", "the usual place"),
    ("exp_codebase_dir", "- dir:\n- hint: absolute"),
    ("exp_venv_exe", "conda activate aj"),
    ("exp_launch_command", "Ask Li how to start it."),
    ("exp_launch_command", "- hint: `python x.py`"),
    ("exp_result_dir", ""),
    ("exp_priority", "high"),
    ("exp_gpus", "0,1,2,3"),
    ("exp_env", "the usual ones"),
    ("exp_mode", "fast"),
    ("exp_first_step_timeout", "soon"),
    ("exp_snapshot", "maybe"),
    ("exp_services", "the usual ones"),
]


@pytest.mark.parametrize(("key", "body"), UNREADABLE)
def test_a_section_that_says_nothing_is_an_error_with_its_line(key: str, body: str) -> None:
    text = document(**{key: body})
    problems = [p for p in read_blueprint(text).problems if p.level is Level.ERROR]
    line = text.split("\n").index(f"## [{key}]") + 1
    assert [(p.code, p.section, p.line) for p in problems] == [("value_missing", key, line)]


@pytest.mark.parametrize("key", ["exp_codebase_dir", "exp_venv_exe", "exp_launch_command", "exp_result_dir"])
def test_a_missing_section_is_an_error(key: str) -> None:
    problems = [p for p in read(**{key: None}).problems if p.level is Level.ERROR]
    assert [(p.code, p.section) for p in problems] == [("section_missing", key)]


def test_a_missing_purpose_or_time_is_a_warning() -> None:
    reading = read(exp_purpose=None, exp_max_time=None)
    assert [(p.code, p.level) for p in reading.problems] == [
        ("section_missing", Level.WARNING),
        ("max_time_default", Level.WARNING),
    ]


def test_a_number_without_a_unit_is_hours_in_max_time_only() -> None:
    assert [p.code for p in read(exp_max_time="12").problems] == ["time_without_unit"]
    problems = read(exp_first_step_timeout="20").problems
    assert [(p.code, p.level) for p in problems] == [("time_without_unit", Level.ERROR)]


def test_plain_sections_have_no_problem_and_know_their_lines() -> None:
    text = document()
    reading = read_blueprint(text)
    lines = text.split("\n")
    assert reading.problems == ()
    assert {key: lines[line - 1] for key, line in reading.blueprint.lines.items()} == PLAIN | {
        "exp_launch_command": RUN
    }
    assert reading.blueprint == Blueprint(
        purpose=PLAIN["exp_purpose"],
        codebase_dir="/srv/aj",
        venv_exe="/srv/aj/.venv/bin/python",
        yaml_path="/srv/aj/a.yaml",
        launch_command=RUN,
        result_dir="/srv/out/lr",
        max_time_s=43200.0,
        mode=Mode.CLASSIC,
        lines=reading.blueprint.lines,
    )
