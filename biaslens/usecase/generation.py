"""Ask a model the prompts of a use case, their counterfactuals, and the same again: durably, and nothing twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from biaslens.engine import Pace, Request, Store, Tally, ask_all
from biaslens.engine.interrupt import graceful_interrupt, in_thread
from biaslens.engine.pacing import pace_for, price_of
from biaslens.engine.record import this_start
from biaslens.models import ChatModel, open_model
from biaslens.schema import content_hash
from biaslens.settings import Settings, load_settings
from biaslens.usecase.responses import CUT, FILTERED, Response, Series
from biaslens.usecase.wanted import GenerationSpec, messages, wanted
from biaslens.usecase.watching import Watcher
from biaslens.usecase.words import Lexicon

TABLES = """
CREATE TABLE IF NOT EXISTS requests (   -- every response that an assessment wants
    key       TEXT NOT NULL,            -- of the response in answers; prompts worded alike share it
    prompt_id TEXT NOT NULL,
    attribute TEXT NOT NULL,            -- '' for the prompt as it is
    "group"   TEXT NOT NULL,
    series    TEXT NOT NULL,            -- original, counterfactual or no_effect
    trial     INTEGER NOT NULL,
    prompt    TEXT NOT NULL,
    PRIMARY KEY (prompt_id, attribute, "group", series, trial)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS requests_key ON requests (key);
CREATE VIEW IF NOT EXISTS responses AS
    SELECT prompt_id, prompt, attribute, "group", series, trial, text AS response, finish_reason, key
    FROM requests JOIN answers USING (key);
"""

_PART = 20_000


@dataclass(frozen=True, slots=True)
class Generated:
    """What a start came to.

    Parameters
    ----------
    run
        The run file.
    wanted, missing
        Different requests, and those of them without an answer.
    answered, failed
        Requests of this start.
    interrupted
        Whether it was told to stop.
    cost
        US dollars of this start, as far as prices are known.
    """

    run: Path
    wanted: int
    missing: int
    answered: int = 0
    failed: int = 0
    interrupted: bool = False
    cost: float = 0.0


async def generate_async(
    spec: GenerationSpec,
    lexicon: Lexicon,
    *,
    pace: Pace | None = None,
    settings: Settings | None = None,
    watcher: Watcher,
    open_model: Callable[[str, Settings], ChatModel] = open_model,
) -> Generated:
    """Ask for every response of a use case that its run file does not hold yet.

    Raises
    ------
    InputError
        When the model's name or key cannot be used.
    RunMismatchError
        When the run file belongs to another model or parameter set.
    RunLockedError
        When another process is at work on it.
    RunStoppedError
        When too much fails; every response is kept.
    StorageError
        When it cannot be written.
    """
    settings = settings or load_settings()
    stop = asyncio.Event()
    async with AsyncExitStack() as stack:
        model = open_model(spec.model, settings)
        stack.push_async_callback(model.close)
        store = stack.enter_context(Store(spec.run, write=True, tables=TABLES))
        stack.enter_context(graceful_interrupt(stop, watcher.interrupted))
        _record(store, spec, model)
        requests = await in_thread(_lay_out, store, spec, lexicon)
        answered = {key for (key,) in store.connection.execute("SELECT key FROM answers")}
        missing = {key: prompt for key, prompt in requests.items() if key not in answered}
        watcher.phase(spec.model, total=len(requests), done=len(requests) - len(missing))
        tally = Tally()
        if missing:
            tally = await ask_all(
                (_request(spec, key, prompt) for key, prompt in sorted(missing.items())),
                model=model,
                store=store,
                pace=pace_for(spec.model, pace or Pace(), settings),
                price=price_of(spec.model, settings),
                progress=watcher,
                stop=stop,
            )
        return Generated(
            run=spec.run,
            wanted=len(requests),
            missing=len(missing) - tally.answered,
            answered=tally.answered,
            failed=tally.failed,
            interrupted=stop.is_set(),
            cost=tally.cost,
        )


def _record(store: Store, spec: GenerationSpec, model: ChatModel) -> None:
    with store.transaction() as connection:
        # A first start with a wrong name or key binds nobody.
        if not connection.execute("SELECT 1 FROM answers LIMIT 1").fetchone():
            connection.execute("DELETE FROM requests")
            connection.execute("DELETE FROM failures")
            connection.execute("DELETE FROM meta WHERE name NOT IN ('format', 'starts', 'purpose')")
    store.require_meta(
        {
            "purpose": "assessment",
            "model": spec.model,
            "weights": model.runtime.get("sha256"),
            "params": asdict(spec.params),
            "system": spec.system,
            "seed": spec.seed,
        },
        hint="give another --out, or repeat the first start's options",
    )
    store.set_meta({"starts": [*store.meta().get("starts", []), this_start({spec.model: model})]})


def _lay_out(store: Store, spec: GenerationSpec, lexicon: Lexicon) -> dict[str, str]:
    """Write what is wanted into the run file in place of what earlier starts wanted; prompts by key."""
    requests: dict[str, str] = {}

    def rows() -> Iterator[tuple[object, ...]]:
        for item in wanted(spec, lexicon):
            requests[item.key] = item.prompt
            yield item.key, item.prompt_id, item.attribute, item.group, item.series, item.trial, item.prompt

    with store.transaction() as connection:
        connection.execute("DELETE FROM requests")
        connection.executemany("INSERT INTO requests VALUES (?, ?, ?, ?, ?, ?, ?)", rows())
    return requests


def _request(spec: GenerationSpec, key: str, prompt: str) -> Request:
    # Signed 32 bit: what every provider takes.
    seed = int(content_hash(spec.seed, key)[:8], 16) & 0x7FFF_FFFF
    return Request(key, messages(spec, prompt), replace(spec.params, seed=seed))


class StoredResponses:
    """The responses of a run file, in the order of their prompts.

    Parameters
    ----------
    run
        The run file.
    """

    def __init__(self, run: Path) -> None:
        self._run = run

    def parts(self) -> Iterator[Sequence[Response]]:
        """All responses, in parts."""
        with Store(self._run) as store:
            rows = store.connection.execute(
                'SELECT prompt_id, prompt, response, attribute, "group", series, trial, finish_reason FROM responses '
                'ORDER BY prompt_id, attribute, "group", series, trial'
            )
            while part := rows.fetchmany(_PART):
                yield [
                    Response(
                        name, prompt, text, attribute, group, Series(series), trial, reason == FILTERED, reason == CUT
                    )
                    for name, prompt, text, attribute, group, series, trial, reason in part
                ]
