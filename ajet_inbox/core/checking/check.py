"""All rules, and what they find: in the text, in the world that it names, and against the settings' own policy."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from ajet_inbox.core.blueprint import Kind, Level, Problem
from ajet_inbox.core.checking.rule import Case, Finding, Rule
from ajet_inbox.core.checking.rules import commands, machine, paths, policy, sections, training, two_places, yaml_text

_MOST_OF_A_RULE = 20  # nobody reads more of one kind, and a script of thousands of commands must not take minutes

_ORDER = tuple(Level)

# In the order in which problems of one level are told, the reason for a rejection first.
RULES: tuple[Rule, ...] = (
    *sections.RULES,
    *commands.RULES,
    *paths.RULES,
    *yaml_text.RULES,
    *training.RULES,
    *two_places.RULES,
    *machine.RULES,
    *policy.RULES,
)
POLICY: tuple[Rule, ...] = policy.FORBIDDING


def worst_first(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """All of them, errors before warnings, and what is only worth knowing last."""
    return tuple(sorted(problems, key=lambda problem: _ORDER.index(problem.level)))


def text_problems(case: Case) -> tuple[Problem, ...]:
    """What is wrong in the text alone, and stays wrong for ever; of a blueprint as read, before it is placed."""
    return tuple(finding.problem for finding in _findings(RULES, case, Kind.TEXT))


def world_problems(case: Case) -> tuple[Finding, ...]:
    """What is wrong in the world, as far as the facts tell; of a blueprint as placed on this host."""
    return _findings(RULES, case, Kind.WORLD)


def policy_problems(case: Case) -> tuple[Problem, ...]:
    """What the settings forbid. It goes before all else: what is refused is neither asked nor delivered to."""
    return tuple(finding.problem for finding in _findings(POLICY, case, Kind.TEXT))


def _findings(rules: tuple[Rule, ...], case: Case, kind: Kind) -> tuple[Finding, ...]:
    chosen = (rule for rule in rules if rule.codes[0].kind is kind)
    return tuple(finding for rule in chosen for finding in islice(rule.check(case), _MOST_OF_A_RULE))
