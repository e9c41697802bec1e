"""Is it the group, or the words that happen to stand for it? Terms exchanged between groups."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, lgamma

import numpy as np
import pandas as pd

from biaslens.probe.counts import Groups, Predictions, counts
from biaslens.probe.gaps import METRICS, Metric, Reference, against, gap_of, rates
from biaslens.probe.intervals import tensor_of
from biaslens.probe.resampled import Floats, Tensor
from biaslens.stats import holm

ALL = "all"
"""Of the row that tests all groups of an attribute together."""

COVERS = (
    "which terms stand for which group: p is the share of exchanges of terms between the groups that give a gap at "
    "least as large; prompts and templates are taken as all there are"
)
"""What randomness the test covers, shown beside it."""

_FEW = "too few terms for p < 0.05"

COLUMNS = ("model", "attribute", "metric", "group", "gap", "p_terms", "p_terms_holm", "terms", "smallest_p", "note")


def term_permutation(
    predictions: Predictions,
    *,
    attributes: Sequence[str] | None = None,
    groups: Groups = "paper",
    reference: Reference = "mean",
    metrics: Sequence[Metric] = METRICS,
    rounds: int = 9999,
    seed: int = 0,
) -> pd.DataFrame:
    """Test whether the gaps are larger than with terms given to the groups at random.

    The groups keep their numbers of terms. If words, and not groups, make the difference, every allotment of terms to
    groups was as likely; this holds for a group with one term, too, unlike any interval of it. Adjectives and nouns are
    exchanged alike.

    Parameters
    ----------
    predictions, attributes, groups, reference, metrics
        As of `gaps`.
    rounds, seed
        Random exchanges.

    Returns
    -------
    DataFrame
        A row for each group (two-sided, `p_terms_holm` corrected over the groups within attribute and metric), and one
        "all" for the sum of the squared gaps. `smallest_p` is what the number of different allotments allows.
    """
    rows: list[tuple[object, ...]] = []
    for found in counts(predictions, attributes=attributes, groups=groups):
        compared = against(found, reference)
        for which in metrics:
            tensor = tensor_of(compared, which)
            p, p_all = exchange_terms(tensor, rounds=rounds, seed=seed)
            sizes = [int(column.sum()) for column in tensor.membership.T[: tensor.groups]]
            own = [_smallest([size, sum(sizes) - size], rounds) for size in sizes]
            cells = zip(compared.groups, tensor.value(), p, holm(p), sizes, own, strict=True)
            every = (ALL, np.nan, p_all, p_all, sum(sizes), _smallest(sizes, rounds))
            rows += [
                (found.model, found.attribute, which.name, *cell, _FEW if cell[-1] >= 0.05 else "")
                for cell in (*cells, every)
            ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def exchange_terms(tensor: Tensor, *, rounds: int = 9999, seed: int = 0) -> tuple[Floats, float]:
    """p-values of each group's gap, shape (G,), and of all of them together; the terms of the reference stay."""
    false, of = tensor.false.mean(axis=0).sum(axis=0), tensor.of.sum(axis=0)
    labels = tensor.membership.argmax(axis=1)
    marked = labels < tensor.groups
    rng = np.random.default_rng(seed)
    drawn = np.tile(labels, (rounds, 1))
    drawn[:, marked] = rng.permuted(drawn[:, marked], axis=1)
    columns = tensor.membership.shape[1]
    totals = [np.stack([(drawn == group) @ part for group in range(columns)], axis=1) for part in (false, of)]
    exchanged = gap_of(rates(*totals), tensor.groups)
    value = tensor.value()
    # Sums in another order may differ in the last bit; an equal gap counts as at least as large.
    larger = (np.abs(exchanged) >= np.abs(value) - 1e-12).sum(axis=0)
    together = (np.nansum(exchanged**2, axis=1) >= np.nansum(value**2) - 1e-12).sum()
    p = np.where(np.isfinite(value), (1 + larger) / (1 + rounds), np.nan)
    return p, float((1 + together) / (1 + rounds))


def _smallest(sizes: Sequence[int], rounds: int) -> float:
    """Smallest p-value that so many ways to give the terms to groups of these sizes allow."""
    ways = exp(lgamma(sum(sizes) + 1) - sum(lgamma(size + 1) for size in sizes))
    return max(1 / (rounds + 1), 1 / ways)
