"""A run in the form of Every Eval Ever, held against its schemas (0.3.0, copied with their licence)."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest
from command import biaslens
from jsonschema import Draft7Validator
from run_files import ASKED, Asked, write_run

SCHEMAS = Path(__file__).parent / "every_eval_ever"
CHOICE = Asked(
    "age", "Teenagers", "choice", ("biased", "unbiased"), number=7, options=("Tall people", "Short people", "Neither"),
    option_order=(1, 0, 2), choice=(1, 2),
)  # fmt: skip


def validator(name: str) -> Draft7Validator:
    return Draft7Validator(json.loads((SCHEMAS / f"{name}.schema.json").read_text()))


def exported(run: Path, out: Path, *options: str) -> tuple[dict, list[dict], Path]:
    done = biaslens("export", run, "--format", "every-eval-ever", "--out", out, *options)
    assert done.returncode == 0, done.stderr
    record, samples = map(Path, done.stdout.split())
    return json.loads(record.read_text()), [json.loads(line) for line in samples.read_text().splitlines()], record


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run.sqlite", (*ASKED, CHOICE), params={"temperature": 0.5, "max_tokens": 64})


def test_it_keeps_to_the_schemas(run: Path, tmp_path: Path) -> None:
    record, samples, _ = exported(run, tmp_path / "plain")
    hub = (
        "--dataset",
        "me/bias",
        "--model-id",
        "OpenAI/mini/v1.5_x",
        "--organization",
        "Me",
        "--relationship",
        "third_party",
    )
    other, more, path = exported(run, tmp_path / "hub", *hub)
    for each in (record, other):
        assert list(validator("eval").iter_errors(each)) == []
    for row in (*samples, *more):
        assert list(validator("instance_level_eval").iter_errors(row)) == []
    assert other["source_metadata"]["source_organization_name"] == "Me"
    assert other["evaluation_results"][0]["source_data"]["hf_repo"] == "me/bias"
    assert path.relative_to(tmp_path / "hub").parts[:-1] == ("data", "biaslens", "OpenAI", "mini_v1.5_x")


def test_both_headline_numbers_with_the_interval(run: Path, tmp_path: Path) -> None:
    record, _, _ = exported(run, tmp_path / "out")
    results = {result["evaluation_result_id"]: result for result in record["evaluation_results"]}
    (condition,) = json.loads(biaslens("report", run, "--json").stdout)["conditions"]
    for cell in condition["cells"]:
        if cell["attribute"] == "all":
            rate = results[f"biaslens/role/{cell['kind']}/bias_rate"]["score_details"]
            assert rate["score"] == cell["bias_rate"]["rate"]
            interval = rate["uncertainty"].get("confidence_interval", {"lower": None, "upper": None})
            assert (interval["lower"], interval["upper"]) == (cell["bias_rate"]["low"], cell["bias_rate"]["high"])
            counted = results[f"biaslens/role/{cell['kind']}/biased_questions"]["score_details"]
            assert counted["details"]["biased_questions"] == str(cell["biased_questions"])
    assert "llm_scoring" in results["biaslens/role/why/bias_rate"]["metric_config"]
    assert "llm_scoring" not in results["biaslens/role/choice/bias_rate"]["metric_config"]


def test_the_answers_that_count_give_the_rate_again(run: Path, tmp_path: Path) -> None:
    record, samples, path = exported(run, tmp_path / "out")
    for kind in ("yes_no", "choice", "why"):
        own = [
            row["evaluation"]["score"]
            for row in samples
            if row["evaluation_result_id"] == f"biaslens/role/{kind}/bias_rate"
        ]
        (result,) = [
            each
            for each in record["evaluation_results"]
            if each["evaluation_result_id"] == f"biaslens/role/{kind}/bias_rate"
        ]
        assert sum(own) / len(own) == result["score_details"]["score"]
        assert result["score_details"]["uncertainty"]["num_samples"] == len(own)
    detail = record["detailed_evaluation_results"]
    data = (path.parents[4] / detail["file_path"]).read_bytes()
    assert (sha256(data).hexdigest(), detail["total_rows"]) == (detail["checksum"], len(samples))
    shuffled = [row for row in samples if row["input"]["choices"] == ["Short people", "Tall people", "Neither"]]
    assert [row["answer_attribution"][0]["extracted_value"] for row in shuffled] in (
        ["Short people", "Neither"],
        ["Neither", "Short people"],
    )
    assert all("biaslens canary" in row["metadata"]["canary"] for row in samples)


def test_the_same_run_has_the_same_files(run: Path, tmp_path: Path) -> None:
    assert exported(run, tmp_path / "out")[2] == exported(run, tmp_path / "out")[2]
    assert len(list((tmp_path / "out").rglob("*.json*"))) == 2


def test_a_run_in_which_nothing_counts_is_refused(tmp_path: Path) -> None:
    done = biaslens("export", write_run(tmp_path / "empty.sqlite"), "--format", "every-eval-ever")
    assert (done.returncode, "no answer of it counts yet" in done.stderr) == (1, True)
