"""`python -m ajet.launcher --conf X.yaml`: takes AgentJet's flags, starts the trainer as a child, ends as it does.

Exit 0 is a finished training, 1 any failure of it, 2 a wrong command line.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

from ajet.config import Config

COMPANIONS = ("ray-cluster", "appworld", "deepfinance", "webshop", "bfcl", "logview", "crafters")


def log(level: str, text: str) -> None:
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} | {level:8} | ajet.launcher - {text}", flush=True)


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Stand-in for the AgentJet launcher")
    parser.add_argument("--conf", type=Path, required=True, help="the experiment's yaml")
    parser.add_argument("--exp-dir", type=Path, default=Path("saved_experiments"), help="where its copy is kept")
    parser.add_argument("--backbone", default="verl", help="accepted, ignored")
    parser.add_argument("--with-ray", action="store_true", help="accepted; nothing is started")
    for name in COMPANIONS:
        parser.add_argument(f"--with-{name}", action="store_true", help="accepted; nothing is started")
    parser.add_argument("--skip-check-avail-gpu", action="store_true", help="accepted; no GPU is used")
    parser.add_argument("--kill", default="", help="accepted; nothing is ended")
    parser.add_argument("--autokill", action="store_true", help="accepted; nothing is ended")
    return parser.parse_args()


def keep_copy(config: Config, exp_dir: Path, experiment: str) -> Path:
    """Copies the yaml to where the run's things are kept; the copy is what runs."""
    folder = (exp_dir / experiment).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(config.path, folder / config.path.name))


def main() -> int:
    args = parse_args()
    if args.autokill or args.kill:
        log("WARNING", "the stand-in ignores --autokill and --kill: no process is ended")
    if args.with_ray:
        log("INFO", "Started a local Ray instance (the stand-in needs none: nothing was started)")
    try:
        config = Config(args.conf)
        experiment = config.experiment_name()
        conf = keep_copy(config, args.exp_dir, experiment)
    except (OSError, ValueError) as trouble:
        log("ERROR", f"cannot read the configuration: {trouble}")
        return 1
    command = [sys.executable, "-m", "ajet.trainer", "--conf", str(conf), "--experiment", experiment]
    log("INFO", f"Running command: {' '.join(command)}")
    try:
        subprocess.run(command, check=True)
    except subprocess.CalledProcessError as trouble:
        log("ERROR", f"Error running subprocess: {trouble}")
        return 1
    log("SUCCESS", "Training finished")
    return 0


if __name__ == "__main__":
    sys.exit(main())
