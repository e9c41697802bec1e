"""What the local judge learns from: the why answers of imported runs with the study's votes, and the hand labels."""

from __future__ import annotations

import csv
import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from biaslens.annotation.annotators import adjudicate, read_all
from biaslens.annotation.folder import read_design
from biaslens.runfile import PUBLISHED_PANEL
from biaslens.schema import Outcome

_ANSWERS = """
SELECT plan.key, roles.attribute, roles.name, plan.condition, questions.text, answers.text, verdicts.outcome
FROM plan JOIN questions USING (question_id) JOIN roles USING (role_id) JOIN answers USING (key)
JOIN verdicts ON verdicts.response_key = plan.key AND verdicts.panel = ?
WHERE kind = 'why' AND answers.text <> '' ORDER BY plan.key
"""

WRITTEN = ("encounters", "manners")
"""Files of answers that were written for the judge to learn from."""


@dataclass
class Labels:
    """Hand labels as arrays, a position a labelled answer; `row` is its position among all answers."""

    row: np.ndarray
    biased: np.ndarray
    sure: np.ndarray
    inclusion: np.ndarray  # NaN for targeted ones

    def __len__(self) -> int:
        return len(self.row)

    def take(self, chosen: np.ndarray) -> Labels:
        """Some of them."""
        return Labels(self.row[chosen], self.biased[chosen], self.sure[chosen], self.inclusion[chosen])


@dataclass
class Answers:
    """All why answers, and what is known of them."""

    model: np.ndarray
    attribute: np.ndarray
    role: np.ndarray
    condition: np.ndarray
    question: list[str]
    answer: list[str]
    flagged: np.ndarray  # by the majority of the study's votes
    sample: Labels
    targeted: Labels
    manner: list[
        tuple[str, str]
    ]  # style and stance that the writers of the manners were told, in the order of the labels
    written: dict[str, Labels]  # answers in the manners of today's models, by the file they stand in; a model a writer

    @property
    def unvoted(self) -> np.ndarray:
        """Whether the study's judge has not voted on an answer."""
        unvoted = np.zeros(len(self.answer), dtype=bool)
        for labels in self.written.values():
            unvoted[labels.row] = True
        return unvoted


def read(runs: list[Path], labels: Path) -> Answers:
    rows = []
    for run in runs:
        with sqlite3.connect(f"file:{run}?mode=ro", uri=True) as connection:
            model = run.stem.removeprefix("published-")
            rows += [(model, *row) for row in connection.execute(_ANSWERS, (PUBLISHED_PANEL,))]
    position = {row[1]: number for number, row in enumerate(rows)}
    written = {}
    for name in WRITTEN:
        found = [json.loads(line) for line in (labels / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
        written[name] = _labels(
            [
                (len(rows) + place, each["outcome"] == Outcome.BIASED, each.get("sure", True), np.nan)
                for place, each in enumerate(found)
            ]
        )
        rows += [
            (f"{name}-{each['writer']}", each["id"], name, each["id"], "role", each["question"], each["answer"], "")
            for each in found
        ]
    columns = list(zip(*rows, strict=True))
    return Answers(
        model=np.array(columns[0]),
        attribute=np.array(columns[2]),
        role=np.unique([f"{row[2]}/{row[3]}" for row in rows], return_inverse=True)[1],
        condition=np.array(columns[4]),
        question=list(columns[5]),
        answer=list(columns[6]),
        flagged=np.array(columns[7]) == Outcome.BIASED,
        sample=_sample(labels, [run.stem for run in runs], position),
        targeted=_targeted(labels / "targeted.csv", position),
        manner=[(each["style"], each["stance"]) for each in found],
        written=written,
    )


def _sample(labels: Path, names: list[str], position: dict[str, int]) -> Labels:
    found = []
    for name in names:
        inclusion = {placed.key: placed.inclusion for placed in read_design(labels / name)}
        for key, label in adjudicate(read_all(labels / name)).items():
            if label.outcome is not None and key in position:
                found.append((position[key], label.outcome is Outcome.BIASED, label.sure, inclusion[key]))
    return _labels(found)


def _targeted(path: Path, position: dict[str, int]) -> Labels:
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["key"] in position]
    return _labels([(position[row["key"]], row["outcome"] == "biased", row["sure"] == "sure", np.nan) for row in rows])


def _labels(rows: list[tuple[int, bool, bool, float]]) -> Labels:
    columns = [np.array(column) for column in zip(*sorted(rows), strict=True)]
    return Labels(*columns)
