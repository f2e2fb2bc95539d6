"""The text of drafted blueprints, and of the prompt for a coding agent. Renders only; the caller writes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PackageLoader, StrictUndefined

from ajet_inbox.core.blueprint import Problem
from ajet_inbox.core.drafting.draft import Draft
from ajet_inbox.core.drafting.phrases import duration
from ajet_inbox.core.settings import Language
from ajet_inbox.core.telling import markup


def render_blueprint(draft: Draft, language: Language, templates_dir: Path | None = None) -> str:
    """The blueprint.

    Raises:
        jinja2.TemplateError: a template of the user's in `templates_dir` is wrong.
    """
    return _environment(language, templates_dir).get_template(f"blueprint.{language}.md.j2").render(draft=draft)


def render_prompt(
    draft: Draft,
    blueprint: str,
    language: Language,
    *,
    trial_log: str = "",
    problems: Sequence[Problem] = (),
    templates_dir: Path | None = None,
) -> str:
    """What a coding agent is told: the rules, a first draft, and what was wrong with its last round.

    Raises:
        jinja2.TemplateError: a template of the user's in `templates_dir` is wrong.
    """
    facts = {"draft": draft, "blueprint": blueprint, "trial_log": trial_log, "problems": problems}
    return _environment(language, templates_dir).get_template("draft_prompt.md.j2").render(facts)


@lru_cache(maxsize=4)
def _environment(language: Language, templates_dir: Path | None) -> Environment:
    built_in = PackageLoader("ajet_inbox")
    environment = Environment(  # noqa: S701 - Markdown: what is shown was made one plain line, or is fenced
        loader=ChoiceLoader([FileSystemLoader(templates_dir), built_in]) if templates_dir else built_in,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals["language"] = language.value
    environment.filters |= {
        "code": markup.code,
        "fence": markup.fence,
        "duration": partial(duration, language=language),
        "assignments": lambda env: "\n".join(f"{name}={value}" for name, value in env.items()),
    }
    return environment
