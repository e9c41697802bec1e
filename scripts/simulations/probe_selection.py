"""What keeping the best 5 of 15 probe prompts does to the intervals of gaps, without any difference between groups.

    python scripts/simulations/probe_selection.py [--repeats 1000] [--seed 18]

The validation accuracy of a prompt is correlated with its gap of the first group as said. Gaps of that group that are
called significant by the bootstrap interval.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from biaslens.probe.intervals import bootstrap

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "probe"))

from probe_world import World

PROMPTS, BEST = 15, 5


def main() -> None:
    """Print the share of false alarms for each correlation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=18)
    given = parser.parse_args()
    worlds = {
        "terms differ": World(prompts=PROMPTS),
        "terms alike, prompts differ": World(prompts=PROMPTS, of_term=0.0, template_by_term=0.0, prompt_by_term=0.5),
    }
    for name, world in worlds.items():
        for correlation in (0.0, 0.5, 0.9):
            rng, alarms = np.random.default_rng(given.seed), 0
            for seed in range(given.repeats):
                drawn = world.draw(rng)
                gaps = drawn.by_prompt()[:, 0]
                noise = rng.normal(size=PROMPTS)
                accuracy = correlation * (gaps - gaps.mean()) / gaps.std() + np.sqrt(1 - correlation**2) * noise
                best = np.argsort(accuracy)[-BEST:]
                found = bootstrap(replace(drawn, false=drawn.false[best]), rounds=500, seed=seed)
                alarms += not found.low[0] <= 0 <= found.high[0]
            print(f"{name}, correlation {correlation}: {alarms / given.repeats:.1%}", flush=True)


if __name__ == "__main__":
    main()
