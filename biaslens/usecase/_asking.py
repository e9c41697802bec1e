"""What an assessment wants to have answered: prompts as they are, their counterfactuals, and the same again."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from biaslens.engine import Pace, Request, Store, Tally, ask_all
from biaslens.engine.interrupt import graceful_interrupt
from biaslens.engine.limits import estimate_tokens
from biaslens.engine.pacing import pace_for, price_of
from biaslens.engine.record import this_start
from biaslens.errors import InputError
from biaslens.models import ChatModel, Message, Params, open_model
from biaslens.models.catalogue import price
from biaslens.schema import content_hash
from biaslens.settings import Settings, load_settings
from biaslens.usecase._counterfactual import substitute
from biaslens.usecase._lexicon import Lexicon
from biaslens.usecase._reading import CUT, FILTERED, Response, Series
from biaslens.usecase._spec import MAX_TOKENS, AssessmentWatcher


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingSpec:
    """What to ask for a use case.

    Model, parameters, system prompt and seed belong to a run file once it holds an answer; prompts, attributes, groups
    and the number of responses may grow from one start to the next.

    Parameters
    ----------
    model
        Full name: "openai/gpt-4o-mini".
    prompts
        Prompts by id.
    run
        The run file.
    compared
        Groups to compare, by attribute.
    per_prompt
        Responses to each prompt.
    system
        System prompt of the use case; "" for none.
    params
        Sampling parameters.
    seed
        Start of the requests' seeds, where the provider takes one.
    """

    model: str
    prompts: Mapping[str, str]
    run: Path
    compared: Mapping[str, Sequence[str]] = field(default_factory=dict)
    per_prompt: int = 25
    system: str = ""
    params: Params = field(default_factory=lambda: Params(max_tokens=MAX_TOKENS))
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse numbers that make no sense."""
        if self.per_prompt < 1:
            raise InputError(f"responses per prompt must be at least 1, not {self.per_prompt}")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A response that is wanted: a row of ``requests``."""

    key: str
    prompt_id: str
    attribute: str
    group: str
    series: Series
    trial: int
    prompt: str


@dataclass(frozen=True, slots=True)
class Asking:
    """What a model would be asked.

    Parameters
    ----------
    model
        Full name.
    prompts, requests
        Prompts of the use case, and different requests: counterfactuals and no-effect responses are among them.
    prompt_tokens
        Counted at four characters each.
    completion_tokens
        The most there can be.
    dollars
        Price, completions at their longest; None where the catalogue knows none.
    """

    model: str
    prompts: int
    requests: int
    prompt_tokens: int
    completion_tokens: int
    dollars: float | None


def asking(spec: AskingSpec, lexicon: Lexicon, settings: Settings) -> Asking:
    """Count what a model would be asked, whatever a run file already holds; nothing is asked."""
    requests = {item.key: item.prompt for item in wanted(spec, lexicon)}
    tokens = sum(estimate_tokens(messages(spec, prompt)) for prompt in requests.values())
    longest = len(requests) * (spec.params.max_tokens or MAX_TOKENS)
    dollars = price(spec.model, tokens, longest, settings)
    return Asking(spec.model, len(spec.prompts), len(requests), tokens, longest, dollars)


def wanted(spec: AskingSpec, lexicon: Lexicon) -> Iterator[Wanted]:
    """Every response that an assessment wants.

    Each prompt is asked as it is. One that mentions an attribute is asked for every group compared as well, and the
    groups but the last once more: the *no-effect* responses, which show how far two responses to one prompt lie apart
    when nothing was changed. A counterfactual prompt that is worded as the original shares its responses.
    """
    identity = content_hash("usecase", spec.model, asdict(spec.params), spec.system, spec.seed)
    copies: Counter[str] = Counter()
    for prompt_id, prompt in spec.prompts.items():
        # Two rows with one prompt are two prompts: each gets responses of its own.
        place = content_hash(identity, prompt, copies[prompt])
        copies[prompt] += 1
        for attribute, group, series, text, start in _askings(spec, prompt, lexicon):
            for trial in range(spec.per_prompt):
                key = content_hash(place, text, start + trial)
                yield Wanted(key, prompt_id, attribute, group, series, trial, text)


def _askings(spec: AskingSpec, prompt: str, lexicon: Lexicon) -> Iterator[tuple[str, str, Series, str, int]]:
    yield "", "", Series.ORIGINAL, prompt, 0
    for attribute, groups in spec.compared.items():
        if not any(found.attribute == attribute for found in lexicon.find(prompt, prefer=attribute)):
            continue
        texts: dict[str, str] = {}
        for group in groups:
            text = substitute(prompt, lexicon.attributes[attribute], group, lexicon).text
            # A group without a form of its own comes out as another one: there is nothing to compare.
            if text not in texts.values():
                texts[group] = text
        if len(texts) < 2:
            continue
        for group, text in texts.items():
            yield attribute, group, Series.COUNTERFACTUAL, text, 0
        for group in list(texts)[:-1]:
            yield attribute, group, Series.NO_EFFECT, texts[group], spec.per_prompt


def messages(spec: AskingSpec, prompt: str) -> tuple[Message, ...]:
    """What is sent for a prompt."""
    system = (Message("system", spec.system),) if spec.system else ()
    return (*system, Message("user", prompt))


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
    spec: AskingSpec,
    lexicon: Lexicon,
    *,
    pace: Pace | None = None,
    settings: Settings | None = None,
    watcher: AssessmentWatcher,
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
        requests = await asyncio.to_thread(_lay_out, store, spec, lexicon)
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


def _record(store: Store, spec: AskingSpec, model: ChatModel) -> None:
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


def _lay_out(store: Store, spec: AskingSpec, lexicon: Lexicon) -> dict[str, str]:
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


def _request(spec: AskingSpec, key: str, prompt: str) -> Request:
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
