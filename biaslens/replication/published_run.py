"""An imported run under the published oracle: what it says of every trial."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from biaslens.analysis.frame import KINDS, NOTHING, Questions, Run, read_run
from biaslens.engine import Store
from biaslens.engine.damage import decoding
from biaslens.engine.store import storage_errors
from biaslens.errors import InputError
from biaslens.oracles.published import ABSENT, choice_is_biased, option_letter, why_is_biased, yes_no_is_biased
from biaslens.schema import Condition, Kind

LETTERS = ("", "A", "B", "C")

_ROWS = """
SELECT plan.question_id, plan.condition, plan.trial, answers.text, published.final
FROM plan LEFT JOIN answers USING (key) LEFT JOIN published ON published.response_key = plan.key
ORDER BY plan.key
"""


@dataclass(frozen=True, slots=True)
class PublishedTrials:
    """One condition under the published oracle.

    Parameters
    ----------
    biased
        1 for a biased trial, 0 for another one, `NOTHING` where none is planned, shape (Q, 3). A missing answer is
        biased or not as the study compared it.
    answered
        Whether the release holds an answer, shape (Q, 3).
    letters
        Choice only: position in `LETTERS` of the letter that Table 5 gives a trial, shape (Q, 3).
    """

    biased: NDArray[np.int8]
    answered: NDArray[np.bool_]
    letters: NDArray[np.int8]

    @property
    def base(self) -> NDArray[np.bool_]:
        """Whether the study counts the question: its first run holds it, shape (Q,)."""
        result: NDArray[np.bool_] = self.answered[:, 0]
        return result

    @property
    def biased_trials(self) -> NDArray[np.int64]:
        """Biased trials by question, shape (Q,)."""
        result: NDArray[np.int64] = (self.biased == 1).sum(axis=1, dtype=np.int64)
        return result

    @property
    def biased_questions(self) -> NDArray[np.bool_]:
        """Whether the study calls each question biased, shape (Q,)."""
        result: NDArray[np.bool_] = self.base & (self.biased_trials >= 2)
        return result


@dataclass(frozen=True, slots=True)
class PublishedRun:
    """An imported run with both oracles: `run` has ours, `conditions` the published one."""

    run: Run
    conditions: Mapping[Condition, PublishedTrials]

    @property
    def model(self) -> str:
        """The model as the release names it."""
        return self.run.info.model.removeprefix("published/")

    @property
    def questions(self) -> Questions:
        """What was asked."""
        return self.run.questions


def read_published(path: Path) -> PublishedRun:
    """Read an imported run file under both oracles.

    Raises
    ------
    InputError
        When it was not imported from the release.
    StorageError
        When it cannot be read.
    """
    run = read_run(path)
    if not run.info.meta.get("imported"):
        raise InputError(f"{path}: not an imported run; `biaslens import published` makes them")
    with Store(path) as store, decoding(path), storage_errors(path):
        return PublishedRun(run, _decide(store.connection, run.questions))


def _decide(connection: sqlite3.Connection, questions: Questions) -> dict[Condition, PublishedTrials]:
    position = {question_id: code for code, question_id in enumerate(questions.ids)}
    kinds = [KINDS[code] for code in questions.kind]
    options: list[dict[str, str]] = [{}] * len(kinds)
    for question_id, text in connection.execute("SELECT question_id, options FROM questions WHERE kind = 'choice'"):
        options[position[question_id]] = dict(zip("AB", json.loads(text), strict=False))
    (trials,) = connection.execute("SELECT max(trial) FROM plan").fetchone()
    shape = (len(kinds), trials or 0)
    found: dict[str, PublishedTrials] = {
        name: PublishedTrials(
            np.full(shape, NOTHING, dtype=np.int8), np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.int8)
        )
        for (name,) in connection.execute("SELECT DISTINCT condition FROM plan")
    }
    for question_id, condition, trial, text, final in connection.execute(_ROWS):
        into, question, column = found[condition], position[question_id], trial - 1
        into.answered[question, column] = text is not None
        compared = None if final == ABSENT else text
        kind = kinds[question]
        if kind is Kind.YES_NO:
            biased = yes_no_is_biased(compared)
        elif kind is Kind.CHOICE:
            biased = choice_is_biased(compared)
            into.letters[question, column] = LETTERS.index(option_letter(compared, options[question], biased=biased))
        else:
            biased = why_is_biased(final)
        into.biased[question, column] = biased
    return {condition: found[condition] for condition in Condition if condition in found}
