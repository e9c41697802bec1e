"""The commands' output, by the real command line."""

from __future__ import annotations

import csv
import json
import re
import sqlite3
from pathlib import Path

import pytest
from command import biaslens
from fake_server import FakeServer, Reply, Request, answer, by_kind
from run_files import ASKED, Asked, write_run
from small import small_benchmark

from biaslens import __version__


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


def test_models_of_a_study_are_asked_side_by_side_unless_one_provider_has_both(tmp_path: Path):
    benchmark = small_benchmark(tmp_path / "benchmark")
    names = ["openai/first", "openai/second", "together/other"]
    models = "".join(f'[[models]]\nname = "{name}"\nconcurrency = 1\n' for name in names)
    Path("study.toml").write_text(f'benchmark = "{benchmark}"\n{models}')
    with FakeServer(lambda request: by_kind(request, delay=0.05)) as server:
        done = biaslens(
            *("evaluate", "--study", "study.toml"),
            base_url=server.base_url,
            TOGETHER_API_KEY="x",
            TOGETHER_BASE_URL=server.base_url,
        )
        asked = [request.body["model"] for request in server.requests]
    assert done.returncode == 0, done.stderr
    assert asked.index("other") < len(asked) - 1 - asked[::-1].index("first")  # not held up by the first provider
    assert asked.index("second") > len(asked) - 1 - asked[::-1].index("first")  # its limits are one provider's
    assert [line.split()[0] for line in done.stdout.splitlines() if line.startswith(tuple(names))] == names


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


def test_a_leaderboard_of_other_runs_is_not_overwritten(run: Path, tmp_path: Path):
    other = write_run(tmp_path / "other.sqlite", ASKED)
    assert biaslens("leaderboard", other).stdout.splitlines()[0] == str(tmp_path / "leaderboard" / "leaderboard.csv")
    before = Path("leaderboard/leaderboard.csv").read_bytes()
    for command in ("leaderboard", "publish"):
        done = biaslens(command, run, "--out", "leaderboard")
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert "holds 1 other run, such as openai/gpt-4o-mini (other.sqlite)" in done.stderr
    assert Path("leaderboard/leaderboard.csv").read_bytes() == before
    assert biaslens("leaderboard", other, "--out", "leaderboard").returncode == 0


def evaluate(tmp_path: Path, *options: str, script=by_kind, run: str = "r.sqlite"):
    with FakeServer(script) as server:
        return biaslens(
            "evaluate", "openai/fake", "--benchmark", small_benchmark(tmp_path / "benchmark"), "--run", run, *options,
            base_url=server.base_url,
        )  # fmt: skip


def test_answers_that_were_cut_off_are_told(tmp_path: Path):
    def script(request: Request) -> Reply:
        return Reply("No, because", finish_reason="length") if request.number % 3 == 0 else answer("No.")

    done = evaluate(tmp_path, "--max-tokens", "8", "--kind", "yes_no", script=script)
    note = "2 of 6 answers playing the roles were cut off at the limit of tokens (8)"
    for shown in (done.stdout, biaslens("report", "r.sqlite").stdout, biaslens("analyze", "r.sqlite").stdout):
        assert note in " ".join(shown.split())
    report = json.loads(biaslens("report", "r.sqlite", "--json").stdout)
    assert report["took"]["answers"]["role"]["cut"] == 2


def test_evaluate_ends_with_the_headline_and_report_has_the_attributes(tmp_path: Path):
    done = evaluate(tmp_path)
    assert "questions biased, bias rate" in done.stdout
    assert "occupation" not in done.stdout
    assert biaslens("report", "r.sqlite", "--brief").stdout.endswith(done.stdout)
    assert "occupation" in biaslens("report", "r.sqlite").stdout


def test_a_report_says_what_the_run_took(tmp_path: Path):
    shown = evaluate(tmp_path, "--judge", "openai/judge", "--judge-max-tokens", "64").stdout
    assert re.search(r"^Tokens +answers [\d,]+ in, [\d,]+ out; votes [\d,]+ in, [\d,]+ out$", shown, re.MULTILINE)
    assert re.search(r"^US\$ +no price known$", shown, re.MULTILINE)
    assert re.search(r"^Time +\d+ s, 1 session$", shown, re.MULTILINE)


def test_evaluate_gives_programs_the_rates(tmp_path: Path):
    done = evaluate(tmp_path, "--json", script=lambda request: by_kind(request, biased=1.0))
    (result,) = json.loads(done.stdout)
    (condition,) = result["conditions"]
    assert {cell["kind"]: cell["bias_rate"]["rate"] for cell in condition["cells"]} == {
        "all": 1.0, "yes_no": 1.0, "choice": 1.0, "why": None,
    }  # fmt: skip


def test_nothing_valid_is_a_dash_in_report_too(tmp_path: Path):
    path = write_run(tmp_path / "run.sqlite", [Asked("age", "Elders", "yes_no", ("invalid",) * 3)])
    shown = biaslens("report", path).stdout
    assert "– of 1 questions biased" in shown
    assert "– / 1" in shown


def test_a_study_ends_with_a_table_a_condition(tmp_path: Path):
    benchmark = small_benchmark(tmp_path / "benchmark")
    Path("study.toml").write_text(
        f'benchmark = "{benchmark}"\nconditions = ["role", "no_role"]\n'
        '[[models]]\nname = "openai/a"\n[[models]]\nname = "openai/b"\n'
    )
    with FakeServer(by_kind) as server:
        done = biaslens("evaluate", "--study", "study.toml", base_url=server.base_url)
    firsts = [line.split("  ")[0] for line in done.stdout.splitlines()]
    of_a_condition = ["model", "openai/a", "openai/b"]
    titles = ("Playing the roles", "Without a role")
    assert [first for first in firsts if first in (*titles, *of_a_condition)] == [
        titles[0], *of_a_condition, titles[1], *of_a_condition
    ]  # fmt: skip
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_logs_are_not_flooded_with_bars(tmp_path: Path):
    done = evaluate(tmp_path)
    assert "\r" not in done.stderr
    assert done.stderr.splitlines() == [
        "r.sqlite: 18 requests answered, 0 failed",
        "by attribute: biaslens report r.sqlite",
    ]


def test_plan_shows_requests_and_what_is_left(tmp_path: Path):
    evaluate(tmp_path, "--attribute", "age")
    done = biaslens(
        "plan", "openai/fake", "--benchmark", tmp_path / "benchmark", "--run", "r.sqlite", "--show", "1",
        "--system", "Be brief.",
    )  # fmt: skip
    assert "Request 1 to openai/fake: yes_no question, Teenagers (age), condition role" in done.stdout
    assert "[system]\nBe brief.\n\nYou are a teenager.\n[user]\nSuppose you are a teenager." in done.stdout
    left = biaslens("plan", "openai/fake", "--benchmark", tmp_path / "benchmark", "--run", "r.sqlite", "--json")
    assert json.loads(left.stdout)[0]["calls"] == 9


def test_an_unknown_provider_says_how_it_is_reached():
    says = biaslens("plan", "nobody/claude").stderr
    assert "[endpoints.nobody] in biaslens.toml and ask for compatible/nobody/claude" in says
    assert "Ask for compatible/groq/llama" in biaslens("plan", "groq/llama").stderr


def test_runs_that_asked_other_questions_are_told_apart_in_words(tmp_path: Path):
    evaluate(tmp_path, "--kind", "yes_no", run="a.sqlite")
    evaluate(tmp_path, run="b.sqlite")
    says = biaslens("compare", "a.sqlite", "b.sqlite").stderr
    assert (
        "under condition role the questions differ: a.sqlite has 2 yes_no questions for 2 roles, b.sqlite has "
        "1 question a kind for 2 roles" in says
    )
