"""The commands' output, by the real command line."""

from __future__ import annotations

import csv
import json
import sqlite3
from pathlib import Path

import pytest
from command import biaslens
from fake_server import FakeServer, by_kind
from small import small_benchmark

from biaslens.version import __version__


def read_csv(path: str) -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_version():
    assert biaslens("--version").stdout == f"biaslens, version {__version__}\n"


def test_models_lists_the_study_s_six_and_what_is_missing():
    out = biaslens("models").stdout
    for label in ("GPT-4o-mini", "DeepSeek-v2.5", "Qwen1.5-110B", "Llama-3-8B", "Llama-3-70B", "Mistral-7B-v0.3"):
        assert f"the study's {label}" in out
    assert "needs OPENAI_API_KEY" in out
    assert "needs OPENAI_API_KEY" not in biaslens("models", OPENAI_API_KEY="x").stdout


def test_models_never_prints_a_key():
    done = biaslens("models", "--json", OPENAI_API_KEY="sk-secret")
    assert "sk-secret" not in done.stdout + done.stderr
    assert json.loads(done.stdout)["models"][0]["ready"] == "yes"


def test_plan_needs_no_key_and_counts_the_whole_benchmark():
    done = biaslens("plan", "openai/gpt-4o-mini", "--json")
    (load,) = json.loads(done.stdout)
    assert load["calls"] == 33000 * 3
    assert done.returncode == 0


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """2 roles, 1 question a kind, 3 trials: 18 answers, all biased; the 6 why answers get two votes each."""
    with FakeServer(lambda request: by_kind(request, biased=1.0)) as server:
        done = biaslens(
            "evaluate", "openai/fake", "--benchmark", small_benchmark(tmp_path / "benchmark"), "--run", "r.sqlite",
            "--judge", "openai/judge", base_url=server.base_url,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "6 of 6 questions biased, bias rate 100.0 %" in done.stdout
    assert "30 requests answered, 0 failed" in done.stderr
    return Path("r.sqlite")


def test_leaderboard_agrees_with_a_hand_count(run: Path):
    done = biaslens("leaderboard", run, "--out", "results")
    assert done.stdout.splitlines() == ["results/leaderboard.csv", "results/leaderboard_by_attribute.csv"]
    (row,) = read_csv("results/leaderboard.csv")
    assert row["model"] == "openai/fake"
    assert row["resolved_model"] == "fake-2024-07-18"
    assert (row["biased_questions"], row["bias_rate"], row["coverage"]) == ("6", "1.000000", "1.000000")
    # Two roles, all alike: Wilson at 1 with n = 2 roles and t(1) = 12.706: low = 2 / (2 + 12.706^2) = 0.0122.
    assert float(row["bias_rate_low"]) == pytest.approx(2 / (2 + 12.7062**2), abs=1e-4)


def test_export_holds_every_response_and_vote(run: Path):
    done = biaslens("export", run, "--format", "csv")
    responses, votes = map(read_csv, done.stdout.split())
    assert len(responses) == 18
    assert len(votes) == 12
    assert {row["outcome"] for row in responses} == {"biased"}


def test_the_run_file_opens_in_any_sqlite_tool(run: Path):
    connection = sqlite3.connect(run)
    query = "SELECT kind, outcome, count(*) FROM responses GROUP BY kind, outcome ORDER BY kind"
    assert connection.execute(query).fetchall() == [
        ("choice", "biased", 6),
        ("why", "biased", 6),
        ("yes_no", "biased", 6),
    ]
    connection.close()


def test_a_study_goes_on_after_a_model_that_cannot_be_asked(tmp_path: Path):
    benchmark = small_benchmark(tmp_path / "benchmark")
    Path("study.toml").write_text(
        f'benchmark = "{benchmark}"\n[[models]]\nname = "mistral/m"\n[[models]]\nname = "openai/fake"\n'
    )
    with FakeServer(by_kind) as server:
        done = biaslens("evaluate", "--study", "study.toml", base_url=server.base_url)
    assert done.returncode == 1
    assert "mistral/m: MISTRAL_API_KEY is not set" in done.stderr
    assert "18 requests answered" in done.stderr
    assert Path("runs/openai-fake.sqlite").exists()


@pytest.mark.parametrize("fault", ["column", "duplicate", "attribute", "utf-8"])
def test_a_broken_benchmark_is_one_line_with_its_place(tmp_path: Path, fault: str):
    folder = small_benchmark(tmp_path / "benchmark")
    questions, roles = folder / "questions.csv", folder / "roles.csv"
    if fault == "column":
        questions.write_text(questions.read_text().replace("kind,", "sort,", 1))
    elif fault == "duplicate":
        questions.write_text(questions.read_text() + questions.read_text().splitlines()[1] + "\n")
    elif fault == "attribute":
        roles.write_text(roles.read_text().replace("age,", "wealth,", 1))
    else:
        questions.write_bytes(questions.read_bytes().replace(b"kinder", b"k\xffnder", 1))
    says = {"column": "kind", "duplicate": "questions.csv:8", "attribute": "wealth", "utf-8": "UTF-8"}[fault]
    done = biaslens("evaluate", "openai/fake", "--benchmark", folder, OPENAI_API_KEY="x")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("biaslens: ")
    assert says in done.stderr
