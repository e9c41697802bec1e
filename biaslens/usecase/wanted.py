"""What an assessment wants to have answered: prompts as they are, their counterfactuals, and the same again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from biaslens.engine.limits import estimate_tokens
from biaslens.errors import InputError
from biaslens.models import Message, Params
from biaslens.models.catalogue import price
from biaslens.schema import content_hash
from biaslens.settings import Settings
from biaslens.usecase.counterfactual import substitute
from biaslens.usecase.responses import Series
from biaslens.usecase.words import Lexicon

MAX_TOKENS = 512
"""Default limit of a response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationSpec:
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


def asking(spec: GenerationSpec, lexicon: Lexicon, settings: Settings) -> Asking:
    """Count what a model would be asked, whatever a run file already holds; nothing is asked."""
    requests = {item.key: item.prompt for item in wanted(spec, lexicon)}
    tokens = sum(estimate_tokens(messages(spec, prompt)) for prompt in requests.values())
    longest = len(requests) * (spec.params.max_tokens or MAX_TOKENS)
    dollars = price(spec.model, tokens, longest, settings)
    return Asking(spec.model, len(spec.prompts), len(requests), tokens, longest, dollars)


def wanted(spec: GenerationSpec, lexicon: Lexicon) -> Iterator[Wanted]:
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


def _askings(spec: GenerationSpec, prompt: str, lexicon: Lexicon) -> Iterator[tuple[str, str, Series, str, int]]:
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


def messages(spec: GenerationSpec, prompt: str) -> tuple[Message, ...]:
    """What is sent for a prompt."""
    system = (Message("system", spec.system),) if spec.system else ()
    return (*system, Message("user", prompt))
