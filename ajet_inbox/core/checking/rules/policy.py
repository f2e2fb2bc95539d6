"""What the settings forbid: who may drop, and where codebases may live."""

from __future__ import annotations

from pathlib import PurePosixPath

from ajet_inbox.core.blueprint import Kind, Level
from ajet_inbox.core.checking.rule import Case, Code, Findings, rule

_OTHERS_WRITE, _GROUP_WRITES = 0o002, 0o020

REFUSED = Code(
    name="refused_by_policy",
    kind=Kind.TEXT,
    level=Level.ERROR,
    about="The settings under `security:` forbid it: who dropped it, or where its codebase lies. Nothing is delivered.",
    fix="Ask whoever keeps this home.",
)
OPEN_TO_ALL = Code(
    name="inbox_open_to_all",
    about="EVERY user of this machine may write into the inbox, and so run commands as the watcher's user.",
    fix="chmod o-w the inbox.",
)
OPEN_TO_GROUP = Code(
    name="inbox_open_to_group",
    level=Level.INFO,
    about="The group of the inbox may drop blueprints too.",
    fix="Nothing, if that is meant; else chmod g-w the inbox.",
)


def _owner(case: Case) -> Findings:
    allowed = case.settings.security.owners
    if not allowed:
        return
    strangers = [user for user in case.facts.dropped_by if user not in allowed]
    if strangers or not case.facts.dropped_by:
        who = strangers[0] if strangers else "nobody knows who"
        yield REFUSED.found(case, None, f"It was dropped by {who}, and only {', '.join(allowed)} may drop.")


def _codebase(case: Case) -> Findings:
    roots, codebase = case.settings.security.codebases, case.blueprint.codebase_dir
    if not roots or codebase is None:
        return
    real = case.facts.about(codebase).real or codebase
    allowed = [case.facts.about(root).real or root for root in roots]
    if not any(PurePosixPath(real).is_relative_to(root) for root in allowed):
        message = f"The codebase {real} lies outside {', '.join(roots)}."
        yield REFUSED.found(case, "exp_codebase_dir", message)


def _inbox(case: Case) -> Findings:
    path = case.facts.inbox
    mode = case.facts.about(path).mode if path else 0
    if mode & _OTHERS_WRITE:
        message = f"EVERY user of this machine may write {path}, and so run commands as the watcher's user."
        yield OPEN_TO_ALL.found(case, None, message, fix=f"chmod o-w {path}")
    elif mode & _GROUP_WRITES:
        yield OPEN_TO_GROUP.found(case, None, f"The group of {path} may drop blueprints too.")


FORBIDDING = (rule(_owner, REFUSED), rule(_codebase, REFUSED))
RULES = (rule(_inbox, OPEN_TO_ALL, OPEN_TO_GROUP),)
