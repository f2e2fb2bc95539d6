"""Just enough of bash to tell a command from a sentence, and a whole script from half a one. Nothing is run here."""

from __future__ import annotations

import re

from msgspec import Struct

_PROGRAM = (
    r"python[\d.]*|pip3?|bash|sh|zsh|ray|ajet(?:-[a-z]+)*|torchrun|accelerate|deepspeed|conda|mamba|micromamba|uv|uvx|"
    r"poetry|export|cd|source|mkdir|rm|cp|mv|ln|echo|printf|srun|sbatch|mpirun|tmux|screen|docker|numactl|taskset|"
    r"git|make|curl|wget|unset|ulimit|sleep|wait|exec|eval|trap|pushd|popd|tee|cat|sed|awk|grep|find|tar|node|npm|npx|"
    r"java|go|cargo|vllm|swift|llamafactory-cli|huggingface-cli|modelscope|nvidia-smi|pytest|perl|ruby|Rscript|julia|"
    r"set|touch|chmod|kill|pkill|test|true|false|exit|until|jupyter|nsys|ncu"
)
_WRAPPER = (
    r"(?:(?:sudo|nohup|time|env|command|exec|nice|stdbuf|timeout|proxychains4?|setsid)\s+"
    r"(?:-\S+\s+|\d[\d.]*[smhd]?\s+)*)*"
)
_ASSIGN = r"(?:[A-Za-z_]\w*=(?:\"[^\"]*\"|'[^']*'|\$\([^)]*\)|[^\s\"']*)\s+)*"
_COMMAND = re.compile(
    rf"(?:\$\s+)?{_ASSIGN}{_WRAPPER}{_ASSIGN}"
    rf"(?:(?:{_PROGRAM})(?=$|[\s;&|])|\.\s+\S*/|(?:\.{{1,2}}|~|\$\{{?\w+\}}?)?/[\w.\-+@$/{{}}~]+(?=$|[\s;&|])|\"\$\w+\")(?P<rest>.*)$"
)
_ASSIGNMENT = re.compile(r"(?:export\s+)?[A-Za-z_]\w*=(?:\"[^\"]*\"|'[^']*'|\S*)\s*(?:#.*|&&.*|;.*|\\)?$")
_COMPOUND = re.compile(
    r"(?:for\s+\w+\s+in\s|while\s+\S|until\s+\S|if\s+(?:\[|!|test\s|\w+\s.*;\s*then)|case\s+\S+\s+in|\(\s*\w|\{\s|function\s+\w+|\w+\s*\(\)\s*\{)"
)
_OPTIONS = re.compile(r"[a-z][\w.+-]*(?:\s+[\w./:=@,+\"'${}-]+)*?\s+--?[A-Za-z][\w-]*")
# A second word that no command line has: "python is required", "source the venv first".
_SENTENCE = re.compile(
    r"\s+(?:is|are|was|were|must|should|will|would|can|may|the|an|this|that|these|to|and|or|with|here|virtual|needs?|has|have|runs|"
    r"from|for|of|if|when|before|after|it|its|your|our|then|first|into|inside|as|not|only|interpreter|executable|environment|version|path|script|command|process(?:es)?|cluster|mode|server)\b"
)
_FULL_STOP = re.compile(r"[.!?]\s+[A-Z][a-z]+\s+[a-z]|[。；，]")


def looks_like_command(line: str) -> bool:
    """Whether a line of plain text is a command rather than a sentence."""
    line = line.strip()
    if not line or len(line) > 20_000 or line.startswith("#"):
        return False
    if _COMPOUND.match(line) or _ASSIGNMENT.match(line):
        return True
    found = _COMMAND.match(line)
    if found:
        return not _SENTENCE.match(found["rest"]) and not re.match(r"\s*[\u4e00-\u9fff：，]", found["rest"])
    options = _OPTIONS.match(line)
    return (
        options is not None and ": " not in options[0] and not _FULL_STOP.search(line) and not _is_sentence_start(line)
    )


def _is_sentence_start(line: str) -> bool:
    return bool(
        re.match(
            r"(?:use|run|do|add|pass|with|without|no|not|see|the|set|give|keep|note|only|for|in|if|all|same|it|we|a)\b",
            line,
        )
    )


class Scan(Struct, frozen=True, kw_only=True):
    """What is still open after some lines of a script."""

    quote: str = ""
    documents: tuple[str, ...] = ()
    depth: int = 0
    continued: bool = False

    @property
    def wants_more(self) -> bool:
        """Whether the next line is part of the same command."""
        return bool(self.quote or self.documents or self.depth or self.continued)


_TOKEN = re.compile(
    r"\\(?s:.)|(?P<quote>['\"])|(?P<comment>(?:(?<=\s)|(?<=;)|^)#.*)|<<-?\s*(?:\\|(?P<mark>['\"]))?(?P<document>\w+)(?(mark)(?P=mark))"
    r"|<<<|(?P<word>[\w.\-/]+)|(?P<glyph>\|\||&&|\||[(){};&])"
)
_OPENERS = {"for", "while", "until", "select", "if", "case"}
_CLOSERS = {"done", "fi", "esac"}


def feed(scan: Scan, line: str) -> Scan:
    """What is open after one more line."""
    if scan.documents:
        left = scan.documents[1:] if line.strip() == scan.documents[0] else scan.documents
        return Scan(documents=left, depth=scan.depth)
    at, quote, documents, depth, last, starts = 0, scan.quote, list[str](), scan.depth, "", True
    while at < len(line):
        if quote:
            at, quote = _past_quote(line, at, quote)
            last, starts = "quoted", False
            continue
        token = _TOKEN.search(line, at)
        if token is None:
            break
        at, last = token.end(), token[0]
        if token["quote"]:
            quote = token["quote"]
        elif token["comment"]:
            last = ""
        elif token["document"]:
            documents.append(token["document"])
        elif token["glyph"]:
            depth = max(0, depth + (last in "({") - (last in ")}"))
        elif token["word"] and starts:
            depth = max(0, depth + (last in _OPENERS) - (last in _CLOSERS))
        starts = last in ("do", "then", "else") or bool(token["glyph"])
    continued = not quote and (line.rstrip(" ").endswith("\\") or last in ("&&", "||", "|"))
    return Scan(quote=quote, documents=tuple(documents), depth=depth, continued=continued)


def _past_quote(line: str, at: int, quote: str) -> tuple[int, str]:
    while at < len(line):
        if line[at] == "\\" and quote == '"':
            at += 1
        elif line[at] == quote:
            return at + 1, ""
        at += 1
    return at, quote


def scan_script(script: str) -> Scan:
    """What is open at the end of `script`."""
    scan = Scan()
    for line in script.split("\n"):
        scan = feed(scan, line)
    return scan


def without_comment(line: str) -> str:
    """`line` without a trailing `# ...` that is not in quotes."""
    at, quote = 0, ""
    while at < len(line):
        if quote:
            at, quote = _past_quote(line, at, quote)
            continue
        token = _TOKEN.search(line, at)
        if token is None:
            break
        if token["comment"]:
            return line[: token.start()].rstrip()
        at, quote = token.end(), token["quote"] or ""
    return line.rstrip()
