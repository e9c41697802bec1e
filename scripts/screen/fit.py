"""Fit the local judge: votes as weak labels, hand labels as the truth, put together in one linear model.

1. A logistic regression of the study's votes on the words of the answers: many labels, wrong in a systematic way. Its
   score ranks answers well, and enters the last step as one feature.
2. The directions in which the answers' words vary together (latent semantic analysis): enters as further features, so
   that what a hand label says of one word is also learned for the words that are used like it.
3. A logistic regression of the hand labels on these and on the words of answer and question. An unsure label counts
   half.
4. A line through the log-odds of held-out answers (Platt), weighted to the population that was sampled from.

Everything before the line is linear in the words, so the result is one weight a word.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np
from data import Answers, Labels
from scipy.sparse import csr_matrix, hstack, vstack
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from biaslens.oracles.screen import Grams

ANSWER_BITS, QUESTION_BITS = 18, 16
FEWEST = 3  # a feature in fewer answers is left out
WEAK = 100_000  # answers whose votes are learned from
DIRECTIONS, SHARE = 100, 4.0  # latent directions, and how strongly they count beside the words themselves
STRENGTH = 30  # of what hand labels say against a prior of zero weights (C in scikit-learn)
UNSURE = 0.5
SEED = 0

warnings.simplefilter("ignore", ConvergenceWarning)


@dataclass
class Features:
    """Words of answers and questions, each text of length 1, and how much each word counts in that length."""

    answer: csr_matrix
    question: csr_matrix
    answer_importance: np.ndarray
    question_importance: np.ndarray


@dataclass
class Parts:
    """Which parts enter: all of them in the shipped judge, fewer for comparison."""

    weak: bool = True
    directions: bool = True
    targeted: bool = True
    encounters: bool = True
    question: bool = True
    unsure: float = UNSURE
    more: np.ndarray | None = field(default=None, repr=False)  # further columns, a row an answer


@dataclass
class Fitted:
    """A linear model: log-odds are ``intercept + answer @ words + question @ words``."""

    answer: np.ndarray
    question: np.ndarray
    intercept: float


def featurise(data: Answers) -> Features:
    answer, answer_importance = _words(data.answer, ANSWER_BITS)
    question, question_importance = _words(data.question, QUESTION_BITS)
    return Features(answer, question, answer_importance, question_importance)


def _words(texts: list[str], bits: int) -> tuple[csr_matrix, np.ndarray]:
    grams = Grams(bits)
    blocks = []
    for start in range(0, len(texts), 4096):
        part = texts[start : start + 4096]
        row, column, count = grams.count(part)
        blocks.append(csr_matrix((count.astype(np.float32), (row, column)), shape=(len(part), grams.columns)))
    counts = vstack(blocks).tocsr()
    held = np.bincount(counts.indices, minlength=grams.columns)
    importance = np.log((1 + counts.shape[0]) / (1 + held)) + 1
    importance[held < FEWEST] = 0
    importance = importance.astype(np.float16).astype(np.float32)
    return normalize(counts.multiply(importance).tocsr()), importance


class Fold:
    """What is learned without hand labels, from the answers of `allowed`."""

    def __init__(self, data: Answers, features: Features, allowed: np.ndarray) -> None:
        self._data, self._features, self._allowed = data, features, allowed
        unlabelled = allowed & ~data.unvoted
        unlabelled[data.sample.row] = False
        unlabelled[data.targeted.row] = False
        rows = np.random.default_rng(SEED).permutation(np.flatnonzero(unlabelled))[:WEAK]
        weak = LogisticRegression(C=3, max_iter=200).fit(features.answer[rows], data.flagged[rows])
        self._weak, self._weak_intercept = weak.coef_[0], float(weak.intercept_[0])
        svd = TruncatedSVD(DIRECTIONS, n_iter=2, random_state=SEED).fit(features.answer[rows[:50_000]])
        self._directions = svd.components_.T.astype(np.float32)

    def weak(self, rows: np.ndarray) -> np.ndarray:
        """Log-odds that the study's judge flags an answer."""
        return self._features.answer[rows] @ self._weak + self._weak_intercept

    def fit(self, parts: Parts) -> Fitted:
        """Fit the hand labels of the allowed answers. With `parts.more` only `decide` says what comes out."""
        matrix, biased, weights = self._training(parts)
        fitted = LogisticRegression(C=STRENGTH, max_iter=1000).fit(matrix, biased, sample_weight=weights)
        return self._folded(fitted.coef_[0], float(fitted.intercept_[0]), parts)

    def decide(self, rows: np.ndarray, parts: Parts) -> np.ndarray:
        """Log-odds of some answers, after a fit of the hand labels of the allowed ones."""
        matrix, biased, weights = self._training(parts)
        fitted = LogisticRegression(C=STRENGTH, max_iter=1000).fit(matrix, biased, sample_weight=weights)
        return np.asarray(fitted.decision_function(self._matrix(rows, parts)))

    def _training(self, parts: Parts) -> tuple[csr_matrix, np.ndarray, np.ndarray]:
        used = [
            self._data.sample,
            *([self._data.targeted] if parts.targeted else []),
            *([self._data.encounters] if parts.encounters else []),
        ]
        kept = [(labels, self._allowed[labels.row]) for labels in used]
        rows = np.concatenate([labels.row[keep] for labels, keep in kept])
        biased = np.concatenate([labels.biased[keep] for labels, keep in kept])
        sure = np.concatenate([labels.sure[keep] for labels, keep in kept])
        return self._matrix(rows, parts), biased, np.where(sure, 1.0, parts.unsure)

    def _matrix(self, rows: np.ndarray, parts: Parts) -> csr_matrix:
        words = self._features.answer[rows]
        columns = [words]
        if parts.question:
            columns.append(self._features.question[rows])
        if parts.weak:
            columns.append(csr_matrix(self.weak(rows)[:, None]))
        if parts.directions:
            columns.append(csr_matrix(SHARE * (words @ self._directions)))
        if parts.more is not None:
            columns.append(csr_matrix(parts.more[rows]))
        return hstack(columns).tocsr()

    def _folded(self, weight: np.ndarray, intercept: float, parts: Parts) -> Fitted:
        assert parts.weak and parts.directions and parts.question and parts.more is None, "only the whole is folded"
        answers, questions = self._features.answer.shape[1], self._features.question.shape[1]
        own, question, weak, directions = np.split(weight, np.cumsum([answers, questions, 1]))
        answer = own + weak[0] * self._weak + SHARE * (self._directions @ directions)
        return Fitted(answer, question, intercept + float(weak[0]) * self._weak_intercept)


def line(scores: np.ndarray, labels: Labels) -> tuple[float, float]:
    """Slope and intercept that turn held-out log-odds into calibrated ones (Platt 1999), by the sampling weights."""
    weights = 1 / labels.inclusion
    fitted = LogisticRegression(C=1e6).fit(scores[:, None], labels.biased, sample_weight=weights / weights.mean())
    return float(fitted.coef_[0, 0]), float(fitted.intercept_[0])
