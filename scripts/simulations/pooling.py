"""What partial pooling makes of small groups: error, coverage, and the rate of the ten highest roles.

    python scripts/simulations/pooling.py --rounds 1000 --seed 1

550 roles of 20 questions, 50 an attribute, with true rates of standard deviation 0.12 around their attribute's mean;
and 11 attributes of 5 roles each, with true rates of standard deviation 0.06.
"""

from __future__ import annotations

import argparse

import numpy as np

from biaslens.stats import pooled_rates


def main() -> None:
    """Print errors, coverage and the rates of the highest roles."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    for name, draw in (("550 roles of 20 questions", of_roles), ("11 attributes of 5 roles", of_attributes)):
        squares, covered, highest = np.zeros(2), 0.0, np.zeros(3)
        for _ in range(given.rounds):
            truth, seen, error, sizes, family = draw(rng)
            found = pooled_rates(seen, error, sizes, family)
            squares += [np.square(seen - truth).mean(), np.square(found.value - truth).mean()]
            covered += float(((found.low <= truth) & (truth <= found.high)).mean())
            top = np.argsort(-seen)[:10]
            highest += [seen[top].mean(), found.value[top].mean(), truth[top].mean()]
        raw, pooled = np.sqrt(squares / given.rounds)
        shown, expected, true = highest / given.rounds
        print(
            f"{name}: root mean square error {raw:.3f} raw, {pooled:.3f} pooled; intervals hold the truth in "
            f"{100 * covered / given.rounds:.1f} %; ten highest {shown:.2f} raw, {expected:.2f} pooled, {true:.2f} true"
        )


Drawn = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def of_roles(rng: np.random.Generator) -> Drawn:
    """True rates, seen rates, standard errors, sizes and families of roles."""
    family = np.repeat(np.arange(11), 50)
    truth = np.clip(rng.normal(0.4, 0.05, 11)[family] + rng.normal(0, 0.12, 550), 0.01, 0.99)
    seen = rng.binomial(20, truth) / 20
    return truth, seen, np.sqrt(seen * (1 - seen) / 19), np.full(550, 20), family


def of_attributes(rng: np.random.Generator) -> Drawn:
    """The same of attributes."""
    truth = rng.normal(0.4, 0.06, 11)
    roles = rng.normal(truth[:, None], 0.17, (11, 5))
    return truth, roles.mean(axis=1), roles.std(axis=1, ddof=1) / np.sqrt(5), np.full(11, 5), np.zeros(11)


if __name__ == "__main__":
    main()
