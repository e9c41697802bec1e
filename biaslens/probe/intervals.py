"""Intervals of gaps, and what randomness each of them covers.

How they do where templates and terms matter (`simulated.World`: 60 templates; 300 simulations, nominal 5 % false alarms
and 95 % coverage; ``scripts/bench/probe_intervals.py``):

    =========================================  ==========  =====  =====
    share of groups                            bootstrap   t      z
    =========================================  ==========  =====  =====
    false alarms, 5 prompts, 5 + 3 + 6 terms   2.9 %       54 %   69 %
    the same with 15 prompts                   4.6 %       70 %   74 %
    4 + 8 + 2 + 3 + 15 terms                   3.1 %       49 %   64 %
    terms that differ twice as much            5.1 %       76 %   84 %
    5 + 1 + 6 terms                            3.8 %       53 %   65 %
    terms that do not differ at all            0.0 %       8 %    16 %
    coverage of a gap of 0.09, 5 prompts       97 %        46 %   33 %
    the same with 15 prompts                   96 %        28 %   26 %
    =========================================  ==========  =====  =====

The bootstrap errs on the safe side where a factor makes no difference, for the noise of single sentences is drawn with
every factor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from biaslens.probe.counts import Counts, Groups, Predictions, counts, false_positives
from biaslens.probe.gaps import METRICS, Metric, Reference, against
from biaslens.probe.resampled import Bounds, Tensor, bootstrap, nothing, one_prompt, student
from biaslens.probe.sentences import size_note
from biaslens.stats import holm

Kind = Literal["bootstrap", "t", "z"]
KINDS: tuple[Kind, ...] = get_args(Kind)

COVERS: Mapping[Kind, str] = {
    "bootstrap": (
        "which prompts were tuned, which templates and which terms stand for a group; all are drawn again, templates "
        "together for all groups. Of a group with one term, the term cannot be told from the group: the spread between "
        "terms is borrowed from the other groups"
    ),
    "t": "which prompts were tuned; the templates and terms are taken as all there are",
    "z": (
        "which prompts were tuned, as if there were many of them: the published interval, too narrow with few "
        "(5 prompts: 88 % instead of 95 %); the templates and terms are taken as all there are"
    ),
}
"""What randomness an interval covers, shown beside it."""

_ONE_WORDING = (
    '; the sentences without an identity are one wording ("person", "people" or nothing), and that another would have '
    "served is not covered"
)

COLUMNS = (
    "model", "attribute", "metric", "group", "gap", "low", "high", "standard_error", "p", "p_holm", "direction", "rate",
    "false", "of", "prompts", "sentences", "templates", "terms", "interval", "level", "reference", "note",
)  # fmt: skip
"""Of the table that `intervals` gives."""


def intervals(
    predictions: Predictions,
    *,
    kind: Kind = "bootstrap",
    attributes: Sequence[str] | None = None,
    groups: Groups = "paper",
    reference: Reference = "mean",
    metrics: Sequence[Metric] = METRICS,
    rounds: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Give the mean gap of every group over the prompts with its interval.

    Parameters
    ----------
    predictions
        From `read_predictions` or `predictions_table`, or `counts` of them.
    kind
        "bootstrap" over prompts x templates x terms, "t" over prompts, or the paper's "z" over prompts.
    attributes, groups, reference, metrics
        As of `gaps`.
    rounds, seed
        Of the bootstrap.
    level
        Of the interval.

    Returns
    -------
    DataFrame
        A row for each model, attribute, metric and group: gap (the group's rate minus its reference, -1 to 1), interval
        and p-value (two-sided, of a gap of 0; `p_holm` corrected over the groups within attribute and metric),
        direction ("harmful" or "favourable" where the interval leaves out 0, see `Metric`), rate, false and of
        (numerator and denominator, summed over the prompts), what the number rests on, and a note where the interval is
        missing or the group is small.
    """
    rows: list[tuple[object, ...]] = []
    for found in counts(predictions, attributes=attributes, groups=groups):
        compared = against(found, reference)
        for which in metrics:
            tensor = tensor_of(compared, which)
            bounds = _bounds(tensor, kind, rounds=rounds, level=level, seed=seed)
            rows += _rows(compared, which, tensor, bounds)
    given = [name for name in COLUMNS if name not in ("interval", "level", "reference")]
    return pd.DataFrame(rows, columns=given).assign(interval=kind, level=level, reference=reference)[list(COLUMNS)]


def covers(kind: Kind, reference: Reference = "mean") -> str:
    """Say what randomness an interval covers, for the gap to a reference."""
    return COVERS[kind] + (_ONE_WORDING if reference == "unmarked" else "")


def tensor_of(found: Counts, which: Metric) -> Tensor:
    """Take the false positives of one label from the counts."""
    false, of = false_positives(found.confusion, which.label)
    return Tensor.of_counts(false, of[0], found.membership(), len(found.groups))


def prompt_interval(gap: ArrayLike, *, kind: Kind = "t", level: float = 0.95) -> Bounds:
    """Interval of the mean over prompts, from the gaps of each prompt.

    Parameters
    ----------
    gap
        Shape (P, G).
    kind
        "t": mean +- t(P - 1) s / sqrt(P). "z": mean +- 1.96 s / sqrt(P), the published one.

    Examples
    --------
    Mean 0.02 and s = 0.01 over three prompts; t(2) is 4.303, and 4.303 x 0.01 / sqrt(3) = 0.0248.

    >>> prompt_interval([[0.01], [0.02], [0.03]]).high.round(4)
    array([0.0448])
    """
    values = np.asarray(gap, dtype=np.float64)
    prompts = len(values)
    if prompts < 2:
        return nothing(values.shape[1], one_prompt())
    error = values.std(axis=0, ddof=1) / np.sqrt(prompts)
    return student(values.mean(axis=0), error, prompts - 1 if kind == "t" else np.inf, level=level)


def _bounds(tensor: Tensor, kind: Kind, *, rounds: int, level: float, seed: int) -> Bounds:
    if kind == "bootstrap":
        return bootstrap(tensor, rounds=rounds, level=level, seed=seed)
    return prompt_interval(tensor.by_prompt(), kind=kind, level=level)


def _rows(found: Counts, which: Metric, tensor: Tensor, bounds: Bounds) -> Iterator[tuple[object, ...]]:
    value = tensor.value()
    adjusted = holm(bounds.p)
    false, of = (part.sum(axis=0) for part in false_positives(found.by_group(), which.label))
    sentences = found.by_group()[0].sum(axis=(1, 2))
    for number, group in enumerate(found.groups):
        terms = int((found.group_of_term == number).sum())
        low, high = bounds.low[number], bounds.high[number]
        notes = [
            size_note(int(sentences[number]), terms, group),
            _why_none(value[number], low, bounds),
        ]
        yield (
            found.model, found.attribute, which.name, group, value[number], low, high, bounds.standard_error[number],
            bounds.p[number], adjusted[number], direction(value[number], low, high, which),
            float(false[number]) / float(of[number]) if of[number] else np.nan, int(false[number]), int(of[number]),
            len(found.runs), int(sentences[number]), len(found.templates), terms,
            "; ".join(note for note in notes if note),
        )  # fmt: skip


def _why_none(value: float, low: float, bounds: Bounds) -> str:
    if np.isnan(value):
        return "no sentence to be wrong about"
    return bounds.reason if np.isnan(low) else ""


def direction(value: float, low: float, high: float, which: Metric) -> str:
    """Say whether a gap off zero harms the group; empty where the interval holds 0, or there is none.

    Examples
    --------
    >>> from biaslens.probe.gaps import NEGATIVE_FPR, POSITIVE_FPR
    >>> direction(0.1, 0.05, 0.15, NEGATIVE_FPR), direction(0.1, 0.05, 0.15, POSITIVE_FPR)
    ('harmful', 'favourable')
    """
    if not (low > 0 or high < 0):
        return ""
    return "harmful" if np.sign(value) == which.harmful else "favourable"
