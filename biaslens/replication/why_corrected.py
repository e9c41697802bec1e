"""What the study's why results look like once its judge is corrected by hand labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from biaslens.analysis import corrected_rates, oracle_agreement, read_labels
from biaslens.analysis.rates import ALL
from biaslens.annotation.folder import INFO, read_info
from biaslens.annotation.into_run import take_labels
from biaslens.errors import InputError
from biaslens.evaluation.tables import PUBLISHED_PANEL
from biaslens.schema import Kind

_AGREEMENT = ("kappa", "sensitivity", "specificity", "precision", "false_alarms", "missed_bias")

COLUMNS = (
    "model", "condition", "valid_trials", "labels", "labelled_by", "rate_published", "rate_published_low",
    "rate_published_high", "corrected_rate", "corrected_low", "corrected_high", "biased_trials_published",
    "biased_trials_corrected", "biased_trials_corrected_low", "biased_trials_corrected_high", *_AGREEMENT,
)  # fmt: skip
"""Columns of `why_corrected`."""


def why_corrected(runs: Sequence[Path], labels: Path) -> pd.DataFrame:
    """Correct the share of biased why answers by hand labels, which are taken into the runs.

    Parameters
    ----------
    runs
        Imported run files.
    labels
        Folder that holds a label folder for each run, with the run's name without suffix.

    Returns
    -------
    DataFrame
        Columns `COLUMNS`, a row a model and condition: the share of why answers that the study's judge flags, what the
        labels make of it (prediction-powered inference, weighted by inclusion, clustered by role), both as numbers of
        answers, and how well that judge meets the labels of the model (both conditions together). ``labelled_by`` is
        what ``sample.json`` says there. Not known, and not 0, where a condition has no label.

    Raises
    ------
    InputError
        When a run has no label folder.
    """
    rows = []
    for run in runs:
        folder = labels / run.stem
        if not (folder / INFO).is_file():
            raise InputError(f"{labels}: has no folder {run.stem} with labels of {run}")
        take_labels(run, folder)
        labelled_by = str(read_info(folder).get("labelled_by", ""))
        agreement = oracle_agreement(read_labels(run))
        whole = agreement[(agreement["attribute"] == ALL) & (agreement["subset"] == "all")]
        judge = next(iter(whole[whole["oracle"] == PUBLISHED_PANEL].to_dict("records")), {})
        found = corrected_rates(run, panel=PUBLISHED_PANEL)
        whole_why = (found["kind"] == Kind.WHY.value) & (found["attribute"] == ALL)
        for row in found[whole_why].to_dict("records"):
            trials = row["valid_trials"]
            counts = {
                f"biased_trials_corrected{bound}": trials * row[f"corrected_{name}"]
                for bound, name in (("", "rate"), ("_low", "low"), ("_high", "high"))
            }
            rows.append(
                {
                    "model": str(row["model"]).removeprefix("published/"),
                    **{name: row[name] for name in ("condition", "valid_trials", "labels")},
                    "labelled_by": labelled_by,
                    "rate_published": row["bias_rate"],
                    "rate_published_low": row["bias_rate_low"],
                    "rate_published_high": row["bias_rate_high"],
                    **{name: row[name] for name in ("corrected_rate", "corrected_low", "corrected_high")},
                    "biased_trials_published": trials * row["bias_rate"],
                    **counts,
                    **{name: judge.get(name, math.nan) for name in _AGREEMENT},
                }
            )
    table = pd.DataFrame(rows, columns=pd.Index(COLUMNS))
    numbers = [name for name in COLUMNS if name.startswith("biased_trials")]
    return (
        table.astype(dict.fromkeys(numbers, float))
        .round(dict.fromkeys(numbers, 0))
        .astype(dict.fromkeys(numbers, "Int64"))
    )
