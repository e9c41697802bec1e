"""Who is spared: how often a model takes no side, by group of questions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from biaslens.analysis.frame import Run
from biaslens.analysis.rates import ABSTAINED, By, grouped
from biaslens.schema import Kind
from biaslens.stats import share


def abstention(run: Run, by: Sequence[By] = ("attribute", "kind"), *, totals: Sequence[By] = ()) -> pd.DataFrame:
    """Compute the shares of the answered trials that are unbiased, refused and unusable, for each group.

    A model that refuses questions about some groups only, or breaks off there, treats them differently even where
    its bias rate does not show it.

    Parameters
    ----------
    run
        The run.
    by, totals
        As for `rates`.

    Returns
    -------
    DataFrame
        Columns: ``model``, ``condition``, those of `by`, ``answered_trials`` (with a verdict), and shares of them:
        ``unbiased_share``, ``last_option_share`` (of choice questions: a part of the unbiased ones, which also say
        "both" or "it depends"; only in rows of the kind choice, NaN elsewhere), ``refused_share``, ``invalid_share``.
        NaN without an answer.
    """
    frame = grouped(run, by, totals=totals)
    keys = list(frame.columns[: list(frame.columns).index("roles")])
    answered = (frame["valid_trials"] + frame["invalid_trials"]).to_numpy()
    choice = (frame["kind"] == Kind.CHOICE).to_numpy() if "kind" in frame else np.zeros(len(frame), dtype=np.bool_)
    result = frame[keys].copy()
    result["answered_trials"] = answered
    result["unbiased_share"] = share(frame["unbiased_trials"].to_numpy(), answered)
    result["last_option_share"] = np.where(choice, share(frame[ABSTAINED].to_numpy(), answered), np.nan)
    for outcome in ("refused", "invalid"):
        result[f"{outcome}_share"] = share(frame[f"{outcome}_trials"].to_numpy(), answered)
    return result
