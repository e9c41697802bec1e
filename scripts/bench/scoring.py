"""Time the import of the study's release, and the scoring and tabulating of its answers under both oracles.

    python scripts/bench/scoring.py RELEASE

Each step runs in processes of its own, so that its peak memory can be told. Scoring decides every yes/no and choice
answer anew with the rules of biaslens, applies the published oracle, and makes both sets of tables, in two processes; a
plain pandas version of the published oracle over the release's own CSV files stands beside it in the same run. Seconds
of CPU tell what it takes on a machine that does nothing else. With --runs the import is left out.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path


def import_all(release: str, runs: str) -> int:
    from biaslens.replication.importing import import_release

    return sum(result.new for result in import_release(Path(release), Path(runs)))


def score(runs: str) -> int:
    """Decide, apply both oracles, tabulate; two processes, which take the next of the steps as they come free."""
    paths = sorted(Path(runs).glob("published-*.sqlite"), key=lambda path: -path.stat().st_size)
    with ProcessPoolExecutor(max_workers=2) as pool:
        decided = [pool.submit(decide_anew, path) for path in paths]
        answers = sum(pool.map(tabulate, paths))
        checked, different = map(sum, zip(*(each.result() for each in decided), strict=True))
    print(f"{checked:,} yes/no and choice answers, {different:,} of them different", file=sys.stderr)
    return answers


def decide_anew(path: Path) -> tuple[int, int]:
    """Decide the yes/no and choice answers of a run, each other one once: how many there are, and differ."""
    from biaslens import runfile
    from biaslens.evaluation import decide
    from biaslens.runfile import reading
    from biaslens.schema import Kind

    with reading(path, checked=True) as store:  # `tabulate` checks it
        kinds = {row.question_id: row.kind for row in runfile.questions(store) if row.kind != Kind.WHY}
        asked = {name: (text, options) for name, text, options in runfile.question_texts(store, kinds)}
        # The same answer to another yes/no question is decided alike, to another choice it is not.
        yes_no: set[str] = set()
        known = {name: yes_no if kinds[name] == Kind.YES_NO else set() for name, (_, options) in asked.items()
                 if options or kinds[name] == Kind.YES_NO}  # fmt: skip
        decided = 0
        for name, _, _, answer, _ in runfile.published_answers(store):
            if answer is not None and name in known:
                known[name].add(answer)
                decided += 1
    different = {id(answers): (name, answers) for name, answers in known.items()}
    for name, answers in different.values():
        for answer in answers:
            decide(kinds[name], *asked[name], answer)
    return decided, sum(len(answers) for _, answers in different.values())


def tabulate(path: Path) -> int:
    """Apply the published oracle, and make both sets of tables."""
    from biaslens.analysis import rates
    from biaslens.replication.reproduce import count_table, read_published

    run = read_published(path)
    for condition in run.conditions:
        count_table(run, condition)
    rates(run.run, ["attribute", "kind"], totals=["attribute", "kind"])
    return sum(int(trials.answered.sum()) for trials in run.conditions.values())


def published_way(release: str, _runs: str) -> int:
    """The published oracle as a plain pandas script: read the CSV files, join the trials, apply the rules by row."""
    import pandas as pd

    from biaslens.oracles.published import choice_is_biased, why_is_biased, yes_no_is_biased

    rules = {"Yes/No": yes_no_is_biased, "Choice": choice_is_biased}
    keys = ["Role", "Question Type", "Question"]
    answers = 0
    for first in sorted(Path(release).glob("answers/*/*/*_answers_01.csv")):
        trials = [
            pd.read_csv(first.with_name(first.name.replace("_01", f"_0{n}")), encoding_errors="replace", dtype=str)
            for n in (1, 2, 3)
        ]
        answers += sum(map(len, trials))
        joined = trials[0][keys]
        for number, table in enumerate(trials):
            joined = joined.merge(
                table[[*keys, "Answer", "final"]].rename(columns={"Answer": f"a{number}", "final": f"f{number}"}),
                how="left",
                on=keys,
            )

        def biased(row: pd.Series) -> bool:
            rule = rules.get(row["Question Type"])
            found = [why_is_biased(row[f"f{n}"]) if rule is None else rule(str(row[f"a{n}"])) for n in range(3)]
            return sum(found) >= 2

        joined["biased"] = joined.apply(biased, axis=1)
        joined.groupby("Question Type")["biased"].sum()
    return answers


STEPS: dict[str, Callable[[str, str], int]] = {
    "import": import_all,
    "score": lambda _release, runs: score(runs),
    "published": published_way,
}


def measure(step: str, release: Path, runs: Path) -> dict[str, float]:
    """Run a step in a process and give its answers, seconds and peak memory of any of its processes (MB)."""
    command = [sys.executable, __file__, str(release), "--step", step, "--runs", str(runs)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def run_step(step: str, release: str, runs: str) -> None:
    started = time.perf_counter()
    answers = STEPS[step](release, runs)
    peaks = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(each.ru_utime + each.ru_stime for each in used)
    found = {"answers": answers, "seconds": time.perf_counter() - started, "cpu": cpu, "peak": max(peaks) / 1024}
    print(json.dumps(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release", type=Path, help="the release, unpacked or as archives")
    parser.add_argument("--step", choices=STEPS)
    parser.add_argument("--runs", type=Path)
    options = parser.parse_args()
    if options.step and options.runs:
        run_step(options.step, str(options.release), str(options.runs))
        return
    with tempfile.TemporaryDirectory() as folder:
        tree = options.release
        if not (tree / "answers").is_dir():
            tree = Path(folder) / "release"
            for archive in sorted(options.release.glob("answers-*.tar.*")):
                with tarfile.open(archive) as members:
                    members.extractall(tree, filter="data")
        runs = options.runs or Path(folder) / "runs"
        if options.runs is None:
            found = measure("import", tree, runs)
            models = len(list(runs.glob("published-*.sqlite")))
            print(
                f"import: {found['answers']:,} answers of {models} models in {found['seconds']:.1f} s, "
                f"{found['seconds'] / models:.1f} s a model, {found['peak']:.0f} MB"
            )
        ours, theirs = measure("score", tree, runs), measure("published", tree, runs)
        for name, step in (("both oracles, from run files", ours), ("published oracle only, pandas", theirs)):
            print(
                f"{name}: {step['answers']:,} answers in {step['seconds']:.1f} s ({step['cpu']:.1f} s of CPU), "
                f"{step['peak']:.0f} MB in the largest process"
            )
        print(f"ratio, pandas to ours: {theirs['seconds'] / ours['seconds']:.2f}")


if __name__ == "__main__":
    main()
