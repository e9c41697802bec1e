"""Open a run file for writing, and bring one that an older version made up to date."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from biaslens.engine import Store
from biaslens.engine.damage import damaged
from biaslens.engine.store import storage_errors
from biaslens.errors import StorageError
from biaslens.evaluation.tables import PANEL_IN_FORCE, PUBLISHED_PANEL, RULES_PANEL, TABLES, check_run
from biaslens.schema import content_hash


def open_to_write(path: Path, *, create: bool = True, tables: str = "") -> Store:
    """Open or create the run file of an evaluation for writing; one of an older version is brought up to date.

    Nothing that was answered or decided is lost or asked again.

    Parameters
    ----------
    path
        The run file.
    create
        Make the file where there is none.
    tables
        Further table definitions, ``IF NOT EXISTS``.

    Raises
    ------
    RunLockedError, RunMismatchError, StorageError
        As for `Store`.
    """
    if not create:
        # Looked at before anything is written: another program's database stays as it is.
        with Store(path) as store, storage_errors(path):
            if store.connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'plan'").fetchone() is None:
                raise damaged(path, "no evaluation is planned in it")
    if path.exists() and path.stat().st_size:
        with Store(path) as store, storage_errors(path):
            there = {name for (name,) in store.connection.execute("SELECT name FROM sqlite_master")}
            # A start that was killed at once leaves fewer tables, and no answer that could be lost.
            if {"plan", "answers", "questions"} & there and "model" in store.meta() and not is_old(store.connection):
                check_run(store.connection, path)
    store = Store(path, write=True, tables=TABLES + tables)
    try:
        if is_old(store.connection):
            _upgrade(store)
    except BaseException:
        store.close()
        raise
    return store


def require_current(store: Store) -> None:
    """Refuse to read a run file of an older version.

    Raises
    ------
    StorageError
        With the command that brings the file up to date.
    """
    if is_old(store.connection):
        raise StorageError(
            f"{store.path}: made by an older version; `biaslens upgrade {store.path}` brings it up to date and loses "
            "nothing"
        )


def is_old(connection: sqlite3.Connection) -> bool:
    """Whether the votes are kept as they were before a run could have several panels."""
    return "judge" in {row[1] for row in connection.execute("PRAGMA table_info(votes)")}


def _upgrade(store: Store) -> None:
    meta = store.meta()
    judges = list(meta.get("judges", []))
    prompt = "published" if meta.get("imported") else "codebook"
    panel = PUBLISHED_PANEL if meta.get("imported") else f"{', '.join(judges)} (first prompt)"
    with store.transaction() as connection:
        connection.execute("DROP VIEW responses")
        for table in ("votes", "verdicts"):
            connection.execute(f"ALTER TABLE {table} RENAME TO old_{table}")
        for statement in _statements():
            connection.execute(statement)
        ballots = {}
        for (judge,) in connection.execute("SELECT DISTINCT judge FROM old_votes").fetchall():
            asked = (meta.get("judge_params"), meta.get("judge_template_hash"), meta.get("seed"))
            ballots[judge] = "published" if meta.get("imported") else content_hash("vote before panels", judge, *asked)
            connection.execute("INSERT INTO ballots VALUES (?, ?, ?)", (ballots[judge], judge, prompt))
        words = {"yes": "biased", "no": "unbiased", "unusable": "unusable", None: None}
        connection.executemany(
            "INSERT INTO votes (key, response_key, ballot, vote_number, vote) VALUES (?, ?, ?, ?, ?)",
            [
                (key, response_key, ballots[judge], number, words[vote])
                for key, response_key, judge, number, vote in connection.execute(
                    "SELECT key, response_key, judge, vote_number, vote FROM old_votes"
                ).fetchall()
            ],
        )
        connection.execute(
            "INSERT INTO verdicts SELECT response_key, CASE WHEN oracle LIKE 'rules%' THEN ? ELSE ? END, outcome, "
            "reason, choice, oracle FROM old_verdicts",
            (RULES_PANEL, panel),
        )
        for table in ("votes", "verdicts"):
            connection.execute(f"DROP TABLE old_{table}")
        if judges:
            spec = {"judges": judges, "votes": meta.get("votes"), "params": meta.get("judge_params")}
            spec |= {"prompt": prompt, "prompt_hash": meta.get("judge_template_hash"), "seed": meta.get("seed")}
            connection.execute("INSERT INTO panels VALUES (?, ?)", (panel, json.dumps(spec, sort_keys=True)))
            connection.execute("INSERT INTO meta VALUES (?, ?)", (PANEL_IN_FORCE, json.dumps(panel)))
        connection.execute(
            "DELETE FROM meta WHERE name IN ('judges', 'votes', 'judge_params', 'judge_template_hash')"
        )  # fmt: skip


def _statements() -> Iterator[str]:
    text = ""
    for line in TABLES.splitlines(keepends=True):
        text += line
        if sqlite3.complete_statement(text):
            yield text
            text = ""
