"""Keys, tokens and passwords out of everything that is shown: commands, environments and logs are full of them.

Rules are data. Each is linear in the length of the text: what repeats is bounded, or can match in one way only.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

MASK = "***"

# ---- which names hold a secret ------------------------------------------------------------------------------------

_PASSWORDS = frozenset({"password", "passwd", "passphrase"})
_TOKENS = frozenset({"token", "secret", "credential", "credentials", "apikey", "accesskey", "secretkey", "privatekey"})
_KEYS_OF = frozenset(
    {"api", "access", "secret", "private", "auth", "account", "encryption", "signing", "ssh", "master"}
)
# `pad_token=<|endoftext|>`, `loss_per_token=0.2`: a token of text, not of access.
_OF_TEXT = re.compile(r"eos|bos|pad|unk|sep|cls|mask|image|video|stop|next|special|per|first|last|new")
# SSH_KEY_PATH and MAX_TOKEN_LEN tell about a secret or a token without being one.
_ABOUT = re.compile(r"path|file|dir|name|type|len|length|size|count|num|limit|ttl")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_HARMLESS = re.compile(
    r"""["']?(?:\$.*|[-+]?\d{1,5}|[-+]?\d*\.\d+(?:e[-+]?\d+)?|none|null|true|false|nan)["']?""", re.I
)


def is_secret_name(name: str) -> bool:
    """Whether a variable, option or field of this name holds a secret."""
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words or _ABOUT.fullmatch(words[-1]):
        return False
    if name.upper() == name:
        return any(_is_secret_word(word) or word == "key" for word in words)
    before = words[-2] if len(words) > 1 else ""
    if words[-1] == "key":
        return before in _KEYS_OF
    return _is_secret_word(words[-1]) and not _OF_TEXT.fullmatch(before)


def mask_value(name: str, value: str) -> str:
    """The value of a variable, option or field; masked where the name says that it is a secret.

    A reference to another variable is none, nor is a small number, unless it stands for a password.
    """
    if not is_secret_name(name):
        return value
    is_password = any(word.lower() in _PASSWORDS for word in _WORDS.findall(name))
    return MASK if is_password or not _HARMLESS.fullmatch(value) else value


def _is_secret_word(word: str) -> bool:
    return word in _TOKENS or word.endswith(("token", "secret", *_PASSWORDS))


# ---- the rules ----------------------------------------------------------------------------------------------------

_VALUE = r"""(?P<value>"(?:\\.|[^"\\\n])*+"|'[^'\n]*+'|(?:\\.|[^\s;&|,]|,(?=[^\s,]))++)"""
_NAME = r"(?P<name>[A-Za-z_][\w.-]{0,79})"


class _Rule(Struct, frozen=True):
    """`hint`: a cheap test for whether `pattern` could match at all."""

    hint: re.Pattern[str]
    pattern: re.Pattern[str]
    shown: str | Callable[[re.Match[str]], str]


def _named(found: re.Match[str]) -> str:
    """A name with its value, which is masked where the name says that it is a secret."""
    head = found[0][: found.start("value") - found.start()]
    return f"{head}{mask_value(found['name'], found['value'])}"


def _rule(hint: str, pattern: str, shown: str | Callable[[re.Match[str]], str]) -> _Rule:
    return _Rule(re.compile(hint, re.IGNORECASE), re.compile(pattern), shown)


_NAMES = r"key|token|secret|passw|passphrase|credential"
_RULES = (
    _rule(
        "private key",
        r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?:[^-]|-(?!----))*+(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?",
        f"-----BEGIN PRIVATE KEY----- {MASK}",
    ),
    _rule(
        "authorization|cookie",
        r"""(?i)\b((?:proxy-)?authorization|(?:set-)?cookie)(["']?\s{0,3}[:=]\s{0,3})["']?(?:(?:bearer|basic|token)\s{1,3})?[^\s"']++""",
        rf"\1\2{MASK}",
    ),
    _rule("bearer", r"(?i)\b(bearer\s{1,3})[\w.~+/=-]{8,}", rf"\1{MASK}"),
    _rule("://", r"\b([A-Za-z][A-Za-z0-9+.-]{0,30}://)[^\s/?#@:]*+:[^\s/?#]*@", rf"\1{MASK}@"),
    _rule("https?://", r"(?i)\b(https?://)[^\s/?#@:]++@", rf"\1{MASK}@"),
    _rule(_NAMES, rf"(?<![\w.-])-{{0,2}}{_NAME}[\"']?\s{{0,3}}(?:=|:(?!//))\s{{0,3}}{_VALUE}", _named),
    _rule(_NAMES, rf"(?<![\w-])--{_NAME}[ \t]{{1,9}}(?!-){_VALUE}", _named),
    _rule("sk-", r"(?<![A-Za-z0-9_-])sk-[\w-]{16,}", MASK),
    _rule("hf_", r"\bhf_[A-Za-z0-9]{16,}", MASK),
    _rule("gh|github", r"\b(?:gh[opusr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})", MASK),
    _rule("glpat", r"\bglpat-[\w-]{16,}", MASK),
    _rule("AKIA|ASIA|LTAI", r"\b(?:(?:AKIA|ASIA)[A-Z0-9]{16}|LTAI[A-Za-z0-9]{12,})\b", MASK),
    _rule("xox", r"\bxox[abeprs]-[\w-]{10,}", MASK),
    _rule("AIza", r"\bAIza[\w-]{30,}", MASK),
    _rule("eyJ", r"(?<![\w-])eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}", MASK),
)


def mask(text: str) -> str:
    """`text` with every secret that a rule knows replaced by `***`."""
    for rule in _RULES:
        if rule.hint.search(text):
            text = rule.pattern.sub(rule.shown, text)
    return text
