"""Read predictions and recommendations out of the tables a user brings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite, nan

import pandas as pd

from biaslens.errors import InputError
from biaslens.usecase.assessing.lists import NEUTRAL, Recommendations
from biaslens.usecase.assessing.predictions import Predictions, class_name
from biaslens.usecase.reading import Table, columns_of, frames


def read_predictions(
    source: Table, *, group: str, label: str | None, prediction: str, cluster: str | None = None
) -> Predictions:
    """Read a classifier's predictions; rows without a group, label or prediction are left out and counted.

    Parameters
    ----------
    source
        The table.
    group, label, prediction, cluster
        Names of its columns; None for what it has not.

    Raises
    ------
    InputError
        When a column is missing or no complete row is there.
    """
    columns = list(dict.fromkeys(name for name in (group, prediction, label, cluster) if name is not None))
    whole = pd.concat(list(frames(source, required=columns)), ignore_index=True)[columns]
    stripped = whole.apply(lambda column: column.str.strip())
    complete = stripped[(stripped != "").all(axis=1)]
    if complete.empty:
        raise InputError(f"no row has values in all of {', '.join(columns)}")
    return Predictions(
        column=group,
        group=list(complete[group]),
        prediction=list(map(class_name, complete[prediction])),
        label=None if label is None else list(map(class_name, complete[label])),
        cluster=None if cluster is None else list(complete[cluster]),
        left_out=len(whole) - len(complete),
    )


def read_recommendations(source: Table, *, group: str = "group") -> Recommendations:
    """Read ranked lists: a row a list (column ``items``), or a row an item (columns ``item`` and ``rank``).

    Columns ``prompt_id`` (or ``prompt``) and `group` say which lists belong together, ``trial`` which are of one
    asking; without it they are counted in the order of the rows. ``items`` is a JSON list, or items with ``|`` between
    them. Of an item that stands twice in a list the first place counts.

    Raises
    ------
    InputError
        When columns are missing or a list cannot be read.
    """
    columns = columns_of(source)
    key = "prompt_id" if "prompt_id" in columns else "prompt"
    if "items" in columns:
        rows = _whole(frames(source, required=[key, group, "items"]))
        lists = [
            (row[group], row[key], row.get("trial", ""), _items(row["items"], number))
            for number, row in enumerate(rows, start=1)
        ]
    else:
        rows = _whole(frames(source, required=[key, group, "item", "rank"]))
        lists = list(_by_rank(rows, key, group))
    found: dict[str, dict[str, list[tuple[str, ...]]]] = {}
    repeated = 0
    for name, prompt, _, items in sorted(lists, key=_trial):
        distinct = tuple(dict.fromkeys(items))
        repeated += len(items) - len(distinct)
        found.setdefault(name.strip() or NEUTRAL, {}).setdefault(prompt, []).append(distinct)
    prompts = {
        (row[group].strip() or NEUTRAL, row[key]): row["prompt"] for row in rows if "prompt" in row
    }  # fmt: skip
    return Recommendations(column=group, lists=found, prompts=prompts, repeated=repeated)


def _whole(parts: Iterator[pd.DataFrame]) -> list[dict[str, str]]:
    return [dict(zip(part.columns, row, strict=True)) for part in parts for row in part.itertuples(index=False)]


def _trial(found: tuple[str, str, str, Sequence[str]]) -> float:
    # A stable sort: lists without a trial stay as they came.
    try:
        trial = float(found[2])
    except ValueError:
        return 0.0
    return trial if isfinite(trial) else 0.0


def _items(text: str, row: int) -> list[str]:
    if not text.lstrip().startswith("["):
        return [item.strip() for item in text.split("|") if item.strip()]
    try:
        items = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"row {row}: items is no JSON list ({error}); write items with | between them") from None
    if not all(isinstance(item, (str, int, float)) for item in items):
        raise InputError(f"row {row}: items is a JSON list of other things than texts and numbers")
    return [said for item in items if (said := str(item).strip())]


def _by_rank(rows: Sequence[Mapping[str, str]], key: str, group: str) -> Iterator[tuple[str, str, str, list[str]]]:
    lists: dict[tuple[str, str, str], list[tuple[float, str]]] = {}
    for number, row in enumerate(rows, start=1):
        try:
            rank = float(row["rank"])
        except ValueError:
            rank = nan
        if not isfinite(rank):
            raise InputError(f"row {number}: rank {row['rank']!r} is no number")
        if not row["item"].strip():
            raise InputError(f"row {number}: there is a rank, but no item; fill the cell, or remove the row")
        lists.setdefault((row[group], row[key], row.get("trial", "")), []).append((rank, row["item"].strip()))
    for place, items in lists.items():
        ranks = [rank for rank, _ in items]
        if len(set(ranks)) < len(ranks):
            name = f"prompt {place[1]!r}, group {place[0]!r}"
            raise InputError(f"{name}: a rank stands twice; tell several lists apart by a column trial")
        yield *place, [item for _, item in sorted(items, key=lambda found: found[0])]
