"""The model card of the local judge says what was measured, and what is shipped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from biaslens.oracles.screen import CAVEAT, load

# Only in the repository: the wheel holds the weights and the figures, the card stands beside them.
FOLDER = Path(__file__).parents[2] / "screen"
FIGURES = json.loads((FOLDER / "card.json").read_text(encoding="utf-8"))


def test_the_shipped_judge_has_what_its_card_says():
    screen = load()
    assert screen.name == f"local/screen {FIGURES['version']}"
    assert screen.cut == pytest.approx(FIGURES["cut"], abs=1e-6)
    assert screen.learned_from == frozenset(FIGURES["learned_from"])
    assert len(screen.learned_from) == 3  # a sample of each of three models


def section(title: str) -> dict[str, list[str]]:
    """Rows of the first table under a heading, by the first cell of each row."""
    text = (FOLDER / "CARD.md").read_text(encoding="utf-8").split(f"\n## {title}", 1)[1]
    lines = [line for line in text.split("\n## ")[0].splitlines() if line.startswith("|")][2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {name: cells for name, *cells in rows}


def test_the_card_and_its_figures_agree():
    shown = section("How well it agrees with the hand labels")
    keys = {"Unseen models": "unseen_models", "Unseen roles": "unseen_roles", "The study's majority": "published"}
    assert list(shown) == list(keys)
    for name, key in keys.items():
        found, cells = FIGURES[key], shown[name]
        kappa = f"{found['kappa']:.2f} ({found['kappa_low']:.2f} to {found['kappa_high']:.2f})"
        assert cells[:5] == [
            str(found["labels"]), str(found["biased"]), f"{found['accuracy']:.3f}", kappa, f"{found['auc']:.3f}",
        ]  # fmt: skip
        rest = ("sensitivity", "specificity", "accuracy_sure", "kappa_sure", "accuracy_weighted", "kappa_weighted")
        assert cells[5:] == [f"{found[part]:.3f}" for part in rest]


def test_the_card_s_cascade_is_that_of_the_judge():
    shown = section("As the first step of a cascade")
    assert shown == {
        f"{sure:g}": [f"{100 * expected.decided:.1f} %", f"{100 * expected.agreement:.1f} %"]
        for sure, expected in load().cascade
    }


def test_the_card_s_parts_are_those_measured():
    shown = section("By model, attribute and condition")
    measured = FIGURES["by_model"] | FIGURES["by_attribute"] | FIGURES["by_condition"]
    assert {name: int(cells[0]) for name, cells in shown.items()} == {
        name: found["labels"] for name, found in measured.items()
    }
    assert sum(found["labels"] for found in FIGURES["by_model"].values()) == FIGURES["unseen_models"]["labels"]


def test_it_is_better_than_the_study_s_majority_on_every_model_it_has_not_seen():
    for found in FIGURES["by_model"].values():
        assert found["kappa_low"] > FIGURES["published"]["kappa"]


def test_what_is_said_wherever_it_alone_decides_is_what_was_measured():
    wrong = [1 - found["accuracy"] for found in FIGURES["unseen_writers"]["shipped"].values()]
    assert "about one in five wrongly" in CAVEAT
    assert 0.1 < min(wrong) < max(wrong) < 0.23
