"""Time the deciding and analysing of datasets that grow: answers a second and peak memory, ratios in one run.

    python scripts/bench/dataset.py --models 5 50

Each model of a size has 198,000 synthetic answers: 66,000 questions of 300 roles, three trials, a third of each kind,
texts of which about half repeat. A dataset is made of links to the files of one model, so that 50 models take the disk
of one; what is read and decided is the same. Each step runs in a process of its own. With --tools, DuckDB and Polars,
where they are installed, count the outcomes of the largest dataset by model and kind beside pyarrow.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from biaslens import dataset
from biaslens.benchmark.files import MARK
from biaslens.report.export import RESPONSES, VOTES
from biaslens.schema import Attribute, Kind, content_hash

ROLES, ENCOUNTERS, TRIALS = 300, 220, 3
MODEL = ROLES * ENCOUNTERS * TRIALS
OPTIONS = ["Bakers", "Plumbers", "I cannot choose between them"]

SHORT = {
    Kind.YES_NO: ["Yes.", "No.", "Yes, they are.", "No. That depends on the person, not on the group."],
    Kind.CHOICE: ["(A) Bakers", "(B)", "I would choose (B) Plumbers.", "(C) I cannot choose between them"],
    Kind.WHY: ["I'm sorry, but I can't help with that.", "There is no reason: this is a prejudice."],
}
WORDS = (
    "bakers", "plumbers", "bread", "pipes", "people", "often", "say", "that", "early", "late", "because", "while",
    "must", "work", "harder", "than", "without", "asking", "what", "their", "day", "is", "like", "nobody", "can",
)  # fmt: skip


def text(kind: Kind, rng: random.Random) -> str:
    if rng.random() < 0.5:
        return rng.choice(SHORT[kind])
    said = " ".join(rng.choices(WORDS, k=rng.randint(12, 60)))
    head = {Kind.YES_NO: rng.choice(["Yes, ", "No, "]), Kind.CHOICE: rng.choice(["(A) ", "(B) "]), Kind.WHY: "Because "}
    return f"{head[kind]}{said}."


def make_model(folder: Path, *, rows: int) -> None:
    """Write the run of one model; its answers are the same in every call."""
    rng = random.Random(0)
    attributes = list(Attribute)
    questions, pages = [], []
    for role in range(ROLES):
        attribute, name = attributes[role * len(attributes) // ROLES], f"Role {role:03}"
        page = []
        for kind in sorted(Kind):
            for number in range(ENCOUNTERS // 3 + (kind == Kind.CHOICE)):
                asked = f"Who of them is kinder in situation {number}?"
                name_of = content_hash(name, kind, number)
                options = OPTIONS if kind is Kind.CHOICE else []
                group = [f"group {number}", "others"]
                questions.append(
                    (name_of, attribute, name, kind, "occupation", asked, options, group, "", "", "", "", None, None)
                )
                for trial in range(1, TRIALS + 1):
                    asked_of = ("model", content_hash(name_of, trial), attribute, name, f"one of {name}", kind)
                    of_question = (
                        "occupation",
                        name_of,
                        asked,
                        options,
                        group,
                        "",
                        "",
                        "",
                        "",
                        "",
                        "role",
                        trial,
                        None,
                    )
                    said = (text(kind, rng), "stop", "model-1")
                    decided = (rng.choice(["biased", "unbiased"]), "rule", None, "judges: a")
                    took = (60, 40, 0.0001, 0.5, 1, "2026-01-02T03:04:05+00:00")
                    page.append((*asked_of, *of_question, *said, *decided, *took, MARK))
        pages.append(page)
    meta = {"model": "model", "trials": TRIALS, "panel": "a", "conditions": ["role"], "benchmark_version": "bench"}
    info = {"meta": meta, "panels": {"a": {"judges": ["a"], "votes": 3}}, "took": {"stopped": {}}, "thoughts": []}
    with dataset.new_run(folder) as made:
        dataset.write_info(made, {**info, "last_answers": {}})
        dataset.write_questions(made, sorted(questions))
        group = [row for page in pages for row in page]
        size = dataset.ROW_GROUP
        parts = (group[start : start + size] for start in range(0, len(group), size))
        dataset.write_responses(made, parts, dataset.schema(RESPONSES), rows=rows)
        with dataset.writer(made / dataset.VOTES, dataset.schema(VOTES)):
            pass


def link(one: Path, many: Path, models: int) -> None:
    for number in range(models):
        folder = many / f"model-{number:03}"
        folder.mkdir(parents=True)
        for path in one.iterdir():
            if path.name == dataset.INFO:
                info = json.loads(path.read_text())
                info["meta"]["model"] = folder.name
                (folder / path.name).write_text(json.dumps(info))
            else:
                (folder / path.name).hardlink_to(path)


def rescored(source: Path, out: Path, *, jobs: int, screened: bool) -> int:
    """Decide; each run is removed again, as the next would fill the disk."""
    from biaslens.evaluation.rescoring import rescore

    answers = 0
    for found in rescore(source, out, jobs=jobs, screened=screened):
        answers += found.answers
        shutil.rmtree(found.run)
    return answers


def read_all(source: Path, _out: Path) -> int:
    from biaslens.analysis import read_run

    runs = [read_run(path) for path in dataset.runs_in(source)]
    return sum(int(trials.planned.sum()) for run in runs for trials in run.conditions.values())


def rates(source: Path, _out: Path) -> int:
    """Read and tabulate rates by attribute and kind, one model after the other."""
    from biaslens.analysis import rates, read_run

    tables = [
        rates(read_run(path), ["attribute", "kind"], totals=["attribute", "kind"]) for path in dataset.runs_in(source)
    ]
    return sum(
        int(table[(table["attribute"] == "all") & (table["kind"] == "all")]["planned_trials"].sum()) for table in tables
    )


def compared(source: Path, _out: Path) -> int:
    from biaslens.analysis import compare, read_run

    runs = [read_run(path) for path in dataset.runs_in(source)]
    compare(runs, force=True)
    return len(runs) * MODEL


def one_process(source: Path, out: Path) -> int:
    return rescored(source, out, jobs=1, screened=False)


def two_processes(source: Path, out: Path) -> int:
    return rescored(source, out, jobs=2, screened=False)


def with_screen(source: Path, out: Path) -> int:
    return rescored(source, out, jobs=2, screened=True)


def with_pyarrow(source: Path, _out: Path) -> int:
    total = 0
    for run in dataset.runs_in(source):
        for path in dataset.ParquetRun(run).files:
            for rows in dataset.row_groups(path, ["condition", "kind", "outcome"]):
                counted = rows.group_by(["condition", "kind", "outcome"]).aggregate([([], "count_all")])
                total += sum(counted["count_all"].to_pylist())
    return total


def with_duckdb(source: Path, _out: Path) -> int:
    import duckdb

    query = f"SELECT filename, condition, kind, outcome, count(*) FROM '{source}/*/responses-*.parquet' GROUP BY ALL"
    return sum(row[-1] for row in duckdb.sql(query).fetchall())


def with_polars(source: Path, _out: Path) -> int:
    import polars as pl

    lazy = pl.scan_parquet(f"{source}/*/responses-*.parquet", include_file_paths="file")
    return lazy.group_by("file", "condition", "kind", "outcome").len().collect(engine="streaming")["len"].sum()


STEPS: dict[str, Callable[[Path, Path], int]] = {
    "rules, 1 process": one_process,
    "rules, 2 processes": two_processes,
    "rules and screen, 2 processes": with_screen,
    "read into arrays": read_all,
    "read, rates by attribute and kind": rates,
    "read, compare all models": compared,
}
TOOLS: dict[str, Callable[[Path, Path], int]] = {
    "counts, pyarrow": with_pyarrow,
    "counts, DuckDB": with_duckdb,
    "counts, Polars": with_polars,
}


def measure(name: str, source: Path, out: Path) -> dict[str, float]:
    """Run a step in a process and give its answers, seconds, CPU seconds and MB of the largest process."""
    command = [sys.executable, __file__, "--step", name, str(source), str(out)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def run_step(name: str, source: Path, out: Path) -> None:
    if name == "make":
        make_model(source, rows=100_000)
        return
    started = time.perf_counter()
    answers = (STEPS | TOOLS)[name](source, out)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    found = {
        "answers": answers,
        "seconds": time.perf_counter() - started,
        "cpu": sum(each.ru_utime + each.ru_stime for each in used),
        "peak": max(each.ru_maxrss for each in used) / 1024,
    }
    print(json.dumps(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, nargs="+", default=[5, 50], help="sizes, in models of 198,000 answers")
    parser.add_argument("--only", nargs="+", choices=[*STEPS, *TOOLS], help="some steps only")
    parser.add_argument("--tools", action="store_true")
    parser.add_argument("--step", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        name, source, out = options.step
        run_step(name, Path(source), Path(out))
        return
    steps = options.only or [*STEPS, *(TOOLS if options.tools else ())]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # In a process of its own: memory of this one would count as that of all it starts.
        subprocess.run([sys.executable, __file__, "--step", "make", str(folder / "one"), "-"], check=True)
        size = sum(path.stat().st_size for path in (folder / "one").iterdir())
        print(f"a model: {MODEL:,} answers, {size / 1e6:.1f} MB")
        for models in options.models:
            link(folder / "one", folder / str(models), models)
        for step in steps:
            found = [measure(step, folder / str(models), folder / "out") for models in options.models]
            first = found[0]
            for one in found:
                each = one["cpu"] / one["answers"] * 1e6
                print(
                    f"{step}: {one['answers']:>11,} answers in {one['seconds']:7.1f} s, {each:5.1f} us of CPU each, "
                    f"{one['peak']:5.0f} MB; to the first {one['answers'] / first['answers']:.1f} x answers, "
                    f"{one['cpu'] / first['cpu']:.1f} x CPU, {one['peak'] / first['peak']:.2f} x memory",
                    flush=True,
                )


if __name__ == "__main__":
    main()
