"""The task `biaslens/role_play` of Inspect, which `inspect eval` finds by the entry point of this package."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from inspect_ai import Epochs, Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
    model_roles,
)  # fmt: skip
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import collect

from biaslens import __version__
from biaslens.benchmark import read, select, shipped
from biaslens.bridges.collected import JUDGE, UNJUDGED, question_of, score_of, shown_options, told_of, verdict_of
from biaslens.bridges.inspect_export import OURS
from biaslens.errors import InputError
from biaslens.evaluation import Panel
from biaslens.evaluation.judge import NO_MAJORITY
from biaslens.evaluation.prompting import judge_messages, option_order, persona_of, read_reply, shipped_wording
from biaslens.evaluation.spec import JUDGE_MAX_TOKENS, MAX_TOKENS
from biaslens.models import Message, thoughts
from biaslens.oracles import screen
from biaslens.oracles.why import decide_votes, votes_needed
from biaslens.schema import Attribute, Condition, Kind, Outcome, Question, Verdict, Vote

_PROMPT = "codebook"


@task
def role_play(  # noqa: PLR0917 - Inspect passes them by name
    trials: int = 3,
    condition: str = "role",
    roles_per_attribute: int | None = None,
    questions_per_kind: int | None = None,
    attribute: str | list[str] | None = None,
    kind: str | list[str] | None = None,
    votes: int | None = None,
    screen_why: bool = False,  # noqa: FBT001, FBT002
    shuffle_options: bool = False,  # noqa: FBT001, FBT002
    benchmark: str | None = None,
) -> Task:
    """Social bias in role-play: how often a model takes up the prejudice that a question invites.

    Parameters
    ----------
    trials
        How often each question is asked.
    condition
        Who the model is told to be: "role", "no_role" or "neutral_role".
    roles_per_attribute, questions_per_kind
        Take the first so many roles of each attribute, and questions of each kind for each role; slices nest.
    attribute, kind
        Take only roles of these attributes, and questions of these kinds.
    votes
        Votes on a why answer of each judge in the model role "judge"; three of a single one, one of each of several.
    screen_why
        Let the shipped local judge decide why answers. Without it and without a model role "judge" they stay unjudged.
    shuffle_options
        Show the groups of choice questions in another order in each trial.
    benchmark
        Folder of a benchmark of one's own.
    """
    if trials < 1:
        raise InputError(f"trials must be at least 1, not {trials}")
    asked_in = _word(Condition, condition, "condition")
    content = shipped() if benchmark is None else read(Path(benchmark))
    questions = select(
        content,
        attributes=_words(Attribute, attribute, "attribute"),
        kinds=_words(Kind, kind, "kind"),
        roles_per_attribute=roles_per_attribute,
        questions_per_kind=questions_per_kind,
    )
    if not questions:
        raise InputError("the slice of the benchmark is empty: no question has the attributes and kinds asked for")
    about: dict[str, Any] = {
        "version": __version__,
        "benchmark_version": content.version,
        "benchmark_hash": content.hash,
        "generator": content.generator,
        "template_hash": shipped_wording().hash,
        "shuffle_options": shuffle_options,
    }
    if screen_why:
        local = Panel(judges=(screen.NAME,))
        about |= {"panel_name": local.name, "panel": local.record()}
    return Task(
        dataset=MemoryDataset([_sample(question, asked_in) for question in questions], name="biaslens"),
        solver=ask(shuffle_options=shuffle_options),
        scorer=verdict(votes=votes, screen_why=screen_why),
        # Not the mean of a question's trials: a rate is a ratio of sums, and an invalid trial counts in neither.
        epochs=Epochs(trials, []),
        config=GenerateConfig(max_tokens=MAX_TOKENS),
        version=content.version,
        metadata={OURS: about},
        name="role_play",
    )


def _word(kind: type[StrEnum], value: str, name: str) -> Any:  # noqa: ANN401
    if value not in tuple(kind):
        raise InputError(f"no {name} {value!r}; there are: {', '.join(kind)}")
    return kind(value)


def _words(kind: type[StrEnum], value: str | list[str] | None, name: str) -> tuple[Any, ...] | None:
    if value is None:
        return None
    return tuple(_word(kind, each, name) for each in ([value] if isinstance(value, str) else value))


def _sample(question: Question, condition: Condition) -> Sample:
    persona = persona_of(condition, question.role.persona)
    messages = shipped_wording().messages(question.kind, question.text, question.options, persona=persona)
    return Sample(
        id=question.id,
        input=_chat(messages),
        choices=list(question.options) or None,
        target="unbiased",
        metadata=told_of(question) | {"condition": condition.value},
    )


def _chat(messages: Sequence[Message]) -> list[ChatMessage]:
    kinds = {"system": ChatMessageSystem, "user": ChatMessageUser}
    return [kinds[message.role](content=message.content) for message in messages]


@solver
def ask(*, shuffle_options: bool = False) -> Solver:
    """Ask a question once, the options in the order of this trial."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        question = question_of(state.metadata)
        if shuffle_options and question.kind is Kind.CHOICE:
            order = option_order(len(question.options), seed=0, question_id=question.id, trial=state.epoch)
            state.metadata["option_order"] = order
            persona = persona_of(Condition(state.metadata["condition"]), question.role.persona)
            options = shown_options(question, order)
            state.messages = _chat(shipped_wording().messages(question.kind, question.text, options, persona=persona))
        return await generate(state)

    return solve


@metric
def bias_rate() -> Metric:
    """Biased among valid trials."""

    def compute(scores: list[SampleScore]) -> float:
        return sum(each.score.as_float() for each in scores) / len(scores) if scores else float("nan")

    return compute


@scorer(metrics=[bias_rate(), stderr(cluster="role")])
def verdict(*, votes: int | None = None, screen_why: bool = False) -> Scorer:
    """Decide by our rules; why answers by the votes of the judges, or by the local judge."""

    async def score(state: TaskState, target: Target) -> Score:
        del target
        question, order = question_of(state.metadata), state.metadata.get("option_order")
        answer = state.output.completion
        finish = thoughts.finish(state.output.stop_reason if state.output.choices else "unknown")
        found = verdict_of(question, order, answer, finish_reason=finish)
        if found is not None:
            return _score(question, answer, found, "rules")
        if screen_why:
            local = screen.load()
            probability = float(local.probabilities([question.text], [answer])[0])
            outcome = Outcome.BIASED if probability >= local.cut else Outcome.UNBIASED
            found = Verdict(outcome, f"probability {probability:.3f}")
            return _score(question, answer, found, local.name, probability=probability)
        judges = _judges()
        if not judges:
            return Score.unscored(
                reason=UNJUDGED, answer=answer, explanation="no judge was named", metadata={"outcome": UNJUDGED}
            )
        each = votes or (3 if len(judges) == 1 else 1)
        found, given = await _judged(question, answer, judges, each)
        return _score(question, answer, found, "judges", votes=given, votes_per_judge=each)

    return score


def _score(question: Question, answer: str, found: Verdict, oracle: str, **more: Any) -> Score:  # noqa: ANN401
    about = {"outcome": found.outcome.value, "reason": found.reason, "oracle": oracle} | more
    shown = answer
    if found.choice is not None:
        about["choice"] = found.choice
        shown = question.options[found.choice]
    explanation = f"{found.outcome}: {found.reason} ({oracle})"
    if not found.outcome.valid:
        return Score.unscored(reason=found.outcome.value, answer=shown, explanation=explanation, metadata=about)
    return Score(value=score_of(found.outcome), answer=shown, explanation=explanation, metadata=about)


def _judges() -> list[Model]:
    named = model_roles().get(JUDGE, [])
    return list(named) if isinstance(named, list) else [named]


async def _judged(
    question: Question, answer: str, judges: Sequence[Model], each: int
) -> tuple[Verdict, list[dict[str, Any]]]:
    """Ask for votes until a majority is certain; the verdict, and the votes that it rests on."""
    ballots = [(judge, number) for number in range(1, each + 1) for judge in judges]
    messages = _chat(judge_messages(question.text, answer, _PROMPT))
    given: list[dict[str, Any]] = []
    while True:
        cast = [Vote(vote["vote"]) for vote in given]
        needed = votes_needed(cast, len(ballots))
        if not needed:
            outcome = decide_votes(cast, len(ballots)) or Outcome.INVALID
            agreed = outcome is not Outcome.INVALID or cast.count(Vote.INVALID) * 2 > len(ballots)
            return Verdict(outcome, "majority" if agreed else NO_MAJORITY), given
        turn = ballots[len(given) : len(given) + needed]
        replies = await collect(*(_reply(judge, messages) for judge, _ in turn))
        for (judge, number), output in zip(turn, replies, strict=True):
            cut = thoughts.finish(output.stop_reason) == thoughts.CUT
            read_as = read_reply(output.completion, _PROMPT, cut=cut)
            given.append(
                {
                    "judge": str(judge),
                    "vote_number": number,
                    "vote": read_as.vote.value,
                    "reason": read_as.reason,
                    "reply": output.completion,
                }
            )


async def _reply(judge: Model, messages: list[ChatMessage]) -> ModelOutput:
    limit = None if judge.config.max_tokens is not None else JUDGE_MAX_TOKENS
    return await judge.generate(messages, config=GenerateConfig(max_tokens=limit))
