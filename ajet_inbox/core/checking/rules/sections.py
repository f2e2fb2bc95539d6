"""What is wrong in the text of the sections, whatever the world is like."""

from __future__ import annotations

import re

from ajet_inbox.core.blueprint import Blueprint, Kind, Level
from ajet_inbox.core.checking.rule import Case, Code, Findings, rule
from ajet_inbox.core.reading.entries import Entry, entries
from ajet_inbox.core.reading.keys import main_key
from ajet_inbox.core.reading.labels import Role
from ajet_inbox.core.reading.markdown import split_lines, unwrapped
from ajet_inbox.core.reading.resolve import command_folder, is_below, is_placeholder, is_rooted, join
from ajet_inbox.core.reading.sections import outline
from ajet_inbox.core.reading.shell import looks_like_command
from ajet_inbox.core.training.ajet import conf_path

_ABSOLUTE = re.compile(r"(?:^|[\s`'\"“(（=:：|,，*])~?/\w|exp_codebase_dir")

CODEBASE_RELATIVE = Code(
    name="codebase_relative",
    kind=Kind.TEXT,
    level=Level.ERROR,
    about="The codebase is relative, and the blueprint came without a folder that it could be relative to.",
    fix="Write an absolute path, or drop a folder that holds blueprint.md and the code.",
)
PATH_RELATIVE = Code(
    name="path_relative",
    kind=Kind.TEXT,
    level=Level.ERROR,
    about="A path is relative, and there is no codebase to which.",
    fix="Write an absolute path.",
)
PATH_WRITTEN_RELATIVE = Code(
    name="path_written_relative",
    kind=Kind.TEXT,
    about="A path is relative where an absolute one is asked for; it is taken to be relative to the codebase.",
    fix="Write the absolute path.",
)
INTERPRETER_UNCLEAR = Code(
    name="interpreter_unclear",
    kind=Kind.TEXT,
    level=Level.ERROR,
    about="The interpreter is a bare name, which does not say which one is meant.",
    fix="Write its absolute path.",
)
PLACEHOLDER = Code(
    name="placeholder_unresolved",
    kind=Kind.TEXT,
    level=Level.ERROR,
    about="A path still holds a placeholder, such as `<path>` or `/path/to/code`.",
    fix="Write the path itself.",
)
RESULT_AT_ROOT = Code(
    name="result_dir_is_root",
    kind=Kind.TEXT,
    level=Level.ERROR,
    about="The result folder is /.",
    fix="Name a folder.",
)
YAML_DIFFERS = Code(
    name="yaml_differs",
    kind=Kind.TEXT,
    about="The command's --conf and the yaml's section name different files; the command decides.",
    fix="Let both name the same file.",
)
NOT_EXECUTED = Code(
    name="bp_notes_not_executed",
    kind=Kind.TEXT,
    about="The notes tell of preparation, cleanup or what to do after a failure, which nobody will execute: notes are"
    " only kept.",
    fix="Write the commands into [exp_prepare_command] or [exp_cleanup_command], what to do again into [exp_retry].",
)
NO_EXPLANATION = Code(
    name="section_unexplained",
    kind=Kind.TEXT,
    level=Level.INFO,
    about="A section has a value and no word about it, which whoever reads the results later will miss.",
    fix="Add a sentence about it.",
)


def _paths(blueprint: Blueprint) -> list[tuple[str, str]]:
    named = (
        ("exp_codebase_dir", blueprint.codebase_dir),
        ("exp_venv_exe", blueprint.venv_exe),
        ("exp_yaml_path", blueprint.yaml_path),
        ("exp_result_dir", blueprint.result_dir),
    )
    return [(section, path) for section, path in named if path is not None]


def _codebase(case: Case) -> Findings:
    codebase = case.blueprint.codebase_dir
    if codebase is not None and not is_rooted(codebase) and not case.folder_drop:
        message = f"The codebase {codebase} is relative, and the blueprint came without a folder."
        yield CODEBASE_RELATIVE.found(case, "exp_codebase_dir", message)


def _relative(case: Case) -> Findings:
    """A relative path is joined to the codebase by the reader, so only the line that it was written on tells."""
    blueprint = case.blueprint
    for section, path in (("exp_venv_exe", blueprint.venv_exe), ("exp_result_dir", blueprint.result_dir)):
        if path is None or case.folder_drop or _is_bare_python(section, path):
            continue
        if blueprint.codebase_dir is None and not is_rooted(path):
            yield PATH_RELATIVE.found(case, section, f"{path} is relative, and there is no codebase to which.")
        elif (
            path.startswith(("/", "~"))
            and (line := blueprint.lines.get(section))
            and not _is_written_absolute(case, line)
        ):
            yield PATH_WRITTEN_RELATIVE.found(case, section, f"It was written relative, and read as {path}.")


def _is_written_absolute(case: Case, line: int) -> bool:
    lines = case.text.split("\n")[line - 1 : line]
    return not lines or bool(_ABSOLUTE.search(lines[0]))


def _is_bare_python(section: str, path: str) -> bool:
    return section == "exp_venv_exe" and "/" not in path and not is_placeholder(path)


def _interpreter_name(case: Case) -> Findings:
    path = case.blueprint.venv_exe
    if path is not None and _is_bare_python("exp_venv_exe", path):
        yield INTERPRETER_UNCLEAR.found(case, "exp_venv_exe", f"{path} does not say which interpreter.")


def _placeholders(case: Case) -> Findings:
    codebase = case.blueprint.codebase_dir
    for section, path in _paths(case.blueprint):
        is_told = codebase is not None and is_placeholder(codebase) and is_below(path, codebase)
        if is_placeholder(path) and not is_told:
            yield PLACEHOLDER.found(case, section, f"{path} still holds a placeholder.")


def _result_at_root(case: Case) -> Findings:
    if case.blueprint.result_dir == "/":
        yield RESULT_AT_ROOT.found(case, "exp_result_dir", "Results cannot go to /.")


def _other_yaml(case: Case) -> Findings:
    blueprint = case.blueprint
    command = blueprint.launch_command or ""
    conf, yaml = conf_path(command), blueprint.yaml_path
    if conf is None or yaml is None or join(conf, command_folder(command, blueprint.codebase_dir)) == yaml:
        return
    message = f"The command's --conf names {conf}, the section {yaml}; the command decides."
    yield YAML_DIFFERS.found(case, "exp_yaml_path", message)


# ---- notes --------------------------------------------------------------------------------------------------------

_DONE = "installed|downloaded|started|created|copied|exported|mounted|prepared"
_BEFORE = re.compile(
    r"\b(?:pip|conda|apt(?:-get)?|uv)\s+(?:pip\s+)?(?:install|sync)\b|\bgit (?:clone|checkout|pull)\b"
    r"|\bbefore (?:(?:the )?(?:run|start|launch|train|execut)\w*|you (?:run|start|launch)\w*)"
    r"|^\W*(?:install|download|export|unzip|extract|mount|log ?in|set up|make sure|ensure|prepare|create|copy|start)\b"
    rf"|\b(?:must|should|needs? to|has to|have to) (?:first )?be (?:{_DONE})\b"
    r"|(?:运行|启动|训练|实验|开始)(?:之)?前|(?:需要?|必须|请)(?:先|提前)?(?:安装|下载|启动|准备)"
    r"|^\W*(?:先|请先|需要先)?(?:安装|下载|准备|创建|拷贝|复制|导出|启动|解压|挂载|登录)",
    re.I,
)
_AFTER = re.compile(
    r"\bafter (?:the )?(?:run|training|experiment|it (?:ends|finishes))\b.{0,60}?"
    r"\b(?:delete|remove|clean|stop|kill|unmount|archive|copy|move)\w*"
    r"|^\W*(?:clean ?up|delete|remove)\b|\brm -r?f\b"
    r"|(?:运行|训练|实验|结束|完成)(?:之)?后.{0,20}?(?:清理|删除|停止|移动|归档)|^\W*(?:清理|删除)",
    re.I,
)
_AGAIN_WORD = r"(?:restart|re-?run|retry|relaunch|resume|try again|start (?:it )?again)"
_FAILURE = r"(?:crash|fail|die[sd]?\b|killed|oom\b|out of memory|error)"
_AGAIN = re.compile(
    rf"\b(?:if|when|whenever|once|after|on)\b.{{0,40}}?\b{_FAILURE}.{{0,60}}?\b{_AGAIN_WORD}"
    rf"|\b{_AGAIN_WORD}\w*\b.{{0,40}}?\b(?:if|when|whenever|after|on)\b.{{0,40}}?\b{_FAILURE}"
    rf"|\b{_AGAIN_WORD}\b.{{0,40}}?\b(?:\d+|two|three|several) (?:times|attempts)\b"
    r"|(?:崩溃|失败|出错|报错|中断|挂掉|OOM).{0,20}?(?:重启|重试|重跑|重新)|(?:重启|重试|重跑).{0,10}?次",
    re.I,
)
_DENIAL = re.compile(
    r"\b(?:no|not|nothing|nobody|none|never|without|already|automatic\w*|is done by|optional)\b|n't\b"
    r"|无需|不需|不用|不必|没有|已|自动|无",
    re.I,
)
_TODO = re.compile(r"\s*(?:[-*+]\s*)?(?:\[[ xX]\]|todo\b|- todo)", re.I)
_LABEL = re.compile(r"^[\s>*+\-\d.)、]*(?:[\w ]{1,24}|[一-鿿\d]{1,8})[:：]\s*")
_BULLETS = " \t-*+>"
_CLAUSE = re.compile(r"(?<=[.;。；])\s*|\n")


def _notes(case: Case) -> Findings:
    blueprint = case.blueprint
    steps = [clause for clause in _clauses(blueprint.notes or "") if not _DENIAL.search(clause)]
    again = next((c for c in steps if _AGAIN.search(c)), None)
    after = next((c for c in steps if c != again and _AFTER.search(c)), None)
    rest = (c for c in steps if c not in (again, after))
    before = next((c for c in rest if _BEFORE.search(c) or looks_like_command(c.strip(" `"))), None)
    commands = "Write the commands into [{}], or say that it is done already."
    for clause, there, fix in (
        (before, blueprint.prepare_command, commands.format("exp_prepare_command")),
        (after, blueprint.cleanup_command, commands.format("exp_cleanup_command")),
        (again, blueprint.retry, "Write into [exp_retry] how often it may start again, or `resume`."),
    ):
        if clause is not None and there is None:
            message = f'Nobody will execute what the notes say: "{clause.strip(_BULLETS)[:120]}".'
            yield NOT_EXECUTED.found(case, None, message, fragment=clause.strip()[:40], fix=fix)


def _clauses(notes: str) -> list[str]:
    """The sentences of the notes without their bullets and labels; what is only to be done some day is left out."""
    lines = (_LABEL.sub("", line, count=1) for line in notes.split("\n") if not _TODO.match(line))
    return [clause for line in lines for clause in _CLAUSE.split(line) if clause.strip()]


# ---- explanations -------------------------------------------------------------------------------------------------

_EXPLAINED = ("exp_codebase_dir", "exp_venv_exe", "exp_yaml_path", "exp_launch_command", "exp_result_dir")
_WORDS = re.compile(r"[A-Za-z]{2,}|[一-鿿]")
_PATH = re.compile(r"[^\s,，;；。：、（）()\"'`]*/[^\s,，;；。：、（）()\"'`]*|[\w.-]+\.ya?ml")


def _unexplained(case: Case) -> Findings:
    """A section may be opened twice; what is said in one place explains the value in the other."""
    explained: dict[str, bool] = {}
    for section in outline(unwrapped(split_lines(case.text), main_key)).sections:
        if section.key in _EXPLAINED:
            told = any(_explains(entry, section.key) for entry in entries(section))
            explained[section.key] = explained.get(section.key, False) or told
    bare = [key for key, told in explained.items() if not told]
    if bare:
        named = ", ".join(f"[{key}]" for key in bare)
        yield NO_EXPLANATION.found(case, bare[0], f"Only the value is given in {named}.")


def _explains(entry: Entry, key: str) -> bool:
    """Whether it says more than the value: any word of prose, beside a path or in a line of its own."""
    said = _said(entry)
    is_value = entry.code or (key == "exp_launch_command" and looks_like_command(said))
    return not is_value and bool(_WORDS.search(_PATH.sub(" ", said)))


def _said(entry: Entry) -> str:
    return entry.written if entry.role is Role.OTHER and entry.written else " ".join(entry.lines)


RULES = (
    rule(_codebase, CODEBASE_RELATIVE),
    rule(_relative, PATH_RELATIVE, PATH_WRITTEN_RELATIVE),
    rule(_interpreter_name, INTERPRETER_UNCLEAR),
    rule(_placeholders, PLACEHOLDER),
    rule(_result_at_root, RESULT_AT_ROOT),
    rule(_other_yaml, YAML_DIFFERS),
    rule(_notes, NOT_EXECUTED),
    rule(_unexplained, NO_EXPLANATION),
)
