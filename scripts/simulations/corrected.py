"""How often the interval of a corrected rate holds the rate of questions like these, with few labels.

    python scripts/simulations/corrected.py --rounds 500 --seed 1

550 roles of 20 why questions on 300 comparisons, of which one has a quarter of the questions; 20 % of the answers are
truly biased, with effects of roles and comparisons of 0.05 and 0.28 of the latent variance (probit). The judge finds
90 % of the biased ones and clears 65 % of the others, or 40 to 90 % depending on the comparison, which so few labels
cannot show. Half of the labels are of flagged answers.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.special import ndtri

from biaslens.stats import Clusters, labelled_rate, prediction_powered, with_comparisons

ROLES, QUESTIONS, COMPARISONS, RATE = 550, 20, 300, 0.2
OF_ROLE, OF_COMPARISON = 0.05, 0.28


def main() -> None:
    """Print coverage and widths for other comparisons, and for roles alone."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    for varying in (False, True):
        for labels in (50, 264):
            found = [simulate(rng, labels, varying=varying) for _ in range(given.rounds)]
            covered, roles_alone = (
                np.mean([low <= RATE <= high for low, high in each]) for each in zip(*found, strict=True)
            )
            widths = [high - low for (low, high), _ in found]
            print(
                f"{labels} labels, specificity {'0.4 to 0.9' if varying else '0.65'}: holds in {100 * covered:.1f} %, "
                f"roles alone {100 * roles_alone:.1f} %; median width {np.median(widths):.3f}, "
                f"largest {max(widths):.3f}",
                flush=True,
            )


def simulate(
    rng: np.random.Generator, labels: int, *, varying: bool
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Bounds with the draw of comparisons, and without."""
    role = np.repeat(np.arange(ROLES), QUESTIONS)
    comparison = np.where(rng.random(len(role)) < 0.25, 0, rng.integers(1, COMPARISONS, len(role)))
    effect = OF_ROLE**0.5 * rng.standard_normal(ROLES)[role]
    effect += OF_COMPARISON**0.5 * rng.standard_normal(COMPARISONS)[comparison]
    rest = (1 - OF_ROLE - OF_COMPARISON) ** 0.5
    truth = effect + rest * rng.standard_normal(len(role)) > -ndtri(RATE)
    clears = rng.uniform(0.4, 0.9, COMPARISONS)[comparison] if varying else 0.65
    flagged = rng.random(len(role)) < np.where(truth, 0.9, 1 - clears)
    label, inclusion = np.full(len(role), -1), np.ones(len(role))
    for verdict in (True, False):
        among = np.flatnonzero(flagged == verdict)
        drawn = rng.choice(among, labels // 2, replace=False)
        label[drawn], inclusion[drawn] = truth[drawn], labels / 2 / len(among)
    given = flagged.astype(float), label
    found = prediction_powered(*given, inclusion=inclusion, clusters=role)
    items = np.arange(len(role))
    rate = labelled_rate(*given, items, questions=len(items), inclusion=inclusion, clusters=role)
    crossed = with_comparisons(found, rate, Clusters(role, comparison, role // 50))
    return (crossed.low, crossed.high), (found.low, found.high)


if __name__ == "__main__":
    main()
