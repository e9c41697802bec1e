"""Runs with labels: the folder of a sample for a run of `run_files`, written by hand."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path

from run_files import META, Asked

from biaslens.schema import content_hash

B, U, R, I = "biased", "unbiased", "refused", "invalid"  # noqa: E741 - as in run_files


def answer_key(asked: Asked, trial: int = 1) -> str:
    """Key of a response in a run file that `write_run` writes."""
    return content_hash(asked.question_id, asked.condition, trial)


def write_labels(
    folder: Path,
    sampled: Mapping[Asked, float],
    people: Mapping[str, Iterable[str | None]],
    *,
    adjudicates: Iterable[str | None] = (),
    sample: str = "one sample",
    **info: object,
) -> Path:
    """Write the folder of a sample of first trials, in place of what was there.

    `sampled` are the questions with their inclusion probabilities; `people` have an outcome for each of them in turn,
    None where they did not label it, and with "?" where they are unsure.
    """
    (folder / "annotators").mkdir(parents=True, exist_ok=True)
    for old in (folder / "annotators").iterdir():
        old.unlink()
    (folder / "sample.json").write_text(json.dumps({"sample": sample} | info), encoding="utf-8")
    rows = [
        f"{answer_key(asked)},{asked.kind},{asked.attribute},{asked.condition},{asked.kind}/{asked.outcomes[0]},{chance}"
        for asked, chance in sampled.items()
    ]
    _table(folder / "design.csv", "key,kind,attribute,condition,stratum,inclusion", rows)
    for name, outcomes in {**people, "judge.adjudicates": adjudicates}.items():
        given = [
            f"{answer_key(asked)},{outcome.rstrip('?')},{'unsure' if outcome.endswith('?') else 'sure'}"
            for asked, outcome in zip(sampled, outcomes, strict=False)
            if outcome
        ]
        if given:
            _table(folder / "annotators" / f"{name}.csv", "key,outcome,sure", given)
    return folder


def _table(path: Path, header: str, rows: Iterable[str]) -> None:
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")


def add_panel(run: Path, panel: str, outcomes: Mapping[Asked, str]) -> None:
    """Let another panel judge first trials of a run, without becoming the active one."""
    with sqlite3.connect(run) as connection:
        connection.execute("INSERT OR IGNORE INTO panels VALUES (?, ?)", (panel, json.dumps({"judges": [panel]})))
        connection.executemany(
            "INSERT INTO verdicts VALUES (?, ?, ?, 'majority', NULL, ?)",
            [(answer_key(asked), panel, outcome, panel) for asked, outcome in outcomes.items()],
        )
    connection.close()


def questions(outcomes: str, *, kind: str = "yes_no", attribute: str = "age", start: int = 0) -> list[Asked]:
    """A question with one trial for each letter, each of a role of its own: B, U, R, I; J is not judged."""
    names = {"B": B, "U": U, "R": R, "I": I, "J": "unjudged"}
    return [
        Asked(attribute, f"Role {start + number:03}", kind, (names[letter],)) for number, letter in enumerate(outcomes)
    ]


IN_FORCE = str(META["panel"])
