"""What was noted while a blueprint was read: its problems, and the lines of its values."""

from __future__ import annotations

import re

from ajet_inbox.core.blueprint import Level, Problem
from ajet_inbox.core.reading.keys import REQUIRED
from ajet_inbox.core.reading.sections import Section
from ajet_inbox.core.reading.values import Found

_HINTS = {
    "exp_codebase_dir": "Write the absolute path of the code, alone on a line below the heading.",
    "exp_venv_exe": "Write the absolute path of the python to use, such as /srv/code/.venv/bin/python.",
    "exp_launch_command": "Write the command in a ```bash fence below the heading.",
    "exp_result_dir": "Write the absolute path of the folder for the results.",
    "exp_purpose": "Say in a sentence what the experiment is for.",
}


class Notebook:
    """Collects problems and lines while the sections are read one after the other."""

    def __init__(self, sections: tuple[Section, ...], *, folder_drop: bool) -> None:
        self.problems: list[Problem] = []
        self.lines: dict[str, int] = {}
        self.opened: dict[str, int] = {}
        self.folder_drop = folder_drop
        for section in sections:
            self._opens(section)
        for key in (*REQUIRED, "exp_purpose"):
            if key not in self.opened:
                level = Level.ERROR if key in REQUIRED else Level.WARNING
                self.say("section_missing", key, 1, f"The section [{key}] is missing.", self._hint(key), level)

    def say(self, code: str, section: str, line: int, message: str, hint: str = "", level: Level = Level.ERROR) -> None:
        """Note a problem."""
        problem = Problem(code=code, section=section, line=line, message=message, hint=hint, level=level)
        self.problems.append(problem)

    def missing(self, key: str) -> None:
        """A section that is there says nothing that can be read. One that is not there was noted before."""
        if key in self.opened:
            message = f"No value can be told from the section [{key}]."
            self.say("value_missing", key, self.opened[key], message, self._hint(key))

    def single(self, key: str, found: list[Found]) -> str | None:
        """The one value of a section; several are a problem that shows them all."""
        if len(found) == 1:
            self.lines[key] = found[0].line
            return found[0].value
        if found:
            shown = "; ".join(f"line {f.line}: {' '.join(f.value.split())[:200]}" for f in found[:8])
            hint = "Leave one of them, or mark the others as notes."
            self.say("value_ambiguous", key, found[0].line, f"[{key}] could mean several things: {shown}.", hint)
        return None

    def _opens(self, section: Section) -> None:
        if section.key is None:
            message = f"There is no section [{section.written}]; it was not read."
            self.say("section_unknown", section.written, section.line, message, level=Level.WARNING)
            return
        self.opened.setdefault(section.key, section.line)
        if re.sub(r"[\s-]+", "_", section.written.strip().lower()) != section.key:
            message = f"[{section.written}] was read as [{section.key}]."
            self.say("section_misspelled", section.key, section.line, message, f"Write [{section.key}].", Level.WARNING)

    def _hint(self, key: str) -> str:
        if key == "exp_codebase_dir" and self.folder_drop:
            return "Write an absolute path, or ./ for the dropped folder."
        return _HINTS.get(key, f"Write the value of [{key}] alone on a line below its heading.")
