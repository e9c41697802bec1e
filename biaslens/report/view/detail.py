"""Everything about an answer: the prompt as sent, the words on which its verdict rests, what stands beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from biaslens import runfile
from biaslens.analysis.frame import NOTHING, STATES, RunInfo
from biaslens.evaluation.prompting import Wording, persona_of, shipped_wording
from biaslens.evaluation.run import decide
from biaslens.report.view.answers import Answers, run_names
from biaslens.report.view.listing import address_of, trials_shown
from biaslens.report.view.query import Matrix, Wanted, select
from biaslens.runfile import Store
from biaslens.schema import Condition, Kind

_PARTS = re.compile(r"[^.!?\n]*[.!?]+[\"')\]*]*\s*|[^\n]*\n+|[^.!?\n]+")
_MOST_PARTS = 80


def wording_of(info: RunInfo) -> Wording:
    """The words that a run's questions were asked in, as far as they are known: else those of this version."""
    return Wording(info.meta.get("templates") or shipped_wording().sources, str(info.meta.get("system") or ""))


def prompt_of(
    info: RunInfo, told: Mapping[str, Any], wording: Wording | None = None
) -> tuple[list[tuple[str, str]], bool]:
    """Messages that asked for an answer, speaker and text, and whether they are exactly those that were sent.

    They are not where the run was imported, or was asked in templates that another version ships: then they are what
    this version would send. The `wording` is that of the run; who asks for many prompts reads it once.
    """
    wording = wording or wording_of(info)
    persona = persona_of(Condition(told["condition"]), told["persona"])
    messages = wording.messages(Kind(told["kind"]), told["question"], options_shown(told), persona=persona)
    return [(message.role, message.content) for message in messages], wording.hash == info.template_hash


def options_shown(told: Mapping[str, Any]) -> list[str]:
    """Options in the order in which the model saw them."""
    options: list[str] = told["options"]
    return options if told["option_order"] is None else [options[place] for place in told["option_order"]]


@dataclass(frozen=True)
class Sentence:
    """A stretch of an answer, and whether the verdict rests on it."""

    text: str
    decides: bool


def parts_of(told: Mapping[str, Any]) -> list[Sentence]:
    """Split an answer into sentences, and mark those without which the rules would decide otherwise.

    Nothing is marked where a judge decided, where no single sentence makes the difference, or the answer is very long.
    """
    answer: str = told["answer"] or ""
    whole = [Sentence(answer, decides=False)]
    if told["oracle"] is None or not str(told["oracle"]).startswith("rules"):
        return whole
    kind, question, options = Kind(told["kind"]), told["question"], options_shown(told)
    sentences = _PARTS.findall(answer)
    if not 1 < len(sentences) <= _MOST_PARTS or "".join(sentences) != answer:
        return whole

    def verdict(text: str) -> tuple[object, object] | None:
        found = decide(kind, question, options, text, finish_reason=told["finish_reason"] or "stop")
        return None if found is None else (found.outcome, found.choice)

    standing = verdict(answer)
    marked = [
        Sentence(sentence, verdict("".join([*sentences[:place], *sentences[place + 1 :]])) != standing)
        for place, sentence in enumerate(sentences)
    ]
    return marked if any(part.decides for part in marked) else whole


@dataclass(frozen=True)
class Detail:
    """An answer with everything that is known of it; `told` holds the columns of ``responses``."""

    told: Mapping[str, Any]
    prompt: Sequence[tuple[str, str]]
    exact: bool
    options: Sequence[str]
    parts: Sequence[Sentence]
    votes: Sequence[Mapping[str, Any]]
    labels: Sequence[tuple[str, str, bool, str, bool]]
    failure: tuple[str, str] | None
    screen: float | None
    thought: str | None


def read_detail(store: Store, info: RunInfo, key: str) -> Detail | None:
    """Read everything about one planned answer; None where the run does not plan it."""
    told = runfile.viewed_texts(store, [key]).get(key)
    if told is None:
        return None
    prompt, exact = prompt_of(info, told)
    return Detail(
        told=told,
        prompt=prompt,
        exact=exact,
        options=options_shown(told),
        parts=parts_of(told),
        votes=runfile.viewed_votes(store, key),
        labels=runfile.viewed_labels(store, key),
        failure=runfile.failure_of(store, key) if told["outcome"] == "error" else None,
        screen=runfile.screen_probability(store, key),
        thought=runfile.thought_of(store, key),
    )


def neighbours(answers: Answers, wanted: Wanted, row: int) -> dict[str, Any]:
    """The answers before and after one among those wanted, and its place there."""
    rows = np.flatnonzero(select(answers, wanted).mask)
    if wanted.sort != "reading":
        by = answers.doubt if wanted.sort == "doubt" else answers.at
        rows = rows[(-by[rows]).argsort(kind="stable")]
    at = np.flatnonzero(rows == row)
    if not len(at):
        return {"previous": None, "following": None, "position": None, "total": len(rows)}
    place = int(at[0])
    return {
        "previous": address_of(answers, wanted, int(rows[place - 1])) if place else None,
        "following": address_of(answers, wanted, int(rows[place + 1])) if place + 1 < len(rows) else None,
        "position": place + 1,
        "total": len(rows),
    }


def related(answers: Answers, wanted: Wanted, row: int) -> list[dict[str, Any]]:
    """The same question in other runs and conditions, its mirrors, and the other forms of its encounter."""
    question = int(answers.question[row])
    this = answers.questions[question]
    same = [("the same question", question)]
    if this.mirror_of in answers.place:
        same.append(("the question it mirrors", answers.place[this.mirror_of]))
    for number in answers.of_role(question):
        one = answers.questions[number]
        if one.mirror_of == this.question_id:
            same.append(("its mirror", number))
        elif this.encounter and one.encounter == this.encounter and number != question and not one.mirror_of:
            same.append((f"the {one.kind.replace('_', '/')} question of this encounter", number))
    found, names = [], run_names(answers.runs)
    for said, number in same:
        for group in map(int, np.flatnonzero(answers.question[answers.starts] == number)):
            first = int(answers.starts[group])
            rows = range(first, first + int(answers.sizes[group]))
            if group != answers.group[row]:
                found.append(
                    {
                        "what": said,
                        "model": names[int(answers.run[first])],
                        "condition": answers.columns["condition"].values[answers.condition[first]],
                        "trials": trials_shown(answers, wanted, rows),
                    }
                )
    return found


def matrix_rows(answers: Answers, found: Matrix, questions: Sequence[int], wanted: Wanted) -> list[dict[str, Any]]:
    """Some questions of a matrix with what became of their trials in every column."""
    texts = _texts(answers, questions)
    rows = []
    for question in questions:
        one = answers.questions[question]
        cells: list[dict[str, object] | None] = []
        for group in found.groups[question]:
            if group == NOTHING:
                cells.append(None)
                continue
            first = int(answers.starts[group])
            states = [str(STATES[code]) for code in answers.state[first : first + int(answers.sizes[group])]]
            cells.append({"states": states, "address": address_of(answers, wanted, first)})
        rows.append(
            {
                "role": one.role,
                "kind": one.kind.replace("_", "/"),
                "text": texts.get(one.question_id, ""),
                "cells": cells,
            }
        )
    return rows


def _texts(answers: Answers, questions: Sequence[int]) -> dict[str, str]:
    ids = [answers.questions[number].question_id for number in questions]
    texts: dict[str, str] = {}
    for run in answers.runs:
        missing = [question for question in ids if question not in texts]
        if missing:
            with Store(run.info.path, checked=True) as store:
                texts |= {found: text for found, text, _ in runfile.question_texts(store, missing)}
    return texts
