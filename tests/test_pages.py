"""The pages of a run: compared with golden files, the same in both languages, and safe whatever they show.

AJET_GOLDEN=write renews the golden files; look at the difference before keeping it.
"""

from __future__ import annotations

import csv
import hashlib
import html.parser
import json
import os
import re
import time
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from loguru import logger
from markdown_it import MarkdownIt
from msgspec.structs import replace

from ajet_inbox.core.blueprint import Problem
from ajet_inbox.core.journal import AnyEntry, Finished, Noted, Reason
from ajet_inbox.core.run import fold
from ajet_inbox.core.settings import Language
from ajet_inbox.core.telling.markup import inline
from ajet_inbox.core.telling.report import Report
from ajet_inbox.core.telling.words import WORDS, as_text, word
from ajet_inbox.edge.pages import flag, render_pages, render_run
from tests.journals import DATA, JOURNALS, life, tell, told

TEMPLATES = Path(__file__).parents[1] / "ajet_inbox" / "templates"
FLAG_KEYS = (
    "run name key drop_sha256 outcome reason exit_code attempts started_at finished_at host result result_sha256"
)
LANGUAGES = list(Language)
MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
WHEN = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def render(report: Report, language: Language = Language.EN, templates_dir: Path | None = None) -> dict[str, str]:
    return {name: data.decode() for name, data in render_run(report, language, templates_dir)}


# ---- golden files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", JOURNALS)
def test_as_the_golden_files(name: str, language: Language) -> None:
    pages = render(told(name), language)
    for page in ("trial_log.md", "result.md"):
        golden = DATA / "golden" / f"{name}.{language}.{page}"
        if os.environ.get("AJET_GOLDEN") == "write":
            golden.parent.mkdir(exist_ok=True)
            golden.write_text(pages[page])
        assert pages[page] == golden.read_text()


def blocks(markdown: str) -> list[str]:
    """The kinds of blocks of a page, in order, whatever they say."""
    return [f"{token.type} {token.tag}" for token in MARKDOWN.parse(markdown) if token.type != "inline"]


@pytest.mark.parametrize("name", JOURNALS)
def test_both_languages_have_the_same_structure(name: str) -> None:
    english, chinese = (render(told(name), language) for language in (Language.EN, Language.ZH))
    assert english.keys() == chinese.keys()
    for page in ("trial_log.md", "result.md"):
        assert blocks(english[page]) == blocks(chinese[page])
        assert "table_open table" in blocks(english[page])
    assert tags(english["index.html"]) == tags(chinese["index.html"])


def test_no_word_is_missing() -> None:
    """A word that is not in the table shows as its key."""
    shown = [page for name in JOURNALS for page in render(told(name)).values()]
    assert not [key for page in shown for key in re.findall(r"\b(?:page|end|stop|moment)\.[a-z_]+\b", page)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_does_not_apply_is_not_called_unknown(language: Language) -> None:
    pages = render(told("rejected"), language)
    assert not [
        name for name in ("trial_log.md", "result.md", "index.html") if word("unknown", language) in pages[name]
    ]


def test_the_page_for_a_browser_holds_what_the_result_holds() -> None:
    page = render(told("succeeded"))["index.html"]
    report = told("succeeded")
    paths = (report.command.codebase_dir, report.command.yaml_path, report.places.result_dir)
    assert all(path and f"<td>{path}</td>" in page for path in paths)
    assert all(gpu in page for gpu in report.gpus)
    assert "<th>Time limit</th>" in page
    assert 'href="metrics.csv"' in page
    for row in report.scores[0].rows:
        cells = "".join(f"<td>{as_text(value, Language.EN)}</td>" for value in (row.step, *row.values))
        assert cells in page
    rejected = render(told("rejected"))["index.html"]
    assert "Add the command that starts the experiment." in rejected
    assert 'href="metrics.csv"' not in rejected


@pytest.mark.parametrize("language", LANGUAGES)
def test_why_it_failed_stands_at_the_top(language: Language) -> None:
    pages = render(told("failed"), language)
    for name in ("result.md", "index.html"):
        assert "ModuleNotFoundError" in "\n".join(pages[name].split("<table>")[0].splitlines()[:25])


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["succeeded", "failed", "cancelled_queued"])
def test_a_run_that_goes_on_is_told_at_every_moment(name: str, language: Language) -> None:
    _, entries = life(name)
    for length in range(2, len(entries)):
        run = fold(name, entries[:length])
        if run is None or run.outcome:
            continue
        pages = dict(render_pages(tell(run, entries[:length]), language, at=WHEN))
        assert pages.keys() == {"trial_log.md", "index.html"}
        for page in pages.values():
            assert b"2026-03-04 05:06:07" in page
            assert word(run.state, language).encode() in page
            assert b'href="result.md"' not in page


def test_of_a_run_that_goes_on_only_the_newest_evaluation_is_told() -> None:
    _, entries = life("plateaued")
    cut = next(length for length in range(len(entries), 0, -1) if not _ended(entries[:length]))
    run = fold("plateaued", entries[:cut])
    assert run is not None
    values = "{'global_steps': 7, 'pass_n': 1, 'total_tasks': 8, 'task_pass_rate@1': 0.125, 'mean_reward': 0.5}\n"
    page = dict(render_pages(tell(run, entries[:cut], values=values), Language.EN, at=WHEN))["index.html"].decode()
    assert "<tr><td>7</td><td>0.1250</td><td>0.5000</td></tr>" in page
    assert WORDS["page.gain"][0] not in page


def _ended(entries: tuple[AnyEntry, ...]) -> bool:
    return any(isinstance(entry, Finished) for entry in entries)


# ---- what programs read ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", JOURNALS)
def test_the_flag_has_the_fields_of_the_contract(name: str, tmp_path: Path) -> None:
    report = told(name)
    written = flag(report, b"the result", tmp_path)
    read = yaml.safe_load(written)
    assert " ".join(read) == FLAG_KEYS
    assert re.findall(r"^\w+", written.decode(), re.MULTILINE) == FLAG_KEYS.split()
    assert (read["run"], read["outcome"], read["attempts"]) == (name, report.outcome, len(report.attempts))
    assert read["reason"].keys() == {"code", "text"}
    assert datetime.fromisoformat(read["finished_at"]).utcoffset() is not None
    assert read["result"] == str(tmp_path / "result.md")
    assert read["result_sha256"] == hashlib.sha256(b"the result").hexdigest()


NASTY = "x: {a}\n- b # c\t'\" \x1b[31m \u202e --- !!python/object:os.system &a *a é 你好 " + "long " * 100


def test_a_flag_says_any_text_as_it_is(tmp_path: Path) -> None:
    report = replace(told("failed"), name=NASTY, key="2026-01-01", reason=Reason(code="yes", text=NASTY))
    written = flag(report, b"", tmp_path)
    read = yaml.safe_load(written)
    assert (read["name"], read["key"], read["reason"]) == (NASTY, "2026-01-01", {"code": "yes", "text": NASTY})
    assert "\x1b" not in written.decode()


def test_a_long_reason_stays_on_one_line(tmp_path: Path) -> None:
    reason = Reason(code="a", text="word " * 60)
    assert f"text: '{reason.text}'".encode() in flag(replace(told("failed"), reason=reason), b"", tmp_path)


def test_result_json_and_metrics_csv_hold_the_evaluations() -> None:
    pages = render(told("succeeded"))
    result = json.loads(pages["result.json"])
    assert (result["run"], result["outcome"], result["schema"]) == ("succeeded", "succeeded", 1)
    assert [e["global_steps"] for e in result["metrics"]["evals"]] == [0, 10, 20, 30, 40]
    rows = list(csv.DictReader(StringIO(pages["metrics.csv"])))
    assert [row["task_pass_rate@1"] for row in rows] == ["0.2", "0.225", "0.25", "0.275", "0.3"]
    assert (rows[1]["mean_reward"], rows[1]["dataset"]) == ("", "gsm8k")
    assert "metrics.csv" not in render(told("failed"))


# ---- hostile text ------------------------------------------------------------------------------------------------

HOSTILE = [
    "<script>alert(1)</script>",
    "a | b | c\n| d |",
    "{{7*7}} {% for x in y %} ${7*7} #{7*7}",
    "```\n# a heading\n```` \n~~~",
    "`code` *bold* _em_ [link](javascript:alert(1)) ![img](http://h/x)",
    "</pre></td></table><h1>big</h1> &lt; &amp;",
    "\u202egnp.exe \u2066x\u2069 \u200b",
    "\x00\x07\x1b]0;title\x07 \x9b31m \x85",
    "# heading\n\n- item\n\n    code",
    "' onmouseover='x' \" onclick=\"y\"",
    "x" * 1_000_000,
    "`" * 5_000,
    "a" + "\n" * 100_000 + "b",
]
ALLOWED = {"html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "span", "table", "tr", "th", "td", "pre"}
ALLOWED |= {"ul", "li", "a"}


class Tags(html.parser.HTMLParser):
    """The tags of a page with the names of their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, tuple[str, ...]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, tuple(name for name, _ in attrs)))


def tags(page: str) -> list[tuple[str, tuple[str, ...]]]:
    parser = Tags()
    parser.feed(page)
    parser.close()
    return parser.found


def everywhere(text: str) -> Report:
    """A report in which every text that a stranger could have written is `text`."""
    run, entries = life("failed")
    b = replace(
        run.blueprint,
        title=text,
        purpose=text,
        launch_command=text,
        prepare_command=text,
        codebase_dir=text,
        env={"X": text},
    )
    problem = Problem(code="c", message=text, hint=text, line=3)
    reason = Reason(code="exit_code", text=text)
    noted = Noted(at=entries[-1].at, code="n", text=text)
    run = replace(run, blueprint=b, problems=(problem,), reason=reason, drop=replace(run.drop, name=text))
    values = str({"global_steps": 0, "mean_reward": 0.5, "target_dataset_name": text[:200]}) + "\n"
    return tell(run, (*entries[:-1], noted, entries[-1]), console=text.encode(), values=values)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_text(text: str, language: Language) -> None:
    tame, pages = render(everywhere("tame"), language), render(everywhere(text), language)
    for page in ("trial_log.md", "result.md"):
        assert blocks(pages[page]) == blocks(tame[page])
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", pages[page])
    assert tags(pages["index.html"]) == tags(tame["index.html"])
    assert {tag for tag, _ in tags(pages["index.html"])} <= ALLOWED
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", pages["index.html"])
    json.loads(pages["result.json"])


@given(st.text(alphabet="a1 #-+=*_`~[]()<>|!&;\\\n.:/x{}%\"'^$", min_size=1, max_size=40))
@example("&amp; &#35; <b> http://h/x www.h.x a@b.c")
def test_a_line_of_any_text_is_nothing_but_text(text: str) -> None:
    for before, after in (("- ", ""), ("**w**: ", ""), ("### Dataset ", ""), ("| a | b |\n|---|---|\n| ", " | y |")):
        tokens = MARKDOWN.parse(f"{before}{inline(text)}{after}")
        tame = MARKDOWN.parse(f"{before}x{after}")
        if inline(text):
            assert [token.type for token in tokens] == [token.type for token in tame]
        kinds = {child.type for token in tokens for child in token.children or ()}
        assert kinds <= {"text", "text_special", "strong_open", "strong_close"}


def test_template_syntax_is_shown_not_run() -> None:
    pages = render(everywhere("{{7*7}}"))
    assert "{{7*7}}" in pages["result.md"]
    assert "{{7*7}}" in pages["index.html"]
    assert not any("49" in line for line in pages["result.md"].splitlines() if "7*7" in line)


def test_no_secret_is_on_any_page() -> None:
    report = everywhere("run --api-key s3cr3tvalue https://me:s3cr3tvalue@h/x")
    assert "s3cr3tvalue" not in "".join(render(replace(report, name="x")).values())


# ---- templates of the user's -------------------------------------------------------------------------------------


def test_a_template_of_the_users_comes_first(tmp_path: Path) -> None:
    (tmp_path / "result.en.md.j2").write_text("Mine: {{ report.run }} {{ report.slot | code }}\n")
    pages = render(told("failed"), templates_dir=tmp_path)
    assert pages["result.md"] == "Mine: failed `gpu-1-0`\n"
    assert pages["trial_log.md"] == render(told("failed"))["trial_log.md"]


BROKEN = [
    "{% for %}",
    "{{ report.nothing }}",
    "{{ nothing }}",
    "{{ 1 / 0 }}",
    "{% include 'none.j2' %}",
    "{{ 1 | none }}",
]


@pytest.mark.parametrize("template", BROKEN)
def test_a_broken_template_is_told_and_the_built_in_one_used(tmp_path: Path, template: str) -> None:
    (tmp_path / "result.en.md.j2").write_text(template)
    messages: list[str] = []
    sink = logger.add(lambda message: messages.append(message.record["message"]), level="WARNING")
    try:
        pages = render(told("failed"), templates_dir=tmp_path)
    finally:
        logger.remove(sink)
    assert pages == render(told("failed"))
    assert len(messages) == 1
    assert "result.en.md.j2" in messages[0]


def test_a_folder_of_templates_that_is_away_changes_nothing(tmp_path: Path) -> None:
    assert render(told("failed"), templates_dir=tmp_path / "none") == render(told("failed"))


def test_pages_need_nothing_from_elsewhere() -> None:
    pages = [data for _, data in render_run(told("failed"), Language.EN)]
    assert not any(re.search(rb"(?:src|href)=\"(?:https?:)?//|@import|url\(", page) for page in pages)


# ---- speed -------------------------------------------------------------------------------------------------------


def test_a_run_is_told_in_no_time() -> None:
    """It happens between two experiments, and takes 2 ms; the limit catches what grows, not a busy machine."""
    spent = []
    for _ in range(10):
        began = time.process_time()
        report = told("plateaued")
        pages = dict(render_run(report, Language.EN))
        flag(report, pages["result.md"], Path("/r"))
        spent.append(time.process_time() - began)
    assert min(spent) < 0.05, spent
