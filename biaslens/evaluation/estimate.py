"""What an evaluation will take, before anything is asked."""

from __future__ import annotations

from dataclasses import dataclass

from biaslens.engine import Pace
from biaslens.engine.limits import estimate_tokens
from biaslens.engine.pacing import pace_for
from biaslens.evaluation.prompting import ask_messages, judge_messages, persona_of
from biaslens.evaluation.run import questions_of
from biaslens.evaluation.study import Task
from biaslens.models.catalogue import entry, price
from biaslens.schema import Kind
from biaslens.settings import Settings, load_settings

ANSWER_TOKENS = {Kind.YES_NO: 2, Kind.CHOICE: 4, Kind.WHY: 130}
"""Expected length of an answer in tokens: a word, a letter, and the hundred words a why question allows."""

JUDGE_TOKENS = 45
"""Expected length of a judge's reply in tokens: a sentence and the verdict."""

SECONDS_PER_ANSWER = {Kind.YES_NO: 0.6, Kind.CHOICE: 0.6, Kind.WHY: 3.0}
"""Usual time of an answer over the network, for the time where no limit per minute is given."""

JUDGE_SECONDS = 1.5


@dataclass(frozen=True, slots=True)
class Load:
    """What one model is to be asked.

    Parameters
    ----------
    model
        Full name.
    purpose
        "answers" or "votes".
    calls, prompt_tokens, completion_tokens
        Expected numbers; of votes, the most that can be asked.
    dollars
        Price, or None where the catalogue knows none.
    hours
        Time at the limits given or configured, else at those the catalogue knows of the lowest paying tier, else at
        the concurrency.
    """

    model: str
    purpose: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    dollars: float | None
    hours: float


def estimate(task: Task, *, settings: Settings | None = None) -> list[Load]:
    """Estimate calls, tokens, price and hours of an evaluation from a run's start; asks nothing.

    Prompts are rendered, so their share is as good as four characters a token; answers are assumed to be as long as
    they are asked to be. Early stopping spares about a third of the votes counted here.

    Raises
    ------
    InputError
        When the benchmark cannot be used, or its slice is empty.
    """
    spec, settings = task.spec, settings or load_settings()
    questions = questions_of(spec)
    prompt, completion, seconds = 0, 0, 0.0
    judge_prompt = 0
    for question in questions:
        repeats = spec.trials * len(spec.conditions)
        for condition in spec.conditions:
            persona = persona_of(condition, question.role.persona)
            messages = ask_messages(question.kind, question.text, question.options, persona=persona)
            prompt += estimate_tokens(messages) * spec.trials
        completion += ANSWER_TOKENS[question.kind] * repeats
        seconds += SECONDS_PER_ANSWER[question.kind] * repeats
        if question.kind is Kind.WHY:
            judge_prompt += (estimate_tokens(judge_messages(question.text, "")) + ANSWER_TOKENS[Kind.WHY]) * repeats
    calls = len(questions) * spec.trials * len(spec.conditions)
    whys = sum(question.kind is Kind.WHY for question in questions) * spec.trials * len(spec.conditions)
    votes = whys * spec.votes_per_judge
    loads = [_load(spec.model, "answers", (calls, prompt, completion), seconds, task.pace, settings=settings)]
    for judge in spec.judges:
        counts = (votes, judge_prompt * spec.votes_per_judge, votes * JUDGE_TOKENS)
        pace = task.pace if judge == spec.model else task.judge_pace
        loads.append(_load(judge, "votes", counts, votes * JUDGE_SECONDS, pace, settings=settings))
    return loads


def _load(
    model: str, purpose: str, counts: tuple[int, int, int], seconds: float, pace: Pace, *, settings: Settings
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
    return Load(
        model=model,
        purpose=purpose,
        calls=calls,
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        dollars=price(model, prompt_tokens, completion_tokens, settings),
        hours=max(minutes) / 60,
    )
