"""What is wrong with the commands: what would harm others, hang without a person, or not run at all."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import PurePosixPath

from ajet_inbox.core.blueprint import Kind, Level
from ajet_inbox.core.checking.commands import Simple, programs
from ajet_inbox.core.checking.rule import Case, Code, Findings, rule
from ajet_inbox.core.reading.resolve import command_folder, join
from ajet_inbox.core.reading.shell import scan_script
from ajet_inbox.core.settings import Autokill
from ajet_inbox.core.training.ajet import strip_autokill

_SMART = re.compile(r"[“”‘’]|(?<=\s)[–—](?=\w)")


def _text(name: str, about: str, fix: str, level: Level = Level.WARNING) -> Code:
    return Code(name=name, kind=Kind.TEXT, level=level, about=about, fix=fix)


AUTOKILL_STRIPPED = _text(
    "autokill_stripped",
    "--autokill (or --kill) would end every python, ray and vllm of the host; it is taken out (`security.autokill`).",
    "It is replaced by --skip-check-avail-gpu; leave it out.",
)
AUTOKILL_FORBIDDEN = _text(
    "autokill_forbidden",
    "--autokill (or --kill) is refused by `security.autokill: reject`.",
    "Leave it out.",
    Level.ERROR,
)
QUOTE_OPEN = _text("quote_open", "A command ends inside a quote or a here-document.", "Close it.", Level.ERROR)
CUT_OFF = _text(
    "command_cut_off", "A command ends where it should go on, after a backslash, && or |.", "Finish or shorten it."
)
SYNTAX = _text(
    "command_syntax", "bash cannot read a command; it was asked with bash -n.", "Correct it there.", Level.ERROR
)
TYPOGRAPHIC = _text(
    "typographic_quote",
    "A command holds a typographic quote or dash, which bash takes literally.",
    "Write a plain one.",
)
RAY_STOP = _text(
    "command_ray_stop",
    "`ray stop` ends every Ray of this user on the host, those of other runs included.",
    "Leave it out: what a run started is ended with it.",
)
KILLS = _text(
    "command_kills_by_name",
    "Processes are ended by name, which hits other runs on this host.",
    "Leave it out, or end only pids that the script itself started.",
)
TERMINAL = _text(
    "command_needs_terminal",
    "An interactive program waits for a person who is not there.",
    "Use a form of it that ends by itself.",
)
BACKGROUND = _text(
    "command_in_background",
    "The last command is started in the background, so the script returns at once.",
    "Leave out the last &, or end the script with wait.",
)
SUDO = _text(
    "command_sudo", "sudo asks for a password that nobody types, or needs rights given beforehand.", "Leave it out."
)
REMOVES = _text(
    "command_removes",
    "Files outside the result folder and the folders for temporary files are removed recursively.",
    "Remove only below the result folder or /tmp.",
)
REMOVES_ALL = _text(
    "command_removes_all",
    "The root, a home folder or the whole codebase would be removed.",
    "Name what is really to be removed.",
    Level.ERROR,
)


def _scripts(case: Case) -> Iterator[tuple[str, str]]:
    blueprint = case.blueprint
    for section, script in (
        ("exp_launch_command", blueprint.launch_command),
        ("exp_prepare_command", blueprint.prepare_command),
        ("exp_cleanup_command", blueprint.cleanup_command),
        *(("exp_services", service.command) for service in blueprint.services),
    ):
        if script is not None:
            yield section, script


def _simple(case: Case) -> Iterator[tuple[str, Simple]]:
    return ((section, simple) for section, script in _scripts(case) for simple in programs(script))


def _fragment(simple: Simple) -> str:
    """What to look for in the blueprint to find the command's line."""
    return simple.spelled.split("\n")[0].rstrip(" \\")


def _autokill(case: Case) -> Findings:
    policy = case.settings.security.autokill
    launches = (case.blueprint.launch_command, *(service.command for service in case.blueprint.services))
    if policy is Autokill.ALLOW or not any(strip_autokill(command or "")[1] for command in launches):
        return
    message = f"--autokill (or --kill) would end every python, ray and vllm of the host{_victims(case)}."
    code = AUTOKILL_FORBIDDEN if policy is Autokill.REJECT else AUTOKILL_STRIPPED
    yield code.found(case, "exp_launch_command", message, fragment="kill")


# AgentJet looks for these in whole command lines, and spares those that hold one of the others.
_HUNTED = re.compile(r"ray|vllm|VLLM|python")
_SPARED = re.compile(r"alpha|vscode|benchmark|jupyter|supervisord|download_model|opencode|pai-nohang")


def _victims(case: Case) -> str:
    """What would be ended here and now, by the names of the programs: command lines may hold secrets."""
    lines = case.facts.processes or ()
    hit = [line for line in lines if _HUNTED.search(line) and not _SPARED.search(line)]
    names = Counter(PurePosixPath(line.split(maxsplit=1)[0]).name for line in hit)
    shown = ", ".join(f"{name} ({count})" for name, count in names.most_common(5))
    return f"; here and now {len(hit)} processes: {shown}" if hit else ""


def _open_ends(case: Case) -> Findings:
    for section, script in _scripts(case):
        scan = scan_script(script)
        if scan.quote or scan.documents:
            what = f"quote {scan.quote}" if scan.quote else f"here-document {scan.documents[0]}"
            yield QUOTE_OPEN.found(case, section, f"The command ends inside a {what}.")
        elif scan.continued:
            message = "The command ends where it should go on, after a backslash, && or |."
            yield CUT_OFF.found(case, section, message)


def _syntax(case: Case) -> Findings:
    for section, script in _scripts(case):
        wrong = case.facts.syntax.get(script)
        scan = scan_script(script)
        if wrong is None or scan.quote or scan.documents:
            continue
        lines = script.split("\n")
        fragment = lines[wrong.line - 1].strip() if wrong.line and wrong.line <= len(lines) else ""
        where = f" in its line {wrong.line}" if wrong.line and len(lines) > 1 else ""
        yield SYNTAX.found(case, section, f"bash cannot read the command{where}: {wrong.message}.", fragment=fragment)


def _smart_quotes(case: Case) -> Findings:
    for section, script in _scripts(case):
        if found := _SMART.search(script):
            message = f"The command holds the typographic character {found[0]}, which bash takes literally."
            yield TYPOGRAPHIC.found(case, section, message, fragment=found[0])


def _ray_stop(case: Case) -> Findings:
    for section, simple in _simple(case):
        if simple.program == "ray" and simple.arguments[:1] == ("stop",):
            yield RAY_STOP.found(case, section, "`ray stop` would end the Ray of other runs.", fragment="ray stop")


def _kills(case: Case) -> Findings:
    for section, script in _scripts(case):
        found = programs(script)
        for simple, after in zip_longest(found, found[1:]):
            if simple.program in ("pkill", "killall", "skill") or _kills_found(simple, after):
                message = f"`{simple.program}` ends processes by name, those of other runs too."
                yield KILLS.found(case, section, message, fragment=_fragment(simple))


def _kills_found(simple: Simple, after: Simple | None) -> bool:
    """`xargs kill`, `fuser -k`, or a kill of what the command that is written inside it lists."""
    words = simple.arguments
    if simple.program == "xargs":
        return "kill" in words
    if simple.program == "fuser":
        return any(re.fullmatch(r"-\w*k\w*", word) for word in words)
    inside = after.program if after and "$" in words else ""
    return simple.program == "kill" and any(re.search(r"\b(?:pgrep|pidof|ps)\b", word) for word in (*words, inside))


_INTERACTIVE = frozenset({"vi", "vim", "nvim", "nano", "emacs", "less", "more", "top", "htop", "nvtop", "man", "watch"})
_TMUX_ATTACH = re.compile(r"(?:-[LSfc] \S+ |-\w+ )*(?:a|at|attach|attach-session)(?: |$)")
_BATCH = {"top": r"-\w*b\w*", "emacs": r"--batch|-batch", "vi": r"-e\w*", "vim": r"-e\w*"}


def _terminal(case: Case) -> Findings:
    for section, simple in _simple(case):
        if why := _waits_for_a_person(simple):
            yield TERMINAL.found(case, section, f"`{why}` waits for a person.", fragment=_fragment(simple))


def _waits_for_a_person(simple: Simple) -> str | None:
    program, words = simple.program, simple.arguments
    first = words[0] if words else ""
    if program == "tmux" and _TMUX_ATTACH.match(" ".join(words)):
        return "tmux attach"
    if program == "screen" and any(re.fullmatch(r"-(?:r|x|rd|dr|RR)", word) for word in words):
        return f"screen {first}"
    if program in _INTERACTIVE and not any(re.fullmatch(_BATCH.get(program, r"(?!)"), word) for word in words):
        return program
    if program in ("bash", "sh", "zsh", "python", "python3", "ipython") and (not words or first == "-i"):
        return f"{program} {first}".rstrip() if first or program == "ipython" else None
    return "read -p" if program == "read" and "-p" in words else None


def _background(case: Case) -> Findings:
    script = case.blueprint.launch_command or ""
    found = programs(script)
    if found and found[-1].background and not any(simple.program == "wait" for simple in found):
        message = "The last command ends with &, so the script returns at once."
        yield BACKGROUND.found(case, "exp_launch_command", message, fragment=_fragment(found[-1]))


def _sudo(case: Case) -> Findings:
    for section, simple in _simple(case):
        before = simple.words[: len(simple.words) - len(simple.arguments) - 1]
        if "sudo" in map(_name, before):
            yield SUDO.found(case, section, "sudo may ask for a password that nobody types.", fragment="sudo")


def _name(word: str) -> str:
    return PurePosixPath(word).name


# ---- removing -----------------------------------------------------------------------------------------------------

_RECURSIVE = re.compile(r"-[a-zA-Z]*[rR][a-zA-Z]*|--recursive")
_ROOTS = re.compile(r"(?:/|~|\$HOME|\$\{HOME\})/?\*?")
_OWN = re.compile(r"\$\{?(?:EXP_RESULT_DIR|TMPDIR|RAY_TMPDIR)\}?(?:/|$)|/(?:tmp|var/tmp|dev/shm)/.")


def _removes(case: Case) -> Findings:
    for section, simple in _simple(case):
        if simple.program != "rm" or not any(_RECURSIVE.fullmatch(word) for word in simple.arguments):
            continue
        targets = [word for word in simple.arguments if not word.startswith("-")]
        if everything := next((t for t in targets if _is_everything(case, t)), None):
            yield REMOVES_ALL.found(case, section, f"It would remove {everything}.", fragment=_fragment(simple))
        elif outside := next((t for t in targets if not _is_own(case, t)), None):
            message = f"It removes {outside}, outside the result folder and /tmp."
            yield REMOVES.found(case, section, message, fragment=_fragment(simple))


def _is_everything(case: Case, target: str) -> bool:
    codebase = case.blueprint.codebase_dir
    return bool(_ROOTS.fullmatch(target)) or (codebase is not None and target.rstrip("/*") == codebase)


def _is_own(case: Case, target: str) -> bool:
    blueprint = case.blueprint
    path = join(target, command_folder(blueprint.launch_command or "", blueprint.codebase_dir))
    result = blueprint.result_dir
    below = result is not None and ".." not in path and PurePosixPath(path).is_relative_to(result)
    return below or bool(_OWN.match(path))


RULES = (
    rule(_autokill, AUTOKILL_STRIPPED, AUTOKILL_FORBIDDEN),
    rule(_open_ends, QUOTE_OPEN, CUT_OFF),
    rule(_syntax, SYNTAX),
    rule(_smart_quotes, TYPOGRAPHIC),
    rule(_ray_stop, RAY_STOP),
    rule(_kills, KILLS),
    rule(_terminal, TERMINAL),
    rule(_background, BACKGROUND),
    rule(_sudo, SUDO),
    rule(_removes, REMOVES, REMOVES_ALL),
)
