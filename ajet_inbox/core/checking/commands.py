"""A script as the simple commands that it holds, as far as their words tell. Nothing is expanded or run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import dropwhile
from pathlib import PurePosixPath

from msgspec import Struct

_MAX_CHARACTERS = 128 * 1024
_MAX_DEPTH = 3
# Possessive, so that no text however torn is tried twice.
_TOKEN = re.compile(
    r"""(?P<joined>\\\n)|(?P<escape>\\.)
    |'(?P<single>[^']*+)'|"(?P<double>(?:[^"\\]++|\\.)*+)"
    |(?P<comment>\#[^\n]*+)
    |<<-?[ \t]*+(?:\\|['"])?(?P<document>\w++)['"]?|(?P<redirect><<<|(?:\d|&)?[<>]{1,2}(?:&[\d-]?|\|)?)
    |(?P<cut>&&|\|\|?|;+|&|\n|[()])
    |(?P<blank>[ \t\r]++)
    |(?P<plain>[^\s'"\\;&|()<>]++)|(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_KEYWORDS = frozenset(
    {"do", "then", "else", "elif", "if", "while", "until", "{", "}", "!", "time", "done", "fi", "esac"}
)
_WRAPPERS = frozenset(
    {"nohup", "env", "exec", "command", "nice", "stdbuf", "timeout", "setsid", "sudo", "proxychains", "proxychains4"}
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_OPTION_OR_NUMBER = re.compile(r"-.*|[\d.]+[smhd]?")
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
_SHELLS = frozenset({"bash", "sh", "zsh", "dash"})


class Simple(Struct, frozen=True, kw_only=True):
    """One simple command: its words without quotes, and how it is spelled. `background`: it ends with `&`."""

    words: tuple[str, ...]
    spelled: str
    background: bool = False

    @property
    def program(self) -> str:
        """The name of the program, behind assignments and programs that only start others; "" where there is none."""
        rest = _behind_wrappers(self.words)
        return PurePosixPath(rest[0]).name if rest else ""

    @property
    def arguments(self) -> tuple[str, ...]:
        """The words behind the program."""
        return _behind_wrappers(self.words)[1:]


@lru_cache(maxsize=16)  # every rule about commands asks for the same few scripts
def programs(script: str) -> tuple[Simple, ...]:
    """The simple commands of `script` in order, with those inside `bash -c '...'`; none of one that is too long."""
    return tuple(_programs(script, 0)) if len(script) <= _MAX_CHARACTERS else ()


def _programs(script: str, depth: int) -> Iterator[Simple]:
    for simple in _Walk(script).run():
        yield simple
        inner = _inner(simple)
        if inner and depth < _MAX_DEPTH:
            yield from _programs(inner, depth + 1)


def _inner(simple: Simple) -> str | None:
    """The script that a shell is given as an argument."""
    if simple.program == "eval":
        return " ".join(simple.arguments)
    if simple.program not in _SHELLS:
        return None
    rest = dropwhile(lambda word: not re.fullmatch(r"-\w*c", word), simple.arguments)
    return next((word for n, word in enumerate(rest) if n == 1), None)


def _behind_wrappers(words: tuple[str, ...]) -> tuple[str, ...]:
    rest = list(words)
    while rest:
        name = PurePosixPath(rest[0]).name
        if rest[0] in _KEYWORDS or _ASSIGNMENT.match(rest[0]):
            rest.pop(0)
        elif name in _WRAPPERS:
            rest = list(dropwhile(_OPTION_OR_NUMBER.fullmatch, rest[1:]))
        else:
            break
    return tuple(rest)


class _Walk:
    def __init__(self, script: str) -> None:
        self.script = script
        self.words: list[str] = []
        self.word: str | None = None
        self.start: int | None = None
        self.documents: list[str] = []
        self.redirected = False

    def run(self) -> Iterator[Simple]:
        at = 0
        while (token := _TOKEN.match(self.script, at)) is not None:
            at = token.end()
            if token["cut"]:
                yield from self._end(token)
                at = self._past_documents(at) if token["cut"] == "\n" else at
            elif not (token["comment"] and self.word is None):
                self._take(token)
        yield from self._end(None)

    def _take(self, token: re.Match[str]) -> None:
        if token["blank"] or token["joined"]:
            self._end_word()
        elif token["document"]:
            self.documents.append(token["document"])
        elif token["redirect"]:
            self._end_word()
            self.redirected = not token["redirect"][-1].isdigit()
        else:
            self.start = token.start() if self.start is None else self.start
            self.word = (self.word or "") + _meaning(token)

    def _end_word(self) -> None:
        """A word behind `>` is a file, not an argument."""
        if self.word is not None and not self.redirected:
            self.words.append(self.word)
        self.redirected = self.redirected and self.word is None
        self.word = None

    def _end(self, token: re.Match[str] | None) -> Iterator[Simple]:
        self._end_word()
        if self.words and self.start is not None:
            spelled = self.script[self.start : token.start() if token else len(self.script)].strip()
            background = token is not None and token["cut"] == "&"
            yield Simple(words=tuple(self.words), spelled=spelled, background=background)
        self.words, self.start, self.redirected = [], None, False

    def _past_documents(self, at: int) -> int:
        """The end of the here-documents that begin at `at`: what they hold is data, not commands."""
        for mark in self.documents:
            end = re.compile(rf"^[ \t]*{re.escape(mark)}[ \t]*$", re.MULTILINE).search(self.script, at)
            at = min(end.end() + 1, len(self.script)) if end else len(self.script)
        self.documents = []
        return at


def _meaning(token: re.Match[str]) -> str:
    if token["escape"]:
        return token["escape"][1:]
    for quoted in (token["single"], token["double"]):
        if quoted is not None:
            return quoted
    return token[0]


def script_of(simple: Simple) -> str | None:
    """The Python file that a command runs, as written: `python x.py`, `python -m a.b`; None of AgentJet's own."""
    if not _PYTHON.fullmatch(simple.program):
        return None
    words = iter(simple.arguments)
    for word in words:
        if word == "-m":
            module = next(words, "")
            return None if module.partition(".")[0] == "ajet" else module.replace(".", "/") + ".py"
        if word in ("-c", "-"):
            return None
        if word in ("-W", "-X"):
            next(words, None)
        elif not word.startswith("-"):
            return word if word.endswith(".py") else None
    return None
