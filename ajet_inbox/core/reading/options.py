"""The short values of the optional sections; None: it cannot be read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ajet_inbox.core.blueprint import Mode, Service
from ajet_inbox.core.reading.commands import read_commands, service_of
from ajet_inbox.core.reading.entries import Entry
from ajet_inbox.core.reading.labels import Role
from ajet_inbox.core.reading.values import is_none

QUOTES = "`\"'“”‘’「」* "
_AROUND = frozenset({"``", '""', "''", "“”", "‘’", "「」", "**"})
_COMMENT = re.compile(r"(?<!\s)(?:\s+(?:#|//|<!--)\s.*$|\s*（[^（）]*）\s*$|\s+\([^()]*\)\s*$)")
_PAIR = re.compile(r"(?:export\s+|-e\s+)?([A-Za-z_]\w*)\s*[=:：]\s*(.*)$")
_READY = re.compile(r"[\s,;，；(（]{0,5}\b(?:ready|health)(?:\s*(?:when|check|url))?\s*[:=：]\s*(.+?)[)）]?\s*$", re.I)
_TRUTHS = {
    **dict.fromkeys(("yes", "true", "on", "1", "是", "开", "需要", "enabled"), True),
    **dict.fromkeys(("no", "false", "off", "0", "否", "关", "不需要", "无", "none", "disabled"), False),
}


def lines(rows: Iterable[Entry]) -> list[str]:
    """The lines of a section that are its value, without comments and quotes."""
    said = [row for row in rows if row.role is not Role.ASIDE and not row.title] or list(rows)
    written = (line for row in said for line in (_first(row), *row.lines[1:]))
    return [tidy for line in written if (tidy := _COMMENT.sub("", line).rstrip("。；").strip(QUOTES))]


def _first(row: Entry) -> str:
    """A label that is not one of ours belongs to the value: `on oom: lr=1`."""
    return row.written if row.role is Role.OTHER and row.written else row.lines[0]


def text(rows: list[Entry]) -> str | None:
    """All lines of the value."""
    return "\n".join(lines(rows)) or None


def word(rows: list[Entry]) -> str | None:
    """A single line."""
    found = lines(rows)
    return found[0] if len(found) == 1 else None


def names(rows: list[Entry]) -> tuple[str, ...] | None:
    """Names, one a line or separated by commas."""
    return tuple(
        name
        for line in lines(rows)
        if not is_none(line)
        for part in re.split(r"[,，、;；\s]+", line)
        if (name := part.strip(QUOTES))
    )


def number(rows: list[Entry]) -> int | None:
    """A whole number, perhaps negative."""
    found = re.fullmatch(r"[+-]?\d{1,9}", word(rows) or "")
    return int(found[0]) if found else None


def count(rows: list[Entry]) -> int | None:
    """How many: `8`, `8 GPUs`, `8 x H200`. A list of indices is not a count."""
    said = word(rows) or ""
    found = re.fullmatch(r"(\d{1,6})(?:\s*(?:[x×*]\s*)?[^\d,，\s][^,，]*)?", said)
    if found is None:
        return 0 if re.match(r"\W*(?:none|no|无|不需要|cpu)", said, re.I) else None
    return int(found[1])


def truth(rows: list[Entry]) -> bool | None:
    """Yes or no."""
    return _TRUTHS.get((word(rows) or "").lower())


def mode(rows: list[Entry]) -> Mode | None:
    """A mode by name; the first one named."""
    found = re.search(r"\b(?<!non-)(classic|swarm|generic)\b", " ".join(lines(rows)).lower())
    return Mode(found[1]) if found else None


def env(rows: list[Entry]) -> dict[str, str] | None:
    """Variables, `NAME=VALUE` or `NAME: VALUE`, one a line; None if a line is something else."""
    pairs = [_PAIR.match(line.rstrip("\\ ")) for row in rows if row.role is not Role.ASIDE for line in _env_lines(row)]
    return {p[1]: _unquoted(p[2]) for p in pairs if p} if pairs and all(pairs) else None


def _env_lines(row: Entry) -> Iterator[str]:
    first = row.written or row.lines[0]
    for line in (first, *row.lines[1:]):
        if (tidy := _unquoted(line)) and not tidy.startswith("#"):
            yield tidy


def _unquoted(text: str) -> str:
    """`text` without the quotes around all of it; one that stands alone is part of a variable's value."""
    bare = text.strip()
    while len(bare) > 1 and bare[0] + bare[-1] in _AROUND:
        bare = bare[1:-1]
    return bare


def services(rows: list[Entry]) -> tuple[Service, ...]:
    """Programs to run beside the command, `NAME: COMMAND (ready: URL | port N | log PATTERN | file PATH)` each."""
    found: list[Service] = []
    for row in rows:
        if row.role is Role.ASIDE:
            continue
        if re.match(r"ready|health", row.label, re.I) and found:
            last = found[-1]
            found[-1] = Service(name=last.name, command=last.command, ready=row.lines[0].strip(QUOTES))
            continue
        found += _service(row, len(found) + 1)
    return tuple(found)


def _service(row: Entry, number: int) -> Iterator[Service]:
    ready = None if row.code else _READY.search(row.lines[0])
    bare = row.lines[0][: ready.start()] if ready else row.lines[0]
    plain = Entry(role=Role.VALUE, line=row.line, lines=(bare, *row.lines[1:]), label=row.label, code=row.code)
    command = read_commands([plain]).command
    if command:
        name = re.sub(r"\W+", "_", row.label).strip("_").lower() if row.role is Role.OTHER else ""
        yield service_of(command.text, number, name, ready[1].strip(QUOTES) if ready else None)
