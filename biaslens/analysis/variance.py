"""Where the results of a run vary, and what more of them would buy."""

from __future__ import annotations

import numpy as np
import pandas as pd

from biaslens.analysis.frame import KINDS, Run
from biaslens.analysis.rates import ALL, table
from biaslens.stats import DOUBLED, components

LOPSIDED = 0.2
"""From this share of the questions on one comparison is most of what an interval for others like these must cover."""

_PARTS = ("attribute", "role", "comparison", "both", "question", "trial")

_COLUMNS = [
    "model", "condition", "kind", "roles", "comparisons", "effective_comparisons", "questions",
    *(f"share_{part}" for part in _PARTS), "standard_error", *(f"standard_error_twice_{name}" for name in DOUBLED),
    "buy", "largest_comparison", "largest_share", "estimand",
]  # fmt: skip


def variance(run: Run) -> pd.DataFrame:
    """Split the variance of a trial's result into its parts, by condition and kind ("all" for the total).

    Columns are those of variance.csv in results/README.md: shares between attributes, roles, comparisons of groups,
    both (what a role adds to a comparison), questions and trials; the standard error of the bias rate that follows, and
    what it would be with twice as many roles, comparisons, questions a role, or trials; ``buy`` names the best of
    these. Shares are NaN where the run cannot tell.
    """
    rows = []
    names = run.questions.comparisons
    for condition, trials in run.conditions.items():
        for kind in (None, *KINDS):
            chosen = np.flatnonzero(run.questions.select(kind=kind) & (trials.valid > 0))
            if not len(chosen):
                continue
            parts = components(trials.results[chosen], run.clusters.at(chosen))
            largest = np.bincount(run.questions.comparison[chosen])
            rows.append(
                {
                    "model": run.info.model,
                    "condition": condition.value,
                    "kind": kind.value if kind else ALL,
                    "roles": parts.roles,
                    "comparisons": parts.comparisons,
                    "effective_comparisons": parts.effective_comparisons,
                    "questions": parts.questions,
                    **{f"share_{part}": share for part, share in zip(_PARTS, parts.shares, strict=True)},
                    "standard_error": parts.standard_error(),
                    **{f"standard_error_twice_{name}": parts.standard_error(**{name: 2.0}) for name in DOUBLED},
                    "buy": parts.best_doubled(),
                    "largest_comparison": names[int(largest.argmax())] if names else "",
                    "largest_share": float(largest.max() / len(chosen)),
                    "estimand": run.estimand.value,
                }
            )
    return table(rows, _COLUMNS)
