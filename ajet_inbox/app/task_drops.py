"""A dropped task becomes a draft in its run's folder, and with `draft.auto_submit` a run of its own."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

from loguru import logger

from ajet_inbox.app.client.dropping import drop
from ajet_inbox.app.coding_agent import Workshop, terminals, write_by_agent
from ajet_inbox.app.drafting import Page, base_from, compose, make_folder, surroundings, write_judged
from ajet_inbox.app.errors import UserError
from ajet_inbox.app.gathering import Place as Judge
from ajet_inbox.core.drafting.asked import read_task
from ajet_inbox.core.drafting.draft import Wish
from ajet_inbox.core.drafting.errors import DraftError
from ajet_inbox.core.drops import ReadyMark
from ajet_inbox.core.events import Drafted
from ajet_inbox.core.journal import Reason
from ajet_inbox.core.paths import HomePaths, RunPaths
from ajet_inbox.core.reading.parse import decode
from ajet_inbox.core.reading.resolve import join
from ajet_inbox.core.run import Run
from ajet_inbox.core.settings import Settings
from ajet_inbox.edge.files import Unreadable, list_names, read_regular
from ajet_inbox.edge.neutral import UnsafeFolderError
from ajet_inbox.edge.world import current_user

NOT_DRAFTED = "not_drafted"
_LOOK_S = 0.2


class Drafter:
    """Drafts dropped tasks of one home. One coding agent works at a time: they cost money, and read the same code."""

    def __init__(self, home: HomePaths, settings: Settings, environment: dict[str, str]) -> None:
        self._home = home
        self._settings = settings
        self._environment = environment
        self._at_work = asyncio.Lock()

    async def draft(self, run: Run, *, is_over: Callable[[], bool], is_dropped: Callable[[str], bool]) -> Drafted:
        """Draft the task of `run`; what came of it. Returns early once `is_over`.

        What an earlier life left is made anew, unless it was dropped already: its key tells, and were it dropped twice
        all the same, the second would be rejected as a duplicate.

        Raises:
            OSError: it cannot be done now.
        """
        key, name = f"draft-{run.drop.id}", f"{run.name}_draft"
        dropped_as = name if self._settings.draft.auto_submit else None
        if dropped_as and (is_dropped(key) or name in await asyncio.to_thread(list_names, self._home.inbox)):
            return self._drafted(run, name)
        try:
            await self._write(run, is_over)
            if dropped_as and not is_over():
                await asyncio.to_thread(self._submit, run, key, name)
        except OSError:
            raise
        except (DraftError, UserError, UnsafeFolderError) as error:
            return _not_drafted(run, str(error))
        except Exception as error:
            logger.exception("Drafting {} failed, which is a defect", run.name)
            return _not_drafted(run, f"It was not drafted for a defect of ours: {error!r}.")  # agents cost: not again
        return self._drafted(run, dropped_as)

    def _drafted(self, run: Run, dropped_as: str | None) -> Drafted:
        return Drafted(run=run.name, place=str(self._home.run(run.name).draft), dropped_as=dropped_as)

    async def _write(self, run: Run, is_over: Callable[[], bool]) -> None:
        paths = self._home.run(run.name)
        wish, page = await asyncio.to_thread(self._page, run, paths)
        if self._settings.draft.agent.command is None:
            await asyncio.to_thread(write_judged, page, wish, self._judge, self._templates)
            return
        while self._at_work.locked() and not is_over():
            await asyncio.sleep(_LOOK_S)
        async with self._at_work:
            if not is_over():
                await write_by_agent(page, self._workshop(run, paths), is_over)

    def _page(self, run: Run, paths: RunPaths) -> tuple[Wish, Page]:
        """The draft that the task makes by itself; its folder stands, and is empty."""
        shutil.rmtree(paths.draft, ignore_errors=True)
        make_folder(paths.draft)
        data = read_regular(paths.drop / run.drop.name, self._settings.limits.blueprint_bytes)
        if isinstance(data, Unreadable):
            raise DraftError(f"{data.message}.")
        asked, place = surroundings(read_task(decode(data)[0]), self._home.root, self._environment)
        base = base_from(Path(join(asked.yaml_path, place.folder))) if asked.yaml_path else None
        wish = Wish(name=run.name, folder=str(paths.draft), language=self._settings.language, base=base)
        (page,) = compose(asked, wish, place, self._templates)
        return wish, page

    def _workshop(self, run: Run, paths: RunPaths) -> Workshop:
        tmux, runtime = terminals(self._home.root)
        return Workshop(
            id=f"{run.drop.id}-draft",
            tmux=tmux,
            runtime=runtime,
            records=paths.root / "agent",
            judge=self._judge,
            environment=self._environment,
            templates=self._templates,
        )

    def _submit(self, run: Run, key: str, name: str) -> None:
        try:
            drop(self._home, self._home.run(run.name).draft, ReadyMark(key=key), name)
        except OSError as error:  # not tried again: the agent would write everything once more
            raise DraftError(f"The draft stands, but could not be dropped: {error}.") from error

    @property
    def _judge(self) -> Judge:
        return Judge(
            settings=self._settings,
            home=self._home,
            environment=self._environment,
            dropped_by=(current_user(),),
            patient=True,
        )

    @property
    def _templates(self) -> Path | None:
        return self._home.root / self._settings.templates_dir if self._settings.templates_dir else None


def _not_drafted(run: Run, text: str) -> Drafted:
    return Drafted(run=run.name, trouble=Reason(code=NOT_DRAFTED, text=text))
