"""Answers that another program asked for, as a run file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from biaslens import __version__, runfile
from biaslens.errors import InputError
from biaslens.evaluation import decide
from biaslens.oracles import RULES
from biaslens.runfile import Answer, Failure, PlannedResponse, PlannedVote, Record
from biaslens.schema import Attribute, Condition, Kind, Mirror, Outcome, Question, Role, Verdict, Vote, content_hash

JUDGE = "judge"
"""Role of the models that judge why answers in Inspect: ``--model-role judge=...``."""

UNJUDGED = "unjudged"
UNASKED = "unasked"
"""Reasons for which an answer has no outcome, beside the outcomes themselves."""


class GivenVote(NamedTuple):
    """A judge's vote on an answer, and what it was read from."""

    judge: str
    number: int  #: from 1, for each judge
    vote: Vote
    reason: str | None
    reply: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """An answer that another program asked for."""

    question: Question
    condition: Condition
    trial: int
    #: positions of the options in the order in which they were shown; None for as they stand
    order: Sequence[int] | None = None
    text: str | None  #: None: it has failed, or was never asked
    finish_reason: str = "unknown"
    resolved_model: str = ""
    thought: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    latency: float | None = None
    answered_at: str = ""
    error: str | None = None  #: why it has failed
    #: what there decided, where it was not our rules: a choice read by another scorer
    taken: Verdict | None = None
    votes: Sequence[GivenVote] = ()
    judged: Verdict | None = None  #: what the votes, or the local judge, came to
    probability: float | None = None  #: what the local judge thinks


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSource:
    """Where answers come from, and what of it enters the record of the run."""

    program: str  #: "inspect_ai 0.3.285"
    model: str
    benchmark_version: str
    benchmark_hash: str
    template_hash: str
    generator: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    shuffle_options: bool = False
    judges: Sequence[str] = ()
    #: what the judge of the why answers is called, and recorded as; "" for none
    panel: str = ""
    panel_spec: Mapping[str, Any] = field(default_factory=dict)

    @property
    def identity(self) -> dict[str, Any]:
        """What must be the same for all answers of a run file; without a seed, `evaluate` goes on with none of them."""
        return {
            "model": self.model,
            "source": self.program.partition(" ")[0],
            **{name: getattr(self, name) for name in ("benchmark_version", "benchmark_hash", "template_hash")},
            "params": dict(self.params),
            "system": None,
            "seed": None,
            "shuffle_options": self.shuffle_options,
        }


@dataclass(frozen=True, slots=True)
class ImportedLogs:
    """What an import came to."""

    run: Path
    model: str
    responses: int  #: in the logs
    new: int  #: answers that the run file did not have
    unjudged: int  #: why answers that wait for a judge
    faults: tuple[str, ...]  #: what was left out, and why


_QUESTION = [each.name for each in fields(Question)]


def told_of(question: Question) -> dict[str, Any]:
    """A question as plain values: what samples and documents carry along; `question_of` reads them again."""
    plain = {name: getattr(question, name) for name in _QUESTION if name not in ("role", "text")}
    role = {"attribute": question.role.attribute.value, "role": question.role.name, "persona": question.role.persona}
    plain |= {name: list(plain[name]) for name in ("options", "groups")}
    return role | {"question_id": question.id, "question": question.text} | plain


def question_of(told: Mapping[str, Any]) -> Question:
    """Read a question from what `told_of` gave.

    Raises `InputError` when something is missing, or is none of the words that there are.
    """
    try:
        role = Role(Attribute(told["attribute"]), str(told["role"]), str(told["persona"]))
        return Question(
            role,
            Kind(told["kind"]),
            str(told["question"]),
            tuple(map(str, told.get("options") or ())),
            Attribute(told["target"]) if told.get("target") else None,
            tuple(map(str, told.get("groups") or ())),
            told.get("mirror_of") or None,
            Mirror(told["mirror"]) if told.get("mirror") else None,
            **{name: str(told.get(name) or "") for name in _QUESTION[8:]},
        )
    except KeyError as error:
        raise InputError(f"it has no {error.args[0]}") from None
    except (TypeError, ValueError) as error:
        raise InputError(str(error)) from None


def shown_options(question: Question, order: Sequence[int] | None) -> Sequence[str]:
    """Options in the order in which the model saw them."""
    return question.options if order is None else [question.options[place] for place in order]


def verdict_of(
    question: Question, order: Sequence[int] | None, text: str, *, finish_reason: str = "stop"
) -> Verdict | None:
    """Outcome by our rules, the choice as a position in the question's own options; None where judges must vote."""
    options = shown_options(question, order)
    verdict = decide(question.kind, question.text, options, text, finish_reason=finish_reason)
    if verdict is None or verdict.choice is None or order is None:
        return verdict
    return replace(verdict, choice=order[verdict.choice])


def save_collected(
    out: Path, source: AnswerSource, collected: Iterable[Collected], faults: Sequence[str]
) -> ImportedLogs:
    """Write answers into a run file, made where there is none; those that it holds already stay as they are.

    `faults` is read when all is written: a generator of `collected` may have added to it.

    Raises `RunMismatchError` when the file is of another model or benchmark; `StorageError` when it cannot be written.
    """
    seen: Counter[str] = Counter()
    conditions: dict[Condition, int] = {}

    identity = content_hash("collected", source.identity)

    def rows() -> Iterator[Record]:
        for each in collected:
            seen["responses"] += 1
            conditions[each.condition] = max(each.trial, conditions.get(each.condition, 0))
            yield _record(source, identity, each)

    with runfile.open_to_write(out) as store:
        store.check_meta(source.identity, hint="import it into another file with --out")
        known = store.meta()
        before = len(runfile.answered_keys(store))
        runfile.restore(store, _panel_rows(source), rows())
        facts = {
            "generator": source.generator,
            "collected_with": source.program,
            "conditions": list(dict.fromkeys([*known.get("conditions", []), *conditions])),
            "trials": max([known.get("trials", 0), *conditions.values()]),
            "package_version": __version__,
        }
        store.set_meta(source.identity | facts | ({runfile.ACTIVE_PANEL: source.panel} if source.panel else {}))
        panel = str(store.meta().get(runfile.ACTIVE_PANEL) or "")
        new, unjudged = len(runfile.answered_keys(store)) - before, runfile.count_undecided(store, panel)
    return ImportedLogs(out, source.model, seen["responses"], new, unjudged, tuple(faults))


def _ballot(source: AnswerSource, judge: str) -> str:
    return content_hash("collected vote", source.program.partition(" ")[0], judge)


def _panel_rows(source: AnswerSource) -> Record:
    if not source.panel:
        return {}
    spec = json.dumps(dict(source.panel_spec), sort_keys=True)
    ballots = [{"ballot": _ballot(source, judge), "judge": judge, "prompt": "codebook"} for judge in source.judges]
    return {"panels": [{"panel": source.panel, "spec": spec}], "ballots": ballots}


def _record(source: AnswerSource, identity: str, each: Collected) -> Record:
    question = each.question
    key = content_hash(identity, question.id, each.condition, each.trial)
    order = None if each.order is None else json.dumps(list(each.order))
    record: Record = {
        "questions": [runfile.question_row(question)],
        "plan": [PlannedResponse(key, question.id, each.condition, each.trial)._asdict() | {"option_order": order}],
    }
    if each.error is not None:
        record["failures"] = [
            asdict(Failure(key, source.model, "CollectedError", each.error, None, 1, each.answered_at))
        ]
    if each.text is None:
        return record
    record["answers"] = [_answer_row(source, each, key)]
    verdict = each.taken or verdict_of(question, each.order, each.text, finish_reason=each.finish_reason)
    if verdict is not None:
        oracle = RULES if each.taken is None else source.program
        record["verdicts"] = [_verdict_row(key, runfile.RULES_PANEL, verdict, oracle)]
    elif each.judged is not None:
        oracle = source.panel if each.probability is not None else "judges: " + ", ".join(source.judges)
        record["verdicts"] = [_verdict_row(key, source.panel, each.judged, oracle)]
        record["votes"], replies = [], []
        for vote in each.votes:
            ballot = _ballot(source, vote.judge)
            vote_key = content_hash(ballot, key, vote.number)
            row = PlannedVote(vote_key, key, ballot, vote.number, vote.vote, vote.reason)
            record["votes"].append(row._asdict())
            reply = Collected(question=question, condition=each.condition, trial=each.trial, text=vote.reply)
            replies.append(
                _answer_row(source, reply, vote_key) | {"model": vote.judge, "answered_at": each.answered_at}
            )
        record["answers"] += replies
    if each.probability is not None:
        record["screened"] = [{"response_key": key, "screen": source.panel, "probability": each.probability}]
    return record


def _answer_row(source: AnswerSource, each: Collected, key: str) -> dict[str, Any]:
    names = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "latency", "answered_at", "thought")
    row = Answer(
        key=key,
        model=source.model,
        text=each.text or "",
        finish_reason=each.finish_reason,
        resolved_model=each.resolved_model or source.model,
        price=None,
        attempts=1,
        **{name: getattr(each, name) for name in names},
    )
    return asdict(row)


def _verdict_row(key: str, panel: str, verdict: Verdict, oracle: str) -> dict[str, Any]:
    return {"response_key": key, "panel": panel, **asdict(verdict), "oracle": oracle}


def score_of(outcome: Outcome | None) -> float:
    """What harnesses average: 1 for a biased answer, 0 for another valid one, NaN for all that counts in no rate."""
    return float(outcome is Outcome.BIASED) if outcome is not None and outcome.valid else float("nan")
