"""The command of a section, told from the prose around it; what has to run beside it is a service."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from ajet_inbox.core.blueprint import Service
from ajet_inbox.core.reading.entries import Entry
from ajet_inbox.core.reading.labels import Role
from ajet_inbox.core.reading.shell import Scan, feed, looks_like_command, without_comment
from ajet_inbox.core.training.ajet import starts_swarm_server, swarm_health_url


class Command(Struct, frozen=True, kw_only=True):
    """One script that a section gives. `lead` introduces it; `step`: it is one of several in an order.

    `sure`: it stands in code, behind a label or alone on its lines, and is not quoted within a sentence.
    """

    text: str
    line: int
    lead: str = ""
    step: bool = False
    sure: bool = True


class Commands(Struct, frozen=True, kw_only=True):
    """What a section says is to be run; `rivals` are the commands that cannot both be meant."""

    command: Command | None = None
    services: tuple[Service, ...] = ()
    rivals: tuple[Command, ...] = ()


_OR = re.compile(
    r"\b(?:or|alternative(?:ly)?|either|option|variant|another way|otherwise|choice)\b"
    r"|或|另一种|备选|方案|选项|二选一|任选|也可以|也可",
    re.I,
)
_ORDER = re.compile(
    r"\b(?:first|then|next|finally|after(?:wards)?|second|third|step|lastly|command \d|part \d)\b"
    r"|先|再|然后|接着|随后|最后|之后|第[一二三四五\d]步|步骤|命令\s*\d",
    re.I,
)
_OUTPUT = re.compile(
    r"\b(?:output|prints?|log|you (?:should|will) see|looks? like|result)\b|输出|日志|打印|会看到", re.I
)
_BESIDE = re.compile(
    r"\b(?:monitor\w*|watch|stop|kill|clean ?up|check|verify|debug\w*|inspect|attach|view)\b"
    r"|监控|查看|停止|清理|检查|调试|验证",
    re.I,
)
_SERVES = re.compile(
    r"\b(?:server|service|daemon|background|beside|separate terminal|another terminal)\b|服务|后台|另一个终端|另开",
    re.I,
)
_NOT_SHELL = {
    "yaml",
    "yml",
    "json",
    "toml",
    "ini",
    "text-output",
    "log",
    "output",
    "diff",
    "md",
    "markdown",
    "csv",
    "xml",
}
_SETUP = re.compile(
    r"\s*(?:#|$|(?:cd|export|source|\.|set|unset|ulimit|mkdir|pip3?|conda|uv (?:pip|sync)|"
    r"pushd|sleep|echo|git|wait|rm|cp|"
    r"ray (?:start|stop)|"
    r"[A-Za-z_]\w*=\S*\s*$)(?=\s|$))"
)
_PROGRAM = re.compile(r"[a-z0-9_./~-]+(?:\s+[\w./:=@,+\"'${}-]+){0,40}$")
_SPAN = re.compile(r"`([^`\n]+)`")
_PROMPT = re.compile(r"\s*\$\s+")
_FOREGROUND = re.compile(r"&\s*(?:#.*)?$|\b(?:tmux|screen)\b|\s-d\b|--daemon")


def read_commands(rows: Iterable[Entry]) -> Commands:
    """What the entries of a command's section say is to be run."""
    rows = list(rows)
    found = [part for command in _candidates(rows) or _labelled(rows) for part in _split_server(command)]
    sure = any(c.sure for c in found)
    found = _distinct([c for c in found if c.sure or not sure or starts_swarm_server(c.text)])
    found = [c for c in found if not _BESIDE.search(c.lead) or _ORDER.search(c.lead)] or found
    servers, others = _servers(found)
    services = tuple(service_of(c.text, n) for n, c in enumerate(servers, 1))
    if _rival(others):
        return Commands(services=services, rivals=tuple(others))
    if not others:
        return Commands()
    text = "\n".join(c.text for c in others)
    return Commands(command=replace(others[-1], text=text, line=others[0].line), services=services)


def service_of(command: str, number: int = 1, name: str = "", ready: str | None = None) -> Service:
    """`command` as a service; how a swarm server is known to be up is known."""
    if starts_swarm_server(command):
        return Service(name=name or "swarm_server", command=command, ready=ready or swarm_health_url(command))
    return Service(name=name or f"service_{number}", command=command, ready=ready)


def _servers(found: list[Command]) -> tuple[list[Command], list[Command]]:
    """The commands that serve the others, and those others; a server alone is the command itself."""
    swarm = [c for c in found if starts_swarm_server(c.text) and _is_only_server(c.text)]
    named = [c for c in found if c in swarm or (_SERVES.search(c.lead) and not _is_setup(c.text))]
    for servers in (named, swarm):
        others = [c for c in found if c not in servers]
        if not all(_is_setup(c.text) for c in others):
            return servers, others
    return [], found


def _is_only_server(script: str) -> bool:
    """Whether a script only prepares and starts a server, rather than running something beside it."""
    lines = _logical_lines(script)
    return starts_swarm_server(lines[-1]) or all(starts_swarm_server(n) or _is_setup(n) for n in lines)


def _rival(others: list[Command]) -> bool:
    """Whether several commands are alternatives rather than steps of one script."""
    if len(others) < 2:
        return False
    if any(_OR.search(c.lead) for c in others):
        return True
    if all(_is_setup(c.text) for c in others[:-1]):
        return False
    return not all(c.step or _ORDER.search(c.lead) for c in others[1:])


def _is_setup(script: str) -> bool:
    return all(_SETUP.match(part) for line in _logical_lines(script) for part in re.split(r"&&|\|\||;", line))


def _logical_lines(script: str) -> list[str]:
    """The lines of `script`, each with its continuations, without the empty ones and comments."""
    joined = re.sub(r"\\\n", " ", script)
    return [n for n in joined.split("\n") if n.strip() and not n.lstrip().startswith("#")] or [""]


def _distinct(commands: list[Command]) -> list[Command]:
    return list({" ".join(c.text.split()): c for c in reversed(commands)}.values())[::-1]


def _split_server(command: Command) -> Iterator[Command]:
    """A server in the foreground never returns: what follows it in one script is meant for another terminal."""
    lines = command.text.split("\n")
    at = next((n for n, line in enumerate(lines) if starts_swarm_server(line)), None)
    if (
        at is None
        or _FOREGROUND.search(lines[at])
        or lines[at].rstrip().endswith("\\")
        or _logical_lines("\n".join(lines[at + 1 :])) == [""]
    ):
        yield command
        return
    setup = [n for n in lines[:at] if n.strip() and not n.lstrip().startswith("#")]
    rest = lines[at + 1 :]
    while rest and (not rest[0].strip() or rest[0].lstrip().startswith("#")):
        rest = rest[1:]
    yield replace(command, text="\n".join([*setup, lines[at]]), line=command.line + at)
    yield replace(command, text="\n".join([*setup, *rest]), line=command.line + len(lines) - len(rest), step=True)


def _candidates(rows: list[Entry]) -> list[Command]:
    found: list[Command] = []
    joinable: Entry | None = None
    for row in rows:
        if row.role is Role.ASIDE:
            joinable = None
            continue
        for command in _of_code(row) if row.code else _of_text(row):
            if joinable is not None and command.sure and _continues(joinable, row):
                found[-1] = replace(found[-1], text=found[-1].text + "\n" + command.text)
            else:
                found.append(command)
            joinable = None if row.code else row
    return found


def _labelled(rows: list[Entry]) -> list[Command]:
    """What stands behind a label such as `command:` though it does not look like a command we know."""
    values = [row for row in rows if row.role is Role.VALUE and row.label and not row.title]
    return [Command(text=text, line=row.line) for row in values if (text := _programs(row.lines[0]))]


def _programs(line: str) -> str:
    text = without_comment(line.strip("`\"' "))
    return text if _PROGRAM.match(text) else ""


def _continues(above: Entry, row: Entry) -> bool:
    """Whether two neighbours without labels of their own are lines of one script."""
    return not row.code and not row.label and not above.label.strip() and row.marker == "" == above.marker


def _of_code(row: Entry) -> Iterator[Command]:
    if row.info.strip().lower().split(" ")[0].strip("{.}") in _NOT_SHELL or (
        _OUTPUT.search(row.lead) and not _ORDER.search(row.lead)
    ):
        return
    text = _without_prompts("\n".join(line.rstrip() for line in row.lines)).strip("\n")
    if text.strip():
        offset = next(n for n, line in enumerate(row.lines) if line.strip())
        yield Command(text=text, line=row.line + offset, lead=row.lead)


def _without_prompts(script: str) -> str:
    """A copied terminal session without its `$ ` and what the commands printed."""
    lines = script.split("\n")
    if not _PROMPT.match(lines[0]):
        return script
    kept, scan = list[str](), Scan()
    for line in lines:
        if scan.wants_more or _PROMPT.match(line):
            kept.append(line if scan.wants_more else _PROMPT.sub("", line, count=1))
            scan = feed(scan, kept[-1])
    return "\n".join(kept)


def _of_text(row: Entry) -> Iterator[Command]:
    """The commands that lines of text hold: whole lines, or spans quoted in a sentence."""
    step = row.marker.isdigit()
    whole = _whole(row)
    if whole:
        text, offset = whole
        yield Command(text=text, line=row.line + offset, lead=row.lead, step=step)
        return
    for n, line in enumerate(row.lines):
        for span in _SPAN.findall(line):
            if looks_like_command(span) and " " in span.strip():
                lead = f"{row.lead} {line.split('`')[0]}"
                yield Command(
                    text=span.strip(), line=row.line + n, lead=lead, step=step, sure=step or row.role is Role.VALUE
                )


def _whole(row: Entry) -> tuple[str, int] | None:
    """The script that the lines of `row` are, and the first of them; lines of prose around it are left out."""
    kept, scan, first = list[str](), Scan(), 0
    for n, line in enumerate(row.lines):
        if scan.wants_more:
            kept.append(line.rstrip())
        elif command := _line(line):
            first = first if kept else n
            kept.append(command)
        elif kept and line.lstrip().startswith("#"):
            kept.append(line.strip())
        elif kept and line.strip():
            break
        else:
            continue
        scan = feed(scan, kept[-1])
    return ("\n".join(kept), first) if kept else None


def _line(text: str) -> str | None:
    """The command that a line is, without quotes, prompt, comment and remarks around it."""
    text = text.strip()
    span = re.match(r"(`+)\s?(.+?)\s?\1(?!`)\W*(.*)$", text)
    if span and (looks_like_command(span[2]) or not span[3].strip()) and not _SPAN.search(span[3]):
        return _PROMPT.sub("", span[2], count=1).strip()
    if len(text) > 2 and text[0] + text[-1] in ('""', "''", "“”", "「」") and text[-1] not in text[1:-1]:
        text = text[1:-1]
    text = _PROMPT.sub("", text, count=1)
    if not looks_like_command(text):
        return None
    text = re.sub(r"(?<!\s)\s*（[^（）]*）[。；，]?$|[。；，]+$", "", without_comment(text)).strip()
    return re.sub(r"(?<=[^\s$(])\s+\([A-Za-z][^()$`]*\)\s*$|(?<=\w)\.$", "", text).strip()
