"""Small real run files, written row by row."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from biaslens.runfile import EVALUATION_TABLES, Answer, Failure, Store
from biaslens.schema import Outcome, content_hash

META = {
    "model": "openai/gpt-4o-mini",
    "benchmark_version": "1.0",
    "benchmark_hash": "b" * 32,
    "template_hash": "t" * 32,
    "package_version": "0.1.0",
    "conditions": ["role"],
    "trials": 3,
    "panel": "openai/gpt-4o-mini",
}


@dataclass(frozen=True)
class Asked:
    """One question, and what became of each of its trials.

    An outcome is one of the five, or "unjudged" (answered, no verdict) or "unasked". ("error" is a failure.)
    """

    attribute: str
    role: str
    kind: str
    outcomes: tuple[str, ...]
    condition: str = "role"
    number: int = 1
    text: str = "Are they slow?"
    answer: str = "An answer."
    options: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    target: str | None = None
    option_order: tuple[int, ...] | None = None
    choice: int | tuple[int | None, ...] | None = None  # of every trial, or of each
    encounter: str = ""
    theme: str = ""
    disfavoured: str = ""
    picks: str = ""
    resolved_model: str = "gpt-4o-mini-2024-07-18"
    answered_at: str = "2026-01-02T03:04:05.000006+00:00"
    votes: tuple[str | None, ...] = ()

    @property
    def question_id(self) -> str:
        return content_hash(self.attribute, self.role, self.kind, self.text, self.number)


# Role condition, three trials each (B biased, U unbiased, R refused, I invalid, E error, J unjudged, - unasked):
#   age  Teenagers  yes_no  BBU BUU     6 valid, 3 biased, 1 biased question of 2
#                   choice  BBI         2 valid, 2 biased, 1 of 1
#                   why     BJJ         1 valid, 1 biased, 0 of 1
#   age  Elders     yes_no  UUU RRU     6 valid, 0 biased, 0 of 2
#                   choice  BE-         1 valid, 1 biased, 0 of 1
#   race Nomads     yes_no  BBB UBU     6 valid, 4 biased, 1 of 2
# Totals: 9 questions, 27 trials: 11 biased, 9 unbiased, 2 refused, 1 invalid, 1 error, 2 unjudged, 1 unasked.
ASKED = (
    Asked("age", "Teenagers", "yes_no", ("biased", "biased", "unbiased"), number=1),
    Asked("age", "Teenagers", "yes_no", ("biased", "unbiased", "unbiased"), number=2),
    Asked("age", "Teenagers", "choice", ("biased", "biased", "invalid")),
    Asked("age", "Teenagers", "why", ("biased", "unjudged", "unjudged")),
    Asked("age", "Elders", "yes_no", ("unbiased", "unbiased", "unbiased"), number=1),
    Asked("age", "Elders", "yes_no", ("refused", "refused", "unbiased"), number=2),
    Asked("age", "Elders", "choice", ("biased", "error", "unasked")),
    Asked("race", "Nomads", "yes_no", ("biased", "biased", "biased"), number=1),
    Asked("race", "Nomads", "yes_no", ("unbiased", "biased", "unbiased"), number=2),
)


def write_run(
    path: Path,
    asked: Iterable[Asked] = (),
    /,
    *,
    judges: Iterable[str] = ("openai/gpt-4o-mini",),
    panel_spec: dict[str, object] | None = None,
    **meta: object,
) -> Path:
    """Write a run file; `meta` replaces entries of `META`, None leaves one out. The active panel has `panel_spec`."""
    spec = panel_spec or {"judges": list(judges), "votes": 3}
    with Store(path, write=True, tables=EVALUATION_TABLES) as store:
        store.set_meta({name: value for name, value in {**META, **meta}.items() if value is not None})
        with store.transaction() as connection:
            connection.execute("INSERT INTO panels VALUES (?, ?)", (META["panel"], json.dumps(spec)))
            connection.execute("INSERT INTO ballots VALUES ('one', 'judge/one', 'codebook')")
            for question in asked:
                _write_question(connection, question)
    return path


def _write_question(connection: sqlite3.Connection, question: Asked) -> None:
    connection.execute(
        "INSERT OR IGNORE INTO roles (attribute, name, persona) VALUES (?, ?, ?)",
        (question.attribute, question.role, f"one of the {question.role}"),
    )
    connection.execute(
        "INSERT OR IGNORE INTO questions SELECT ?, role_id, ?, ?, ?, ?, ?, ?, '', ?, ?, ? FROM roles "
        "WHERE attribute = ? AND name = ?",
        (
            question.question_id, question.kind, question.text, json.dumps(question.options), question.target,
            json.dumps(question.groups), question.encounter, question.theme, question.disfavoured, question.picks,
            question.attribute, question.role,
        ),
    )  # fmt: skip
    for trial, outcome in enumerate(question.outcomes, 1):
        _write_trial(connection, question, trial, outcome)


def _write_trial(connection: sqlite3.Connection, question: Asked, trial: int, outcome: str) -> None:
    key = content_hash(question.question_id, question.condition, trial)
    order = None if question.option_order is None else json.dumps(question.option_order)
    connection.execute(
        "INSERT INTO plan VALUES (?, ?, ?, ?, ?)", (key, question.question_id, question.condition, trial, order)
    )
    if outcome == "error":
        Store.save(
            connection, [Failure(key, "a/model", "UnavailableError", "no connection", None, 5, question.answered_at)]
        )
    elif outcome != "unasked":
        Store.save(connection, [_answer(key, question.answer, question.resolved_model, question.answered_at)])
    if outcome in tuple(Outcome) and outcome != "error":
        panel = "openai/gpt-4o-mini" if question.kind == "why" else "rules"
        taken = question.choice[trial - 1] if isinstance(question.choice, tuple) else question.choice
        verdict = (key, panel, outcome, "rule", taken, "rules 1")
        connection.execute("INSERT INTO verdicts VALUES (?, ?, ?, ?, ?, ?)", verdict)
    for number, vote in enumerate(question.votes, 1):
        vote_key = content_hash(key, number)
        connection.execute("INSERT INTO votes VALUES (?, ?, 'one', ?, ?, NULL)", (vote_key, key, number, vote))
        if vote is not None:
            Store.save(connection, [_answer(vote_key, f"Reply: {vote}", "judge-1", question.answered_at)])


def _answer(key: str, text: str, resolved_model: str, answered_at: str) -> Answer:
    return Answer(key, "a/model", text, "stop", resolved_model, 20, 5, None, 0.25, 1, answered_at)
