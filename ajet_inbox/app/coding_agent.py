"""A coding agent at work: in a tmux session of its own, within its time, its output checked round after round."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path

from jinja2 import TemplateError
from loguru import logger
from msgspec import Struct

from ajet_inbox.app.client.reading import read_from
from ajet_inbox.app.drafting import Page
from ajet_inbox.app.gathering import Place as Judge
from ajet_inbox.core.attempt import session_name
from ajet_inbox.core.blueprint import Problem, errors
from ajet_inbox.core.drafting.errors import DraftError
from ajet_inbox.core.settings import Agent
from ajet_inbox.edge import agent, neutral, processes
from ajet_inbox.edge.agent import Ended, Errand
from ajet_inbox.edge.drafts import render_prompt
from ajet_inbox.edge.files import Unreadable, fingerprint, list_names, read_regular
from ajet_inbox.edge.tmux import Tmux, Trouble
from ajet_inbox.edge.workplace import sources
from ajet_inbox.supervisor.tree import TAG

_LOOK_S = 0.1
_SESSION_LOOK_S = 2.0
_LATE_S = 30.0  # after its own clock should have ended a round
_GRACE_S = 5.0
_LOG_BYTES = 64 << 10


class Workshop(Struct, frozen=True, kw_only=True):
    """Where and how agents work. `id` names the work for ever: whoever does it again ends what is left of it.

    `judge` is where and for whom its blueprint is checked, `beside` are folders in which nothing may appear, `records`
    is where prompts and output are kept.
    """

    id: str
    tmux: Tmux
    runtime: Path
    records: Path
    judge: Judge
    environment: Mapping[str, str]
    templates: Path | None = None
    beside: tuple[Path, ...] = ()

    @property
    def agent(self) -> Agent:
        """Which agent, how often, for how long."""
        return self.judge.settings.draft.agent


def new_id() -> str:
    """An id for work that is done once and not taken up again."""
    return f"{secrets.token_hex(6)}-draft"


async def write_by_agent(page: Page, shop: Workshop, is_over: Callable[[], bool] = lambda: False) -> None:
    """Let the agent write the draft into its folder, which must be there, until what it wrote passes `check`.

    Returns early, with whatever is there, once `is_over`.

    Raises:
        DraftError: no round passed, or it changed what is not its own; the files stay as they are.
        OSError: nothing can be written now.
    """
    problems: Sequence[Problem] = ()
    for number in range(1, shop.agent.rounds + 1):
        problems = await _round(page, shop, number, problems, is_over)
        if is_over() or not problems:
            return
        logger.info("Round {} of the coding agent does not pass: {}", number, problems[0].message)
    more = f" And {len(problems) - 1} more." if len(problems) > 1 else ""
    sentence = f"The coding agent wrote nothing that passes, in {shop.agent.rounds} rounds: {problems[0].message}"
    raise DraftError(f"{sentence}{more}")


async def _round(
    page: Page, shop: Workshop, number: int, problems: Sequence[Problem], is_over: Callable[[], bool]
) -> Sequence[Problem]:
    """One round; what is wrong with what stands afterwards."""
    records = shop.records / str(number)
    errand = Errand(
        command=shop.agent.command or "",
        folder=Path(page.draft.folder),
        records=records,
        env=shop.environment,
        tag=(TAG, shop.id),
        limit_s=shop.agent.timeout,
    )
    prompt = await asyncio.to_thread(_prompt, page, shop, problems)
    before = await asyncio.to_thread(_surroundings, page, shop)
    ended = await _run(errand, prompt, page, shop, is_over)
    after = await asyncio.to_thread(_surroundings, page, shop)
    if strayed := agent.touched(before, after):
        names = ", ".join(strayed[:5])
        raise DraftError(f"While the coding agent worked, this changed outside its folder: {names}.", "Look at it.")
    return await asyncio.to_thread(_judged, errand, ended, shop.judge)


def _prompt(page: Page, shop: Workshop, problems: Sequence[Problem]) -> str:
    log = read_regular(Path(page.trial_log), _LOG_BYTES) if page.trial_log else b""
    try:
        return render_prompt(
            page.draft,
            page.text,
            shop.judge.settings.language,
            trial_log="" if isinstance(log, Unreadable) else log.decode(errors="replace"),
            problems=problems,
            templates_dir=shop.templates,
        )
    except TemplateError as error:
        raise DraftError(f"A template in {shop.templates} is wrong: {error}.", "Correct or remove it.") from error


def _surroundings(page: Page, shop: Workshop) -> dict[str, object]:
    """What the agent must leave alone, as far as it is looked at: the code under version control, and some folders."""
    own = Path(page.draft.folder)
    beside = [path for folder in shop.beside for name in list_names(folder) if (path := folder / name) != own]
    return {**sources(Path(page.draft.codebase_dir)), **{str(path): True for path in beside}}


def _judged(errand: Errand, ended: Ended | None, judge: Judge) -> tuple[Problem, ...]:
    if ended is None or ended.timed_out:
        limit = f"{errand.limit_s:g} s"
        message = f"It was not ready within {limit}: {agent.last_words(errand) or 'it printed nothing'}."
        return (Problem(code="agent_timeout", message=message, hint="Do less, or raise draft.agent.timeout."),)
    if ended.exit_code:
        message = f"It ended with exit code {ended.exit_code}: {ended.output or 'it printed nothing'}."
        return (Problem(code="agent_failed", message=message),)
    unreadable = fingerprint(errand.folder, judge.settings.limits.drop_bytes)
    if isinstance(unreadable, Unreadable):  # links and such, which no inbox would take
        return (Problem(code="unreadable", message=f"{unreadable.message}.", hint="Write plain files only."),)
    return errors(read_from(errand.folder, judge).problems)


# ---- in a terminal ------------------------------------------------------------------------------------------------


async def _run(errand: Errand, prompt: str, page: Page, shop: Workshop, is_over: Callable[[], bool]) -> Ended | None:
    """Run the agent to its end; None where its time was over, or where nobody can tell."""
    session = session_name(page.draft.name, shop.id, 1)  # one for all rounds: whoever begins anew must find it
    async with _terminal(errand, prompt, session, shop):
        loop = asyncio.get_running_loop()
        deadline, look_at = loop.time() + errand.limit_s + _LATE_S, loop.time() + _SESSION_LOOK_S
        while (ended := agent.ended(errand)) is None and loop.time() < deadline and not is_over():
            if loop.time() >= look_at:
                if await asyncio.to_thread(shop.tmux.exists, session) is False and agent.ended(errand) is None:
                    return None
                look_at = loop.time() + _SESSION_LOOK_S
            await asyncio.sleep(_LOOK_S)
    return ended


@contextlib.asynccontextmanager
async def _terminal(errand: Errand, prompt: str, session: str, shop: Workshop) -> AsyncIterator[None]:
    """The agent's session; nothing of it, or of one that somebody left behind, lives on afterwards."""
    script = shop.runtime / f"{shop.id}.sh"
    try:
        await asyncio.to_thread(_end, session, shop)
        await asyncio.to_thread(agent.prepare, errand, prompt, script)
        reply = await asyncio.to_thread(shop.tmux.launch, session, script)
        if reply.trouble not in (None, Trouble.SILENT):
            raise DraftError(f"tmux did not start the coding agent: {reply.message}.", "See 'ajet-inbox doctor'.")
        yield
    finally:
        await asyncio.to_thread(_end, session, shop)
        script.unlink(missing_ok=True)


def _end(session: str, shop: Workshop) -> None:
    processes.sweep(shop.id, _GRACE_S)
    shop.tmux.destroy(session)


def terminals(home: Path) -> tuple[Tmux, Path]:
    """The home's tmux server and its private folder, which is made.

    Raises:
        UnsafeFolderError: that folder cannot be trusted.
        OSError: it cannot be made.
    """
    runtime = neutral.runtime_dir(home)
    neutral.prepare(runtime)
    return Tmux(runtime, systemd=Path("/run/systemd/system").is_dir()), runtime
