"""What an evaluation will take, before anything is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from biaslens import runfile
from biaslens.engine import Pace, Request, estimate_tokens, pace_for
from biaslens.evaluation.prompting import judge_messages, persona_of, read_wording, request_seed
from biaslens.evaluation.run import benchmark_of, response_keys, shown_order
from biaslens.evaluation.spec import Spec, Task
from biaslens.models import Params
from biaslens.models.catalogue import batch_terms, entry, price, thinks_with
from biaslens.oracles import screen
from biaslens.runfile import reading
from biaslens.schema import Condition, Kind
from biaslens.settings import Settings, load_settings

ANSWER_TOKENS = {Kind.YES_NO: 2, Kind.CHOICE: 4, Kind.WHY: 130}
"""Expected length of an answer in tokens: a word, a letter, and the hundred words a why question allows."""

JUDGE_TOKENS = {"codebook": 45, "fairness": 2}
"""Expected length of a judge's reply in tokens: a sentence and the outcome, or a word."""

THINKING_TOKENS = {"minimal": 100, "low": 300, "medium": 800, "high": 2500, "xhigh": 5000, "max": 8000}
"""Assumed tokens of thought before an answer, by effort; "medium" where none is named. A pilot measures them."""

PILOT = 10
"""Answers of a kind from which their length is taken."""

TOKENS_PER_SECOND = 80
"""Usual speed of thinking, for the time where no limit per minute is given."""

SECONDS_PER_ANSWER = {Kind.YES_NO: 0.6, Kind.CHOICE: 0.6, Kind.WHY: 3.0}
"""Usual time of an answer over the network, for the time where no limit per minute is given."""

JUDGE_SECONDS = 1.5


@dataclass(frozen=True, slots=True)
class Load:
    """What one model is to be asked: expected numbers of "answers", the most that can be asked of "votes".

    `tokens_from` says where the completion tokens come from: what is "asked" for, thinking that is "assumed" beside
    it, or a "pilot", the answers that the run file holds. `dollars` is None where the catalogue knows no price, and
    `price_from` says who quotes one that could not be confirmed with the provider. `hours` are those at the limits
    given or configured, else at those the catalogue knows of the lowest paying tier, else at the concurrency.
    """

    model: str
    purpose: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    dollars: float | None
    hours: float
    tokens_from: str = "asked"
    price_from: str | None = None


@dataclass(frozen=True, slots=True)
class Screening:
    """What the local judge is expected to spare.

    Of so many why answers it decides a share, where it is as sure as it must be, and a share of those decisions meets
    the hand labels; both as measured on hand-labelled answers of models it did not learn from. That spares so many
    calls of judges, at a price that is None where the catalogue knows none.
    """

    answers: int
    sure: float
    decided: float
    agreement: float
    calls: int
    dollars: float | None


def screening(task: Task, loads: Sequence[Load]) -> Screening | None:
    """Estimate what the local judge spares of the votes in `loads`; None where it does not come first."""
    panel = task.spec.panel
    if panel is None or panel.screen is None:
        return None
    expected = screen.load().expected(panel.screen)
    votes = [load for load in loads if load.purpose == "votes"]
    spared = expected.decided / (1 - expected.decided)
    prices = [load.dollars for load in votes if load.dollars is not None]
    return Screening(
        answers=_whys(task.spec),
        sure=panel.screen,
        decided=expected.decided,
        agreement=expected.agreement,
        calls=round(sum(load.calls for load in votes) * spared),
        dollars=sum(prices) * spared if len(prices) == len(votes) else None,
    )


def _whys(spec: Spec) -> int:
    questions = [question for question in benchmark_of(spec)[1] if question.kind is Kind.WHY]
    decided = held(spec).decided
    return sum(key not in decided for key, *_ in response_keys(spec, questions))


def estimate(task: Task, *, settings: Settings | None = None, batch: bool = False) -> list[Load]:
    """Estimate calls, tokens, price and hours of what an evaluation has not asked yet, in batches or one by one.

    Nothing is asked.

    Prompts are rendered, so their share is as good as four characters a token. Answers are assumed to be as long as
    those of their kind in the run file were, and where there are none, as long as they are asked to be, and a thought
    before them where the model thinks. Early stopping spares about a third of the votes counted here; what the local
    judge is expected to decide is taken off.

    Raises `InputError` when the benchmark cannot be used, or its slice is empty.
    """
    spec, settings = task.spec, settings or load_settings()
    panel = spec.panel
    there = held(spec)
    wording = read_wording(spec.prompts, spec.system)
    calls, prompt, completion, seconds = 0, 0, 0.0, 0.0
    thinking = _thinking(spec.model, spec.params, settings)
    lengths = {kind: there.lengths.get(kind, ANSWER_TOKENS[kind] + thinking) for kind in Kind}
    tokens_from = "pilot" if there.lengths else ("assumed" if thinking else "asked")
    whys, judge_prompt = 0, 0
    tokens: dict[tuple[str, Condition], int] = {}
    judged: dict[str, int] = {}
    for key, question_id, question, condition, _ in response_keys(spec, benchmark_of(spec)[1]):
        if key not in there.answered:
            if (question_id, condition) not in tokens:
                persona = persona_of(condition, question.role.persona)
                messages = wording.messages(question.kind, question.text, question.options, persona=persona)
                tokens[question_id, condition] = estimate_tokens(messages)
            calls += 1
            prompt += tokens[question_id, condition]
            completion += lengths[question.kind]
            seconds += SECONDS_PER_ANSWER[question.kind] + thinking / TOKENS_PER_SECOND
        if panel is not None and question.kind is Kind.WHY and key not in there.decided:
            if question_id not in judged:
                judged[question_id] = estimate_tokens(judge_messages(question.text, "", panel.prompt))
            whys += 1
            judge_prompt += judged[question_id] + ANSWER_TOKENS[Kind.WHY]
    counted = (calls, prompt, round(completion))
    loads = [
        _load(
            spec.model, "answers", counted, seconds, task.pace, settings=settings, tokens_from=tokens_from, batch=batch
        )
    ]
    if panel is None or panel.screened_only:
        return loads
    left = 1.0 if panel.screen is None else 1 - screen.load().expected(panel.screen).decided
    for judge in panel.models:
        given = there.votes.get(panel.ballot(judge), 0)
        votes = max(0, round(whys * panel.votes_per_judge * left) - given)
        tokens_in = round(judge_prompt / whys * votes) if whys else 0
        pilot, thinking = there.vote_lengths.get(panel.ballot(judge)), _thinking(judge, panel.params, settings)
        length = JUDGE_TOKENS[panel.prompt] + thinking if pilot is None else pilot
        counts = (votes, tokens_in, round(votes * length))
        pace = task.pace if judge == spec.model else task.judge_pace
        seconds = votes * (JUDGE_SECONDS + thinking / TOKENS_PER_SECOND)
        tokens_from = "pilot" if pilot is not None else ("assumed" if thinking else "asked")
        loads.append(
            _load(judge, "votes", counts, seconds, pace, settings=settings, tokens_from=tokens_from, batch=batch)
        )
    return loads


def _thinking(model: str, params: Params, settings: Settings) -> int:
    """Tokens of thought assumed before each answer; 0 for a model that does not think with these parameters."""
    if not thinks_with(model, params, settings):
        return 0
    known = entry(model, settings)
    usual = known.thinking_tokens if known and params.reasoning_effort is None else None
    assumed = usual or THINKING_TOKENS.get(params.reasoning_effort or "medium", THINKING_TOKENS["medium"])
    return min(assumed, params.max_tokens or assumed)


@dataclass(frozen=True, slots=True)
class Held:
    """What a run file holds already: responses answered and why answers decided, by key; votes on others, by ballot.

    `lengths` and `vote_lengths` are mean tokens of answers by kind and of votes by ballot, where there are `PILOT`.
    """

    answered: frozenset[str] = frozenset()
    decided: frozenset[str] = frozenset()
    votes: Mapping[str, int] = field(default_factory=dict)
    lengths: Mapping[str, float] = field(default_factory=dict)
    vote_lengths: Mapping[str, float] = field(default_factory=dict)


def held(spec: Spec) -> Held:
    """Read what the run file of an evaluation holds already; nothing where there is none yet."""
    if not spec.run.is_file():
        return Held()
    with reading(spec.run) as store:
        if not store.has("responses"):
            return Held()
        answered = runfile.answered_keys(store)
        answered |= {first for first, last in runfile.retried(store).items() if last in answered}
        lengths = runfile.answer_lengths(store, PILOT)
        if spec.panel is None:
            return Held(answered, lengths=lengths)
        panel = spec.panel.name
        return Held(
            answered,
            runfile.decided_keys(store, panel),
            runfile.votes_on_undecided(store, panel),
            lengths,
            runfile.vote_lengths(store, PILOT),
        )


def sample_requests(spec: Spec, count: int) -> list[tuple[str, Request]]:
    """The first requests of an evaluation as they would be sent, one of each condition and kind before a second one.

    Each comes with what it asks, in words.
    """
    wording = read_wording(spec.prompts, spec.system)
    kinds = len(spec.conditions) * len(spec.slice.kinds or Kind)
    first: dict[tuple[Condition, Kind], list[tuple[str, Request]]] = {}
    for key, _, question, condition, trial in response_keys(spec, benchmark_of(spec)[1]):
        like = first.setdefault((condition, question.kind), [])
        if len(like) == count or (like and trial > 1):
            if len(first) == kinds and all(len(found) == count for found in first.values()):
                break
            continue
        order = shown_order(spec, question, trial)
        options = question.options if order is None else [question.options[place] for place in order]
        persona = persona_of(condition, question.role.persona)
        messages = wording.messages(question.kind, question.text, options, persona=persona)
        params = replace(spec.params, seed=request_seed(spec.seed, key))
        title = f"{question.kind} question, {question.role.name} ({question.role.attribute}), condition {condition}"
        like.append((title, Request(key, messages, params)))
    turns = zip_longest(*first.values())
    return [one for turn in turns for one in turn if one is not None][:count]


def _load(
    model: str,
    purpose: str,
    counts: tuple[int, int, int],
    seconds: float,
    pace: Pace,
    *,
    settings: Settings,
    tokens_from: str,
    batch: bool,
) -> Load:
    calls, prompt_tokens, completion_tokens = counts
    pace = pace_for(model, pace, settings)
    known = entry(model, settings)
    requests = pace.requests_per_minute or (known and known.requests_per_minute)
    tokens = pace.tokens_per_minute or (known and known.tokens_per_minute)
    minutes = [seconds / 60 / pace.concurrency]
    if requests:
        minutes.append(calls / requests)
    if tokens:
        minutes.append((prompt_tokens + completion_tokens) / tokens)
    dollars = price(model, prompt_tokens, completion_tokens, settings, batch=batch)
    terms = batch_terms(model) if batch else None
    if terms is not None:
        # Votes go round by round: two first, and a third where these differ.
        minutes = [60 * terms.hours * (1 if purpose == "answers" else 2)]
    return Load(
        model,
        purpose,
        *counts,
        dollars=dollars,
        hours=max(minutes) / 60,
        tokens_from=tokens_from,
        price_from=known.price_from if known else None,
    )
