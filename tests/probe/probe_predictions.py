"""Small tables of predictions for the tests of what is measured on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from biaslens.probe.examples import COLUMNS, expand
from biaslens.probe.predictions import predictions_table

SURE = np.full((3, 3), 0.1) + 0.7 * np.eye(3)
"""Probabilities of a prediction that is rather sure, by label."""


def by_hand(
    cells: Mapping[tuple[str, str], Sequence[tuple[int, int]]], *, model: str = "m", runs: Sequence[str] = ("1",)
) -> pd.DataFrame:
    """Predictions from (gold, predicted) by group and term; the n-th sentence of each term is of the n-th template."""
    rows, predicted = [], []
    for (group, term), pairs in cells.items():
        for number, (gold, label) in enumerate(pairs):
            text = f"{group} {term} {number}"
            rows.append((text, gold, "age", group, term, f"t-{number}", group != "unmarked"))
            predicted.append(label)
    sentences = pd.DataFrame(rows, columns=list(COLUMNS))
    tables = [
        predictions_table(sentences, SURE[predicted], model=model, run_id=run, dataset="toy", num_params=0.1)
        for run in runs
    ]
    return pd.concat(tables, ignore_index=True)


def drawn(
    attributes: Sequence[str] = ("age",), *, prompts: int = 3, seed: int = 0, model: str = "m", shift: float = 0.0
) -> pd.DataFrame:
    """Random predictions of the shipped sentences; `shift` makes group "old" look more negative."""
    rng = np.random.default_rng(seed)
    sentences = expand(attributes)
    old = (sentences["group"] == "old").to_numpy(dtype=float)
    tables = []
    for prompt in range(prompts):
        scores = rng.normal(size=(len(sentences), 3)) + 1.5 * np.eye(3)[sentences["label"]]
        scores[:, 0] += shift * old
        values = np.exp(scores)
        values /= values.sum(axis=1, keepdims=True)
        tables.append(predictions_table(sentences, values, model=model, run_id=1001 + prompt, dataset="toy"))
    return pd.concat(tables, ignore_index=True)
