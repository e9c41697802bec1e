"""The list: answers under their questions, what they can be narrowed by, and the rate of what is chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from biaslens import runfile
from biaslens.analysis.frame import NOTHING, STATES
from biaslens.models import thoughts
from biaslens.report.table import between, percent
from biaslens.report.view.answers import Answers
from biaslens.report.view.live import Objections
from biaslens.report.view.query import Selection, Wanted, rate_of, select
from biaslens.runfile import Store
from biaslens.schema import Condition

VALUES_SHOWN = 8
"""Values of a column that the list offers; the others are on a page of their own."""

LONGEST = 700
"""Characters of an answer that the list shows."""

DESIGN = frozenset(
    ("model", "condition", "kind", "attribute", "target", "role", "groups", "theme", "against", "stereotype")
)
"""Columns of what was asked, and not of what was answered: a rate of what they choose means something."""

_OPEN = ("model", "outcome", "condition", "kind", "attribute")


def rate_text(answers: Answers, selection: Selection, wanted: Wanted) -> str | None:
    """The rate of what is chosen, where it is chosen by what was asked and not by what was answered."""
    if wanted.words or not wanted.chosen.keys() <= DESIGN or not selection.total:
        return None
    found = rate_of(answers, selection.mask)
    ends = "" if np.isnan(found.low) else f" ({between(found.low, found.high)})"
    return percent(found.value) + ends


def columns_shown(answers: Answers, selection: Selection, wanted: Wanted) -> list[dict[str, Any]]:
    """The filters: of each column the most frequent values, and those chosen, with the number of answers."""
    made = []
    for name, column in answers.columns.items():
        counts, chosen = selection.counts[name], wanted.chosen.get(name, ())
        few = len(column.values) <= 2 * VALUES_SHOWN
        order = range(len(counts)) if few else sorted(range(len(counts)), key=lambda n: -counts[n])
        places = [n for n in order if counts[n] or column.values[n] in chosen]
        first = places if few else places[:VALUES_SHOWN]
        first = [*first, *(n for n in places if column.values[n] in chosen and n not in first)]
        values = [
            {
                "value": column.values[n],
                "count": int(counts[n]),
                "on": column.values[n] in chosen,
                "address": wanted.toggled(name, column.values[n]).address,
            }
            for n in first
        ]
        if len(places) > 1 or chosen:
            made.append(
                {
                    "name": name, "title": column.title, "values": values, "more": len(places) - len(first),
                    "open": bool(chosen) or name in _OPEN,
                }
            )  # fmt: skip
    return made


def values_shown(answers: Answers, wanted: Wanted, name: str) -> list[tuple[str, int, bool, str]]:
    """All values of a column, the most frequent first: number, whether it is chosen, address with it or without."""
    column, counts = answers.columns[name], select(answers, wanted).counts[name]
    order = sorted(np.flatnonzero(counts), key=lambda n: (-counts[n], column.values[n]))
    chosen = wanted.chosen.get(name, ())
    return [
        (column.values[n], int(counts[n]), column.values[n] in chosen, wanted.toggled(name, column.values[n]).address)
        for n in order
    ]


def blocks_shown(
    answers: Answers, rows: Sequence[int], wanted: Wanted, objections: Sequence[Objections]
) -> list[dict[str, Any]]:
    """Answers shown under their question: those to one question of one run and condition together."""
    told = _told(answers, rows)
    blocks: list[dict[str, Any]] = []
    for row in map(int, rows):
        run, group = int(answers.run[row]), int(answers.group[row])
        key = answers.key(row)
        of = told[run].get(key)
        if of is None:
            continue
        if not blocks or blocks[-1]["group"] != group:
            blocks.append(
                {
                    "group": group,
                    "run": run,
                    "question": of["question"],
                    "persona": of["persona"] if of["condition"] == Condition.ROLE else None,
                    "options": of["options"],
                    "condition": answers.columns["condition"].values[answers.condition[row]],
                    "kind": of["kind"].replace("_", "/"),
                    "attribute": of["attribute"],
                    "answers": [],
                }
            )
        text = of["answer"] or ""
        blocks[-1]["answers"].append(
            {
                "address": address_of(answers, wanted, row),
                "trial": of["trial"],
                "state": str(STATES[answers.state[row]]),
                "reason": of["reason"],
                "text": text[:LONGEST],
                "left": len(text) - LONGEST,
                "cut": of["finish_reason"] == thoughts.CUT,
                "objection": objections[run].standing.get(key),
            }
        )
    return blocks


def _told(answers: Answers, rows: Sequence[int]) -> list[Mapping[str, Mapping[str, Any]]]:
    found: list[Mapping[str, Mapping[str, Any]]] = []
    for number, run in enumerate(answers.runs):
        keys = [answers.key(row) for row in rows if answers.run[row] == number]
        if not keys:
            found.append({})
            continue
        with Store(run.info.path, checked=True) as store:
            found.append(runfile.viewed_texts(store, keys))
    return found


def address_of(answers: Answers, wanted: Wanted, row: int) -> str:
    """Where one answer is shown among those wanted."""
    return f"/answer/{int(answers.run[row])}/{answers.key(row)}?{replace(wanted, after=NOTHING).address}"


def trials_shown(
    answers: Answers, wanted: Wanted, rows: Sequence[int], this: int | None = None
) -> list[dict[str, Any]]:
    """Answers as chips."""
    return [
        {
            "trial": int(answers.trial[row]),
            "state": str(STATES[answers.state[row]]),
            "address": address_of(answers, wanted, int(row)),
            "here": row == this,
        }
        for row in rows
    ]
