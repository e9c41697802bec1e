"""Judge the why answers of a run: the local judge first where it is wanted, then the models' votes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from biaslens import runfile
from biaslens.engine import Pace, Tally, ask_all, most_frequent_reason
from biaslens.engine.interrupt import graceful_interrupt, in_thread
from biaslens.engine.pacing import pace_for, price_of
from biaslens.engine.record import this_start
from biaslens.errors import InputError
from biaslens.evaluation.judging import Ballots, VoteSettler, hopeless, screen_answers
from biaslens.evaluation.observer import Observer, PhaseProgress, Unfailing, Unwatched
from biaslens.evaluation.panel import Panel, enrol
from biaslens.models import ChatModel, open_model
from biaslens.oracles import screen
from biaslens.runfile import Store, open_to_write
from biaslens.schema import Outcome
from biaslens.settings import Settings, load_settings


@dataclass(frozen=True, slots=True)
class Judged:
    """What a start of judging came to.

    Parameters
    ----------
    run, panel
        The run file, and the name of the panel.
    in_force
        Whether this panel's verdicts count in reports.
    counts
        Why answers by who decided them and outcome, all starts together.
    undecided
        Why answers without a verdict of the panel.
    answered, failed
        Votes of this start.
    interrupted
        Whether it was told to stop.
    cost
        US dollars of this start, as far as prices are known.
    why_failed
        What most of the requests that failed in this start failed with; "" where none did.
    """

    run: Path
    panel: str
    in_force: bool
    counts: Mapping[str, Mapping[Outcome, int]]
    undecided: int
    answered: int
    failed: int
    interrupted: bool
    cost: float
    why_failed: str

    @property
    def complete(self) -> bool:
        """Whether every why answer has a verdict."""
        return not self.undecided


class Judging:
    """A panel at work on a run file that is open for writing."""

    def __init__(
        self,
        panel: Panel,
        *,
        store: Store,
        models: Mapping[str, ChatModel],
        settings: Settings,
        observer: Observer,
        stop: asyncio.Event,
    ) -> None:
        self._panel = panel
        self._store = store
        self._models = models
        self._settings = settings
        self._observer = observer
        self._stop = stop

    async def judge(self, paces: Mapping[str, Pace]) -> list[Tally]:
        """Decide what is undecided; votes go round by round, until all is decided or the rest has failed.

        Votes that failed are asked again at the next start, not in an endless round; they hold up no others.

        Raises
        ------
        RunStoppedError
            When a judge's votes are all unusable, `FIRST_VOTES` of them or all there are.
        """
        tallies: list[Tally] = []
        await in_thread(self._screen)
        if self._panel.screened_only:
            return tallies
        ballots = Ballots(self._panel, self._store)
        VoteSettler(ballots).catch_up(self._store)
        while not self._stop.is_set() and ballots.call():
            for judge in self._panel.models:
                todo = ballots.count_open(judge)
                if not todo:
                    continue
                settler = VoteSettler(ballots, ballots.count(judge))
                self._observer.phase(f"judge {judge}", total=todo, done=0)
                with Store(self._store.path) as reader:
                    tally = await ask_all(
                        takewhile(settler.wants, ballots.requests(reader, judge)),
                        model=self._models[judge],
                        store=self._store,
                        pace=pace_for(judge, paces[judge], self._settings),
                        price=price_of(judge, self._settings),
                        settler=settler,
                        progress=PhaseProgress(self._observer, settler.outcomes),
                        stop=self._stop,
                    )
                tallies.append(tally)
                if hopeless(settler.count):
                    ballots.require_usable()
                if self._stop.is_set():
                    return tallies
        if not self._stop.is_set():
            ballots.require_usable()
        return tallies

    def _screen(self) -> None:
        todo = runfile.count_undecided(self._store, self._panel.name)
        if not todo:
            return
        wanted = self._panel.screened_only or self._panel.screen is not None
        self._observer.phase(f"judge {screen.load().name}" if wanted else "rules", total=todo, done=0)

        def progress(read: int, outcomes: Mapping[Outcome, int]) -> None:
            self._observer.update(Tally(answered=read), outcomes)

        screen_answers(self._store, self._panel, progress=progress, stop=self._stop.is_set)


async def judge_async(
    run: Path,
    panel: Panel,
    *,
    in_force: bool | None = None,
    pace: Pace | None = None,
    settings: Settings | None = None,
    observer: Observer | None = None,
    open_model: Callable[[str, Settings], ChatModel] = open_model,
) -> Judged:
    """Judge the why answers of a run that the panel has not judged yet.

    Several panels may judge one run: each keeps its verdicts, and one of them counts in reports.

    Parameters
    ----------
    run
        The run file.
    panel
        Who judges.
    in_force
        Let this panel count in reports; None lets the first one count.
    pace
        How fast and how patiently to ask the judges.
    settings
        Keys and defaults; from the environment where not given.
    observer
        Watches.
    open_model
        Opens a model by its name.

    Raises
    ------
    InputError
        When the run has no why answer, or a judge's name or key cannot be used.
    RunMismatchError
        When a panel of the same name judged under other conditions.
    RunLockedError, RunStoppedError, StorageError
        As for `evaluate_async`.
    """
    settings = settings or load_settings()
    observer = Unfailing(observer or Unwatched())
    stop = asyncio.Event()
    async with AsyncExitStack() as stack:
        stack.enter_context(graceful_interrupt(stop, observer.interrupted))
        models = {name: open_model(name, settings) for name in panel.models}
        for model in models.values():
            stack.push_async_callback(model.close)
        store = stack.enter_context(open_to_write(run, create=False))
        if not runfile.has_why_answers(store):
            raise InputError(f"{run}: no why question has an answer, there is nothing to judge")
        runfile.forget_who_never_judged(store)
        counts_in_reports = enrol(store, panel, in_force=in_force)
        store.set_meta({"starts": [*store.meta().get("starts", []), this_start(models)]})
        judging = Judging(panel, store=store, models=models, settings=settings, observer=observer, stop=stop)
        tallies = await judging.judge(dict.fromkeys(panel.models, pace or Pace()))
        return Judged(
            run=run,
            panel=panel.name,
            in_force=counts_in_reports,
            counts=runfile.count_outcomes(store, panel.name),
            undecided=runfile.count_undecided(store, panel.name),
            answered=sum(tally.answered for tally in tallies),
            failed=sum(tally.failed for tally in tallies),
            interrupted=stop.is_set(),
            cost=sum(tally.cost for tally in tallies),
            why_failed=most_frequent_reason(tallies),
        )


def judge(
    run: Path,
    panel: Panel,
    *,
    in_force: bool | None = None,
    pace: Pace | None = None,
    settings: Settings | None = None,
    observer: Observer | None = None,
) -> Judged:
    """Judge a run from ordinary code; see `judge_async`, which this runs.

    Raises
    ------
    KeyboardInterrupt
        At a second Ctrl-C; whatever had arrived is stored.
    """
    try:
        return asyncio.run(
            judge_async(run, panel, in_force=in_force, pace=pace, settings=settings, observer=observer)
        )  # fmt: skip
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
