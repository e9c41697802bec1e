"""How often each interval of a gap is wrong: false alarms without a difference between groups, coverage with one.

python scripts/bench/probe_intervals.py [SIMULATIONS]
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from biaslens.probe.intervals import KINDS, bootstrap, prompt_interval

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "probe"))

from probe_world import World

WORLDS = {
    "groups of 5, 3, 6 terms, 5 prompts": World(),
    "15 prompts": World(prompts=15),
    "groups of 4, 8, 2, 3, 15 terms": World(terms=(4, 8, 2, 3, 15), shift=(0.0,) * 5),
    "strong terms": World(of_term=1.0),
    "no effect of terms": World(of_term=0.0, prompt_by_term=0.0),
    "one group with one term": World(terms=(5, 1, 6)),
}


def main(simulations: int) -> None:
    for name, world in WORLDS.items():
        shifted = replace(world, shift=(*(0.0,) * (len(world.terms) - 1), 0.6))
        for what, one in (("false alarms", world), ("coverage of a gap", shifted)):
            truth, rng = one.gap(), np.random.default_rng(0)
            held: dict[str, list[np.ndarray]] = {kind: [] for kind in KINDS}
            for seed in range(simulations):
                drawn = one.draw(rng)
                for kind in KINDS:
                    found = (
                        bootstrap(drawn, rounds=500, seed=seed)
                        if kind == "bootstrap"
                        else prompt_interval(drawn.by_prompt(), kind=kind)
                    )
                    held[kind].append((found.low <= truth) & (truth <= found.high))
            shares = {kind: np.mean(cells, axis=0) for kind, cells in held.items()}
            if what == "false alarms":
                shares = {kind: 1 - cells for kind, cells in shares.items()}
            text = "; ".join(f"{kind} {cells.mean():.3f} {cells.round(2)}" for kind, cells in shares.items())
            print(f"{name}, {what} (gaps {truth.round(3)}): {text}", flush=True)
    drawn = World(terms=(7,) * 5, prompts=15, shift=(0.0,) * 5).draw(np.random.default_rng(0))
    start = time.process_time()
    bootstrap(drawn, rounds=2000)
    cells = drawn.of.size
    print(f"15 prompts x {cells:,} sentences x 2,000 rounds: {time.process_time() - start:.2f} s of CPU")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
