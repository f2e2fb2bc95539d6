"""A blueprint's text as values: what it says as far as can be told, and every doubt on the way (contract section 6)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from typing import TypeVar

from ajet_inbox.core.blueprint import DEFAULT_MAX_TIME_S, Blueprint, Level, Mode, Problem, Reading, Service
from ajet_inbox.core.reading import options
from ajet_inbox.core.reading.commands import Commands, read_commands
from ajet_inbox.core.reading.durations import durations_in, show_duration
from ajet_inbox.core.reading.entries import Entry, entries
from ajet_inbox.core.reading.keys import MAIN, main_key
from ajet_inbox.core.reading.labels import Role
from ajet_inbox.core.reading.markdown import Form, Piece, split_lines, unwrapped
from ajet_inbox.core.reading.notebook import Notebook
from ajet_inbox.core.reading.resolve import command_folder, expand, interpreter, join, refer
from ajet_inbox.core.reading.sections import Outline, outline
from ajet_inbox.core.reading.times import Seconds, first_steps, is_unlimited, max_times
from ajet_inbox.core.reading.values import Found, is_none, paths
from ajet_inbox.core.training.ajet import conf_path, detect_mode

_T = TypeVar("_T")

MAX_LINES = 20_000
MAX_CHARS = 4 * 1024 * 1024

_FILE = re.compile(r"\.(?:py|sh|ya?ml|json|md|log|txt|csv)$|/(?:python|activate)[\d.]*$")
_PYTHON = re.compile(r"(?:^|/)(?:python|pypy)[\d.]*$")
_BARE_PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
_YAML = re.compile(r"\.ya?ml$", re.I)
_MAX_TIME = re.compile(r"\$?\{?max[_ ]?time\}?[^:=：]{0,20}[:=：]+(.*)", re.I)
_NO_PURPOSE = re.compile(
    r"\W*(?:hints?|notes?|warn\w*|caution|tips?|todo|examples?|format|提示|注意|警告|备注|示例|例如|格式)", re.I
)
_DESCRIPTION = re.compile(r"\W*(?:desc|说明|描述)", re.I)


def decode(data: bytes) -> tuple[str, tuple[Problem, ...]]:
    """The text of a dropped file: UTF-8, with or without a mark, or UTF-16 with one.

    What is not text is replaced, and said.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace"), ()
    text = data.decode("utf-8-sig", errors="replace")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"Line {line} holds bytes that are not UTF-8 text."
        return text, (Problem(code="not_utf8", line=line, message=message, hint="Save the file as UTF-8."),)
    return text, ()


def read_blueprint(text: str, *, name: str = "", folder_drop: bool = False) -> Reading:
    """What the blueprint `text` says. `name` is its title where it has none; `folder_drop`: it came with other files.

    Never fails: what cannot be read is None, and a problem tells why.
    """
    lines = split_lines(text)
    if len(lines) > MAX_LINES or len(text) > MAX_CHARS:
        message = f"The blueprint has {len(lines)} lines, {len(text)} characters; at most {MAX_LINES} lines are read."
        hint = "Put logs and data into files of their own."
        return Reading(blueprint=Blueprint(), problems=(Problem(code="too_long", line=1, message=message, hint=hint),))
    pieces = unwrapped(lines, main_key)
    return _Reader(outline(pieces), pieces, folder_drop=folder_drop).reading(name)


class _Reader:
    """Reads one section after the other."""

    def __init__(self, found: Outline, pieces: list[Piece], *, folder_drop: bool) -> None:
        self.outline, self.pieces = found, pieces
        self.notebook = Notebook(found.sections, folder_drop=folder_drop)
        self.rows: defaultdict[str, list[Entry]] = defaultdict(list)
        for section in found.sections:
            if section.key:
                self.rows[section.key] += entries(section)

    def reading(self, name: str) -> Reading:
        codebase = self._path("exp_codebase_dir", {}, prefers=lambda p: not _FILE.search(p))
        values = {"exp_codebase_dir": codebase}
        values["exp_venv_exe"] = self._interpreter(values)
        commands = self._commands("exp_launch_command")
        command = commands.command.text if commands.command else ""
        values["exp_result_dir"] = self._path("exp_result_dir", values, prefers=lambda p: not _FILE.search(p))
        values["exp_yaml_path"] = self._yaml(values, command)
        services = (*commands.services, *self._services())
        blueprint = Blueprint(
            title=self.outline.title or name or None,
            purpose=self._purpose(),
            codebase_dir=codebase,
            venv_exe=values["exp_venv_exe"],
            yaml_path=values["exp_yaml_path"],
            launch_command=expand(command, values) or None,
            services=services,
            result_dir=values["exp_result_dir"],
            max_time_s=self._max_time(),
            first_step_timeout_s=self._first_step(),
            mode=self._mode(command, services),
            notes=self._notes(),
            prepare_command=self._script("exp_prepare_command"),
            cleanup_command=self._script("exp_cleanup_command"),
            env=self._option("exp_env", options.env) or {},
            priority=self._option("exp_priority", options.number),
            after=self._option("exp_after", options.names) or (),
            gpus=self._option("exp_gpus", options.count),
            host=self._option("exp_host", options.word),
            plateau=self._option("exp_plateau", options.text),
            retry=self._option("exp_retry", options.text),
            parent=self._option("exp_parent", options.word),
            snapshot=self._option("exp_snapshot", options.truth),
            lines=self.notebook.lines,
        )
        return Reading(blueprint=blueprint, problems=tuple(self.notebook.problems))

    def _path(
        self,
        key: str,
        values: dict[str, str | None],
        *,
        prefers: Callable[[str], bool],
        tidy: Callable[[str], str] = str,
    ) -> str | None:
        """A required path, joined to the codebase where it is relative."""
        found = paths(self.rows[key], prefers=prefers, tidy=lambda path: _joined(tidy(path), values))
        if not found:
            self.notebook.missing(key)
        return self.notebook.single(key, found)

    def _interpreter(self, values: dict[str, str | None]) -> str | None:
        """A path; where there is none, a bare name as it is written, so that it can be told what is wrong with it."""
        key = "exp_venv_exe"
        rows = [row for row in self.rows[key] if row.role is not Role.ASIDE]
        bare = [
            Found(value=name, line=row.line + n)
            for row in rows
            for n, line in enumerate(row.lines)
            if _BARE_PYTHON.fullmatch(name := line.strip(options.QUOTES))
        ]
        if bare and not paths(rows, prefers=_is_python):
            return self.notebook.single(key, bare[:1])
        return self._path(key, values, prefers=_is_python, tidy=interpreter)

    def _yaml(self, values: dict[str, str | None], command: str) -> str | None:
        """What its section names; without one, or where that says none, what the command's `--conf` names."""
        key = "exp_yaml_path"
        rows = [row for row in self.rows[key] if not row.info.startswith(("yaml", "yml")) or len(row.lines) == 1]
        if not _says_none(rows) and (
            found := paths(rows, prefers=lambda path: bool(_YAML.search(path)), tidy=lambda path: _joined(path, values))
        ):
            return self.notebook.single(key, found)
        conf = conf_path(expand(command, values))
        if conf is None:
            return None
        self.notebook.lines[key] = self.notebook.lines["exp_launch_command"]
        return join(conf, command_folder(expand(command, values), values["exp_codebase_dir"]))

    def _commands(self, key: str) -> Commands:
        found = read_commands(self.rows[key])
        if found.command is None and not found.rivals:
            self.notebook.missing(key)
        rivals = found.rivals or ((found.command,) if found.command else ())
        self.notebook.single(key, [Found(value=c.text, line=c.line) for c in rivals])
        return found

    def _script(self, key: str) -> str | None:
        """An optional command."""
        rows = self.rows[key]
        if not rows or _says_none(rows):
            return None
        found = self._commands(key)
        return found.command.text if found.command else None

    def _services(self) -> tuple[Service, ...]:
        rows = self.rows["exp_services"]
        found = options.services(rows)
        if rows and not found and not _says_none(rows):
            self.notebook.missing("exp_services")
        return found

    def _purpose(self) -> str | None:
        key = "exp_purpose"
        rows = [row for row in self.rows[key] if not _NO_PURPOSE.match(row.label)]
        rows = [row for row in rows if not row.title] or rows
        rows = [row for row in rows if not _DESCRIPTION.match(row.label)] or rows
        if rows:
            self.notebook.lines[key] = rows[0].line
            return "\n".join(map(_prose, rows))
        if line := self.notebook.opened.get(key):
            self.notebook.say("value_missing", key, line, f"The section [{key}] is empty.", level=Level.WARNING)
        return None

    def _notes(self) -> str | None:
        notes = self.outline.notes
        said = notes.partition(":")[2] or notes.partition("：")[2] or notes
        return None if not notes or (is_none(said) and len(said.split()) == 1) else notes

    def _max_time(self) -> float:
        key = "exp_max_time"
        found = max_times(self.rows[key]) or self._max_time_elsewhere()
        if not found:
            self._no_max_time()
        self.notebook.single(key, [Found(value=show_duration(s.value), line=s.line) for s in found])
        if len(found) != 1:
            return DEFAULT_MAX_TIME_S
        if found[0].bare:
            message = f"{found[0].value / 3600:g} without a unit was read as hours."
            self.notebook.say("time_without_unit", key, found[0].line, message, "Write the unit.", Level.WARNING)
        return found[0].value

    def _no_max_time(self) -> None:
        key = "exp_max_time"
        why = "no limit is not possible" if is_unlimited(self.rows[key]) else "the blueprint names no other time"
        message = f"The run is ended after {show_duration(DEFAULT_MAX_TIME_S)}: {why}."
        line = self.notebook.opened.get(key, 1)
        self.notebook.say("max_time_default", key, line, message, "Write `12 hours`, for example.", Level.WARNING)

    def _max_time_elsewhere(self) -> list[Seconds]:
        """What `${MaxTime}` is said to be in the text around."""
        found: dict[float, Seconds] = {}
        for piece in self.pieces:
            for n, line in enumerate(() if piece.form is Form.CODE else piece.lines):
                said = _MAX_TIME.search(line)
                for value in durations_in(said[1])[:1] if said else ():
                    found.setdefault(value, Seconds(value=value, line=piece.line + n))
        return list(found.values())

    def _first_step(self) -> float | None:
        key = "exp_first_step_timeout"
        rows = self.rows[key]
        found = max_times(rows) or first_steps(rows) or first_steps(self.rows["exp_max_time"])
        if found and found[0].bare:
            self.notebook.say("time_without_unit", key, found[0].line, "The time has no unit.", "Write `20 minutes`.")
            return None
        if rows and not found and not _says_none(rows):
            self.notebook.missing(key)
        self.notebook.single(key, [Found(value=show_duration(s.value), line=s.line) for s in found])
        return found[0].value if len(found) == 1 else None

    def _mode(self, command: str, services: tuple[Service, ...]) -> Mode:
        if mode := self._option("exp_mode", options.mode):
            return mode
        rows = [row for key in MAIN for row in self.rows[key] if not row.code]
        prose = "\n".join([*(line for row in rows for line in (row.written, *row.lines)), self.outline.notes])
        return detect_mode(command, tuple(service.command for service in services), prose=prose)

    def _option(self, key: str, read: Callable[[list[Entry]], _T | None]) -> _T | None:
        """The value of an optional section; one that is there and cannot be read is a problem."""
        rows = self.rows[key]
        value = read(rows) if rows else None
        if rows and value is None and not _says_none(rows):
            self.notebook.missing(key)
        if value is not None:
            self.notebook.lines[key] = next((r.line for r in rows if r.role is not Role.ASIDE), rows[0].line)
        return value


def _says_none(rows: list[Entry]) -> bool:
    return any(is_none(row.lines[0]) for row in rows if row.role is not Role.ASIDE and not row.code)


def _joined(path: str, values: dict[str, str | None]) -> str:
    return join(refer(path, values), values.get("exp_codebase_dir"))


def _is_python(path: str) -> bool:
    return bool(_PYTHON.search(path))


def _prose(row: Entry) -> str:
    first = row.written if row.role is Role.OTHER else row.lines[0]
    return " ".join(filter(None, (line.strip() for line in (first, *row.lines[1:])))).replace("**", "")
