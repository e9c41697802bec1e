"""The list: answers under their questions, what they can be narrowed by, and rates that lead to their answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from biaslens import runfile
from biaslens.analysis.frame import BIASED, NOTHING, STATES, VALID
from biaslens.models import thoughts
from biaslens.report.table import FEWEST, HeatMap, axis, between, known, percent
from biaslens.report.view.answers import Answers, run_names
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


ROLES_SHOWN = 20
"""Roles with the highest rates that are listed."""


@dataclass(frozen=True)
class Rates:
    """What the page of rates shows; addresses are parameters of the list's and the matrix' addresses.

    `rows` are the attributes of the role, the last one all of them, each with a rate a kind and what its questions came
    to; `pairs` are the same rows with a rate a condition; `triggers` counts questions by the number of models.
    """

    wanted: Wanted
    total: int
    kinds: Sequence[str]
    rows: Sequence[dict[str, Any]]
    axis: tuple[float, float]
    conditions: Sequence[str]
    signs: Sequence[str]
    pairs: Sequence[dict[str, Any]]
    pair_axis: tuple[float, float]
    heat: HeatMap
    roles: Sequence[dict[str, Any]]
    triggers: Sequence[dict[str, Any]]


def one_model(answers: Answers, wanted: Wanted) -> Wanted:
    """What was asked of one model under one condition: those chosen, or the first."""
    names = run_names(answers.runs)
    name = next(iter(wanted.chosen.get("model", ())), names[0])
    run = names.index(name) if name in names else 0
    asked = [answers.columns["condition"].values[code] for of, code in answers.pairs if of == run]
    chosen = next((each for each in wanted.chosen.get("condition", ()) if each in asked), next(iter(asked), "role"))
    only = {"model": (name,), "condition": (chosen,)}
    asked_for = {name: values for name, values in wanted.chosen.items() if name in DESIGN}
    return Wanted({**asked_for, **only})


def rates_of(answers: Answers, wanted: Wanted) -> Rates:
    """Work out the rates of what is wanted of one model."""
    wanted = one_model(answers, wanted)
    mask = select(answers, wanted).mask
    asked = np.unique(answers.question[mask])
    attributes, kinds = (_values(answers, name, asked) for name in ("attribute", "kind"))
    rows = list(_by_attribute(answers, wanted, mask, attributes, kinds))
    conditions, pairs = _pairs(answers, wanted, attributes)
    return Rates(
        wanted=wanted,
        total=int(mask.sum()),
        kinds=kinds,
        rows=rows,
        axis=axis(end for row in rows for cell in row["rates"] for end in _ends(cell)),
        conditions=conditions,
        signs=[name.replace(" ", "_") for name in conditions],
        pairs=pairs,
        pair_axis=axis(end for row in pairs for cell in row["rates"] for end in _ends(cell)),
        heat=_heat(answers, wanted, mask, attributes),
        roles=_roles(answers, wanted, mask),
        triggers=_triggers(answers, wanted),
    )


def _values(answers: Answers, name: str, questions: NDArray[np.int32]) -> list[str]:
    column = answers.columns[name]
    return [column.values[code] for code in np.unique(column.codes[questions]) if code != NOTHING]


def _ends(cell: dict[str, Any]) -> Iterator[float | None]:
    yield from (cell["rate"], cell["low"], cell["high"])


def _rate(answers: Answers, rows: NDArray[np.int64], wanted: Wanted) -> dict[str, Any]:
    found = rate_of(answers, rows)
    ends = {"rate": known(found.value), "low": known(found.low), "high": known(found.high)}
    return ends | {"valid": found.items, "address": wanted.address}


def _by_attribute(
    answers: Answers, wanted: Wanted, mask: NDArray[np.bool_], attributes: Sequence[str], kinds: Sequence[str]
) -> Iterator[dict[str, Any]]:
    rows = np.flatnonzero(mask)
    attribute_of, kind_of = (_of_rows(answers, name, rows) for name in ("attribute", "kind"))
    begins = np.diff(answers.group[rows], prepend=NOTHING) != 0
    biased = answers.columns["question"].codes[rows] == 0 if "question" in answers.columns else np.zeros_like(begins)
    for attribute in (*attributes, None):
        mine = np.ones_like(begins) if attribute is None else attribute_of == attribute
        here = wanted if attribute is None else wanted.only("attribute", attribute)
        cells = [_rate(answers, rows[mine], here)]
        cells += [_rate(answers, rows[mine & (kind_of == kind)], here.only("kind", kind)) for kind in kinds]
        yield {
            "name": attribute or "all",
            "rates": cells,
            "questions": int((mine & begins).sum()),
            "biased_questions": int((mine & begins & biased).sum()),
            "biased_address": here.only("question", "biased").address,
        }


def _of_rows(answers: Answers, name: str, rows: NDArray[np.int64]) -> NDArray[np.str_]:
    """What each row has in a column of questions, which says something of all of them."""
    column = answers.columns[name]
    return np.array(column.values)[column.codes[answers.question[rows]]]


def _pairs(
    answers: Answers, wanted: Wanted, attributes: Sequence[str]
) -> tuple[Sequence[str], Sequence[dict[str, Any]]]:
    """Rates under every condition of the model, by attribute; none where it has one condition."""
    free = wanted.without("condition")
    rows = np.flatnonzero(select(answers, free).mask)
    condition, values = answers.condition[rows], answers.columns["condition"].values
    conditions = np.unique(condition).tolist()
    if len(conditions) < 2:
        return (), ()
    attribute_of = _of_rows(answers, "attribute", rows)
    made = []
    for attribute in (*attributes, None):
        mine = np.ones(len(rows), dtype=np.bool_) if attribute is None else attribute_of == attribute
        here = free if attribute is None else free.only("attribute", attribute)
        cells = [
            _rate(answers, rows[mine & (condition == code)], here.only("condition", values[code]))
            for code in conditions
        ]
        made.append({"name": attribute or "all", "rates": cells, "flips": replace(here, differ="role").address})
    return [values[code] for code in conditions], made


def _heat(answers: Answers, wanted: Wanted, mask: NDArray[np.bool_], attributes: Sequence[str]) -> HeatMap:
    column, target = answers.columns["attribute"], answers.columns.get("target")
    if target is None:
        return HeatMap((), (), None)
    code = column.codes[answers.question] * (len(target.values) + 1) + target.codes[answers.question] + 1
    valid, biased = (
        np.bincount(code[chosen], minlength=len(column.values) * (len(target.values) + 1)).reshape(
            len(column.values), -1
        )[:, 1:]
        for chosen in (mask & VALID[answers.state], mask & (answers.state == BIASED))
    )
    shown = [place for place in range(len(target.values)) if valid[:, place].any()]
    rows = []
    for attribute in attributes:
        row = column.values.index(attribute)
        here = wanted.only("attribute", attribute)
        cells = [
            (
                float(biased[row, place] / max(valid[row, place], 1)),
                int(valid[row, place]),
                here.only("target", target.values[place]).address,
            )
            for place in shown
        ]
        rows.append((str(attribute), cells))
    return HeatMap.of([target.values[place] for place in shown], rows)


def _roles(answers: Answers, wanted: Wanted, mask: NDArray[np.bool_]) -> list[dict[str, Any]]:
    """Roles with enough valid answers, the highest rates first."""
    column = answers.columns["role"]
    of_row = column.codes[answers.question]
    valid = np.bincount(of_row[mask & VALID[answers.state]], minlength=len(column.values))
    biased = np.bincount(of_row[mask & (answers.state == BIASED)], minlength=len(column.values))
    rate = biased / np.maximum(valid, 1)
    order = sorted(np.flatnonzero(valid >= FEWEST), key=lambda role: (-rate[role], column.values[role]))
    return [
        {
            "name": column.values[role],
            "rate": float(rate[role]),
            "valid": int(valid[role]),
            "address": wanted.only("role", column.values[role]).address,
        }
        for role in order[:ROLES_SHOWN]
    ]


def _triggers(answers: Answers, wanted: Wanted) -> list[dict[str, Any]]:
    """Questions by the number of models whose answers to it are mostly biased; none for one model."""
    column = answers.columns.get("triggers")
    if column is None:
        return []
    free = wanted.without("model")
    of_groups = column.codes[answers.starts]
    chosen = select(answers, free).mask[answers.starts]
    questions = [
        len(np.unique(answers.question[answers.starts][chosen & (of_groups == code)]))
        for code in range(len(column.values))
    ]
    total = sum(questions)
    return [
        {
            "name": name,
            "questions": count,
            "share": count / total,
            "address": free.only("triggers", name).address,
        }
        for name, count in zip(column.values, questions, strict=True)
        if total
    ]
