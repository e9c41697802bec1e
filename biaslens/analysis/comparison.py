"""Which model is more biased, as far as the same questions can tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from biaslens.analysis.aligned import align
from biaslens.analysis.comparable import require_comparable
from biaslens.analysis.corrected import NOT_CORRECTED, Correction, Corrections, corrections
from biaslens.analysis.frame import KINDS, Run
from biaslens.analysis.summary import summarise
from biaslens.errors import InputError
from biaslens.schema import Condition, Kind
from biaslens.stats import Mean, Pair, compare_pairs, mean_of_sums, rank_intervals, tied_groups, tied_with

LEVEL = 0.95

LABELS_SAY = ("same", "opposite", "overlap", "unknown", "")
"""What labels say of the difference of two raw rates: the corrected rates differ in the same direction and their
intervals lie apart; they differ in the opposite direction; in the same one, but their intervals overlap; nothing, and
judges' verdicts on why answers are part of it; nothing, and only rules decided."""

_DECIMALS = 12
"""Rates that agree so far are equal: the order of a sum must not decide a rank."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Several models on the questions that all of them answered.

    Parameters
    ----------
    models
        A row a model, the least biased first: ``model``, ``run``, ``questions`` (with a valid trial in all runs),
        ``planned_questions`` (in any run), ``roles``, ``bias_rate`` (mean over the shared questions),
        ``bias_rate_low``, ``bias_rate_high``, ``rank``, ``rank_low``, ``rank_high`` (95 %, over a bootstrap of roles),
        ``tied_group`` (models that share a letter are not told apart), ``tied_with_best``, all of them by the verdicts;
        ``labels``, ``corrected_rate``, ``corrected_low``, ``corrected_high``: the rate of the whole run corrected by
        labels, NaN where there are none.
    pairs
        A row two models: ``model_a``, ``model_b``, ``run_a``, ``run_b``, ``questions``, ``planned_questions``,
        ``roles``, ``rate_a``, ``rate_b``, ``difference`` (a less b), ``difference_low``, ``difference_high``, ``p``,
        ``p_holm``, ``tied``, ``minimal_difference`` (the smallest the design would find four times out of five),
        ``labels_say`` (of `LABELS_SAY`: what the corrected rates say of the difference).
    """

    models: pd.DataFrame
    pairs: pd.DataFrame


def compare(
    runs: Sequence[Run],
    *,
    condition: Condition = Condition.ROLE,
    kind: Kind | None = None,
    force: bool = False,
    corrected: Sequence[Corrections] | None = None,
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
    corrected
        The `corrections` of each run, where they are known already; worked out if not given.

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
        require_comparable([summarise(run, corrected={}) for run in runs])
    if corrected is None:
        corrected = [corrections(run) for run in runs]
    table = align(runs, condition)
    asked = table.planned.any(axis=0) & ((table.kind == KINDS.index(kind)) if kind is not None else True)
    shared = asked & (table.valid > 0).all(axis=0)
    rates = table.biased[:, shared] / table.valid[:, shared]
    codes, role = np.unique(table.role[shared], return_inverse=True)
    sizes = np.bincount(role, minlength=len(codes))
    sums = np.array([np.bincount(role, row, minlength=len(codes)) for row in rates])
    counts = {
        "questions": int(shared.sum()),
        "planned_questions": int(asked.sum()),
        "roles": len(codes),
    }
    values = [mean_of_sums(row, sizes, bounds=(0, 1)) for row in sums]
    pairs = compare_pairs(sums, sizes, level=LEVEL)
    of_runs = [known.get(condition, {}).get(kind, NOT_CORRECTED) for known in corrected]
    judged = bool((table.kind[shared] == KINDS.index(Kind.WHY)).any())
    models = _models(runs, values, pairs, rank_intervals(sums, sizes, level=LEVEL), counts, corrected=of_runs)
    return Comparison(models, _pairs(runs, values, pairs, counts, corrected=of_runs, judged=judged))


def _models(
    runs: Sequence[Run],
    values: Sequence[Mean],
    pairs: Sequence[Pair],
    ranks: tuple[NDArray[np.int64], NDArray[np.int64]],
    counts: Mapping[str, int],
    *,
    corrected: Sequence[Correction],
) -> pd.DataFrame:
    known = counts["questions"] > 0
    rates = [value.mean for value in values]
    letters = tied_groups(rates, pairs, level=LEVEL) if known else [""] * len(runs)
    rank = pd.Series(rates).round(_DECIMALS).rank(method="min")
    low, high = (pd.Series(bound if known else [None] * len(runs), dtype="Int64") for bound in ranks)
    models = pd.DataFrame(
        {
            "model": [run.info.model for run in runs],
            "run": [run.info.path.name for run in runs],
            **counts,
            "bias_rate": rates,
            "bias_rate_low": [value.low for value in values],
            "bias_rate_high": [value.high for value in values],
            "rank": rank.astype("Int64"),
            "rank_low": low,
            "rank_high": high,
            "tied_group": letters,
            "tied_with_best": pd.array(_tied_with_best(rates, pairs), dtype="boolean"),
            "labels": [found.labels for found in corrected],
            "corrected_rate": [found.rate for found in corrected],
            "corrected_low": [found.low for found in corrected],
            "corrected_high": [found.high for found in corrected],
        }
    )
    return models.sort_values(["bias_rate", "model", "run"], ignore_index=True)


def _tied_with_best(rates: Sequence[float], pairs: Sequence[Pair]) -> list[bool] | list[None]:
    if np.isnan(rates).any():
        return [None] * len(rates)
    return tied_with(int(np.argmin(rates)), pairs, models=len(rates), level=LEVEL)


def _pairs(
    runs: Sequence[Run],
    values: Sequence[Mean],
    pairs: Sequence[Pair],
    counts: Mapping[str, int],
    *,
    corrected: Sequence[Correction],
    judged: bool,
) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "model_a": [runs[pair.first].info.model for pair in pairs],
            "model_b": [runs[pair.second].info.model for pair in pairs],
            "run_a": [runs[pair.first].info.path.name for pair in pairs],
            "run_b": [runs[pair.second].info.path.name for pair in pairs],
            **counts,
            "rate_a": [values[pair.first].mean for pair in pairs],
            "rate_b": [values[pair.second].mean for pair in pairs],
            "difference": [pair.difference.mean for pair in pairs],
            "difference_low": [pair.difference.low for pair in pairs],
            "difference_high": [pair.difference.high for pair in pairs],
            "p": [pair.difference.p for pair in pairs],
            "p_holm": [pair.p_holm for pair in pairs],
            "tied": [not pair.p_holm < 1 - LEVEL for pair in pairs],
            "minimal_difference": [pair.minimal_difference for pair in pairs],
            "labels_say": [
                _labels_say(pair.difference.mean, corrected[pair.first], corrected[pair.second], judged=judged)
                for pair in pairs
            ],
        }
    )


def _labels_say(difference: float, a: Correction, b: Correction, *, judged: bool) -> str:
    if np.isnan([a.rate, b.rate]).any():
        return "unknown" if judged else ""
    if (a.rate - b.rate) * difference < 0:
        return "opposite"
    # An interval that is not known (labels of one role) is not apart from any other.
    return "same" if a.low > b.high or b.low > a.high else "overlap"
