"""The keys of a blueprint, and the lines that open a section with one (contract section 6)."""

from __future__ import annotations

import re
from difflib import get_close_matches

from msgspec import Struct

REQUIRED = ("exp_codebase_dir", "exp_venv_exe", "exp_launch_command", "exp_result_dir")
MAIN = ("exp_purpose", *REQUIRED, "exp_yaml_path", "exp_max_time")
OPTIONAL = (
    "exp_mode",
    "exp_prepare_command",
    "exp_cleanup_command",
    "exp_services",
    "exp_env",
    "exp_priority",
    "exp_after",
    "exp_gpus",
    "exp_host",
    "exp_first_step_timeout",
    "exp_plateau",
    "exp_retry",
    "exp_parent",
    "exp_snapshot",
)
KEYS = (*MAIN, *OPTIONAL)

_BRACKETED = r"\\?[\[【［〔<{][\s`*]*(?P<key>exp[_ -]?[a-z][a-z_ -]{0,40}?)[\s`*]*\\?[\]】］〕>}]"
_BARE = r"(?P<bare>exp_[a-z_]{1,40})(?![\w./])"
_NUMBER = r"(?:(?:section|part|step|第)?\s*[\dA-Za-z一二三四五六七八九十]{1,3}\s*(?:[.、)）:：]|节|部分)\s*)?"
_MARKS = r"(?:[^\w\[【［〔<{\\]|_)*"
_AT_START = re.compile(rf"{_MARKS}(?:\[[ xX]\]\s+)?{_NUMBER}{_MARKS}(?:{_BRACKETED}|{_BARE})", re.I)
_BEHIND_TITLE = re.compile(rf"(?P<title>[^\[\]【】`:：.。/]{{2,60}}?)[\s(（]*{_BRACKETED}[)）]?", re.I)
_LINK = re.compile(r"\([#h][^)]*\)")
_MORE_KEYS = re.compile(r"[\s,，、/&]*(?:(?:and|or|和|与|及|或)\s*)?[\[【(（]?exp_[a-z]", re.I)
_ABOUT = re.compile(
    r"\b(?:why|about|see|note|how|use|the|in|with|from|of|for|and|is)\b|关于|为什么|为何|参见|见|中的|与", re.I
)
_DELIMITER = re.compile(r"[\s)）]*(?:[:：=|]+>?|[-–—→]+(?=[\s`]))\s*")


class Opening(Struct, frozen=True, kw_only=True):
    """A line that may open the section of the key `written`. `rest` is what follows on it.

    `titled`: a short title stands before the key. `firm`: the key is followed by a colon, or by nothing, so that it
    can hardly be a sentence about the section.
    """

    written: str
    rest: str
    bold: bool
    bracketed: bool
    titled: bool
    firm: bool


def opening(line: str) -> Opening | None:
    """What `line` opens, if it begins with a section's key, or with a short title and a key."""
    if "exp" not in line[:200].lower():  # nearly every line: keep this cheap
        return None
    match = _AT_START.match(line[:400]) or _BEHIND_TITLE.match(line[:400])
    if match is None:
        return None
    title = match.groupdict().get("title") or ""
    if _ABOUT.search(title):
        return None
    bare = match.groupdict().get("bare")
    group = "bare" if bare else "key"
    end = match.end()
    return _opening(match[group], line[: match.start(group)], title, line[end:], bracketed=not bare)


def known(written: str) -> str | None:
    """The key that `written` means, misspellings included; None: there is no such key, nor one like it."""
    key = re.sub(r"[\s_-]+", "_", written.strip().lower()).strip("_")
    if key in KEYS:
        return key
    return _ALIASES.get(key) or next(iter(get_close_matches(key, KEYS, n=1, cutoff=0.85)), None)


def main_key(line: str) -> str | None:
    """The key of the seven main ones that `line` surely opens, else None."""
    found = opening(line)
    if found is None or not (found.bracketed or found.firm):
        return None
    return key if (key := known(found.written)) in MAIN else None


_ALIASES = {
    "exp_codebase": "exp_codebase_dir",
    "exp_codebase_path": "exp_codebase_dir",
    "exp_code_path": "exp_codebase_dir",
    "exp_code_dir": "exp_codebase_dir",
    "exp_venv": "exp_venv_exe",
    "exp_venv_path": "exp_venv_exe",
    "exp_python": "exp_venv_exe",
    "exp_yaml": "exp_yaml_path",
    "exp_config_path": "exp_yaml_path",
    "exp_config": "exp_yaml_path",
    "exp_launch": "exp_launch_command",
    "exp_launch_cmd": "exp_launch_command",
    "exp_command": "exp_launch_command",
    "exp_results_dir": "exp_result_dir",
    "exp_result_path": "exp_result_dir",
    "exp_output_dir": "exp_result_dir",
    "exp_time": "exp_max_time",
    "exp_timeout": "exp_max_time",
    "exp_time_limit": "exp_max_time",
    "exp_max_runtime": "exp_max_time",
    "exp_goal": "exp_purpose",
}


def _opening(written: str, lead: str, title: str, rest: str, *, bracketed: bool) -> Opening | None:
    if rest[:1] in ("/", "'", "’", "+") or _MORE_KEYS.match(rest):
        return None
    rest = _LINK.sub("", rest, count=1) if rest.startswith("(") else rest
    mark = re.search(r"(\*{1,3}|__|`)(?=[^*_`]*$)", lead)
    rest = rest.replace(mark[1], "", 1) if mark else rest
    delimiter = _DELIMITER.match(rest)
    return Opening(
        written=written,
        rest=(rest[delimiter.end() :] if delimiter else rest).strip(),
        bold=bool(mark and mark[1].startswith(("**", "__"))),
        bracketed=bracketed,
        titled=bool(title),
        firm=bool(delimiter) or not rest.strip(" *_`"),
    )
