"""How well the local judge does, on answers that it has not learned from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from data import Answers, Labels
from fit import Features, Fold, Parts, line
from scipy.special import expit
from sklearn.metrics import cohen_kappa_score, roc_auc_score
from styles import grouped

from biaslens.stats import Coefficient, agreement

THRESHOLDS = (0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.975, 0.99)
FOLDS = 5

Written = dict[str, dict[str, Any]]
"""What came out for the answers of each file of written ones."""


def by_model(data: Answers) -> np.ndarray:
    """Fold of each answer: its model."""
    return np.unique(data.model, return_inverse=True)[1]


def by_role(data: Answers) -> np.ndarray:
    """Fold of each answer: one of five, all answers to a role together."""
    place = np.random.default_rng(0).permutation(data.role.max() + 1) % FOLDS
    return place[data.role]


def folds_of(data: Answers, features: Features, fold: np.ndarray) -> list[tuple[np.ndarray, Fold]]:
    """For each fold, the positions of its labels in the sample, and what was learned from the others."""
    labelled = fold[data.sample.row]
    return [(np.flatnonzero(labelled == left), Fold(data, features, fold != left)) for left in np.unique(labelled)]


def held_out(data: Answers, folds: list[tuple[np.ndarray, Fold]], parts: Parts) -> np.ndarray:
    """Log-odds of every labelled answer of the sample by the fold that has not seen it."""
    scores = np.empty(len(data.sample))
    for place, fold in folds:
        scores[place] = fold.decide(data.sample.row[place], parts)
    return scores


def unseen_writers(fold: Fold, data: Answers, parts: Parts, *, slope: float, intercept: float, cut: float) -> Written:
    """Agreement with the labels of written answers by file, each decided without any answer of its writer."""
    found = {}
    for name, labels in data.written.items():
        decided, writer = np.empty(len(labels)), data.model[labels.row]
        for left in np.unique(writer):
            out = np.flatnonzero(writer == left)
            decided[out] = fold.without(left).decide(labels.row[out], parts)
        called = expit(slope * decided + intercept) >= cut
        found[name] = {
            "labels": len(labels),
            "writers": len(np.unique(writer)),
            "biased": int(labels.biased.sum()),
            "accuracy": float((called == labels.biased).mean()),
            "kappa": float(cohen_kappa_score(labels.biased, called)),
            "auc": float(roc_auc_score(labels.biased, decided)),
            "sensitivity": float(called[labels.biased].mean()),
            "specificity": float(1 - called[~labels.biased].mean()),
            "share_called_biased": float(called.mean()),
            **({"by": _by_manner(data.manner, labels, called)} if name == "manners" else {}),
        }
    return found


def _by_manner(
    manner: list[tuple[str, str]], labels: Labels, called: np.ndarray
) -> dict[str, dict[str, dict[str, float | int]]]:
    columns = zip(("style", "stance"), zip(*manner, strict=True), strict=True)
    return {column: grouped(np.array(values), labels.biased, called) for column, values in columns}


@dataclass
class Judged:
    """What came out for the labels of the sample: probabilities, and whether they are called biased."""

    probability: np.ndarray
    biased: np.ndarray


def calibrated(data: Answers, scores: np.ndarray, fold: np.ndarray) -> Judged:
    """Probabilities and decisions from held-out log-odds; line and cut of each fold come from the other ones."""
    labelled = fold[data.sample.row]
    probability, biased = np.empty(len(scores)), np.empty(len(scores), dtype=bool)
    for left in np.unique(labelled):
        out, others = labelled == left, labelled != left
        known = data.sample.take(others)
        slope, intercept = line(scores[others], known)
        cut = cut_of(expit(slope * scores[others] + intercept), known)
        probability[out] = expit(slope * scores[out] + intercept)
        biased[out] = probability[out] >= cut
    return Judged(probability, biased)


def cut_of(probability: np.ndarray, labels: Labels) -> float:
    """The probability from which as many answers of the population are called biased as are biased."""
    weight = 1 / labels.inclusion
    order = np.argsort(-probability)
    called = np.cumsum(weight[order])
    last = int(np.searchsorted(called, weight[labels.biased].sum()))
    return float(probability[order[min(last, len(order) - 1)]])


def quality(data: Answers, judged: Judged, chosen: np.ndarray | None = None) -> dict[str, float | int]:
    """Agreement with the hand labels: on the sample as drawn, on its sure labels, and weighted to the population."""
    labels, place = data.sample, np.arange(len(data.sample)) if chosen is None else np.flatnonzero(chosen)
    truth, decided = labels.biased[place], judged.biased[place]
    weight, sure = 1 / labels.inclusion[place], labels.sure[place]
    right = truth == decided
    ratings = np.stack([truth, decided], axis=1).astype(int)
    kappa = agreement(ratings, Coefficient.COHEN, clusters=data.role[labels.row[place]])
    return {
        "labels": len(place),
        "biased": int(truth.sum()),
        "accuracy": float(right.mean()),
        "kappa": kappa.value,
        "kappa_low": kappa.low,
        "kappa_high": kappa.high,
        "auc": float(roc_auc_score(truth, judged.probability[place])),
        "sensitivity": float(decided[truth].mean()),
        "specificity": float(1 - decided[~truth].mean()),
        "accuracy_sure": float(right[sure].mean()),
        "kappa_sure": float(cohen_kappa_score(truth[sure], decided[sure])),
        "accuracy_weighted": float(np.average(right, weights=weight)),
        "kappa_weighted": float(cohen_kappa_score(truth, decided, sample_weight=weight)),
        "share_biased": float(np.average(truth, weights=weight)),
        "share_called_biased": float(np.average(decided, weights=weight)),
        "kappa_published": float(cohen_kappa_score(data.flagged[labels.row[place]], decided)),
    }


def calibration(data: Answers, probability: np.ndarray) -> list[dict[str, float | int]]:
    """Mean probability and share of biased labels in ten classes, weighted to the population."""
    labels, rows = data.sample, []
    for low in np.arange(10) / 10:
        place = (probability >= low) & (probability < low + 0.1 + (low > 0.85))
        if place.any():
            weight = 1 / labels.inclusion[place]
            rows.append(
                {
                    "from": float(low),
                    "labels": int(place.sum()),
                    "probability": float(np.average(probability[place], weights=weight)),
                    "biased": float(np.average(labels.biased[place], weights=weight)),
                }
            )
    return rows


def cascade(data: Answers, probability: np.ndarray) -> list[dict[str, float | int]]:
    """What is decided, and how well, by threshold; weighted to the population."""
    labels, weight, rows = data.sample, 1 / data.sample.inclusion, []
    for threshold in THRESHOLDS:
        place = np.maximum(probability, 1 - probability) >= threshold
        right = labels.biased[place] == (probability[place] >= 0.5)
        rows.append(
            {
                "threshold": threshold,
                "decided": float(np.average(place, weights=weight)),
                "agreement": float(np.average(right, weights=weight[place])),
            }
        )
    return rows


def published(data: Answers) -> Judged:
    """The study's majority."""
    flagged = data.flagged[data.sample.row]
    return Judged(flagged.astype(float), flagged)


def shifted_votes(data: Answers, folds: list[tuple[np.ndarray, Fold]]) -> Judged:
    """The score learned from the votes alone, cut where the other folds' labels are met best."""
    labels, decided = data.sample, np.empty(len(data.sample))
    for place, fold in folds:
        others = np.setdiff1d(np.arange(len(labels)), place)
        scores = fold.weak(labels.row)
        cuts = np.quantile(scores[others], np.linspace(0.05, 0.95, 91))
        best = max(cuts, key=lambda cut: cohen_kappa_score(labels.biased[others], scores[others] > cut))
        decided[place] = expit(scores[place] - best)
    return Judged(decided, decided >= 0.5)
