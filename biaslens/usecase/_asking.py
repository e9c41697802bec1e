"""Ask a model the prompts of a use case, their counterfactuals, and the same again: durably, and nothing twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from biaslens import runfile
from biaslens.engine import Batching, Exchange, Request, Session, estimate_tokens, in_thread
from biaslens.errors import RunInterruptedError, RunWaitingError
from biaslens.models import ChatModel, Message, open_model
from biaslens.models.catalogue import price
from biaslens.runfile import ASSESSMENT_TABLES, Store, WantedResponse
from biaslens.schema import content_hash
from biaslens.settings import Settings
from biaslens.usecase._counterfactual import substitute
from biaslens.usecase._lexicon import Lexicon
from biaslens.usecase._reading import CUT, FILTERED, ROWS, Response, Series
from biaslens.usecase._spec import MAX_TOKENS, RUN_FILE, AssessmentWatcher, TextOptions

INTERRUPTED = "stopped; every answer is kept, and the same command asks only what is missing"


@dataclass(frozen=True, slots=True)
class Asking:
    """What a model would be asked: different requests, counterfactuals and no-effect responses among them.

    Prompt tokens are counted at four characters each, completion tokens are the most there can be, and the price, with
    completions at their longest, is None where the catalogue knows none.
    """

    model: str
    prompts: int
    requests: int
    prompt_tokens: int
    completion_tokens: int
    dollars: float | None


@dataclass(frozen=True, slots=True)
class UseCasePlan:
    """What to ask the model: prompts by id, and groups to compare by attribute; only these may grow later."""

    options: TextOptions
    prompts: Mapping[str, str]
    compared: Mapping[str, Sequence[str]]
    lexicon: Lexicon

    @property
    def model(self) -> str:
        assert self.options.model is not None
        return self.options.model

    @property
    def run(self) -> Path:
        assert self.options.out is not None
        return self.options.out / RUN_FILE

    def messages(self, prompt: str) -> tuple[Message, ...]:
        system = (Message("system", self.options.system),) if self.options.system else ()
        return (*system, Message("user", prompt))

    def asking(self, settings: Settings, *, batch: bool = False) -> Asking:
        """Count what would be asked, in batches or one by one, whatever a run file already holds; nothing is asked."""
        requests = {item.key: item.prompt for item in self.wanted()}
        tokens = sum(estimate_tokens(self.messages(prompt)) for prompt in requests.values())
        longest = len(requests) * (self.options.params.max_tokens or MAX_TOKENS)
        dollars = price(self.model, tokens, longest, settings, batch=batch)
        return Asking(self.model, len(self.prompts), len(requests), tokens, longest, dollars)

    def wanted(self) -> Iterator[WantedResponse]:
        """Every response that an assessment wants.

        Each prompt is asked as it is. One that mentions an attribute is asked for every group compared as well, and
        again: the *no-effect* responses, which show how far two responses to one prompt lie apart when nothing was
        changed. A counterfactual prompt that is worded as the original shares its responses.
        """
        options = self.options
        identity = content_hash("usecase", self.model, options.params.record(), options.system, options.request_seed)
        copies: Counter[str] = Counter()
        for prompt_id, prompt in self.prompts.items():
            # Two rows with one prompt are two prompts: each gets responses of its own.
            place = content_hash(identity, prompt, copies[prompt])
            copies[prompt] += 1
            for attribute, group, series, text, start in self._variants(prompt):
                for trial in range(options.per_prompt):
                    key = content_hash(place, text, start + trial)
                    yield WantedResponse(key, prompt_id, attribute, group, series, trial, text)

    def _variants(self, prompt: str) -> Iterator[tuple[str, str, Series, str, int]]:
        yield "", "", Series.ORIGINAL, prompt, 0
        for attribute, groups in self.compared.items():
            if not any(found.attribute == attribute for found in self.lexicon.find(prompt, prefer=attribute)):
                continue
            texts: dict[str, str] = {}
            for group in groups:
                text = substitute(prompt, self.lexicon.attributes[attribute], group, self.lexicon).text
                # A group without a form of its own comes out as another one: there is nothing to compare.
                texts.setdefault(text, group)
            if len(texts) < 2:
                continue
            for text, group in texts.items():
                yield attribute, group, Series.COUNTERFACTUAL, text, 0
            for text, group in texts.items():
                yield attribute, group, Series.NO_EFFECT, text, self.options.per_prompt


async def generate(
    plan: UseCasePlan,
    *,
    settings: Settings,
    watcher: AssessmentWatcher,
    open_model: Callable[[str, Settings], ChatModel] = open_model,
    exchange: Exchange | Batching | None = None,
) -> tuple[int, int]:
    """Ask for every response that the run file does not hold yet: how many are wanted, and how many still missing."""
    options = plan.options
    async with Session.open(
        partial(Store, plan.run, write=True, tables=ASSESSMENT_TABLES),
        models=[plan.model],
        settings=settings,
        observer=watcher,
        open_model=open_model,
        exchange=exchange,
    ) as session:
        identity = {"params": options.params.record(), "system": options.system, "seed": options.request_seed}
        session.require(
            {"purpose": "assessment"} | identity,
            model=plan.model,
            hint="give another --out, or repeat the options of the first session",
        )
        session.record()
        prompts: dict[str, str] = {}

        def noted() -> Iterator[WantedResponse]:
            for item in plan.wanted():
                prompts[item.key] = item.prompt
                yield item

        def requests(_: Store, keys: Sequence[str]) -> Iterator[Request]:
            for key in keys:
                # Signed 32 bit: what every provider takes.
                seed = int(content_hash(options.request_seed, key)[:8], 16) & 0x7FFF_FFFF
                yield Request(key, plan.messages(prompts[key]), replace(options.params, seed=seed))

        await in_thread(runfile.save_wanted, session.store, noted())
        missing = await session.ask(plan.model, prompts, requests, pace=options.pace)
    if session.stop.is_set():
        raise RunInterruptedError(INTERRUPTED)
    if exchange is not None and exchange.waiting:
        raise RunWaitingError(f"{missing:,} of {len(prompts):,} responses are missing; nothing is assessed yet")
    return len(prompts), missing


class StoredResponses:
    """The responses of a run file, in the order of their prompts."""

    def __init__(self, run: Path) -> None:
        self._run = run

    def parts(self) -> Iterator[Sequence[Response]]:
        with Store(self._run) as store:
            for part in runfile.stored_responses(store, chunk=ROWS):
                yield [
                    Response(
                        name, prompt, text, attribute, group, Series(series), trial, reason == FILTERED, reason == CUT
                    )
                    for name, prompt, text, attribute, group, series, trial, reason in part
                ]
