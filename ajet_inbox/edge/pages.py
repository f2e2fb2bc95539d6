"""What people and programs read of a run: Markdown, HTML, JSON, CSV and the flag. Renders only; the caller writes."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path

import msgspec
import yaml
from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PackageLoader, StrictUndefined
from loguru import logger
from markupsafe import Markup

from ajet_inbox.core.settings import Language
from ajet_inbox.core.telling import markup, words
from ajet_inbox.core.telling.report import Report
from ajet_inbox.core.telling.snapshot import iso, reason_given
from ajet_inbox.core.telling.story import Moment

RESULT = "result.md"
_NO_FOLDING = 1_000_000  # a folded sentence cannot be found with grep


def render_run(report: Report, language: Language, templates_dir: Path | None = None) -> Iterator[tuple[str, bytes]]:
    """The files of a run by name, for its folder: `metrics.csv` only where there are evaluations.

    A template of the user's in `templates_dir` that fails is logged, and the built-in one is used.
    """
    yield from render_pages(report, language, templates_dir)
    facts = {"report": report, "at": None}
    yield RESULT, _render(f"result.{language}.md.j2", facts, language, templates_dir)
    yield "result.json", msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n"
    if evals := report.metrics["evals"]:
        yield "metrics.csv", _csv(evals)


def render_pages(
    report: Report, language: Language, templates_dir: Path | None = None, at: datetime | None = None
) -> Iterator[tuple[str, bytes]]:
    """The files that tell of a run while it goes on, as of `at`, and after its end; templates as in `render_run`."""
    facts = {"report": report, "at": at}
    yield "trial_log.md", _render(f"trial_log.{language}.md.j2", facts, language, templates_dir)
    yield "index.html", _render("run.html.j2", facts, language, templates_dir)


def flag(report: Report, result: bytes, folder: Path) -> bytes:
    """finish.flag for `folder`, where result.md holds `result` (contract section 3)."""
    facts = {
        "run": report.run,
        "name": report.name,
        "key": report.key,
        "drop_sha256": report.drop_sha256,
        "outcome": report.outcome.value if report.outcome else None,
        "reason": reason_given(report.reason),
        "exit_code": report.exit_code,
        "attempts": len(report.attempts),
        "started_at": iso(report.times.started_at),
        "finished_at": iso(report.times.finished_at),
        "host": report.host,
        "result": str(folder / RESULT),
        "result_sha256": hashlib.sha256(result).hexdigest(),
    }
    return yaml.safe_dump(facts, allow_unicode=True, sort_keys=False, width=_NO_FOLDING).encode()


def _csv(evals: Sequence[Mapping[str, object]]) -> bytes:
    columns = tuple(dict.fromkeys(key for found in evals for key in found))
    text = io.StringIO(newline="")
    table = csv.DictWriter(text, columns, lineterminator="\n")
    table.writeheader()
    table.writerows(evals)
    return text.getvalue().encode()


# ---- templates ----------------------------------------------------------------------------------------------------


def _render(name: str, facts: Mapping[str, object], language: Language, templates_dir: Path | None) -> bytes:
    if templates_dir is not None:
        try:
            return _template(name, facts, language, templates_dir)
        except Exception as error:  # whatever a template of the user's does wrong: results are told all the same
            logger.warning("template {} in {} failed, so the built-in one is used: {}", name, templates_dir, error)
    return _template(name, facts, language, None)


def _template(name: str, facts: Mapping[str, object], language: Language, templates_dir: Path | None) -> bytes:
    environment = _environment(language, name.endswith(".html.j2"), templates_dir)
    return environment.get_template(name).render(facts).encode()


@lru_cache(maxsize=8)
def _environment(language: Language, html: bool, templates_dir: Path | None) -> Environment:
    """Templates with the words of a language. What they show is escaped, unless a filter here has made it safe."""
    built_in = PackageLoader("ajet_inbox")
    environment = Environment(
        loader=ChoiceLoader([FileSystemLoader(templates_dir), built_in]) if templates_dir else built_in,
        autoescape=html,  # noqa: S701 - Markdown is escaped by `finalize`
        finalize=partial(_shown, language, markup.visible if html else markup.inline),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals["language"] = language.value
    environment.filters |= _filters(language)
    return environment


def _shown(language: Language, escape: Callable[[str], str], value: object) -> str:
    """What `{{ value }}` puts into a page: Markdown has no escaping of its own in the template engine."""
    return value if isinstance(value, Markup) else escape(words.as_text(value, language))


def _filters(language: Language) -> dict[str, Callable[..., object]]:
    def moment(told: Moment) -> str:
        return words.say(f"moment.{told.what}", told.about, language)

    def given(value: object, otherwise: str = "unknown") -> object:
        return words.word(otherwise, language) if value is None else value

    def code(value: object, otherwise: str = "unknown") -> str:
        if value is None:
            return words.word(otherwise, language)
        return Markup(markup.code(words.as_text(value, language)))  # noqa: S704 - it is escaped

    def duration(seconds: float | None, otherwise: str = "unknown") -> str:
        return words.word(otherwise, language) if seconds is None else words.duration(seconds, language)

    def fence(text: str, of: str = "text") -> str:
        return Markup(markup.fence(text, of))  # noqa: S704 - it is escaped

    return {
        "word": partial(words.word, language=language),
        "say": partial(words.say, language=language),
        "reason": partial(words.reason_text, language=language),
        "given": given,
        "duration": duration,
        "gain": lambda gain: None if gain is None else f"{gain:+.4f}",
        "moment": moment,
        "lines": "\n".join,  # the engine's own `join` would escape, and what is escaped is not made visible
        "code": code,
        "fence": fence,
    }
