"""Several runs side by side, question by question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from biaslens.analysis.frame import Run
from biaslens.errors import InputError
from biaslens.schema import Condition


@dataclass(frozen=True, slots=True)
class Aligned:
    """The questions of M runs under one condition, Q of them in any run, by id and never by position.

    Parameters
    ----------
    ids
        Question ids, length Q, ascending.
    role
        Position of each question's role in `roles`, shape (Q,).
    kind
        Position of each question's kind in `KINDS`, shape (Q,).
    roles
        Attribute (position in `ATTRIBUTES`) and name of the roles.
    planned, valid, biased
        Trials by run and question, 0 where a run does not have the question, shape (M, Q).
    """

    ids: Sequence[str]
    role: NDArray[np.int64]
    kind: NDArray[np.int64]
    roles: Sequence[tuple[int, str]]
    planned: NDArray[np.int64]
    valid: NDArray[np.int64]
    biased: NDArray[np.int64]


def align(runs: Sequence[Run], condition: Condition) -> Aligned:
    """Put runs side by side.

    Raises
    ------
    InputError
        Without a run.
    """
    if not runs:
        raise InputError("no runs to put side by side")
    ids: Sequence[str] = runs[0].questions.ids
    if any(run.questions.ids != ids for run in runs):
        ids = sorted(set().union(*(run.questions.ids for run in runs)))
    position = {question_id: place for place, question_id in enumerate(ids)}
    every = np.arange(len(ids))
    role_code: dict[tuple[int, str], int] = {}
    role, kind = (np.zeros(len(ids), dtype=np.int64) for _ in range(2))
    planned, valid, biased = (np.zeros((len(runs), len(ids)), dtype=np.int64) for _ in range(3))
    for row, run in enumerate(runs):
        questions, trials = run.questions, run.trials(condition)
        names = zip(questions.role_attribute.tolist(), questions.role_names, strict=True)
        codes = np.array([role_code.setdefault(name, len(role_code)) for name in names], dtype=np.int64)
        same = questions.ids == ids
        place = every if same else np.array([position[one] for one in questions.ids], dtype=np.int64)
        role[place], kind[place] = codes[questions.role], questions.kind
        planned[row, place], valid[row, place], biased[row, place] = trials.planned, trials.valid, trials.biased
    return Aligned(ids, role, kind, list(role_code), planned, valid, biased)


def distinct_names(runs: Sequence[Run]) -> list[Run]:
    """Give runs of one model names that tell them apart: tables name a model and not its file.

    A name that several runs share is followed by the name of the run file, or by its whole path where those are alike
    too; a run that records no model goes by its file.
    """
    labels = [run.info.model or run.info.path.name for run in runs]
    for more in (lambda run: run.info.path.name, lambda run: str(run.info.path)):
        labels = [
            label if labels.count(label) == 1 else f"{run.info.model} ({more(run)})".strip()
            for run, label in zip(runs, labels, strict=True)
        ]
    return [replace(run, info=replace(run.info, model=label)) for run, label in zip(runs, labels, strict=True)]
