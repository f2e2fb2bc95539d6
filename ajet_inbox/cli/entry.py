"""The entry point: whatever happens becomes an exit code and, where it went wrong, one sentence."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
from pathlib import Path

import click

from ajet_inbox import __version__
from ajet_inbox.app.errors import Code, UserError
from ajet_inbox.cli.base import LazyGroup, Session


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
def cli() -> None:
    """Drop an experiment blueprint into a folder; find the results, and a finish.flag that tells the truth."""


def main() -> int:
    """Run the command in `sys.argv`; its exit code (contract section 5)."""
    _have_streams()
    _never_fail_to_encode()
    session = Session()
    try:
        code = cli.main(prog_name="ajet-inbox", standalone_mode=False, obj=session)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # the second is what click makes of the first
        return _closed_pipe()
    except (click.Abort, KeyboardInterrupt):
        return Code.INTERRUPTED
    except Exception as error:
        if session.debug:
            traceback.print_exc()
        return _tell(error)
    return int(code or Code.FINE)


def _have_streams() -> None:
    """Started with a closed stream (`>&-`) Python has none at all; nobody reads it, and the exit code still counts."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115  (for as long as we live)


def _never_fail_to_encode() -> None:
    """A run called in Chinese must not crash a terminal that knows only ASCII."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _closed_pipe() -> int:
    _say_no_more()
    return Code.CLOSED_PIPE


def _say_no_more() -> None:
    """Python flushes standard output once more at its end, and would complain where that cannot be written."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _tell(error: Exception) -> int:
    sentence, advice, code = _explained(error)
    if "--json" in sys.argv:  # whoever reads JSON gets some, however early it went wrong
        from ajet_inbox.cli.output import print_json

        with contextlib.suppress(OSError):  # a full disk, which is told on the other stream
            print_json({"error": sentence, "advice": advice, "exit_code": int(code)})
            sys.stdout.flush()
    click.echo(f"ajet-inbox: {' '.join(filter(None, (sentence, advice)))}", err=True)
    if isinstance(error, OSError):
        _say_no_more()
    return code


def _explained(error: Exception) -> tuple[str, str, Code]:
    """One sentence, what to do next, and the exit code."""
    from ajet_inbox.core.settings.read import SettingsError

    match error:
        case UserError():
            return str(error), error.advice, error.code
        case click.UsageError():
            where = error.ctx.command_path if error.ctx else "ajet-inbox"
            return error.format_message(), f"See '{where} --help'.", Code.USAGE
        case click.ClickException():
            return error.format_message(), "", Code.NO
        case SettingsError():
            return str(error), "Correct the file and try again.", Code.USAGE
        case OSError():
            where = f" ({error.filename})" if error.filename else ""
            return f"The system said: {error.strerror or error}{where}.", "", Code.NO
        case _:
            return f"This should not have happened: {error!r}.", "Run it again with --debug to see where.", Code.NO
