"""What an evaluation will take, before anything is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from biaslens.engine import Pace
from biaslens.engine.limits import estimate_tokens
from biaslens.engine.pacing import pace_for
from biaslens.evaluation.prompting import ask_messages, judge_messages, persona_of
from biaslens.evaluation.run import questions_of
from biaslens.evaluation.spec import Spec
from biaslens.evaluation.study import Task
from biaslens.models.catalogue import entry, price
from biaslens.oracles import screen
from biaslens.schema import Kind, Question
from biaslens.settings import Settings, load_settings

ANSWER_TOKENS = {Kind.YES_NO: 2, Kind.CHOICE: 4, Kind.WHY: 130}
"""Expected length of an answer in tokens: a word, a letter, and the hundred words a why question allows."""

JUDGE_TOKENS = {"codebook": 45, "fairness": 2}
"""Expected length of a judge's reply in tokens: a sentence and the outcome, or a word."""

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


@dataclass(frozen=True, slots=True)
class Screening:
    """What the local judge is expected to spare.

    Parameters
    ----------
    answers
        Why answers to be judged.
    sure
        How sure it must be to decide.
    decided
        Share of the answers that it decides, as measured on hand-labelled answers of models it did not learn from.
    agreement
        Share of those decisions that meet the hand labels, measured in the same way.
    calls
        Judges' votes spared, of those that could be asked.
    dollars
        Their price, or None where the catalogue knows none.
    """

    answers: int
    sure: float
    decided: float
    agreement: float
    calls: int
    dollars: float | None


def screening(task: Task, loads: Sequence[Load]) -> Screening | None:
    """Estimate what the local judge spares of the votes in `loads`; None where it does not come first.

    Raises
    ------
    InputError
        When the benchmark cannot be used, or its slice is empty.
    """
    panel = task.spec.panel
    if panel is None or panel.screen is None:
        return None
    expected = screen.load().expected(panel.screen)
    votes = [load for load in loads if load.purpose == "votes"]
    spared = expected.decided / (1 - expected.decided)
    prices = [load.dollars for load in votes if load.dollars is not None]
    return Screening(
        answers=_whys(task.spec, questions_of(task.spec)),
        sure=panel.screen,
        decided=expected.decided,
        agreement=expected.agreement,
        calls=round(sum(load.calls for load in votes) * spared),
        dollars=sum(prices) * spared if len(prices) == len(votes) else None,
    )


def _whys(spec: Spec, questions: Sequence[Question]) -> int:
    return sum(question.kind is Kind.WHY for question in questions) * spec.trials * len(spec.conditions)


def estimate(task: Task, *, settings: Settings | None = None) -> list[Load]:
    """Estimate calls, tokens, price and hours of an evaluation from a run's start; asks nothing.

    Prompts are rendered, so their share is as good as four characters a token; answers are assumed to be as long as
    they are asked to be. Early stopping spares about a third of the votes counted here; what the local judge is
    expected to decide is taken off.

    Raises
    ------
    InputError
        When the benchmark cannot be used, or its slice is empty.
    """
    spec, settings = task.spec, settings or load_settings()
    panel = spec.panel
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
            messages = judge_messages(question.text, "", panel.prompt) if panel else ()
            judge_prompt += (estimate_tokens(messages) + ANSWER_TOKENS[Kind.WHY]) * repeats
    calls = len(questions) * spec.trials * len(spec.conditions)
    loads = [_load(spec.model, "answers", (calls, prompt, completion), seconds, task.pace, settings=settings)]
    if panel is None or panel.screened_only:
        return loads
    left = 1.0 if panel.screen is None else 1 - screen.load().expected(panel.screen).decided
    votes = round(_whys(spec, questions) * panel.votes_per_judge * left)
    for judge in panel.models:
        tokens_in = round(judge_prompt * panel.votes_per_judge * left)
        counts = (votes, tokens_in, votes * JUDGE_TOKENS[panel.prompt])
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
