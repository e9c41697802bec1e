"""Who is spared: how often a model takes no side, by group of questions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from biaslens.analysis.frame import Run
from biaslens.analysis.rates import By, rates


def abstention(run: Run, by: Sequence[By] = ("attribute", "kind"), *, totals: Sequence[By] = ()) -> pd.DataFrame:
    """Compute the shares of the answered trials that are unbiased, refused and unusable, for each group.

    A model that refuses questions about some groups only, or breaks off there, treats them differently even where
    its bias rate does not show it.

    Returns
    -------
    DataFrame
        Columns: ``model``, ``condition``, those of `by`, ``answered_trials`` (with a verdict), and shares of them:
        ``unbiased_share``, ``refused_share``, ``invalid_share``; NaN without an answer.
    """
    frame = rates(run, by, totals=totals)
    keys = list(frame.columns[: list(frame.columns).index("roles")])
    answered = frame["valid_trials"] + frame["invalid_trials"]
    result = frame[keys].copy()
    result["answered_trials"] = answered
    for outcome in ("unbiased", "refused", "invalid"):
        with np.errstate(divide="ignore", invalid="ignore"):
            result[f"{outcome}_share"] = frame[f"{outcome}_trials"].to_numpy(dtype=float) / answered.to_numpy()
    return result
