"""What a rule is: a small pure function over a case, and the codes of what it can find, told in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from ajet_inbox.core.blueprint import Blueprint, Kind, Level, Mode, Problem
from ajet_inbox.core.checking.facts import Facts
from ajet_inbox.core.checking.sources import Sources
from ajet_inbox.core.settings import Settings

_LONGEST = 600  # of a message, which may quote a stranger's file
AGENTJET = (Mode.CLASSIC, Mode.SWARM)


class Case(Struct, frozen=True, kw_only=True):
    """What is judged: a blueprint as read or as placed on this host, its text, and all that is known around it."""

    blueprint: Blueprint
    text: str = ""
    folder_drop: bool = False
    settings: Settings = Settings()
    facts: Facts = Facts()
    sources: Sources = Sources()

    @property
    def is_agentjet(self) -> bool:
        """Whether AgentJet runs it, so that its rules hold for the yaml."""
        return self.blueprint.mode in AGENTJET

    @property
    def is_configured(self) -> bool:
        """Whether something configures AgentJet: defaults alone say nothing about an experiment."""
        return self.is_agentjet and any(key.startswith("ajet.") for key in self.sources.config.settings)

    def line(self, section: str | None, fragment: str = "") -> int | None:
        """The line of a section's value, or of the first one from there on that holds `fragment`."""
        first = self.blueprint.lines.get(section) if section else None
        if not fragment:
            return first
        begin = first or 1
        rest = self.text.split("\n")[begin - 1 :]
        return next((begin + n for n, line in enumerate(rest) if fragment in line), first)


class Finding(Struct, frozen=True, kw_only=True):
    """A problem that a rule found. `certain`: nothing that comes back later, such as a mount, would cure it."""

    problem: Problem
    certain: bool = True


Findings = Iterator[Finding]


class Code(Struct, frozen=True, kw_only=True):
    """One thing that can be wrong: its stable name, what it is in one sentence, and what to do about it."""

    name: str
    kind: Kind = Kind.WORLD
    level: Level = Level.WARNING
    about: str
    fix: str

    def found(
        self,
        case: Case,
        section: str | None,
        message: str,
        *,
        fragment: str = "",
        level: Level | None = None,
        certain: bool = True,
        fix: str | None = None,
    ) -> Finding:
        """This problem in `case`. `fragment` is what to look for, to name the very line of a section."""
        problem = Problem(
            code=self.name,
            kind=self.kind,
            level=level or self.level,
            section=section,
            line=case.line(section, fragment),
            message=message if len(message) <= _LONGEST else f"{message[: _LONGEST - 1]}…",
            hint=fix or self.fix,
        )
        return Finding(problem=problem, certain=certain)


class Rule(Struct, frozen=True, kw_only=True):
    """A check and what it can find."""

    check: Callable[[Case], Findings]
    codes: tuple[Code, ...]


def rule(check: Callable[[Case], Findings], *codes: Code) -> Rule:
    """The rule that `check` is."""
    return Rule(check=check, codes=codes)
