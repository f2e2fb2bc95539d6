"""Paths written in many ways: what a careful reader takes from them."""

from __future__ import annotations

import pytest

from tests.core.plain import FENCE, read, wrong

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
    ("/home/lab/miniconda3/envs/ajet", "/home/lab/miniconda3/envs/ajet/bin/python"),
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
