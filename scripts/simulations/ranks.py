"""How often rank intervals hold the true ranks of all models at once.

    python scripts/simulations/ranks.py --rounds 1000 --seed 1

55 roles of 20 questions on 60 comparisons, whose effects (standard deviations 0.08 and 0.1) the models share by half.
Equal models, whose true ranks are any; models 1 point apart; models 5 points apart.
"""

from __future__ import annotations

import argparse

import numpy as np

from biaslens.stats import Clusters, compare_pairs, rank_intervals

ROLES, QUESTIONS, COMPARISONS = 55, 20, 60


def main() -> None:
    """Print the shares in which all, and the mean width of the intervals in ranks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    for models in (5, 10):
        for apart in (0.0, 0.01, 0.05):
            rates = 0.2 + apart * np.arange(models)
            lowest = 1 + (rates[:, None] > rates).sum(axis=1)
            highest = models - (rates[:, None] < rates).sum(axis=1)
            covered, widths = 0, 0.0
            for _ in range(given.rounds):
                low, high = one_round(rng, rates)
                covered += bool((low <= lowest).all() and (high >= highest).all())
                widths += float((high - low + 1).mean())
            print(
                f"{models} models {100 * apart:.0f} points apart: all held in {100 * covered / given.rounds:.1f} %, "
                f"{widths / given.rounds:.1f} ranks wide",
                flush=True,
            )


def one_round(rng: np.random.Generator, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rank intervals of one draw of roles, comparisons and answers."""
    role = np.repeat(np.arange(ROLES), QUESTIONS)
    comparison = rng.integers(0, COMPARISONS, len(role))
    chance = []
    shared = rng.standard_normal(ROLES), rng.standard_normal(COMPARISONS)
    for rate in rates:
        of_role, of_comparison = (np.sqrt(0.5) * (both + rng.standard_normal(len(both))) for both in shared)
        chance.append(np.clip(rate + 0.08 * of_role[role] + 0.1 * of_comparison[comparison], 0, 1))
    answers = rng.binomial(3, np.array(chance)) / 3
    _, pairs = compare_pairs(answers, Clusters(role, comparison, role // 5))
    return rank_intervals(pairs, models=len(rates))


if __name__ == "__main__":
    main()
