"""Which model is more biased, as far as the same questions can tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from biaslens.analysis.comparable import require_comparable
from biaslens.analysis.frame import Run
from biaslens.analysis.summary import summarise
from biaslens.errors import InputError
from biaslens.schema import Condition, Kind
from biaslens.stats import compare_pairs, mean_of_sums, rank_intervals, tied_groups

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Comparison:
    """Several models on the questions that all of them answered.

    Parameters
    ----------
    models
        A row a model, the least biased first: ``model``, ``run``, ``questions``, ``roles``, ``bias_rate`` (mean over
        the shared questions), ``bias_rate_low``, ``bias_rate_high``, ``rank``, ``rank_low``, ``rank_high`` (95 %, over
        a bootstrap of roles), ``tied_group`` (models that share a letter are not told apart), ``tied_with_best``.
    pairs
        A row two models: ``model_a``, ``model_b``, ``run_a``, ``run_b``, ``questions``, ``roles``, ``rate_a``,
        ``rate_b``, ``difference`` (a less b), ``difference_low``, ``difference_high``, ``p``, ``p_holm``, ``tied``,
        ``minimal_difference`` (the smallest the design would find four times out of five).
    """

    models: pd.DataFrame
    pairs: pd.DataFrame


def compare(
    runs: Sequence[Run], *, condition: Condition = Condition.ROLE, kind: Kind | None = None, force: bool = False
) -> Comparison:
    """Compare models question by question, clustered by role.

    Only questions with a valid trial in every run count, each once, by the share of its valid trials that are biased.
    So a model is not ranked by which questions it failed to answer, and with low coverage few questions are left:
    look at their number.

    Parameters
    ----------
    runs
        One a model.
    condition, kind
        What is compared; None for all kinds together.
    force
        Compare runs that asked or judged differently; only questions they share count.

    Raises
    ------
    InputError
        For fewer than two runs.
    RunMismatchError
        When the runs asked or judged differently, and `force` is not given.
    """
    if len(runs) < 2:
        raise InputError("a comparison needs at least two runs")
    if not force:
        require_comparable([summarise(run) for run in runs])
    ids, rates, roles = _shared(runs, condition, kind)
    codes, role = np.unique(roles, return_inverse=True)
    sizes = np.bincount(role, minlength=len(codes))
    sums = np.stack([np.bincount(role, row, minlength=len(codes)) for row in rates])
    means = [mean_of_sums(row, sizes, bounds=(0, 1)) for row in sums]
    values = [mean.mean for mean in means]
    pairs = compare_pairs(sums, sizes, level=LEVEL)
    low, high = rank_intervals(sums, sizes, level=LEVEL) if len(ids) else (np.full(len(runs), np.nan),) * 2
    letters = tied_groups(values, pairs, level=LEVEL)
    names = [run.info.model for run in runs]
    files = [run.info.path.name for run in runs]
    models = pd.DataFrame(
        {
            "model": names,
            "run": files,
            "questions": len(ids),
            "roles": len(codes),
            "bias_rate": values,
            "bias_rate_low": [mean.low for mean in means],
            "bias_rate_high": [mean.high for mean in means],
            "rank": pd.Series(values).rank(method="min").to_numpy(),
            "rank_low": low,
            "rank_high": high,
            "tied_group": letters,
            "tied_with_best": ["a" in text for text in letters],
        }
    )
    return Comparison(
        models=models.sort_values(["bias_rate", "model", "run"], ignore_index=True),
        pairs=pd.DataFrame(
            {
                "model_a": [names[pair.first] for pair in pairs],
                "model_b": [names[pair.second] for pair in pairs],
                "run_a": [files[pair.first] for pair in pairs],
                "run_b": [files[pair.second] for pair in pairs],
                "questions": len(ids),
                "roles": len(codes),
                "rate_a": [values[pair.first] for pair in pairs],
                "rate_b": [values[pair.second] for pair in pairs],
                "difference": [pair.difference.mean for pair in pairs],
                "difference_low": [pair.difference.low for pair in pairs],
                "difference_high": [pair.difference.high for pair in pairs],
                "p": [pair.difference.p for pair in pairs],
                "p_holm": [pair.p_holm for pair in pairs],
                "tied": [not pair.p_holm < 1 - LEVEL for pair in pairs],
                "minimal_difference": [pair.minimal_difference for pair in pairs],
            }
        ),
    )


def _shared(
    runs: Sequence[Run], condition: Condition, kind: Kind | None
) -> tuple[list[str], NDArray[np.float64], NDArray[np.int64]]:
    """Ids, rates (M, Q) and roles (Q,) of the questions with a valid trial in every run."""
    known = []
    for run in runs:
        trials = run.trials(condition)
        chosen = np.flatnonzero((trials.valid > 0) & run.questions.select(kind=kind))
        rate = trials.biased[chosen] / trials.valid[chosen]
        known.append(dict(zip((run.questions.ids[code] for code in chosen), rate.tolist(), strict=True)))
    first = runs[0].questions
    place = {question_id: code for code, question_id in enumerate(first.ids)}
    ids = [question_id for question_id in known[0] if all(question_id in other for other in known[1:])]
    roles = np.array([first.role[place[question_id]] for question_id in ids], dtype=np.int64)
    rates = np.array([[rate[question_id] for question_id in ids] for rate in known], dtype=np.float64)
    return ids, rates.reshape(len(runs), len(ids)), roles
