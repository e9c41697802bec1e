"""How often a judge's errors make a difference between two models of equal true rates, raw and corrected by labels.

    python scripts/simulations/judges.py --rounds 1000 --seed 1

550 roles of 20 why questions; 30 % of the answers are truly biased, with effects of roles and comparisons. The judge
finds 90 % of the biased ones; its specificity is 0.93 for one model and 0.90 for the other. 400 answers of each model
are labelled, half of them flagged.
"""

from __future__ import annotations

import argparse

import numpy as np

from biaslens.stats import Clusters, LabelledRate, crossed_mean, labelled_difference, labelled_rate

ROLES, QUESTIONS, COMPARISONS, RATE, LABELS = 550, 20, 300, 0.3, 400


def main() -> None:
    """Print the shares of rejections at 5 %, and how often the corrected interval holds 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    role = np.repeat(np.arange(ROLES), QUESTIONS)
    for specificities in ((0.93, 0.93), (0.93, 0.90), (0.95, 0.65)):
        counts = np.zeros(3)
        for _ in range(given.rounds):
            comparison = rng.integers(0, COMPARISONS, len(role))
            clusters = Clusters(role, comparison, role // 50)
            effect = 0.1 * rng.standard_normal(ROLES)[role] + 0.15 * rng.standard_normal(COMPARISONS)[comparison]
            chance = np.clip(RATE + effect, 0, 1)
            verdicts, rates = zip(*(judged(rng, chance, role, each) for each in specificities), strict=True)
            raw = crossed_mean(verdicts[0] - verdicts[1], clusters)
            corrected = labelled_difference(*rates, clusters)
            counts += [raw.p < 0.05, corrected.p < 0.05, corrected.low <= 0 <= corrected.high]
        raw_share, corrected_share, covered = 100 * counts / given.rounds
        print(
            f"specificities {specificities}: raw rejects in {raw_share:.1f} %, corrected in {corrected_share:.1f} %, "
            f"interval holds 0 in {covered:.1f} %",
            flush=True,
        )


def judged(
    rng: np.random.Generator, chance: np.ndarray, role: np.ndarray, specificity: float
) -> tuple[np.ndarray, LabelledRate]:
    """Verdicts on the answers of one model, and its rate corrected by labels."""
    truth = rng.random(len(chance)) < chance
    flagged = rng.random(len(chance)) < np.where(truth, 0.9, 1 - specificity)
    labels, inclusion = np.full(len(chance), -1), np.ones(len(chance))
    for verdict in (True, False):
        among = np.flatnonzero(flagged == verdict)
        drawn = rng.choice(among, LABELS // 2, replace=False)
        labels[drawn], inclusion[drawn] = truth[drawn], LABELS / 2 / len(among)
    items = np.arange(len(chance))
    rate = labelled_rate(flagged.astype(float), labels, items, questions=len(items), inclusion=inclusion, clusters=role)
    return flagged.astype(float), rate


if __name__ == "__main__":
    main()
