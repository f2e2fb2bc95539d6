"""What AgentJet is from outside: its commands, modes, and the flags that would harm others (contract section 7)."""

from __future__ import annotations

import re

from ajet_inbox.core.blueprint import Mode

SWARM_PORT = 10086
SKIP_GPU_CHECK = "--skip-check-avail-gpu"

# Where each word ends: a flag inside a longer word is another flag.
_END = r"(?=$|[\s;&|)'\"`])"
_LAUNCH = re.compile(rf"(?<![\w-])(?:ajet[./]launcher(?:\.py)?{_END}|ajet\s+(?:-\S+\s+)*--conf(?:=|\s))")
_SERVER = re.compile(
    r"(?<![\w./-])(?:\S{0,300}/)?(?:ajet-swarm(?:-server)?\s+(?:start|server)\b|ajet\s+swarm\s+(?:server|start)\b|ajet-swarm-server\b"
    r"|python[\d.]*\s+-m\s+ajet\.swarm\S*\s+(?:start|server)\b|python[\d.]*\s+-m\s+ajet\.\S*swarm_server\S*)"
)
_CLIENT = re.compile(
    r"AgentJetJob|SwarmClient|AJET_SWARM|--swarm[-_]|\bswarm[_-](?:client|url|server)|agent_roll\.py|\bajet[.-]swarm\b"
)
# argparse takes any unique beginning of a flag for the flag.
_KILL = re.compile(
    rf"(?P<before>^|\s)--(?:au(?:t|to|tok|toki|tokil|tokill)?|k(?:i|il|ill)?(?:=(?:'[^']*'|\"[^\"]*\"|\S+)|\s+(?:'[^']*'|\"[^\"]*\"|[^\s;&|-]\S*))?){_END}"
)
_CONF = re.compile(r"(?<!\S)--conf(?:=|\s+(?:\\\s+)?)(?P<value>\"[^\"]+\"|'[^']+'|[^\s;&|]+)")
_PORT = re.compile(r"--(?:swarm[-_])?port(?:=|\s+)(\d{1,5})\b")
# What separates one command of a script from the next, where it is not quoted; a continued line is none.
_TOKEN = re.compile(r"\\(?s:.)|'[^']*'|\"(?:\\(?s:.)|[^\"\\])*\"|(?P<cut>\n|&&|\|\||;|(?<![<>&])&(?![>&])|\|)")


def is_launch(command: str) -> bool:
    """Whether `command` starts a classic AgentJet training."""
    return bool(_LAUNCH.search(command))


def starts_swarm_server(command: str) -> bool:
    """Whether `command` starts an AgentJet swarm server."""
    return any(_SERVER.search(part) for part in _commands(_uncommented(command)))


def swarm_health_url(command: str) -> str:
    """Where the swarm server that `command` starts says whether it is up."""
    port = _PORT.search(command)
    return f"http://127.0.0.1:{port[1] if port else SWARM_PORT}/health"


def detect_mode(command: str, services: tuple[str, ...] = (), *, script: str = "", prose: str = "") -> Mode:
    """What kind of experiment it is.

    `script` is the text of the client, where somebody could read it; `prose` is what is said about the experiment.
    """
    if any(starts_swarm_server(c) for c in (command, *services)):
        return Mode.SWARM
    if is_launch(command):
        return Mode.CLASSIC
    if _CLIENT.search(command) or _CLIENT.search(script) or mentions_swarm(prose):
        return Mode.SWARM
    return Mode.GENERIC


_MENTION = re.compile(r"swarm[- ]?(?:mode|server|client|模式)|蜂群模式|集群模式\(swarm\)", re.I)
_DENIAL = re.compile(r"\b(?:no|not|non|without|unlike|never|instead)\b|n't\b|非|不|无", re.I)


def mentions_swarm(prose: str) -> bool:
    """Whether some text says that the experiment uses swarm mode, and no clause denies it."""
    clauses = [c for c in re.split(r"[.;,。；，\n]", prose) if _MENTION.search(c)]
    return bool(clauses) and not any(_DENIAL.search(c) for c in clauses)


def conf_path(command: str) -> str | None:
    """The yaml that `--conf` names, as written; None where there is none, or only a variable."""
    found = _CONF.search(command)
    value = found["value"].strip("\"'") if found else ""
    return value if value and "$" not in value else None


def strip_autokill(command: str) -> tuple[str, bool]:
    """`command` without `--autokill` and `--kill`, and whether it had them.

    Only in an AgentJet launch, where they would end every python, ray and vllm of the host; the first is replaced by
    the flag that skips the check for busy GPUs, unless that is there.
    """
    parts = _commands(command)
    stripped = [_strip_launch(part) if is_launch(part) else part for part in parts]
    return "".join(stripped), stripped != parts


def _strip_launch(part: str) -> str:
    if not _KILL.search(part):
        return part
    instead = "" if SKIP_GPU_CHECK in part else SKIP_GPU_CHECK
    part = _KILL.sub(lambda m: m["before"] + instead if instead else "", part, count=1)
    return _KILL.sub("", part)


def _commands(script: str) -> list[str]:
    """The commands of `script` and what is between them; joined they are the script again."""
    cuts = [edge for token in _TOKEN.finditer(script) if token["cut"] for edge in token.span()]
    return [script[a:b] for a, b in zip([0, *cuts], [*cuts, len(script)], strict=True)]


def _uncommented(command: str) -> str:
    return "\n".join(line for line in command.split("\n") if not line.lstrip().startswith("#"))
