"""The tasks in the harnesses themselves, offline, with models that say what they are told; and their logs as runs."""

from __future__ import annotations

import gc
import json
import math
import sqlite3
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pytest
from command import biaslens

from biaslens.benchmark import shipped

pytestmark = [
    pytest.mark.bridges,
    # What the harnesses and what they stand on warn of is theirs.
    pytest.mark.filterwarnings("ignore"),
]

SLICE = {"roles_per_attribute": 1, "questions_per_kind": 1}
ANSWERS = (
    "Yes.",
    "No.",
    "",
    "(A)",
    "(C)",
    "Because such people are lazy by nature, all of them.",
    "I can't help with that.",
)
UNBIASED = '{"reason": "it rejects it", "outcome": "unbiased"}'
BIASED = '{"reason": "it generalises", "outcome": "biased"}'


@pytest.fixture(autouse=True)
def _left_open() -> Iterator[None]:
    """Streams that Inspect leaves open warn once they are collected: here, where it is ignored, not at the end."""
    yield
    gc.collect()


def rows(run: Path, query: str) -> list[tuple]:
    with sqlite3.connect(run) as connection:
        found = connection.execute(query).fetchall()
    connection.close()
    return found


def evaluated(folder: Path, answers, *, judge=None, **options):
    """Evaluate a model that gives these answers in turn, by Inspect's own `eval`; the log."""
    from inspect_ai import eval as inspect_eval
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def model(texts):
        def outputs():
            for text in cycle(texts):
                output = ModelOutput.from_content("mockllm/model", text, "max_tokens" if text == "Becau" else "stop")
                output.usage = ModelUsage(input_tokens=30, output_tokens=2, total_tokens=32)
                yield output

        return get_model("mockllm/model", custom_outputs=outputs())

    roles = {} if judge is None else {"model_roles": {"judge": model(judge)}}
    (log,) = inspect_eval(
        "biaslens/role_play",
        task_args=SLICE | options,
        model=model(answers),
        log_dir=str(folder),
        display="none",
        max_connections=1,
        **roles,
    )
    assert log.status == "success", log.error
    return log


def test_inspect_evaluates_and_its_log_gives_our_interval(tmp_path):
    log = evaluated(tmp_path, (*ANSWERS, "Becau"), judge=(BIASED, BIASED, UNBIASED), trials=2, shuffle_options=True)
    assert log.eval.task_version == shipped().version
    score = log.results.scores[0]
    run = tmp_path / "run.sqlite"
    done = biaslens("import", "inspect", log.location, "--out", run)
    assert done.returncode == 0, done.stderr
    (condition,) = json.loads(biaslens("report", run, "--json").stdout)["conditions"]
    whole = next(cell for cell in condition["cells"] if (cell["attribute"], cell["kind"]) == ("all", "all"))
    assert whole["planned"] == len(log.samples) == 66
    assert whole["bias_rate"]["rate"] == pytest.approx(score.metrics["bias_rate"].value)
    assert whole["bias_rate"]["trials"] == score.scored_samples
    assert whole["bias_rate"]["low"] < whole["bias_rate"]["rate"] < whole["bias_rate"]["high"]
    # Sample by sample it is what Inspect has: answer, verdict, option taken, order shown, and the votes.
    mine = {
        (question, trial): (text, outcome, choice, json.loads(order or "null"))
        for question, trial, text, outcome, choice, order in rows(
            run, "SELECT question_id, trial, answer, outcome, choice, option_order FROM responses"
        )
    }
    for sample in log.samples:
        about = sample.scores["verdict"].metadata
        order = sample.metadata.get("option_order")
        expected = (sample.output.completion, about["outcome"], about.get("choice"), order)
        assert mine[sample.id, sample.epoch] == expected
    outcomes = {row[1] for row in mine.values()}
    assert outcomes == {"biased", "unbiased", "refused", "invalid"}
    assert any(order for *_, order in mine.values())
    given = sum(len(sample.scores["verdict"].metadata.get("votes", ())) for sample in log.samples)
    assert rows(run, "SELECT count(*), count(DISTINCT key) FROM votes JOIN answers USING (key)") == [(given, given)]
    assert given > 0
    prompt = log.samples[0].input
    assert [message.role for message in prompt] == ["system", "user"]


def test_without_a_judge_why_answers_wait_for_one_in_the_run(tmp_path):
    log = evaluated(tmp_path, [ANSWERS[5]], kind="why", condition="no_role", trials=1)
    assert {sample.scores["verdict"].reason for sample in log.samples} == {"unjudged"}
    assert [message.role for message in log.samples[0].input] == ["user"]
    run = tmp_path / "run.sqlite"
    assert "11 why answers wait for a judge" in biaslens("import", "inspect", log.location, "--out", run).stderr
    assert biaslens("judge", run, "--judge", "local/screen").returncode == 0
    local = evaluated(tmp_path, [ANSWERS[5]], kind="why", condition="no_role", trials=1, screen_why=True)
    assert {sample.scores["verdict"].metadata["outcome"] for sample in local.samples} == {
        outcome for (outcome,) in rows(run, "SELECT outcome FROM responses")
    }


def test_inspect_reads_what_is_exported(tmp_path, run):
    from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries

    biaslens("export", run, "--format", "inspect")
    path = str(run.with_suffix(".eval"))
    log = read_eval_log(path)
    assert (log.status, log.eval.model, log.eval.task) == ("success", "openai/gpt-4o-mini", "biaslens/role_play")
    assert (len(log.samples), len(read_eval_log_sample_summaries(path))) == (27, 27)
    states = [sample.scores["verdict"].metadata["outcome"] for sample in log.samples]
    assert {state: states.count(state) for state in states} == {
        "biased": 11, "unbiased": 9, "refused": 2, "invalid": 1, "error": 1, "unjudged": 2, "unasked": 1,
    }  # fmt: skip
    score = log.results.scores[0]
    assert (score.scored_samples, score.unscored_samples) == (22, 5)
    assert score.metrics["bias_rate"].value == 0.5
    assert sum(math.isnan(sample.scores["verdict"].value) for sample in log.samples) == 5
    assert [message.role for message in log.samples[0].messages] == ["system", "user", "assistant"]


def test_lm_eval_evaluates_and_its_samples_are_a_run(tmp_path):
    from lm_eval.api.model import LM
    from lm_eval.evaluator import simple_evaluate
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    asked = []

    class Scripted(LM):
        tokenizer_name = ""

        def generate_until(self, requests, disable_tqdm=False):
            asked.extend(request.args for request in requests)
            return [text for text, _ in zip(cycle(ANSWERS), requests, strict=False)]

        def loglikelihood(self, requests, disable_tqdm=False):
            raise NotImplementedError

        loglikelihood_rolling = loglikelihood

    folder = biaslens("lm-eval-path").stdout.strip()
    manager = TaskManager(include_path=folder, include_defaults=False, metadata=SLICE | {"trials": 2})
    assert sorted(manager.all_tasks) == ["biaslens", "biaslens_neutral_role", "biaslens_no_role", "biaslens_role_play"]
    found = simple_evaluate(model=Scripted(), tasks=["biaslens_role_play"], task_manager=manager, bootstrap_iters=0)
    assert found["versions"] == {"biaslens_role_play": shipped().version}
    assert len(asked) == 66
    assert asked[0][0].startswith("You are a wheelchair user who sells train tickets. Suppose you are ")
    assert asked[0][1]["max_gen_toks"] == 512
    tracker = EvaluationTracker(output_path=str(tmp_path))
    tracker.general_config_tracker.model_name_sanitized = "scripted"
    samples = found["samples"]["biaslens_role_play"]
    tracker.save_results_aggregated(
        results={"model_name": "scripted", "lm_eval_version": "0.4.13"}, samples=found["samples"]
    )
    tracker.save_results_samples("biaslens_role_play", samples)
    (logged,) = tmp_path.rglob("samples_*.jsonl")
    run = tmp_path / "run.sqlite"
    done = biaslens("import", "lm-eval", logged, "--model", "vllm/scripted", "--out", run)
    assert done.returncode == 0, done.stderr
    stored = {
        (question, trial): text
        for question, trial, text in rows(run, "SELECT question_id, trial, answer FROM responses")
    }
    assert stored == {(each["doc"]["question_id"], each["doc"]["trial"]): each["resps"][0][0] for each in samples}
    (condition,) = json.loads(biaslens("report", run, "--json").stdout)["conditions"]
    whole = next(cell for cell in condition["cells"] if (cell["attribute"], cell["kind"]) == ("all", "all"))
    assert whole["bias_rate"]["rate"] == pytest.approx(found["results"]["biaslens_role_play"]["bias_rate,none"])
    assert whole["coverage"] == pytest.approx(found["results"]["biaslens_role_play"]["coverage,none"])
    assert rows(run, "SELECT DISTINCT finish_reason FROM answers") == [("unknown",)]
