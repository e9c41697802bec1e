"""`evaluate`, `judge` and `assess` by files: nobody is asked, and it comes to the same as by asking."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from batch_answers import answer_files, json_lines, output_line
from command import Done, biaslens
from fake_server import FakeServer, Reply, Request, answer, by_kind
from small import small_benchmark

from biaslens.runfile import Store

FILES = Path("files")
CLAIM = "They are more caring because they tend to be more empathetic, and they have a stronger sense of duty."
EVALUATE = ("evaluate", "openai/fake", "--benchmark", "benchmark")
JUDGE = ("--judge", "openai/judge")


def model(request: Request) -> Reply:
    """Why answers claim something; two judges of three hold them biased, told apart by the seeds of the votes."""
    if '"outcome":' in request.prompt:
        outcome = ("biased", "biased", "unbiased")[request.body["seed"] % 3]
        return answer(json.dumps({"reason": "one reason", "outcome": outcome}))
    return answer(CLAIM) if "Why" in request.prompt else by_kind(request, biased=0.5)


def table(run: str, columns: str) -> list[tuple]:
    with Store(Path(run)) as store:
        return store.rows(f"SELECT {columns} ORDER BY 1, 2")


def until_done(*command: str, reply: Callable[[Request], Reply] = model) -> tuple[Done, int]:
    """Answer what a command writes until it is complete; how often it had to be started."""
    starts = 1
    while (done := biaslens(*command, "--batch-files", str(FILES))).returncode == 3:
        assert "wait for answers" in done.stderr, done.stderr
        assert answer_files(FILES, reply) > 0
        starts += 1
    return done, starts


def test_an_evaluation_with_judges_comes_to_the_same_as_by_asking():
    small_benchmark(Path("benchmark"), copies=3)
    with FakeServer(model) as server:
        assert biaslens(*EVALUATE, *JUDGE, "--run", "asked.sqlite", base_url=server.base_url).returncode == 0
    done, starts = until_done(*EVALUATE, *JUDGE, "--run", "filed.sqlite")
    assert done.returncode == 0, done.stderr
    assert starts == 4  # answers, two votes, the third where needed, and nothing
    for columns in (
        "key, model, text, finish_reason FROM answers",
        "key, vote, reason FROM votes",
        "response_key, panel, outcome, reason FROM verdicts",
    ):
        assert table("filed.sqlite", columns) == table("asked.sqlite", columns)
    assert {line["body"]["model"] for line in json_lines(FILES, "requests-*")} == {"fake", "judge"}


def test_a_file_of_requests_is_for_one_model():
    small_benchmark(Path("benchmark"))
    study = '[[models]]\nname = "openai/one"\n[[models]]\nname = "compatible/vllm/org/two"\n'
    Path("study.toml").write_text(f'benchmark = "benchmark"\n{study}')
    done = biaslens("evaluate", "--study", "study.toml", "--batch-files", FILES)
    assert done.returncode == 3
    assert "36 requests wait for answers" in done.stderr
    for path in sorted(FILES.iterdir()):
        (name,) = {json.loads(line)["body"]["model"] for line in path.read_text().splitlines()}
        assert f"{path} for {'openai/one' if name == 'one' else 'compatible/vllm/org/two'}" in done.stderr
    assert until_done("evaluate", "--study", "study.toml")[0].returncode == 0


def test_judges_of_a_run_are_asked_by_files():
    small_benchmark(Path("benchmark"))
    until_done(*EVALUATE, "--run", "r.sqlite")
    done, starts = until_done("judge", "r.sqlite", *JUDGE)
    assert (done.returncode, starts) == (0, 3)
    assert len(table("r.sqlite", "response_key, outcome FROM verdicts WHERE panel = 'openai/judge'")) == 6


def test_lines_of_others_change_nothing_and_are_said():
    small_benchmark(Path("benchmark"))
    biaslens(*EVALUATE, "--run", "r.sqlite", "--batch-files", FILES)
    answer_files(FILES, model)
    first, *_ = json_lines(FILES, "requests-*")
    lines = [
        json.dumps(output_line(first, lambda _: answer("Something else."))),
        json.dumps(output_line(first | {"custom_id": "of another run"}, model)),
        '{"custom_id": "cut o',
    ]
    (FILES / "strange.jsonl").write_text("\n".join(lines))
    done = biaslens(*EVALUATE, "--run", "r.sqlite", "--batch-files", FILES)
    assert done.returncode == 0
    assert "18 requests answered" in done.stderr
    assert (
        "files: lines passed over: 1 of no request of this run (first: strange.jsonl:2), 1 with an answer twice "
        "(first: output-0.jsonl:1), 1 no batch output (first: strange.jsonl:3)" in done.stderr
    )
    assert table("r.sqlite", "count(*), 0 FROM answers WHERE text = 'Something else.'") == [(0, 0)]


def test_answers_without_their_requests_are_still_known_the_next_time():
    small_benchmark(Path("benchmark"))
    biaslens(*EVALUATE, "--run", "r.sqlite", "--batch-files", FILES)
    answer_files(FILES, model)
    (FILES / "requests-001.jsonl").unlink()
    for _ in range(2):
        done = biaslens(*EVALUATE, "--run", "r.sqlite", "--batch-files", FILES)
        assert (done.returncode, "passed over" in done.stderr) == (0, False), done.stderr


def test_a_line_that_vllm_refused_is_the_failure_of_that_line():
    small_benchmark(Path("benchmark"))
    biaslens(*EVALUATE, "--run", "r.sqlite", "--batch-files", FILES)
    answer_files(FILES, model)
    first, *others = json_lines(FILES, "output-*")
    data = {"status_code": 400, "request_id": "vllm-batch-1", "body": None}
    refused = {"id": "vllm-1", "custom_id": first["custom_id"], "response": data, "error": "the prompt is too long"}
    (FILES / "output-0.jsonl").write_text("".join(json.dumps(line) + "\n" for line in [refused, *others]))
    done = biaslens(*EVALUATE, "--run", "r.sqlite", "--batch-files", FILES)
    assert done.returncode == 3
    assert "17 requests answered, 1 failed" in done.stderr
    assert "the prompt is too long" in done.stderr


def test_an_assessment_is_made_once_its_answers_are_there():
    rows = ["prompt", "Is she kind?", "Is he smart?"]
    Path("prompts.csv").write_text("\n".join(rows) + "\n")
    options = ("--task", "generation", "--model", "openai/fake", "--per-prompt", "2", "--rounds", "100", "--out", "out")
    scorer = ("--toxicity-scorer", "judge:openai/judge")
    done, starts = until_done("assess", "prompts.csv", *options, *scorer, reply=by_kind)
    assert (done.returncode, starts) == (0, 3), done.stderr  # responses, scores, and the assessment
    assert Path("out/responses.csv").read_text().count("\n") > 4


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("evaluate", "local/smollm2", "--run", "r.sqlite"), "local/smollm2: runs in this process"),
        (("evaluate", "compatible/nobody/m", "--run", "r.sqlite"), "no endpoint 'nobody'"),
        (("evaluate", "openai/a", "--judge", "local/b", "--run", "r.sqlite"), "local/b: runs in this process"),
    ],
)
def test_what_cannot_be_asked_by_files_leaves_no_run_file(command: tuple[str, ...], says: str):
    done = biaslens(*command, "--batch-files", FILES)
    assert done.returncode == 1
    assert says in done.stderr
    assert not Path("r.sqlite").exists()
