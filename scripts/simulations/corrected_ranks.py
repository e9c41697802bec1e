"""How often differences of corrected rates, and the ranks that they leave open, hold the true ones.

    python scripts/simulations/corrected_ranks.py --rounds 300 --seed 1

Four models of rates 20, 20, 25 and 35 % answer the same questions of 110 roles on 150 comparisons, of which one has a
quarter of the questions. Two thirds of the questions are decided by rules, which are right; the others by a judge that
finds 90 % of the biased answers and whose specificity is 0.65 for all models, or 0.4 to 0.9 by the model. 50 or 264
labels a model, half of them of flagged answers, or labels of all answers. Roles and comparisons make up 0.05 and 0.28
of the latent variance (probit), half of which the models share.
"""

from __future__ import annotations

import argparse
from itertools import combinations

import numpy as np
from scipy.special import ndtri

from biaslens.stats import Clusters, LabelledRate, labelled_difference, labelled_rate, rank_intervals
from biaslens.stats.comparison import pairs_of

ROLES, QUESTIONS, COMPARISONS = 110, 30, 150
RATES = np.array([0.2, 0.2, 0.25, 0.35])
OF_ROLE, OF_COMPARISON = 0.05, 0.28
Floats = np.ndarray


def main() -> None:
    """Print coverage of the differences, of all ranks at once, and how wide both are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    pairs = list(combinations(range(len(RATES)), 2))
    lowest = 1 + (RATES[:, None] > RATES).sum(axis=1)
    highest = len(RATES) - (RATES[:, None] < RATES).sum(axis=1)
    for alike in (True, False):
        for labels in (50, 264, None):
            held, ranked, rejected = np.zeros(len(pairs)), 0, 0
            reach, ranks = [], []
            for _ in range(given.rounds):
                rates, clusters = study(rng, labels, alike=alike)
                found = [labelled_difference(rates[a], rates[b], clusters) for a, b in pairs]
                true = [RATES[b] - RATES[a] for a, b in pairs]
                held += [each.low <= -apart <= each.high for each, apart in zip(found, true, strict=True)]
                rejected += found[0].p < 0.05
                low, high = rank_intervals(pairs_of(pairs, found), models=len(RATES))
                ranked += bool((low <= lowest).all() and (high >= highest).all())
                reach.append(np.mean([each.high - each.low for each in found]) / 2)
                ranks.append(np.mean(high - low + 1))
            shares = 100 * held / given.rounds
            print(
                f"specificity {'0.65 for all' if alike else '0.4 to 0.9 by model'}, {labels or 'all'} labels: "
                f"differences held in {shares.mean():.1f} % ({shares.min():.1f} to {shares.max():.1f} by pair), of "
                f"equal rates {100 * rejected / given.rounds:.1f} % told apart; half-width "
                f"{100 * np.mean(reach):.1f} points; all ranks held in {100 * ranked / given.rounds:.1f} %, "
                f"{np.mean(ranks):.1f} wide",
                flush=True,
            )


def study(rng: np.random.Generator, labels: int | None, *, alike: bool) -> tuple[list[LabelledRate], Clusters]:
    """Corrected rates of the models in one draw of roles, comparisons, answers and labels."""
    role = np.repeat(np.arange(ROLES), QUESTIONS)
    comparison = np.where(rng.random(len(role)) < 0.25, 0, rng.integers(1, COMPARISONS, len(role)))
    judged = np.arange(len(role)) % 3 == 0
    shared = rng.standard_normal(ROLES), rng.standard_normal(COMPARISONS)
    rates = []
    for rate in RATES:
        of_role, of_comparison = (np.sqrt(0.5) * (both + rng.standard_normal(len(both))) for both in shared)
        said = np.sqrt(OF_ROLE) * of_role[role] + np.sqrt(OF_COMPARISON) * of_comparison[comparison]
        said = said + np.sqrt(1 - OF_ROLE - OF_COMPARISON) * rng.standard_normal(len(role))
        truth = said > -ndtri(rate)
        clears = 0.65 if alike else rng.uniform(0.4, 0.9)
        flagged = np.where(judged, rng.random(len(role)) < np.where(truth, 0.9, 1 - clears), truth)
        label, inclusion = np.where(judged, -1, truth).astype(np.int64), np.ones(len(role))
        for verdict in (True, False):
            among = np.flatnonzero(judged & (flagged == verdict))
            drawn = among if labels is None else rng.choice(among, labels // 2, replace=False)
            label[drawn], inclusion[drawn] = truth[drawn], len(drawn) / len(among)
        rates.append(
            labelled_rate(
                flagged.astype(np.float64), label, np.arange(len(role)), questions=len(role), inclusion=inclusion,
                clusters=role, strata=judged.astype(np.int64),
            )
        )  # fmt: skip
    return rates, Clusters(role, comparison, role // 10)


if __name__ == "__main__":
    main()
