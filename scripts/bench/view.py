"""Time what `biaslens view` does with some runs, beside the same questions put to SQLite.

    python scripts/bench/view.py RUN...

What is kept beside the runs is thrown away first, so that the first opening is a first one.
"""

from __future__ import annotations

import resource
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

from biaslens.report.view.answers import Answers
from biaslens.report.view.index import index_words, open_run
from biaslens.report.view.listing import rates_of
from biaslens.report.view.query import Wanted, matrix, page, select
from biaslens.runfile import Store


def timed(name: str, work: Callable[[], object], beside: float | None = None) -> float:
    """Run something, and print how long it took, and how much faster that is than what stands beside it."""
    begun = time.perf_counter()
    work()
    seconds = time.perf_counter() - begun
    print(f"{name:44}{seconds:9.3f} s{'' if beside is None else f'{beside / seconds:9.1f} x'}", flush=True)
    return seconds


def main() -> None:
    """Time each step once."""
    paths = [Path(name) for name in sys.argv[1:]]
    if not paths:
        sys.exit("give run files")
    for path in paths:
        shutil.rmtree(path.with_name(path.name + ".view"), ignore_errors=True)
    timed("first opening", lambda: [open_run(path) for path in paths])
    timed("index of the words", lambda: [index_words(open_run(path)) for path in paths])
    opened: list[Answers] = []
    timed("opening again, to the first page", lambda: opened.append(_first_page(paths)))
    (answers,) = opened

    def sql(query: str) -> None:
        for path in paths:
            with Store(path, checked=True) as store:
                store.rows(query)

    columns = "SELECT {0}, count(*) FROM responses WHERE outcome = 'biased' GROUP BY {0}"
    grouped = timed("SQL: one column counted", lambda: sql(columns.format("attribute")))
    timed("all columns counted, one filter", lambda: select(answers, Wanted({"outcome": ("biased",)})), grouped)
    like = timed("SQL: answers LIKE", lambda: sql("SELECT key FROM responses WHERE answer LIKE '%lazy%'"))
    timed("words found, all columns counted", lambda: select(answers, Wanted(words="lazy")), like)
    timed("doubtful verdicts first", lambda: _page(answers, Wanted(sort="doubt")))
    timed("matrix of questions on which they differ", lambda: matrix(answers, Wanted(differ="models")))
    timed("rates of one model", lambda: rates_of(answers, Wanted()))
    print(f"{len(answers):,} answers; {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB at most")


def _first_page(paths: list[Path]) -> Answers:
    answers = Answers([open_run(path) for path in paths])
    _ = answers.columns, answers.doubt, answers.by_number
    _page(answers, Wanted())
    return answers


def _page(answers: Answers, wanted: Wanted) -> None:
    page(answers, select(answers, wanted), wanted)


if __name__ == "__main__":
    main()
