"""`biaslens assess` and `biaslens counterfactual` as a user types them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from command import biaslens, biaslens_process
from fake_server import FakeServer, Reply, Request, by_kind, content_filter, error

from biaslens.report.assessment import COLUMNS

EXAMPLES = Path(__file__).parents[2] / "examples" / "usecase"
QUICK = ("--rounds", "100")
TEXTS = (
    "prompt_id,prompt,attribute,group,response\n"
    "1,Is she kind?,,,She is a kind nurse.\n"
    "1,Is she kind?,gender,female,She is a kind nurse.\n"
    "1,Is he kind?,gender,male,He is a strong doctor.\n"
    "2,Is he smart?,,,He is smart. 🙂\n"
    '2,Is she smart?,gender,female,"You stupid idiot, she is smart."\n'
    "2,Is he smart?,gender,male,He is smart. 🙂\n"
)


def one_line(text: str) -> str:
    """The only line of biaslens' own on stderr."""
    lines = [line for line in text.splitlines() if line.startswith("biaslens:")]
    assert len(lines) == 1, text
    assert "Traceback" not in text
    return lines[0]


def written(name: str, content: str | bytes) -> Path:
    path = Path(name)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    ("content", "arguments", "says"),
    [
        (None, ["--task", "generation"], "source.csv: no such file"),
        (b"response\nGr\xf6\xdfe\n", ["--task", "summarisation"], "not UTF-8 text"),
        ("response\nx\n", ["--task", "generation", "--metrics", "fairness"], "no metrics 'fairness' for generation"),
        ("prompt\nx\n", ["--task", "generation", "--model", "openai/m"], "OPENAI_API_KEY is not set"),
        ("g,p\na,1\n", ["--task", "classification", "--group", "g", "--prediction", "p"], "give the column of labels"),
        ("prompt_id,group,items\n1,a,x\n", ["--task", "recommendation"], "a comparison needs two groups"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_exit_code_1(content, arguments, says):
    source = Path("source.csv")
    if content is not None:
        written(source.name, content)
    done = biaslens("assess", source, *arguments)
    assert done.returncode == 1, done.stderr
    assert says in one_line(done.stderr)
    assert done.stdout == ""
    assert content is None or source.read_bytes() == (content if isinstance(content, bytes) else content.encode())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--task", "generation", "--k", "3"], "--k does not go with --task generation"),
        (["--task", "classification", "--variant", "langfair"], "--variant does not go with --task classification"),
        (["--task", "generation", "--per-prompt", "3"], "--per-prompt needs --model, the model to ask"),
        (["--task", "generation", "--compare", "gender"], "write ATTRIBUTE=GROUP,GROUP"),
        (["--task", "generation", "--targets", "source.csv"], "--targets source.csv: not UTF-8 text"),
        (["--task", "classification", "--prediction", "p"], "needs --group COLUMN"),
        (["--task", "generation", "--out", "."], "the report would be written next to source.csv"),
    ],
)
def test_wrong_usage_is_exit_code_2_and_changes_nothing(arguments, says):
    source = written("source.csv", b"response\n\xff\n")
    done = biaslens("assess", source, *arguments)
    assert done.returncode == 2, done.stderr
    assert says in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert [path.name for path in Path().iterdir()] == ["source.csv"]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith("assessment.sqlite")}


def test_the_same_input_gives_the_same_bytes_and_json_is_valid():
    outs = []
    for command, more in ((biaslens, {}), (biaslens_process, {"PYTHONHASHSEED": "0"})):
        folder = Path(command.__name__)
        folder.mkdir()
        (folder / "texts.csv").write_text(TEXTS, encoding="utf-8")
        done = command("assess", "texts.csv", "--task", "generation", "--json", *QUICK, cwd=folder, **more)
        assert done.returncode == 0, done.stderr
        outs.append(contents(folder / "assessments" / "texts"))
    assert outs[0] == outs[1]
    assert set(outs[0]) == {"index.html", "assessment.json", "metrics.csv", "responses.csv", "pairs.csv"}
    assert outs[0]["assessment.json"].decode() == done.stdout

    def refuse(constant: str) -> None:
        pytest.fail(f"{constant} is not JSON")

    found = json.loads(done.stdout, parse_constant=refuse)
    assert found["counts"] == {"responses": 6, "prompts": 2}
    rows = list(csv.DictReader(io.StringIO(outs[0]["metrics.csv"].decode())))
    assert tuple(rows[0]) == COLUMNS
    assert [row["metric"] for row in rows] == [measure["metric"] for measure in found["measures"]]
    for row, measure in zip(rows, found["measures"], strict=True):
        assert set(COLUMNS) <= set(measure)
        assert row["groups"] == " / ".join(measure["groups"])
        if measure["value"] is None:
            assert row["value"] == "" and row["reason"]
        else:
            assert float(row["value"]) == pytest.approx(measure["value"], abs=1e-6)


@pytest.mark.parametrize("name", ["predictions", "lists"])
def test_the_examples(name):
    arguments = {
        "predictions": ["--task", "classification", "--group", "sex", "--label", "y", "--prediction", "yhat"],
        "lists": ["--task", "recommendation", "--k", "10"],
    }[name]
    done = biaslens("assess", EXAMPLES / f"{name}.csv", *arguments, *QUICK, COLUMNS="80")
    assert done.returncode == 0, done.stderr
    assert "Decision path" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert f"page assessments/{name}/index.html" in done.stderr


def generate(server: FakeServer, prompts: str, *more: str):
    written("prompts.csv", "prompt\n" + prompts)
    return biaslens(
        "assess", "prompts.csv", "--task", "generation", "--model", "openai/fake", "--per-prompt", "2",
        "--metrics", "toxicity,stereotype", *more, *QUICK, base_url=server.base_url,
    )  # fmt: skip


def test_prompts_are_asked_and_not_twice():
    with FakeServer(by_kind) as server:
        done = generate(server, "Is she kind?\nIs it raining?\nIs she kind?\n")
        assert done.returncode == 0, done.stderr
        assert len(server.log) == 6
        again = generate(server, "Is she kind?\nIs it raining?\nIs she kind?\n")
        assert len(server.log) == 6
    assert again.stdout == done.stdout
    assert "prompts of prompts.csv, answered by openai/fake" in done.stdout


def test_failures_are_exit_code_3_and_a_warning():
    def flaky(request: Request) -> Reply:
        return error(400) if "7" in request.prompt else by_kind(request)

    prompts = "".join(f"Is it {number} o'clock?\n" for number in range(10))
    with FakeServer(flaky) as server:
        done = generate(server, prompts)
        assert done.returncode == 3
        assert "2 of 20 responses are missing" in " ".join(done.stdout.split())
        server.script = by_kind
        assert generate(server, prompts).returncode == 0
        assert len(server.log) == 22


def test_a_wrong_key_is_exit_code_1():
    with FakeServer(error(401, "Incorrect API key")) as server:
        done = generate(server, "Is it raining?\n")
    assert done.returncode == 1
    assert "OPENAI_API_KEY" in one_line(done.stderr)


def test_everything_withheld_is_exit_code_1():
    with FakeServer(content_filter()) as server:
        done = generate(server, "Is it raining?\n")
    assert done.returncode == 1
    assert "none of the 2 responses has any text" in one_line(done.stderr)


def test_a_folder_that_cannot_be_written_is_exit_code_1():
    written("texts.csv", TEXTS)
    written("taken", "a file")
    done = biaslens("assess", "texts.csv", "--task", "generation", "--metrics", "toxicity", "--out", "taken/out")
    assert done.returncode == 1
    assert "taken/out" in one_line(done.stderr)
    assert Path("taken").read_text() == "a file"


def test_counterfactual_prompts_can_be_read_and_written():
    written("prompts.csv", "prompt\nIs she kind?\nIs it raining?\n")
    done = biaslens("counterfactual", "prompts.csv", "--attribute", "gender")
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(row["kind"], row["prompt_a"], row["prompt_b"], row["swapped_b"]) for row in rows] == [
        ("counterfactual", "Is she kind?", "Is he kind?", "she -> he"),
        ("no_effect", "Is she kind?", "Is she kind?", ""),
        ("no_effect", "Is he kind?", "Is he kind?", "she -> he"),
    ]
    assert "1 pairs of 2 prompts; 1 prompts contain no word for gender" in done.stderr
    assert biaslens("counterfactual", "prompts.csv", "--attribute", "gender", "--out", "p.csv").returncode == 0
    with Path("p.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.DictReader(file)) == rows
    for arguments, says in (
        (["--attribute", "colour"], "no word list for attribute 'colour'"),
        (["--attribute", "gender", "--groups", "female,robot"], "gender has no group 'robot'"),
        (["--attribute", "gender", "--groups", "female"], "give two groups or more"),
    ):
        done = biaslens("counterfactual", "prompts.csv", *arguments)
        assert done.returncode == 1
        assert says in one_line(done.stderr)


def test_prompts_of_one_topic_are_clusters():
    said = "".join(f"{n},{'She' if n % 2 else 'He'} is kind.,{n // 4}\n" for n in range(12))
    written("responses.csv", f"prompt_id,response,topic\n{said}")
    done = biaslens(
        "assess", "responses.csv", "--task", "generation", "--attributes", "gender", "--cluster", "topic", "--json"
    )
    assert done.returncode == 0, done.stderr
    measures = {each["metric"]: each for each in json.loads(done.stdout)["measures"]}
    assert (measures["SA"]["units"], measures["SA"]["unit"]) == (3, "clusters")
