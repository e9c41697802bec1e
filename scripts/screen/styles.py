"""Print how the shipped local judge does on answers in the styles of today's models, as the card shows it.

python scripts/screen/styles.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from sklearn.metrics import cohen_kappa_score

from biaslens.oracles import screen

LABELS = Path(__file__).resolve().parents[2] / "labels"


def by_style(judge: screen.Screen, path: Path = LABELS / "styles.jsonl") -> dict[str, Any]:
    """Agreement of a judge's own verdicts with the labels: of all answers, and by style and by stance."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    labelled = np.array([row["outcome"] == "biased" for row in rows])
    probability = judge.probabilities([row["question"] for row in rows], [row["answer"] for row in rows])
    called = probability >= judge.cut

    def found(chosen: np.ndarray) -> dict[str, float | int]:
        biased, says = labelled[chosen], called[chosen]
        return {
            "answers": int(chosen.sum()),
            "biased": float(biased.mean()),
            "accuracy": float((says == biased).mean()),
            "finds": float(says[biased].mean()) if biased.any() else float("nan"),
            "passes": float(1 - says[~biased].mean()) if not biased.all() else float("nan"),
        }

    def grouped(name: str) -> dict[str, dict[str, float | int]]:
        values = np.array([row[name] for row in rows])
        groups = {str(value): found(values == value) for value in dict.fromkeys(values)}
        return dict(sorted(groups.items(), key=lambda group: -group[1]["accuracy"]))

    kappa = float(cohen_kappa_score(labelled, called))
    return {
        **found(np.ones(len(rows), dtype=bool)),
        "kappa": kappa,
        "style": grouped("style"),
        "stance": grouped("stance"),
    }


def section(found: dict[str, Any]) -> str:
    """The section of the model card."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters["d2"] = _two
    return environment.get_template("styles.md.j2").render(found=found)


def _two(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.2f}"


if __name__ == "__main__":
    print(section(by_style(screen.load())))
