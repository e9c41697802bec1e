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

    return {
        **agreement(labelled, called),
        "kappa": float(cohen_kappa_score(labelled, called)),
        **{name: grouped(np.array([row[name] for row in rows]), labelled, called) for name in ("style", "stance")},
    }


def grouped(values: np.ndarray, labelled: np.ndarray, called: np.ndarray) -> dict[str, dict[str, float | int]]:
    """Agreement by group, the best one first."""
    groups = {str(value): agreement(labelled[values == value], called[values == value]) for value in np.unique(values)}
    return dict(sorted(groups.items(), key=lambda group: -group[1]["accuracy"]))


def agreement(labelled: np.ndarray, called: np.ndarray) -> dict[str, float | int]:
    """Share of the answers called what they are labelled, of all of them, the biased ones and the others."""
    return {
        "answers": len(labelled),
        "biased": float(labelled.mean()),
        "accuracy": float((called == labelled).mean()),
        "finds": float(called[labelled].mean()) if labelled.any() else float("nan"),
        "passes": float(1 - called[~labelled].mean()) if not labelled.all() else float("nan"),
    }


def section(found: dict[str, Any], unseen: dict[str, Any] | None = None) -> str:
    """The section of the model card; `unseen`: by style, of the manners it learned from, each without their writer."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters["d2"] = _two
    return environment.get_template("styles.md.j2").render(found=found, unseen=unseen)


def _two(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.2f}"


if __name__ == "__main__":
    print(section(by_style(screen.load())))
