"""How consistent the answers are over the trials of a question."""

from __future__ import annotations

import pandas as pd

from biaslens.analysis.frame import KINDS, Run
from biaslens.analysis.rates import ALL
from biaslens.analysis.rows import table
from biaslens.stats import components, fleiss_kappa, flip_rate, krippendorff_alpha, patterns, verdicts_changed

PARTS = (("consistent", "all trials agree"), ("mostly_biased", "most biased"), ("mostly_unbiased", "fewer biased"))
"""Columns that add up to one, from the most to the least biased split, and what they are called in figures."""

_COLUMNS = [
    "model", "condition", "kind", "roles", "questions", "trials", *(name for name, _ in PARTS), "flip_rate",
    "flip_rate_low", "flip_rate_high", "fleiss_kappa", "krippendorff_alpha", "share_role", "share_question",
    "share_trial", "standard_error", "standard_error_one_more_trial", "standard_error_twice_roles", "verdicts_changed",
]  # fmt: skip


def consistency(run: Run) -> pd.DataFrame:
    """Compute how far the trials of a question agree, by condition and kind.

    Returns
    -------
    DataFrame
        Columns: ``model``, ``condition``, ``kind`` ("all" for the total), ``roles``, ``questions`` (with all trials
        valid), ``trials`` (a question); shares of these questions ``consistent``, ``mostly_biased`` (two of three),
        ``mostly_unbiased`` (one of three); ``flip_rate`` (chance that two trials differ) with ``flip_rate_low``,
        ``flip_rate_high``; ``fleiss_kappa``, ``krippendorff_alpha``; ``share_role``, ``share_question``,
        ``share_trial`` of the variance; ``standard_error`` of the bias rate as these shares give it, and what it would
        be with one trial more (``standard_error_one_more_trial``) and twice the roles (``standard_error_twice_roles``);
        ``verdicts_changed``, the share of majority verdicts that another set of trials would change. NaN where the run
        cannot tell: all of it with a single trial.
    """
    rows = []
    for condition, trials in run.conditions.items():
        for kind in (None, *KINDS):
            chosen = run.questions.select(kind=kind) & (trials.planned > 0)
            if not chosen.any():
                continue
            planned = int(trials.planned[chosen].max())
            # A run may have more trials under another condition.
            results, role = trials.results[chosen, :planned], run.questions.role[chosen]
            found = patterns(results)
            flips, parts = flip_rate(results, role), components(results, role)
            share_role, share_question, share_trial = parts.shares
            whole = found.questions if found.questions and planned > 1 else float("nan")
            rows.append(
                {
                    "model": run.info.model,
                    "condition": condition.value,
                    "kind": kind.value if kind else ALL,
                    "roles": parts.roles,
                    "questions": found.questions,
                    "trials": planned,
                    "consistent": found.consistent / whole,
                    "mostly_biased": found.mostly_biased / whole,
                    "mostly_unbiased": found.mostly_unbiased / whole,
                    "flip_rate": flips.mean,
                    "flip_rate_low": flips.low,
                    "flip_rate_high": flips.high,
                    "fleiss_kappa": fleiss_kappa(results),
                    "krippendorff_alpha": krippendorff_alpha(results),
                    "share_role": share_role,
                    "share_question": share_question,
                    "share_trial": share_trial,
                    "standard_error": parts.standard_error(),
                    "standard_error_one_more_trial": parts.standard_error(extra_trials=1),
                    "standard_error_twice_roles": parts.standard_error(roles=2),
                    "verdicts_changed": verdicts_changed(results),
                }
            )
    return table(rows, _COLUMNS)
