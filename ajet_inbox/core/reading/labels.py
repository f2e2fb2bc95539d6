"""Labels in front of values: which text of a section is its value, and which only talks about it."""

from __future__ import annotations

import re
from enum import StrEnum

from msgspec import Struct


class Role(StrEnum):
    """What a label, or the lack of one, says about the text behind it."""

    VALUE = "value"  # `- path: ...`
    PLAIN = "plain"  # no label
    OTHER = "other"  # a label that says nothing about it
    ASIDE = "aside"  # a hint, note, warning, description, example: never the value


class Label(Struct, frozen=True, kw_only=True):
    """A label as written, what it says, and the text behind it on its line."""

    text: str
    role: Role
    rest: str
    exact: bool


_ASIDE = re.compile(
    r"\b(?:desc(?:ription)?|describe|hints?|notes?|nota bene|n\.?b|warnings?|warn|caution|tips?|examples?|e\.?g|i\.?e|"
    r"remarks?|comments?|reasons?|rationale|why|background|context|important|attention|reminder|todo|previous(?:ly)?|old|older|former|"
    r"formerly|legacy|backup|original|wrong|deprecated|baseline|sibling|defaults?|explanation|info(?:rmation)?|see|"
    r"refer(?:ence)?s?|never|not|don'?t|avoid|forbidden|requirements?|verify|verification|expected|troubleshooting|if|"
    r"(?:must|should) (?:hold|contain|include|have|set|be set)|contains?|following keys|key (?:settings?|config\w*)|"
    r"fallback|prerequisites?|format|meaning|usage)\b"
    r"|说明|描述|提示|注意|警告|备注|示例|例如|比如|举例|原因|背景|默认|旧|之前|以前|补充|要求|参考|备份|不要|不是|禁止|切勿|勿|理由|提醒|如果|包含|关键配置|主要配置|配置如下|格式|含义|预期",
    re.I,
)
_GENERIC = (
    r"values?|contents?|path|dir|directory|folder|file|location|full path|"
    r"内容|值|路径|目录|文件夹|文件|位置|取值|选项|"
    r"alternatives?|option|or"
)
_SPECIFIC = {
    "exp_purpose": r"purpose|goal|objective|aim|content|目的|目标|内容",
    "exp_codebase_dir": r"code|codebase|repo(?:sitory)?|root|project|workdir|代码|代码库|仓库|工程|项目",
    "exp_venv_exe": r"python|interpreter|exe|executable|venv|virtualenv|env|environment|binary|解释器|虚拟环境|环境",
    "exp_yaml_path": r"yaml|yml|config|conf|configuration|配置",
    "exp_launch_command": r"command|cmd|launch|run|start|train|training|execute|execution|script|shell|bash|client|"
    r"server|step|"
    r"命令|指令|启动|运行|执行|脚本|客户端|服务端|步骤",
    "exp_result_dir": r"results?|output|outputs|storage|save|store|结果|输出|存储|保存",
    "exp_max_time": r"time|limit|runtime|duration|max|maxtime|max_?time|maximum|timeout|bound|cap|"
    r"时间|时长|上限|限制|最长|最大",
}
_PARENS = re.compile(r"\([^()]*\)|（[^（）]*）|\[[^\[\]]*\]")
_MARKS = "*_` \t~"
_KNOWN_FORM = re.compile(r"[\w\s\-/&'’.一-鿿${}]+$")
_EQUALS = re.compile(r"([A-Za-z][\w ]{1,30}|\$\{\w+\}|[一-鿿]{2,10})\s*=\s+(.*)$")
_BOLD = re.compile(r"\*\*([^*]{2,60})\*\*\s*(.*)$")
_LONGEST = 120


def split_label(line: str, key: str) -> Label | None:
    """The label that `line` begins with, in the section `key`; None: it has none."""
    text = line.strip()
    if bold := _BOLD.match(text):
        inner, rest = bold[1].strip(), bold[2]
        if inner[-1:] in (":", "："):
            return _label(inner[:-1], rest, key)
        if not rest.startswith((":", "：")):
            found = _label(inner, rest, key)
            return found if found.role is not Role.OTHER else None
    if equals := _EQUALS.match(text):
        found = _label(equals[1], equals[2], key)
        return found if found.exact else None
    return _before_colon(text, key)


def classify(label: str, key: str) -> tuple[Role, bool]:
    """What `label` says about the text behind it, and whether it says nothing else."""
    bare = _PARENS.sub(" ", label)
    words = bare if bare.strip(_MARKS + ":：") else label
    if _ASIDE.search(words) or any(_ASIDE.fullmatch(group[1:-1].strip()) for group in _PARENS.findall(label)):
        return Role.ASIDE, False
    names = f"{_GENERIC}|{_SPECIFIC.get(key, 'command')}"
    exact = re.fullmatch(
        rf"[\W\d]*(?:(?:absolute|full|the|new|main|绝对|完整|主)\s*)?(?:{names})[\W\d_]*[a-zA-Z]?\W*", words, re.I
    )
    if exact or re.fullmatch(r"\W*\$\{\w+\}\W*", words):
        return Role.VALUE, True
    found = re.search(rf"(?<![A-Za-z])(?:{names})(?![A-Za-z])", words, re.I)
    return (Role.VALUE if found and len(words.split()) <= 10 else Role.OTHER), False


def _label(text: str, rest: str, key: str) -> Label:
    text = text.strip(_MARKS)
    role, exact = classify(text, key)
    return Label(text=text, role=role, rest=rest.strip(), exact=exact)


def _before_colon(text: str, key: str) -> Label | None:
    at = _colon(text)
    if at is None:
        return None
    label, rest = text[:at].strip(_MARKS), text[at + 1 :].lstrip("*_").strip()
    outside = _PARENS.sub("", label).strip()
    if (
        not re.search(r"[^\W\d]", outside)
        or not _KNOWN_FORM.match(outside)
        or re.search(r"/\S*/|(?:^|\s)[./~]|\.\s", outside)
    ):
        return None
    found = _label(label, rest, key)
    tight = text[at] == ":" and rest and not text[at + 1 : at + 2].isspace() and text[at + 1 : at + 2] not in "*`"
    return None if tight and (found.role is Role.OTHER or rest.startswith("//")) else found


def _colon(text: str) -> int | None:
    """The first colon outside parentheses, where it can end a label."""
    depth = 0
    for at, glyph in enumerate(text[:_LONGEST]):
        if glyph in "(（[":
            depth += 1
        elif glyph in ")）]":
            depth -= 1
        elif glyph in ":：" and depth <= 0:
            return at
        elif glyph in "\"'“" and depth <= 0:
            return None
    return None
