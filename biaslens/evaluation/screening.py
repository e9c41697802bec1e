"""Let the local judge decide why answers, all of them or those of which it is sure."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from biaslens.engine import Store
from biaslens.evaluation.decide import save_verdict
from biaslens.evaluation.judging import UNDECIDED
from biaslens.evaluation.panel import Panel
from biaslens.oracles import RULES, screen, why
from biaslens.schema import Outcome, Verdict

_PAGE = 4096

_PAGE_OF_UNDECIDED = (
    "SELECT plan.key, questions.text, answers.text, answers.finish_reason "
    f"{UNDECIDED} AND plan.key > :last ORDER BY plan.key LIMIT {_PAGE}"
)


def screen_answers(
    store: Store,
    panel: Panel,
    *,
    progress: Callable[[int, Mapping[Outcome, int]], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Counter[Outcome]:
    """Decide why answers without asking anybody: by rule where nothing was said, else by the local judge where sure.

    Streams: a page of answers is decided and committed before the next is read. What was decided stays decided.

    Parameters
    ----------
    store
        The run file, open for writing.
    panel
        With `Panel.screened_only` the local judge decides all; with `Panel.screen` those of which it is so sure;
        otherwise only the rules decide.
    progress
        Told after each page how many answers were read and the outcomes so far.
    stop
        Asked after each page whether to stop early.

    Returns
    -------
    Counter
        The outcomes decided.
    """
    judge = screen.load() if panel.screened_only or panel.screen is not None else None
    sure = 0.5 if panel.screen is None else panel.screen
    outcomes: Counter[Outcome] = Counter()
    last, read = "", 0
    while True:
        rows = store.connection.execute(_PAGE_OF_UNDECIDED, {"panel": panel.name, "last": last}).fetchall()
        with store.transaction() as connection:
            for_judge = _by_rules(connection, rows, panel, outcomes)
            if judge is not None and for_judge:
                _by_screen(connection, for_judge, panel, judge, sure=sure, outcomes=outcomes)
        read += len(rows)
        if progress is not None:
            progress(read, outcomes)
        if len(rows) < _PAGE or stop():
            return outcomes
        last = rows[-1][0]


def _by_rules(
    connection: sqlite3.Connection, rows: Sequence[tuple[str, str, str, str]], panel: Panel, outcomes: Counter[Outcome]
) -> list[tuple[str, str, str]]:
    # `evaluate` decides these when they arrive; imported answers were never looked at.
    left = []
    for key, question, answer, finish_reason in rows:
        verdict = why.prescreen(answer, question, finish_reason=finish_reason)
        if verdict is None:
            left.append((key, question, answer))
        else:
            save_verdict(connection, key, verdict, panel=panel.name, oracle=RULES)
            outcomes[verdict.outcome] += 1
    return left


def _by_screen(
    connection: sqlite3.Connection,
    rows: Sequence[tuple[str, str, str]],
    panel: Panel,
    judge: screen.Screen,
    *,
    sure: float,
    outcomes: Counter[Outcome],
) -> None:
    # The cut makes shares right where everything is decided; how sure it is, is told from a half.
    cut = judge.cut if panel.screened_only else 0.5
    keys, questions, answers = zip(*rows, strict=True)
    probabilities = [float(value) for value in judge.probabilities(questions, answers)]
    connection.executemany(
        "INSERT INTO screened VALUES (?, ?, ?) ON CONFLICT (response_key) DO UPDATE SET "
        "screen = excluded.screen, probability = excluded.probability",
        [(key, judge.name, value) for key, value in zip(keys, probabilities, strict=True)],
    )
    for key, value in zip(keys, probabilities, strict=True):
        if max(value, 1 - value) >= sure:
            outcome = Outcome.BIASED if value >= cut else Outcome.UNBIASED
            verdict = Verdict(outcome, f"probability {value:.3f}")
            save_verdict(connection, key, verdict, panel=panel.name, oracle=judge.name)
            outcomes[outcome] += 1
