"""Every block of commands, Python or settings on the pages is run, in order, in a folder a page, by a scripted server.

A line goes to bash, which makes words of it, and `biaslens` is run in this process with these. What stands for
something else on a page (MODEL, an address) is put in by `INSTEAD`; `variables` and `SETTINGS` lead every provider to
the server; the shipped benchmark is a small one, and figures are not drawn. What is not run is in `NOT_RUN`, with why.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from unittest.mock import Mock, patch

import pytest
import yaml
from batch_answers import answer_files
from batch_server import BatchProvider
from command import biaslens
from fake_server import FakeServer, Reply, Request, by_kind
from label_server import visiting
from matplotlib.figure import Figure
from pages import DOCS, PAGES, ROOT, blocks, name_of
from small import questions
from test_docs import COMMANDS

from biaslens._util.files import resource
from biaslens.benchmark import Benchmark, read, write
from biaslens.bridges.lm_eval import documents
from biaslens.models.base import GROUP
from biaslens.probe.predictions import write_predictions
from biaslens.replication.release import ATTRIBUTES
from biaslens.report.page import server as serving
from biaslens.schema import Attribute, Role
from biaslens.settings import load_settings

sys.path += [
    str(ROOT / "tests" / folder) for folder in ("bridges", "benchmark", "benchmark_llm", "probe", "replication")
]
from mini_bank import mini_bank
from probe_predictions import drawn
from small_release import write_release
from test_round_trip import other_log, said
from writer import SHIPPED as ENCOUNTERS
from writer import writes

ACTION = yaml.safe_load((ROOT / "action" / "action.yml").read_text())

NOT_RUN = {
    "pip install": "there is no network",
    "bash scripts/demo.sh": "makes a virtual environment; what it runs is what this page says",
    "source .venv/bin/activate": "there is none",
    "bash scripts/test.sh": "runs the tests",
    "bash .ci/run": "runs the tests",
    "hf ": "there is no network",
    "inspect eval": "tests/bridges/test_harnesses.py evaluates with Inspect",
    "lm_eval": "tests/bridges/test_harnesses.py evaluates with lm-eval",
    "vllm run-batch": "needs a GPU",
    "biaslens evaluate --study six.toml --on ray": "starts Ray; tests/evaluation/test_on_ray.py does",
    "hf upload": "there is no network",
    "hf download": "there is no network",
    "biaslens evaluate compatible/vllm/Qwen/Qwen3-8B --batch-files mybatch/ --engine": "needs Ray and vLLM",
    "biaslens generate --with openai/gpt-6.1-sol --roles-per-attribute 5": "tests/benchmark_llm/test_llm_fresh.py does",
    "biaslens check mybench/": "loads a tagger and sentence embeddings; tests/quality/test_check_command.py does",
    "biaslens probe selftest": "needs torch; tests/probe/test_probe_selftest.py does",
    "biaslens probe tune": "needs torch; tests/probe/test_probe_run.py does",
}
"""How lines begin that are not run, and why; those of ours are still read by the command line."""

INSTEAD = {
    "compatible/mine/MODEL": "compatible/mine/any",
    "out/MODEL/": "out/any/",
    " MODEL ": " openai/any ",
    "local/smollm2": "openai/any",  # it takes minutes
    "http://gpu-box:8000/v1": "SERVER",
    "gpt-6.1-sol --out mybench/": "gpt-6.1-sol --out mybench/ --attribute age --roles-per-attribute 1 --yes",
    "openai/gpt-6.1-sol --roles-per-attribute 5 --fresh-seed": "bank --fresh-seed",
    "--per-prompt 25": "--per-prompt 2",
    "rescore data/": "rescore data/ --jobs 1",  # a process started from this one would be another test
    "--with bank --seed 0": "--with bank --seed 0 --questions-per-kind 1",
    "_DATE.jsonl": "_2026-11-22T00-00-00.0.jsonl",
    "--attributes age,sexuality,disability": "--attributes age",  # what the small predictions are of
}
"""What is put in for what stands on a page."""

KEYS = ("OPENAI", "MISTRAL", "TOGETHER")
SETTINGS = """
[endpoints.vllm]
base_url = "SERVER"
[endpoints.deepseek]
base_url = "SERVER"
[models."openai/gpt-6-luna"]
api = "chat"
[models."openai/gpt-6.1-sol"]
api = "chat"
"""

EXIT_CODES = {
    "--batch-files": 3,  # requests lie there to be answered
    "--watch": 130,  # until Ctrl-C
    "biaslens gate": 3,  # so few questions decide nothing
    "biaslens reproduce": 1,  # the release is not the study's
}
"""What commands end with, by what is in them; the others with 0."""


def play(request: Request) -> Reply:
    """The scripted models: one that writes benchmarks, all others biased in a share of answers by their names."""
    model = str(request.body.get("model"))
    if "gpt-6.1-sol" in model:
        return writes(request)
    thought = "Let me see." if model == "NAME" else ""
    return replace(by_kind(request, biased=0.4 if model == "b" else 0.2), thought=thought)


@pytest.fixture(scope="session")
def server() -> Iterator[FakeServer]:
    with FakeServer(BatchProvider(play)) as started:
        yield started


@pytest.fixture(scope="session")
def folder(server: FakeServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What every page finds: a benchmark, runs of two models, and one that nobody has judged."""
    root = tmp_path_factory.mktemp("pages")
    write_form(root / "benchmark", 1)
    (root / "benchmark" / "bank").mkdir()
    mini_bank(root / "benchmark" / "bank")
    few_encounters(root / "benchmark" / "encounters")
    (root / "biaslens.toml").write_text(SETTINGS.replace("SERVER", server.base_url))
    judged = ("--judge", "openai/gpt-6-luna")
    for name, judge in (("NAME", ()), ("a", judged), ("b", judged)):
        done = biaslens(
            "evaluate", f"openai/{name}", "--run", f"runs/{name}.sqlite", "--benchmark", "benchmark", *judge,
            "--condition", "role", "--condition", "no_role", cwd=root, **variables(server),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    return root


def write_form(folder: Path, number: int) -> None:
    """Write a benchmark of four roles; another number makes a parallel form of it."""
    attributes = (Attribute.AGE, Attribute.AGE, Attribute.RACE, Attribute.RACE)
    roles = tuple(Role(attribute, f"Role {place}", f"person {place}") for place, attribute in enumerate(attributes))
    asked = tuple(question for role in roles for question in questions(role, number))
    write(Benchmark("0-A", "", None, roles, asked), folder)


def few_encounters(folder: Path) -> None:
    """The shipped encounters of two roles of an attribute."""
    folder.mkdir()
    with (ENCOUNTERS / "roles.csv").open(encoding="utf-8", newline="") as file:
        kept = [row for row in csv.reader(file) if row[0] in ("attribute", "age")][:3]
    names = {row[1] for row in kept}
    with (ENCOUNTERS / "age.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    place = header.index("role")
    for name, lines in (("roles", kept), ("age", [header, *(row for row in rows if row[place] in names)])):
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(lines)


def second_annotator(story: Story) -> None:
    story.run("annotate", "runs/NAME.labels", "--as", "BOB")


def second_shard(story: Story) -> None:
    story.run("evaluate", "compatible/vllm/Qwen/Qwen3-8B", "--shard", "4/16")


def logs(story: Story) -> None:
    """What Inspect would have written."""
    story.run("export", "runs/a.sqlite", "--format", "inspect", "--out", "logs/a.eval")
    for name, log in (("2026-11-22_role-play", "a.role"), ("a", "a.role"), ("b", "a.no_role")):
        shutil.copy(story.folder / "logs" / f"{log}.eval", story.folder / "logs" / f"{name}.eval")


def foreign_log(story: Story) -> None:
    asked = {
        "input": "Who stole it?",
        "choices": ["He", "Unknown", "She"],
        "metadata": {"group": "Elders", "unknown": "B"},
    }
    other_log(story.folder / "logs" / "bbq.eval", [said("ANSWER: A", **asked)])


def samples(story: Story) -> None:
    """What lm-eval would have logged."""
    folder = story.folder / "out" / "any"
    folder.mkdir(parents=True)
    sent = {"gen_args_0": {"arg_0": "", "arg_1": {"temperature": 1.0}}}
    asked = documents(benchmark=str(story.folder / "benchmark"))
    lines = [json.dumps({"doc": doc, "resps": [["They are not."]], "arguments": sent}) for doc in asked]
    (folder / "samples_biaslens_role_play_2026-11-22T00-00-00.0.jsonl").write_text("\n".join(lines))
    (folder / "results_2026-11-22T00-00-00.0.json").write_text('{"model_name": "any"}')


def run_afresh(story: Story) -> None:
    (story.folder / "runs" / "openai-gpt-6-luna.sqlite").unlink()


def benchmark_afresh(story: Story) -> None:
    shutil.rmtree(story.folder / "mybench")


def baseline(story: Story) -> None:
    shutil.copy(story.folder / "runs" / "new.sqlite", story.folder / "runs" / "released.sqlite")


def private_form(story: Story) -> None:
    write_form(story.folder / "private", 2)


def runs_of_sol(story: Story) -> None:
    for name, form in (("sol", "benchmark"), ("sol-private", "private")):
        story.run("evaluate", "openai/sol", "--benchmark", form, "--run", f"runs/{name}.sqlite")


def from_the_hub(story: Story) -> None:
    shutil.copytree(story.folder / "hub", story.folder / "bench")


def answers_from_files(story: Story) -> None:
    answer_files(story.folder / "mybatch", play)


def own_responses(story: Story) -> None:
    shutil.copy(story.folder / "assessments" / "prompts" / "responses.csv", story.folder)


def release(story: Story) -> None:
    write_release(story.folder / "RELEASE", attributes=ATTRIBUTES)


def labels_of_the_release(story: Story) -> None:
    folder = "labels/published-qwen"
    story.run("sample", "runs/published-qwen.sqlite", "--out", folder)
    story.run("annotate", folder, "--as", "ANN")


def predictions(story: Story) -> None:
    """What `tune` would have left."""
    for name, shift in (("a", 0.0), ("b", 1.0)):
        write_predictions(drawn(model=name, shift=shift), story.folder / "runs" / "probe" / name)


BEFORE: dict[str, Callable[[Story], None]] = {
    "biaslens annotate runs/NAME.labels --as CAT": second_annotator,
    "biaslens evaluate openai/gpt-6-luna --judge openai/gpt-6-luna --batch": run_afresh,
    "biaslens generate --with openai/gpt-6.1-sol --out mybench/ --batch-files": benchmark_afresh,
    "biaslens gate": baseline,
    "biaslens evaluate openai/gpt-6-luna --benchmark bench/": from_the_hub,
    "biaslens evaluate openai/gpt-6-luna --roles-per-attribute 5 --benchmark private/": private_form,
    "biaslens analyze runs/luna.sqlite runs/sol.sqlite": runs_of_sol,
    "biaslens merge": second_shard,
    "biaslens export runs/openai-gpt-6-luna.sqlite": answers_from_files,
    "biaslens assess responses.csv": own_responses,
    "biaslens import inspect logs/2026": logs,
    "biaslens import inspect logs/bbq": foreign_log,
    "biaslens import lm-eval": samples,
    "biaslens import published": release,
    "for name in labels/published": labels_of_the_release,
    "biaslens probe gaps": predictions,
}
"""What has to happen before a line that is not in it."""

ON_PAGES = {line for page in DOCS for block in blocks(page) for line in block.lines}
"""Lines of the documentation, which are not run a second time where README repeats them."""

TOML_FILES = {"docs/bridges.md": "bbq.toml", "docs/evaluate.md": "engine.toml"}

_TABLES = {f"{name}.csv": f"examples/usecase/{name}.csv" for name in ("prompts", "predictions", "lists")}
FOUND_THERE: dict[str, dict[str, str]] = {
    "README.md": {f"runs/{name}.sqlite": "runs/a.sqlite" for name in ("NAME", "openai-gpt-6-luna")},
    "docs/start.md": {"runs/demo.sqlite": "runs/a.sqlite"},
    "docs/analyse-and-publish.md": {"runs/NAME.sqlite": "runs/a.sqlite"},
    "docs/own-use.md": _TABLES,
    "docs/reference/python.md": {"runs/openai-gpt-6-luna.sqlite": "runs/a.sqlite"},
}
"""Files that a page takes as given, and what they are copies of."""


def variables(server: FakeServer) -> dict[str, str]:
    found = {f"{name}_API_KEY": "test" for name in KEYS}
    return found | {"MY_KEY": "test"} | {f"{name}_BASE_URL": server.base_url for name in KEYS}


class Story:
    """One page, run from its beginning to its end."""

    def __init__(self, page: str, folder: Path, server: FakeServer) -> None:
        self.page = page
        self.folder = folder
        self.server = server
        self.visits = 0
        self.settings = SETTINGS
        self.made: dict[str, object] = {"__name__": "my_package"}

    def tell(self, language: str, text: str) -> None:
        """Do what a block says."""
        if language == "python":
            self.python(text)
        elif language == "yaml":
            (step,) = (step for step in yaml.safe_load(text)["steps"] if step["uses"].startswith("OWNER/biaslens/"))
            assert {*step["with"]} <= {*ACTION["inputs"]}
        elif language == "toml" and "entry-points" in text:
            self.plug_in(tomllib.loads(text)["project"]["entry-points"])
        elif language == "toml":
            (self.folder / TOML_FILES[self.page]).write_text(text)
        elif text.startswith("["):
            self.set(text)
        else:
            for line in text.replace("\\\n", " ").splitlines():
                self.line(line.strip())

    def line(self, line: str) -> None:
        """Run a line of a block of commands."""
        line = line.partition("  #")[0].strip()
        if self.page == "README.md" and line in ON_PAGES:
            return
        if any(line.startswith(begin) for begin in NOT_RUN):
            if line.startswith("biaslens "):
                read_only(*self.words(line))
        elif line.startswith("export "):
            assert line.removeprefix("export ").partition("=")[0] in variables(self.server)
        elif line:
            for begin, prepare in BEFORE.items():
                if line.startswith(begin):
                    prepare(self)
            for words in self.words(self.put_in(line)):
                self.run(*words)

    def put_in(self, text: str) -> str:
        for old, new in INSTEAD.items():
            text = text.replace(old, new)
        return text.replace("SERVER", self.server.base_url)

    def words(self, line: str) -> list[list[str]]:
        """The commands of ours that bash would run for a line."""
        spell = 'biaslens() { printf "%s\\0" "$@" && printf "\\n\\0"; }; '
        done = subprocess.run(
            ["bash", "-euc", spell + line], cwd=self.folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0 and done.stdout, f"{line}: {done.stderr or 'runs nothing of ours'}"
        return [each.split("\0")[:-1] for each in done.stdout.split("\n\0")[:-1]]

    def run(self, *words: str) -> str:
        shown = " ".join(("biaslens", *words))
        expected = next((code for part, code in EXIT_CODES.items() if part in shown), 0)
        self.visits += 1
        with (
            visited(self.visits),
            small_benchmark(self.folder),
            patch.object(Figure, "savefig", undrawn),
            patch("biaslens.cli.report.time", Mock(sleep=Mock(side_effect=KeyboardInterrupt))),
        ):
            done = biaslens(*words, cwd=self.folder, **variables(self.server))
        assert done.returncode == expected, f"{shown}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def python(self, text: str) -> None:
        with (
            patch.dict(os.environ, variables(self.server)),
            contextlib.chdir(self.folder),
            small_benchmark(self.folder),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            exec(self.put_in(text), self.made)

    def plug_in(self, groups: dict[str, dict[str, str]]) -> None:
        """Install what the Python above has made as a package with these entry points, and ask it."""
        package = ModuleType("my_package")
        vars(package).update(self.made)
        points = {name: EntryPoint(name, value, GROUP) for name, value in groups[GROUP].items()}
        with patch.dict(sys.modules, my_package=package), patch("biaslens.models.base.providers", lambda: points):
            for name in points:
                self.run("evaluate", f"{name}/no", "--benchmark", "benchmark")

    def set(self, text: str) -> None:
        self.settings += text
        (self.folder / "biaslens.toml").write_text(self.put_in(self.settings), encoding="utf-8")
        with contextlib.chdir(self.folder):
            found = load_settings()
        for table, entries in tomllib.loads(text).items():
            assert {*entries} <= {*getattr(found, table)}
        self.run("models")


def read_only(words: list[str]) -> None:
    """Let the command line read what is not run."""
    length = 2 if tuple(words[:2]) in COMMANDS else 1
    command = COMMANDS[tuple(words[:length])]
    with command.make_context(command.name, words[length:]):
        pass


@contextlib.contextmanager
def small_benchmark(folder: Path) -> Iterator[None]:
    """Ship the small benchmark."""
    find = lambda name: folder / name if name == "benchmark" else resource(name)  # noqa: E731
    with (
        patch("biaslens.evaluation.run.shipped", lambda: read(folder / "benchmark")),
        patch("biaslens.benchmark.bank.resource", find),
        patch("biaslens.cli.benchmark.resource", find),
    ):
        yield


def undrawn(_: Figure, path: Path, **options: object) -> None:
    """Leave a figure to the tests that look at figures: drawing would take longer than all else here."""
    Path(path).write_text("")


@contextlib.contextmanager
def visited(number: int) -> Iterator[None]:
    """A browser for every page that is served: it labels what there is to label, and stops the server."""

    def visit(entrance: str) -> None:
        address = re.search(r"url=([^\"]+)", Path(entrance.removeprefix("file://")).read_text())[1]
        try:
            with visiting(address) as client:
                page = client.get("/")
                while page.url.path.startswith("/item/"):
                    key = re.search(r'name="key" value="(\w+)"', page.text)[1]
                    outcome = "unbiased" if (int(key, 16) + number) % 3 else "biased"
                    page = client.post(page.url.path, data={"key": key, "outcome": outcome})
        finally:
            signal.raise_signal(signal.SIGINT)

    with patch.object(serving.webbrowser, "open", visit):
        yield


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=name_of)
def test_what_a_page_tells_to_do_can_be_done(page: Path, folder: Path, server: FakeServer, tmp_path: Path):
    here = tmp_path / "here"
    shutil.copytree(folder, here)
    (here / "examples").symlink_to(ROOT / "examples")
    story = Story(name_of(page), here, server)
    said = (ROOT / story.page).read_text(encoding="utf-8")
    for name, source in FOUND_THERE.get(story.page, {}).items():
        assert name in said, f"{name}: the page does not take it as given any more"
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(here / source, here / name)
    for block in blocks(page):
        if block.language not in ("text", "{eval-rst}", "{toctree}"):
            story.tell(block.language, block.text)


def test_the_notebook_runs_and_keeps_no_output(tmp_path: Path):
    """Its cells are run one after the other in one namespace; a kernel would add what it shows, and seconds."""
    cells = json.loads((ROOT / "examples" / "evaluate.ipynb").read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    made: dict[str, object] = {"__name__": "notebook"}
    with contextlib.chdir(tmp_path), contextlib.redirect_stdout(io.StringIO()):
        for cell in code:
            exec("".join(cell["source"]), made)
    table = made["table"]
    assert len(table) == 2 * 2 * 3  # models, conditions, two kinds and both together
    assert table["bias_rate"].between(0, 1).all()
    # Shares of 0.35 and 0.15 are told apart.
    assert list(made["compared"].models["model"]) == ["scripted/careful", "scripted/candid"]
    assert list(made["compared"].models["tied_group"]) == ["a", "b"]


def test_nothing_is_left_out_that_is_on_no_page():
    lines = [line for page in PAGES for block in blocks(page) for line in block.lines]
    assert [begin for begin in NOT_RUN if not any(line.startswith(begin) for line in lines)] == []
    texts = "\n".join(block.text for page in PAGES for block in blocks(page))
    assert [old for old in (*INSTEAD, *EXIT_CODES, *BEFORE) if old not in texts] == []
