"""Run files of the time before a run could have several panels: read by nobody, upgraded without a loss."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from command import biaslens
from fake_server import FakeServer, by_kind

from biaslens.analysis import summarise
from biaslens.engine import Store
from biaslens.engine.store import Answer
from biaslens.errors import StorageError
from biaslens.evaluation import Panel, judge
from biaslens.evaluation.panel import panels
from biaslens.evaluation.upgrade import open_to_write

OLD_TABLES = """
CREATE TABLE IF NOT EXISTS roles (
    role_id INTEGER PRIMARY KEY, attribute TEXT NOT NULL, name TEXT NOT NULL, persona TEXT NOT NULL,
    UNIQUE (attribute, name)
);
CREATE TABLE IF NOT EXISTS questions (
    question_id TEXT PRIMARY KEY, role_id INTEGER NOT NULL REFERENCES roles, kind TEXT NOT NULL, text TEXT NOT NULL,
    options TEXT NOT NULL, target TEXT, groups TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS mirrors (
    question_id TEXT PRIMARY KEY REFERENCES questions, mirror_of TEXT NOT NULL, mirror TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS plan (
    key TEXT PRIMARY KEY, question_id TEXT NOT NULL REFERENCES questions, condition TEXT NOT NULL,
    trial INTEGER NOT NULL, option_order TEXT
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS votes (
    key TEXT PRIMARY KEY, response_key TEXT NOT NULL REFERENCES plan (key), judge TEXT NOT NULL,
    vote_number INTEGER NOT NULL, vote TEXT, UNIQUE (response_key, judge, vote_number)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS verdicts (
    response_key TEXT PRIMARY KEY REFERENCES plan (key), outcome TEXT NOT NULL, reason TEXT NOT NULL, choice INTEGER,
    oracle TEXT NOT NULL
) WITHOUT ROWID;
CREATE VIEW IF NOT EXISTS responses AS
SELECT plan.key, roles.attribute, roles.name AS role, roles.persona, questions.kind, questions.target,
       plan.question_id, questions.text AS question, questions.options, questions.groups,
       plan.condition, plan.trial, plan.option_order,
       answers.text AS answer, answers.finish_reason, answers.resolved_model,
       CASE WHEN verdicts.outcome IS NOT NULL THEN verdicts.outcome
            WHEN answers.key IS NULL AND EXISTS (SELECT 1 FROM failures WHERE failures.key = plan.key) THEN 'error'
       END AS outcome,
       verdicts.reason, verdicts.choice, verdicts.oracle,
       answers.prompt_tokens, answers.completion_tokens, answers.price, answers.latency, answers.attempts,
       answers.answered_at
FROM plan JOIN questions USING (question_id) JOIN roles USING (role_id) LEFT JOIN answers USING (key)
LEFT JOIN verdicts ON verdicts.response_key = plan.key;
"""

JUDGE = "openai/judge"
META = {
    "model": "openai/fake", "benchmark_version": "0-A", "benchmark_hash": "b" * 32, "template_hash": "t" * 32,
    "package_version": "0.1.0", "conditions": ["role"], "trials": 3, "seed": 0,
    "judges": [JUDGE], "votes": 3, "judge_params": {"max_tokens": 8}, "judge_template_hash": "j" * 32,
}  # fmt: skip

# Six responses: what was answered, the verdict with who gave it, and the votes.
RULES, VOTED = "rules 1", f"judges: {JUDGE}"
RESPONSES = {
    "a": ("yes_no", "Yes.", ("biased", "yes", None, RULES), ()),
    "b": ("choice", "(B)", ("biased", "letter", 1, RULES), ()),
    "c": ("why", "They are like that.", ("biased", "majority", None, VOTED), ("yes", "yes")),
    "d": ("why", "It depends.", ("unbiased", "majority", None, VOTED), ("no", "unusable", "no")),
    "e": ("why", "", ("invalid", "empty", None, RULES), ()),
    "f": ("why", "They say so.", None, ("yes", None)),
}


def old_run(path: Path, **changes: object) -> Path:
    with Store(path, write=True, tables=OLD_TABLES) as store:
        store.set_meta({name: value for name, value in {**META, **changes}.items() if value is not None})
        with store.transaction() as connection:
            connection.execute("INSERT INTO roles VALUES (1, 'age', 'Teenagers', 'a teenager')")
            for key, (kind, text, verdict, votes) in RESPONSES.items():
                connection.execute(
                    "INSERT INTO questions VALUES (?, 1, ?, 'Why are they slow?', '[]', 'age', '[]')", (key * 32, kind)
                )
                connection.execute("INSERT INTO plan VALUES (?, ?, 'role', 1, NULL)", (key, key * 32))
                Store.save(connection, [answer(key, text)])
                if verdict is not None:
                    connection.execute("INSERT INTO verdicts VALUES (?, ?, ?, ?, ?)", (key, *verdict))
                for number, vote in enumerate(votes, 1):
                    connection.execute(
                        "INSERT INTO votes VALUES (?, ?, ?, ?, ?)", (f"{key}{number}", key, JUDGE, number, vote)
                    )
                    if vote is not None:
                        Store.save(connection, [answer(f"{key}{number}", f"Verdict: {vote}")])
    return path


def answer(key: str, text: str) -> Answer:
    return Answer(key, "openai/fake", text, "stop", "fake-1", 20, 5, None, 0.1, 1, "2026-01-02T03:04:05+00:00")


def rows(path: Path, query: str) -> list[tuple]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def dump(path: Path) -> list[str]:
    connection = sqlite3.connect(path)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return old_run(tmp_path / "old.sqlite")


@pytest.fixture
def upgraded(old: Path) -> Path:
    open_to_write(old, create=False).close()
    return old


def test_an_old_file_is_refused_with_the_command_that_upgrades_it(old: Path):
    before = old.read_bytes()
    with pytest.raises(StorageError, match=f"made by an older version; `biaslens upgrade {old}` brings it up to date"):
        summarise(old)
    done = biaslens("report", old)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert f"biaslens upgrade {old}" in done.stderr
    assert old.read_bytes() == before


def test_the_command_upgrades_it(old: Path):
    done = biaslens("upgrade", old)
    assert (done.returncode, done.stderr) == (0, f"{old}: up to date\n")
    assert biaslens("report", old).returncode == 0


def test_outcomes_are_what_they_were(old: Path):
    query = "SELECT key, answer, outcome, reason, choice, oracle, answered_at FROM responses ORDER BY key"
    before = rows(old, query)
    open_to_write(old).close()
    assert rows(old, query) == before
    assert [outcome for _, _, outcome, *_ in before] == ["biased", "biased", "biased", "unbiased", "invalid", None]


def test_votes_are_mapped_and_keep_their_keys(upgraded: Path):
    assert rows(upgraded, "SELECT key, response_key, vote_number, vote, reason FROM votes ORDER BY key") == [
        ("c1", "c", 1, "biased", None),
        ("c2", "c", 2, "biased", None),
        ("d1", "d", 1, "unbiased", None),
        ("d2", "d", 2, "unusable", None),
        ("d3", "d", 3, "unbiased", None),
        ("f1", "f", 1, "biased", None),
        ("f2", "f", 2, None, None),
    ]
    assert rows(upgraded, "SELECT DISTINCT judge, prompt FROM votes JOIN ballots USING (ballot)") == [
        (JUDGE, "codebook")
    ]


def test_every_answer_is_still_there(old: Path):
    before = rows(old, "SELECT * FROM answers ORDER BY key")
    open_to_write(old).close()
    assert rows(old, "SELECT * FROM answers ORDER BY key") == before
    assert len(before) == 6 + 6  # six responses, six votes given


def test_verdicts_belong_to_the_rules_or_to_the_judges(upgraded: Path):
    found = rows(upgraded, "SELECT response_key, panel FROM verdicts ORDER BY response_key")
    first = f"{JUDGE} (first prompt)"
    assert found == [("a", "rules"), ("b", "rules"), ("c", first), ("d", first), ("e", "rules")]
    with Store(upgraded) as store:
        assert store.meta()["panel"] == first
        assert panels(store)[first] == {
            "judges": [JUDGE], "votes": 3, "params": {"max_tokens": 8}, "prompt": "codebook", "prompt_hash": "j" * 32,
            "seed": 0,
        }  # fmt: skip
        assert not {"judges", "votes", "judge_params", "judge_template_hash"} & set(store.meta())


def test_a_run_that_nobody_judged_gets_no_panel(tmp_path: Path):
    run = old_run(tmp_path / "r.sqlite", judges=None, votes=None, judge_params=None, judge_template_hash=None)
    with open_to_write(run) as store:
        store.connection.execute("SELECT 1 FROM responses")
        assert "panel" not in store.meta()
        assert dict(panels(store)) == {}


def test_an_imported_run_keeps_the_published_votes_in_force(tmp_path: Path):
    run = old_run(tmp_path / "r.sqlite", imported=True)
    open_to_write(run).close()
    assert rows(run, "SELECT value FROM meta WHERE name = 'panel'") == [('"published votes"',)]
    assert rows(run, "SELECT * FROM ballots") == [("published", JUDGE, "published")]
    assert rows(run, "SELECT count(*) FROM responses WHERE outcome IS NOT NULL") == [(5,)]


def test_upgrading_again_changes_nothing(upgraded: Path):
    before = dump(upgraded)
    assert biaslens("upgrade", upgraded).returncode == 0
    assert dump(upgraded) == before


def test_new_files_have_the_same_tables(upgraded: Path, tmp_path: Path):
    open_to_write(tmp_path / "new.sqlite").close()
    query = (
        "SELECT found.type, found.name, part.name, part.pk FROM sqlite_master AS found, "
        "pragma_table_info(found.name) AS part ORDER BY 2, 3"
    )
    assert rows(upgraded, query) == rows(tmp_path / "new.sqlite", query)
    assert rows(upgraded, "PRAGMA foreign_key_check") == []


KILLED = """
import os, signal, sys
from pathlib import Path
import biaslens.evaluation.upgrade as upgrade

made = upgrade._statements
def statements():
    for number, statement in enumerate(made()):
        if number == 8:
            os.kill(os.getpid(), signal.SIGKILL)
        yield statement
upgrade._statements = statements
upgrade.open_to_write(Path(sys.argv[1]))
"""


def test_killed_in_between_it_is_still_the_old_file(old: Path):
    query = "SELECT key, answer, outcome, reason, choice, oracle FROM responses ORDER BY key"
    before = (rows(old, query), rows(old, "SELECT * FROM votes"), rows(old, "SELECT * FROM verdicts"))
    killed = subprocess.run([sys.executable, "-c", KILLED, str(old)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert (rows(old, query), rows(old, "SELECT * FROM votes"), rows(old, "SELECT * FROM verdicts")) == before
    with pytest.raises(StorageError, match="made by an older version"):
        summarise(old)
    open_to_write(old).close()
    assert rows(old, query) == before[0]


def test_an_old_run_can_be_judged_by_another_panel(old: Path):
    result = judge(old, Panel(judges=("local/screen",)))
    assert not result.in_force
    # e was decided by rule; c, d and f wait for the new panel.
    assert sum(result.counts["local/screen 1"].values()) == 3
    assert Counter(panel for (panel,) in rows(old, "SELECT panel FROM verdicts")) == {
        "rules": 3, f"{JUDGE} (first prompt)": 2, "local/screen 1": 3,
    }  # fmt: skip
    assert summarise(old).run.meta["panel"] == f"{JUDGE} (first prompt)"


def test_the_votes_of_the_old_prompt_are_not_taken_for_those_of_the_new(old: Path):
    with FakeServer(by_kind) as server:
        done = biaslens("judge", old, "--judge", JUDGE, "--json", base_url=server.base_url)
        assert len(server.log) == 6  # three answers, two votes each
    assert json.loads(done.stdout)["panel"] == JUDGE
