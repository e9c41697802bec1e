"""Let a model write a benchmark; resumable at any moment."""

from __future__ import annotations

import asyncio
import csv
import io
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from biaslens import runfile
from biaslens._util.files import write_text
from biaslens.benchmark.bank import load_bank
from biaslens.benchmark.files import Benchmark, content_hash, write
from biaslens.benchmark.llm.asking import load, next_requests, record, request_for, save_items
from biaslens.benchmark.llm.state import GenerationSpec, State, Task
from biaslens.engine import Pace, Progress, Silent, Tally, ask_all
from biaslens.engine.interrupt import graceful_interrupt
from biaslens.engine.pacing import pace_for, price_of
from biaslens.errors import RunLockedError
from biaslens.models import ChatModel, open_model
from biaslens.runfile import GENERATION_TABLES, Store
from biaslens.schema import Attribute, Kind
from biaslens.settings import Settings, load_settings

PROVENANCE = "provenance.csv"
"""Where each role and question comes from, in the folder of the benchmark."""

SERIES = "0-A"
"""Version of benchmarks that a model wrote: none of them is comparable with the shipped ones, or with each other."""


def benchmark_of(state: State) -> Benchmark:
    """The benchmark that a generation has come to, its version derived from its content."""
    spec = state.spec
    roles = tuple(state.made_roles())
    questions = tuple(made.item for made in state.made_questions())
    digest = content_hash(roles, questions)
    return Benchmark(
        version=f"{SERIES}+{digest[:8]}",
        hash=digest,
        path=None,
        roles=roles,
        questions=questions,
        generator=spec.model,
        seed=spec.seed,
        command=spec.command,
    )


def write_benchmark(store: Store, state: State) -> None:
    """Write the benchmark and `PROVENANCE` into the folder.

    Raises
    ------
    StorageError
        When the folder cannot be written.
    """
    spec = state.spec
    write(benchmark_of(state), spec.out)
    write_text(spec.out / PROVENANCE, _provenance(store, spec), hint="free some space and start again")


def _provenance(store: Store, spec: GenerationSpec) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerows(runfile.provenance(store, [str(attribute) for attribute in spec.attributes]))
    return buffer.getvalue()


class GenerationObserver(Progress, Protocol):
    """Watches a generation, and hears the engine's progress of each batch."""

    def batch(self, title: str, *, total: int) -> None:
        """A batch of `total` requests begins; the title says what for, and how much is missing."""

    def interrupted(self) -> None:
        """The run was told to stop and waits for what is in flight."""


class _Unwatched(Silent):
    """A generation that nobody watches."""

    def batch(self, title: str, *, total: int) -> None:
        """Ignore."""

    def interrupted(self) -> None:
        """Ignore."""


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A list that is not complete.

    Parameters
    ----------
    attribute
        Attribute of the roles.
    role, kind
        Whose questions, and of which kind; None where roles are missing.
    made, wanted
        Items accepted, and items there should be.
    rounds
        How often the list has been asked for.
    reason
        What was wrong last; "" where nothing was, or it has not been asked for.
    """

    attribute: Attribute
    role: str | None
    kind: Kind | None
    made: int
    wanted: int
    rounds: int
    reason: str


@dataclass(frozen=True, slots=True)
class Generation:
    """What a start came to.

    Parameters
    ----------
    out
        The folder.
    written
        Whether a benchmark was written there: a complete one, or any if a partial one was asked for.
    roles, questions
        Numbers accepted so far.
    short
        The lists that are not complete; none when all is done. Questions of a role that is missing are not listed.
    dropped
        How many items and replies were not accepted so far, by rule.
    answered, failed
        Requests of this start.
    interrupted
        Whether it was told to stop.
    cost
        US dollars of this start, as far as prices are known.
    error
        Message of the last request that failed for good in this start; "" where none did.
    """

    out: Path
    written: bool
    roles: int
    questions: int
    short: tuple[Shortfall, ...]
    dropped: Mapping[str, int]
    answered: int
    failed: int
    interrupted: bool
    cost: float
    error: str

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return not self.short


async def generate_async(
    spec: GenerationSpec,
    *,
    pace: Pace | None = None,
    settings: Settings | None = None,
    observer: GenerationObserver | None = None,
    open_model: Callable[[str, Settings], ChatModel] = open_model,
) -> Generation:
    """Let a model write a benchmark, or go on with one: ask only for what its folder does not hold yet.

    Roles come first, then the questions of each kind for each role. Every reply is stored as it came. After each batch
    the replies are read and checked; what failed is asked for again, with what was wrong, at most
    `GenerationSpec.max_rounds` times. The first Ctrl-C waits for the replies in flight and returns; a second one drops
    them.

    Parameters
    ----------
    spec
        What to write, with which model, and where.
    pace
        How fast and how patiently to ask.
    settings
        Keys and defaults; from the environment where not given.
    observer
        Watches.
    open_model
        Opens a model by its name.

    Returns
    -------
    Generation
        What it came to; anything missing is listed.

    Raises
    ------
    InputError
        When the model's name or key cannot be used, or the folder cannot be written.
    RunMismatchError
        When the folder belongs to another model, prompt or parameter set.
    RunLockedError
        When another process is at work in the folder.
    RunStoppedError
        When too much fails; every reply is kept.
    StorageError
        When the run file cannot be written.
    """
    settings = settings or load_settings()
    stop = asyncio.Event()
    async with AsyncExitStack() as stack:
        model = open_model(spec.model, settings)
        stack.push_async_callback(model.close)
        store = stack.enter_context(_store(spec))
        observer = observer or _Unwatched()
        stack.enter_context(graceful_interrupt(stop, observer.interrupted))
        record(store, spec, model)
        start = _Start(spec, store=store, model=model, settings=settings, observer=observer, stop=stop)
        state = await start.ask(pace or Pace())
        return start.result(state)


def generate(
    spec: GenerationSpec,
    *,
    pace: Pace | None = None,
    settings: Settings | None = None,
    observer: GenerationObserver | None = None,
) -> Generation:
    """Let a model write a benchmark, from ordinary code; see `generate_async`, which this runs.

    Raises
    ------
    KeyboardInterrupt
        At a second Ctrl-C; whatever had arrived is stored.
    """
    try:
        return asyncio.run(generate_async(spec, pace=pace, settings=settings, observer=observer))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


class _Start:
    """One start of a generation: everything that is open while it runs."""

    def __init__(
        self,
        spec: GenerationSpec,
        *,
        store: Store,
        model: ChatModel,
        settings: Settings,
        observer: GenerationObserver,
        stop: asyncio.Event,
    ) -> None:
        self.spec = spec
        self.store = store
        self.model = model
        self.settings = settings
        self.observer = observer
        self.stop = stop
        self.abstain = load_bank().abstain
        self.tallies: list[Tally] = []

    async def ask(self, pace: Pace) -> State:
        """Ask batch by batch until all is there or nothing more can be asked; the state it ends in."""
        pace = pace_for(self.spec.model, pace, self.settings)
        given_up: set[Task] = set()
        while True:
            state = self._read()
            planned = [] if self.stop.is_set() else next_requests(self.store, state, given_up)
            if not planned:
                return state
            self.observer.batch(_title(state, planned[0].task), total=len(planned))
            tally = await ask_all(
                (request_for(request, state) for request in planned),
                model=self.model,
                store=self.store,
                pace=pace,
                price=price_of(self.spec.model, self.settings),
                progress=self.observer,
                stop=self.stop,
            )
            self.tallies.append(tally)
            # What failed for good is asked again at the next start, not in an endless round.
            given_up.update(request.task for request in planned if not runfile.is_answered(self.store, request.key))

    def result(self, state: State) -> Generation:
        """Write the benchmark where it may be written, and sum up."""
        short = tuple(_shortfalls(state))
        written = bool(not short or (self.spec.partial and state.made_questions()))
        if written:
            write_benchmark(self.store, state)
        failed = sum(tally.failed for tally in self.tallies)
        return Generation(
            out=self.spec.out,
            written=written,
            roles=len(state.made_roles()),
            questions=len(state.made_questions()),
            short=short,
            dropped=dict(Counter(fault.rule.value for _, fault in state.faults).most_common()),
            answered=sum(tally.answered for tally in self.tallies),
            failed=failed,
            interrupted=self.stop.is_set(),
            cost=sum(tally.cost for tally in self.tallies),
            error=runfile.last_failure(self.store) if failed else "",
        )

    def _read(self) -> State:
        state = State(self.spec, self.abstain)
        load(self.store, state)
        save_items(self.store, state)
        return state


def _store(spec: GenerationSpec) -> Store:
    try:
        return Store(spec.run, write=True, tables=GENERATION_TABLES)
    except RunLockedError:
        raise RunLockedError(
            f"{spec.out}: another process is writing this benchmark; wait for it, or give another --out"
        ) from None


def _title(state: State, task: Task) -> str:
    if task.role is None:
        return f"{sum(state.work(other).missing for other in state.tasks() if other.role is None):,} roles"
    return f"{sum(state.work(other).missing for other in state.tasks() if other.role is not None):,} questions"


def _shortfalls(state: State) -> list[Shortfall]:
    return [
        Shortfall(
            attribute=task.attribute,
            role=None if task.role is None else task.role.name,
            kind=task.kind,
            made=len(work.made),
            wanted=work.wanted,
            rounds=work.rounds,
            reason=str(work.faults[-1]) if work.faults else "",
        )
        for task in state.tasks()
        if (work := state.work(task)).missing
    ]
