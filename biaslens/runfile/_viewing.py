"""What looking at a run's answers one by one reads, and the index of their words that is made beside the run."""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

from biaslens.runfile._store import Store, storage_errors


class ViewedQuestion(NamedTuple):
    """A question without its text; `picks` is the position of the option that the prejudice picks."""

    question_id: str
    attribute: str
    role: str
    kind: str
    target: str
    groups: tuple[str, ...]
    encounter: str
    stereotype: str
    theme: str
    disfavoured: str
    picks: int | None
    mirror_of: str


ViewedAnswer = tuple[str, str, str, int, str | None, str | None, str | None, int | None, str | None, str | None]


def viewed_questions(store: Store) -> list[ViewedQuestion]:
    """All questions, those of a role and on one encounter together."""
    rows = store.connection.execute(
        "SELECT question_id, attribute, name, kind, coalesce(target, ''), groups, encounter, stereotype, theme, "
        "disfavoured, (SELECT key FROM json_each(options) WHERE value = picks), coalesce(mirror_of, '') "
        "FROM questions JOIN roles USING (role_id) LEFT JOIN mirrors USING (question_id) "
        "ORDER BY attribute, name, encounter, question_id"
    )
    return [ViewedQuestion._make((*row[:5], tuple(json.loads(row[5])), *row[6:])) for row in rows]


def viewed_answers(store: Store, panel: str) -> Iterator[ViewedAnswer]:
    """All planned responses by key.

    Key, question id, condition and trial; outcome, None where not asked or not judged, reason, oracle and choice of
    the verdict that counts; finish reason and time of the answer, None where there is none.
    """
    return store.connection.execute(
        """
        SELECT plan.key, plan.question_id, plan.condition, plan.trial,
               CASE WHEN verdicts.outcome IS NOT NULL THEN verdicts.outcome
                    WHEN answers.key IS NULL AND EXISTS (SELECT 1 FROM failures WHERE failures.key = plan.key)
                        THEN 'error'
               END,
               verdicts.reason, verdicts.oracle, verdicts.choice, answers.finish_reason, answers.answered_at
        FROM plan LEFT JOIN answers USING (key)
        LEFT JOIN verdicts ON verdicts.response_key = plan.key AND verdicts.panel IN ('rules', ?)
        ORDER BY plan.key
        """,
        (panel,),
    )


def label_outcomes(store: Store) -> dict[str, str]:
    """What people finally say of the answers that they have labelled, by key."""
    return dict(store.rows("SELECT response_key, outcome FROM sampled WHERE outcome IS NOT NULL"))


def screen_probabilities(store: Store) -> dict[str, float]:
    """What the local judge thinks of why answers, by key: the probability that each is biased."""
    return dict(store.rows("SELECT response_key, probability FROM screened"))


def viewed_texts(store: Store, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Everything about some planned responses by key: the columns of ``responses``, JSON read."""
    cursor = store.connection.execute(
        "SELECT * FROM responses WHERE key IN (SELECT value FROM json_each(?))", (json.dumps(list(keys)),)
    )
    names = [column[0] for column in cursor.description]
    found = {}
    for row in cursor:
        values = dict(zip(names, row, strict=True))
        for name in ("options", "groups", "option_order"):
            values[name] = json.loads(values[name] or "null")
        found[values["key"]] = values
    return found


def viewed_votes(store: Store, key: str) -> list[dict[str, Any]]:
    """All votes on one answer, of every panel: judge, number, vote, reason, reply, price and time."""
    cursor = store.connection.execute(
        "SELECT judge, prompt, vote_number, vote, reason, answers.text AS reply, price, answered_at "
        "FROM votes JOIN ballots USING (ballot) LEFT JOIN answers USING (key) "
        "WHERE response_key = ? ORDER BY vote_number, judge",
        (key,),
    )
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


def viewed_labels(store: Store, key: str) -> list[tuple[str, str, bool, str, bool]]:
    """What people say of one answer: annotator, outcome, whether sure, comment, whether it adjudicates."""
    return store.rows(
        "SELECT annotator, outcome, sure, comment, adjudicates FROM labels WHERE response_key = ? ORDER BY annotator",
        key,
    )


def thought_of(store: Store, key: str) -> str | None:
    """What the model thought before an answer, as far as it is known."""
    found: str | None = store.value("SELECT thought FROM answers WHERE key = ?", key)
    return found


def failure_of(store: Store, key: str) -> tuple[str, str] | None:
    """Error and message of the last failure to answer one planned response."""
    rows = store.rows("SELECT error, message FROM failures WHERE key = ? ORDER BY failed_at DESC LIMIT 1", key)
    return rows[0] if rows else None


def screen_probability(store: Store, key: str) -> float | None:
    """What the local judge thinks of one answer."""
    found: float | None = store.value("SELECT probability FROM screened WHERE response_key = ?", key)
    return found


_WORDS = re.compile(r'"[^"]*"|\S+')
_BUSY_SECONDS = 60
_TOKENS = 'tokenize="unicode61 remove_diacritics 2"'


class WordIndex:
    """Which of a run's answers and questions hold which words: a database of its own, in a file beside the run.

    Answers are numbered from 0 in the order of the keys that are planned.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def ready(self) -> bool:
        """Whether it was ever brought up to date."""
        if not self.path.exists():
            return False
        with closing(sqlite3.connect(self.path)) as index, suppress(sqlite3.OperationalError):
            return index.execute("SELECT planned FROM about").fetchone() is not None
        return False

    def update(self, store: Store) -> None:
        """Take in what a run has got since; all of it takes about 2 seconds per 100,000 answers.

        Two processes may do so at once, and one that is killed leaves what was there before.
        """
        planned = store.value("SELECT count(*) FROM plan")
        with storage_errors(self.path), closing(_open_to_write(self.path)) as index:
            index.execute("PRAGMA synchronous = NORMAL")
            index.execute("BEGIN IMMEDIATE")
            if not self._is_of(index, planned):
                _make(index, store, planned)
            taken = {number for (number,) in index.execute("SELECT number FROM taken")}
            texts = store.connection.execute(
                "SELECT answers.text FROM plan LEFT JOIN answers USING (key) ORDER BY plan.key"
            )
            new = ((number, text) for number, (text,) in enumerate(texts) if text is not None and number not in taken)
            for number, text in new:
                index.execute("INSERT INTO taken VALUES (?)", (number,))
                index.execute("INSERT INTO answers (rowid, text) VALUES (?, ?)", (number, text))
            index.execute("COMMIT")

    @staticmethod
    def _is_of(index: sqlite3.Connection, planned: int) -> bool:
        with suppress(sqlite3.OperationalError):
            return bool(index.execute("SELECT planned FROM about").fetchone() == (planned,))
        return False

    def find(self, words: str) -> tuple[list[int], list[str]]:
        """Numbers of the answers, and ids of the questions, that hold all the words; the last one may be a beginning.

        "Words in quotation marks" stand beside each other. Nothing else is an operator.
        """
        readable = words.replace("\0", " ").encode(errors="replace").decode()
        parts = [part.strip('"').replace('"', " ") for part in _WORDS.findall(readable)]
        wanted = " ".join(f'"{part}"' for part in parts if part.strip())
        if not wanted:
            return [], []
        if not words.endswith(('"', " ")):
            wanted += "*"
        address = f"{self.path.resolve().as_uri()}?mode=ro"
        with storage_errors(self.path), closing(sqlite3.connect(address, uri=True)) as index:
            answers = index.execute("SELECT rowid FROM answers WHERE answers MATCH ?", (wanted,)).fetchall()
            asked = index.execute("SELECT question_id FROM asked WHERE asked MATCH ?", (wanted,)).fetchall()
        return [number for (number,) in answers], [question_id for (question_id,) in asked]


def _open_to_write(path: Path) -> sqlite3.Connection:
    """Open a database with a write-ahead log; SQLite itself does not wait for another one that turns the log on."""
    index = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    end = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            index.execute("PRAGMA journal_mode = WAL")
        except sqlite3.Error as error:
            if "locked" not in str(error) or time.monotonic() > end:
                index.close()
                raise
            time.sleep(0.02)
        else:
            return index


def _make(index: sqlite3.Connection, store: Store, planned: int) -> None:
    for table in ("about", "taken", "answers", "asked"):
        index.execute(f"DROP TABLE IF EXISTS {table}")
    index.execute("CREATE TABLE about (planned INTEGER)")
    index.execute("CREATE TABLE taken (number INTEGER PRIMARY KEY)")
    index.execute(f"CREATE VIRTUAL TABLE answers USING fts5 (text, content='', {_TOKENS})")
    index.execute(f"CREATE VIRTUAL TABLE asked USING fts5 (text, question_id UNINDEXED, {_TOKENS})")
    index.execute("INSERT INTO about VALUES (?)", (planned,))
    index.executemany(
        "INSERT INTO asked (text, question_id) VALUES (?, ?)",
        store.connection.execute(
            "SELECT text || ' ' || options || ' ' || name || ' ' || stereotype, question_id "
            "FROM questions JOIN roles USING (role_id)"
        ),
    )
