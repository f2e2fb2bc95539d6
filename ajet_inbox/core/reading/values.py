"""Paths and other short values, told from the prose around them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import PurePosixPath

from msgspec import Struct

from ajet_inbox.core.reading.entries import Entry
from ajet_inbox.core.reading.labels import Role

_ALONE = 1  # the rank of a path that is all that is said
LONGEST_LINE = 2000  # no value stands further to the right


class Found(Struct, frozen=True, kw_only=True):
    """A value and the line it came from."""

    value: str
    line: int


_REFERENCE = r"[\[{<]exp_\w+[\]}>]|\$\{?exp_\w+\}?"
_ROOT = rf"(?:/|~/|\.{{1,2}}/|\$\{{?\w+\}}?/|<[^<>\n]{{1,80}}>/?|\{{[^{{}}\n]{{1,80}}\}}/|(?:{_REFERENCE})/)"
_STOP = r"\s,，;；。：、（）()\"'`|“”‘’「」【】"
_BARE = rf"(?<![A-Za-z0-9_.:/~$}}@>\])-]){_ROOT}[^{_STOP}]*"
_RELATIVE = r"(?<![\w./+@-])\.?\w[\w.+@-]*(?:/[\w.+@-]+)*(?:\.ya?ml|/bin/(?:python|pypy|activate)[\d.]*)(?![\w/])"
# Bounded, for a text may be nothing but opening quotes.
_QUOTED = r"`[^`\n]{1,500}`|\"[^\"\n]{1,500}\"|'[^'\n]{1,500}'|“[^”\n]{1,500}”|‘[^’\n]{1,500}’|「[^」\n]{1,500}」"
_TOKEN = re.compile(rf"(?P<quoted>{_QUOTED})|(?P<bare>{_BARE})|(?P<relative>{_RELATIVE})")
_LINK = re.compile(r"\[([^\[\]]{1,500})\]\([^()]{0,500}\)")
_GO = re.compile(r"(?:cd|source|\.)\s+(\S+)$")
# "; checkpoints: /ckpt": a second label on the line, with a path of its own.
_APART = re.compile(r"(?!.{0,30}(?:\balt|\bor\b|另|备选))[^\0:：]{1,30}[:：]\s*\0", re.I)
_HEAD = re.compile(r"[^,，;；(（]+(?=[,，;；(（])")
_URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s`]*|\b[\w.-]{1,64}@[\w.-]{1,255}:\S*")
_COMMENT = re.compile(r"(?<!\s)(?:\s+(?:#|//|<!--|<--|<-|←|--)\s?|\s+-{1,2}>\s).*$")
_PARENS = re.compile(r"（[^（）]*）|\([^()]*\)|\[[^\[\]]*\]|【[^【】]*】|~~[^~]*~~")
# What turns a sentence to a path that is not meant, and what ends that part of it.
_FROM = r"(?:copied|cloned|forked|derived) from|based on|compared|versus|vs|differs? from|different from"
_TURN = re.compile(
    rf"(?=\b(?:not|instead of|rather than|do not|don'?t|never|unlike|except|{_FROM}|which was)\b"
    r"|而不是|而非|不是|不要|请勿|切勿|勿|基于|对比)"
    r"|\bbut\b|而是|应为|应该是|改为|[,;，；。、]|[.!?](?=\s)|\s[-–—]\s|——",
    re.I,
)
_ASIDE = re.compile(
    rf"\b(?:not|don'?t|never|instead|rather|old|older|previous|previously|formerly|former|was|were|see|refer|{_FROM}|"
    r"e\.?g|example|such as|copy of|unlike|except|without|avoid|relative to|backup|deprecated|if)\b"
    r"|不是|不要|而非|而不是|勿|不能|禁止|旧|之前|例如|比如|参见|参考|复制自|拷贝自|以前|原来|相对|如果|修改而来|改自|复制而来|备份|备用|不同于|基于|对比",
    re.I,
)
_HAN_TAIL = re.compile(
    r"(?<=[\x21-\x7e])(?:目录|文件夹|文件|路径|下|里|中|内|这|的|是|为|即|处|并|和|或|不|上|作|来|，).*$"
)
_NONE = re.compile(
    r"[\W_]*(?:none|null|nil|n/?\s?a|n\.a\.?|no|nothing|not (?:needed|applicable|used|required)|unused"
    r"|无需?|没有|不需要|不适用|暂无|空)(?![A-Za-z0-9_/])",
    re.I,
)
_DASHES = re.compile(r"\s*[-–—/]+\s*$")


def is_none(text: str) -> bool:
    """Whether `text` says that there is no value: "NA", "none (swarm mode)", "无"."""
    return bool(_NONE.match(text) or _DASHES.match(text))


def paths(rows: Iterable[Entry], *, prefers: Callable[[str], bool], tidy: Callable[[str], str] = str) -> list[Found]:
    """The paths that `rows` name as a section's value, those of the plainest kind only; several are in conflict.

    Plainest first: a labelled or bare path alone on its line, one in a labelled sentence, one in a sentence, one with
    an unknown label, one in the heading; and last a description that is nothing but a path. Of several those that
    `prefers` likes are kept, if there are any. `tidy` is applied to each.
    """
    tiers: defaultdict[int, list[Found]] = defaultdict(list)
    for row in rows:
        for n, text in enumerate(row.lines):
            found, alone = read_paths(text)
            if found and (rank := _rank(row, alone=alone)) is not None:
                tiers[rank] += [Found(value=tidy(path), line=row.line + n) for path in found]
    best = [f for rank in sorted(tiers)[:1] for f in (tiers[rank] if rank == _ALONE else _outermost(tiers[rank]))]
    liked = [f for f in best if prefers(f.value)] or best
    return list({f.value.rstrip("/"): f for f in reversed(liked)}.values())[::-1]


def _outermost(found: list[Found]) -> list[Found]:
    """A sentence that names a folder may name files in it."""
    kept: list[tuple[str, ...]] = []
    for parts in sorted({PurePosixPath(f.value).parts for f in found}):  # a folder comes right before what is in it
        if not kept or parts[: len(kept[-1])] != kept[-1]:
            kept.append(parts)
    outer = set(kept)
    return [f for f in found if PurePosixPath(f.value).parts in outer]


def _rank(row: Entry, *, alone: bool) -> int | None:
    if row.role is Role.ASIDE:
        return 6 if alone and re.match(r"\W*(?:desc|说明|描述)", row.label, re.I) else None
    if row.title:
        return _ALONE if alone else 5
    if row.role is Role.OTHER:
        return 4
    return _ALONE if alone else (2 if row.role is Role.VALUE else 3)


def read_paths(text: str) -> tuple[list[str], bool]:
    """The paths that `text` gives, without those it warns of, and whether it says nothing else."""
    text = text[:LONGEST_LINE]
    whole = _whole(text)
    if whole:
        return [whole], True
    tokens: list[str] = []
    masked = _URL.sub(" ", _LINK.sub(r"\1", text))
    masked = _TOKEN.sub(lambda m: _mask(m, tokens), masked)
    masked = _PARENS.sub(" ", _COMMENT.sub("", masked))
    first, *more = _TURN.split(masked)
    clauses = [c for c in (first, *(c for c in more if c and not _APART.match(c))) if not _ASIDE.search(c)]
    kept = [int(n) for clause in clauses for n in re.findall("\0(\\d+)\0", clause)]
    words = re.sub("\0\\d+\0|[\\W_]", "", "".join(clauses))
    found = list(dict.fromkeys(tokens[n] for n in kept))
    if words and any(re.match(_ROOT, path) for path in found):  # a sentence about /a may mention a/part/of/it
        found = [path for path in found if re.match(_ROOT, path)]
    head = _HEAD.match(text)
    if not found and head and (first := _whole(head[0])):  # "results/run1 (relative to the code)"
        return [first], True
    return found, bool(found) and not words


def _mask(match: re.Match[str], tokens: list[str]) -> str:
    text = match["quoted"][1:-1].strip() if match["quoted"] else clean_path(match[0])
    if there := _GO.match(text):
        text = there[1]
    if not _is_path(text):
        return match[0]
    tokens.append(text if match["quoted"] else clean_path(text))
    end = re.search(r"[.!?:,;]*$", "" if match["quoted"] else match[0])
    return f"\0{len(tokens) - 1}\0{end[0] if end else ''}"


def _whole(text: str) -> str | None:
    """`text` if it is one path and nothing else, relative or not."""
    bare = _COMMENT.sub("", text.strip().strip("*")).strip().rstrip("\\").strip()
    for _ in range(3):
        bare = bare.rstrip("，。；、;,").strip()
        if (
            len(bare) > 1
            and bare[0] + bare[-1] in ("``", '""', "''", "“”", "‘’", "「」", "<>", "**")
            and bare[1:-1].strip()
        ):
            quoted = bare[1:-1]
            if bare[0] == "<":
                return quoted if quoted.startswith("/") else bare
            bare = quoted
    path = bare if text.strip().startswith(("`", '"', "'")) else clean_path(bare)  # quotes say where it ends
    return path if _is_path(path) and not re.search(rf"[{_STOP}]", path) else None


def clean_path(text: str) -> str:
    """`text` without the punctuation and words that stick to its end."""
    path = _HAN_TAIL.sub("", text.strip()).rstrip("*_!?:,;")
    return path.rstrip(".") if not re.search(r"(?:^|/)\.{1,2}$", path) else path


def _is_path(text: str) -> bool:
    if text in (".", "..", "./", "../", "~"):
        return True
    if "\n" in text or not text or text.startswith("--") or "://" in text or re.fullmatch(r"[\d/.\s-]+|N/?A|n/a", text):
        return False
    if re.match(rf"(?:{_ROOT})\S", text) or re.fullmatch(r"<[^<>]+>|\{[^{}]+\}|\$\{?\w+\}?", text):
        return "  " not in text and not re.search(r"\s(?:--?\w|&&|\||;)", text)
    return bool(re.fullmatch(r"[\w.+@-]+(?:/[\w.+@-]+)+/?|[\w+@-][\w.+@-]*/|[\w.+@-]+\.ya?ml", text, re.ASCII))
