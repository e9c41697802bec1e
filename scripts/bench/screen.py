"""Time the local judge over the why answers of a run, beside the same kind of model made of scikit-learn's parts.

    python scripts/bench/screen.py runs/published-*.sqlite [--answers 200000]

Both read the same answers in the same pages, in one process and on one core: the local judge hashes words and pairs
with numpy; the other one is a HashingVectorizer with the same tokens, pairs and number of columns for answer and
question, and the dot product of its rows with weights. Answers are repeated in turn until there are enough. The last
line times `biaslens judge` as a user runs it, verdicts on disk, on a copy of the first run.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer

from biaslens.oracles import screen

PAGE = 2_000
_WHY = """
SELECT questions.text, answers.text FROM plan JOIN questions USING (question_id) JOIN answers USING (key)
WHERE kind = 'why' AND answers.text <> '' ORDER BY plan.key
"""

Score = Callable[[list[str], list[str]], object]


def read(runs: list[Path]) -> list[tuple[str, str]]:
    rows = []
    for run in runs:
        with sqlite3.connect(f"file:{run}?mode=ro", uri=True) as connection:
            rows += connection.execute(_WHY).fetchall()
    return rows


def pages(rows: list[tuple[str, str]], answers: int) -> Iterator[tuple[list[str], list[str]]]:
    endless = islice(cycle(rows), answers)
    while page := list(islice(endless, PAGE)):
        yield [question for question, _ in page], [answer for _, answer in page]


def scikit_learn_way() -> Score:
    judge = screen.load()
    generator = np.random.default_rng(0)
    halves = []
    for half in (judge.question, judge.answer):
        columns = half.columns
        vectorizer = HashingVectorizer(
            token_pattern=r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+|[.!?;:,]",
            ngram_range=(1, 2),
            n_features=columns,
            alternate_sign=False,
        )
        halves.append((vectorizer, generator.normal(size=columns)))

    def score(questions: list[str], answers: list[str]) -> object:
        texts = (questions, answers)
        return sum(vectorizer.transform(of) @ weights for of, (vectorizer, weights) in zip(texts, halves, strict=True))

    return score


def timed(score: Score, rows: list[tuple[str, str]], answers: int) -> float:
    start = time.perf_counter()
    for questions, texts in pages(rows, answers):
        score(questions, texts)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--answers", type=int, default=200_000)
    options = parser.parse_args()
    rows = read(options.runs)
    if not rows:
        sys.exit("no why answer in these runs")
    ways = {"local/screen": screen.load().probabilities, "scikit-learn": scikit_learn_way()}
    seconds = {name: timed(score, rows, options.answers) for name, score in ways.items()}
    for name, took in seconds.items():
        print(f"{name:14} {options.answers:,} answers in {took:6.1f} s, {options.answers / took:,.0f} a second")
    print(f"ratio {seconds['scikit-learn'] / seconds['local/screen']:.2f}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:,.0f} MB, the answers themselves included")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, options.runs[0].name)
        shutil.copy(options.runs[0], copy)
        start = time.perf_counter()
        command = [sys.executable, "-m", "biaslens", "judge", str(copy), "--judge", screen.NAME]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        took, answers = time.perf_counter() - start, len(read([options.runs[0]]))
    print(f"biaslens judge {answers:,} answers in {took:6.1f} s, {answers / took:,.0f} a second")


if __name__ == "__main__":
    main()
