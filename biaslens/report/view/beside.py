"""What stands beside an answer: those before and after it, its question elsewhere, and questions as a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from biaslens import runfile
from biaslens.analysis.frame import NOTHING, STATES
from biaslens.report.view.answers import Answers, run_names
from biaslens.report.view.listing import address_of, trials_shown
from biaslens.report.view.query import Matrix, Wanted, select
from biaslens.runfile import Store


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
