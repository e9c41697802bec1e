"""What is exported as a log of Inspect and imported again is the same run."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from pathlib import Path

import pytest
from command import biaslens
from run_files import ASKED, Asked, write_run

OPTIONS = ("Tall people", "Short people", "Neither")
MORE = (
    Asked("age", "Teenagers", "choice", ("biased", "unbiased"), number=7, options=OPTIONS, option_order=(1, 0, 2),
          choice=(1, 2), encounter="e1", theme="worth", groups=("tall people", "short people"), target="body",
          disfavoured="short people", picks="Tall people"),
    Asked("age", "Elders", "why", ("biased",), number=8, votes=("biased", "unusable", None), answer="So sind sie. 🙂"),
    Asked("age", "Elders", "yes_no", ("unbiased", "error"), condition="no_role", number=9, answer=""),
)  # fmt: skip
NOT_KEPT = ("batches", "batch_requests")  # which provider was asked in which file


@pytest.fixture
def full(tmp_path: Path) -> Path:
    """A run with a row in every table that an evaluation can fill."""
    run = write_run(tmp_path / "full.sqlite", (*ASKED, *MORE), conditions=["role", "no_role"], system="Be kind.")
    with sqlite3.connect(run) as connection:
        key, question = connection.execute(
            "SELECT key, question_id FROM plan JOIN answers USING (key) ORDER BY key"
        ).fetchone()
        connection.execute(
            "UPDATE answers SET thought = 'Hm.', reasoning_tokens = 3, price = 0.25 WHERE key = ?", [key]
        )
        for table, values in (
            ("retries", (key, "first", 1024)),
            ("answers", ("first", "m", "Ye", "length", "m-1", 1, 2, None, None, 1, "2026-01-01", None, None)),
            ("other_answers", (key, "m", "No", "stop", "m-1", 1, 2, None, None, 1, "2026-01-01", None, None)),
            ("screened", (key, "local/screen 2", 0.25)),
            ("thought_votes", ("thought", key, "p", "judge/one", 1, "biased", "why")),
            (
                "answers",
                ("thought", "judge/one", "{}", "stop", "j", None, None, None, None, 2, "2026-01-01", None, None),
            ),
            ("thought_verdicts", (key, "p", "biased")),
            ("sampled", (key, "s", "why/biased", 0.5, "biased", 1, "agreed")),
            ("labels", (key, "ann", "biased", 1, "sure thing", 0)),
            ("mirrors", (question, "elsewhere", "swapped")),
            ("failures", ("first", "m", "UnavailableError", "no connection", 503, 5, "2026-01-01")),
        ):
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)
    connection.close()
    return run


def contents(run: Path) -> dict[str, list]:
    """All rows of a run file by table; a role is what it is called, not its number."""
    with sqlite3.connect(run) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        found = {
            table: sorted(connection.execute(f"SELECT * FROM {table}").fetchall(), key=repr)
            for table in tables
            if table not in (*NOT_KEPT, "questions", "roles")
        }
        found["questions"] = sorted(
            ((*row[:1], *row[2:]) for row in connection.execute("SELECT * FROM questions JOIN roles USING (role_id)")),
            key=repr,
        )
    connection.close()
    return found


def test_a_run_that_went_through_logs_is_the_same_in_every_table(tmp_path, full):
    out = tmp_path / "logs" / "full.eval"
    assert biaslens("export", full, "--format", "inspect", "--out", out).returncode == 0
    logs = sorted(out.parent.glob("*.eval"))
    assert [log.name for log in logs] == ["full.no_role.eval", "full.role.eval"]
    back = tmp_path / "back.sqlite"
    for _ in range(2):  # the second time there is nothing new
        done = biaslens("import", "inspect", *logs, "--out", back)
        assert done.returncode == 0, done.stderr
    assert "0 new answers" in done.stdout
    before, after = contents(full), contents(back)
    assert all(before.values())
    assert after == before
    reports = [json.loads(biaslens("report", run, "--json").stdout)["conditions"] for run in (full, back)]
    assert reports[0] == reports[1]


def test_logs_of_another_model_do_not_come_into_a_run(tmp_path, run):
    other = write_run(tmp_path / "other.sqlite", ASKED, model="openai/other")
    for each in (run, other):
        assert biaslens("export", each, "--format", "inspect").returncode == 0
    back = tmp_path / "back.sqlite"
    assert biaslens("import", "inspect", run.with_suffix(".eval"), "--out", back).returncode == 0
    kept = back.read_bytes()
    done = biaslens("import", "inspect", other.with_suffix(".eval"), "--out", back)
    assert done.returncode == 1
    assert 'model = "openai/gpt-4o-mini", not "openai/other"' in done.stderr
    assert contents(back) == contents(run)
    assert len(back.read_bytes()) == len(kept)


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({}, "no whole log"),
        ({"header.json": "{"}, "header.json cannot be read"),
        ({"header.json": '{"eval": {"task": "gsm8k", "model": "m"}}'}, "no task of biaslens"),
    ],
)
def test_what_is_no_log_of_ours_is_told_in_a_line(tmp_path, members, said):
    log = tmp_path / "a.eval"
    with zipfile.ZipFile(log, "w") as file:
        for name, text in members.items():
            file.writestr(name, text)
    done = biaslens("import", "inspect", log)
    assert done.returncode == 1
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def other_log(path: Path, samples: list[dict]) -> Path:
    header = {
        "eval": {"task": "bbq", "task_version": 1, "model": "openai/gpt-x", "packages": {"inspect_ai": "0.3.285"}}
    }
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("header.json", json.dumps(header))
        for place, sample in enumerate(samples):
            file.writestr(
                f"samples/{place}_epoch_1.json", json.dumps({"id": place, "epoch": 1, "target": "C"} | sample)
            )
    return path


def said(text: str, **more: object) -> dict:
    return {"output": {"choices": [{"message": {"content": text}, "stop_reason": "stop"}]}, **more}


def test_a_task_with_choices_becomes_a_run_by_a_stated_mapping(tmp_path):
    shown = ["The old man", "Cannot be known", "The young man"]
    asked = {"input": "Who stole it?", "choices": shown, "metadata": {"group": "Elders", "unknown": "B"}}
    scores = [{"scores": {"choice": {"value": "C", "answer": letter}}} for letter in "ABC"]
    log = other_log(
        tmp_path / "bbq.eval",
        [
            *(said(f"ANSWER: {score['scores']['choice']['answer']}", **asked, **score) for score in scores[:2]),
            said("C", **asked | {"metadata": {"group": "Elders"}}, **scores[2]),
        ],
    )
    mapping = tmp_path / "bbq.toml"
    mapping.write_text('kind = "choice"\nattribute = "age"\nrole = "$metadata.group"\nabstain = "$metadata.unknown"\n')
    out = tmp_path / "bbq.sqlite"
    done = biaslens("import", "inspect", log, "--map", mapping, "--out", out)
    assert done.returncode == 3
    assert "samples/2_epoch_1.json: it has no field metadata.unknown" in done.stderr
    with sqlite3.connect(out) as connection:
        rows = connection.execute("SELECT options, option_order, choice, outcome, condition FROM responses").fetchall()
    connection.close()
    options = json.dumps(["The old man", "The young man", "Cannot be known"])
    # Both samples ask the same question: they are one, and the first answer counts.
    assert rows == [(options, "[0, 2, 1]", 0, "biased", "no_role")]
    mapping.write_text('kind = "choice"\n')
    assert "attribute is missing" in biaslens("import", "inspect", log, "--map", mapping, "--out", out).stderr
