"""Fit the local judge: votes as weak labels, hand labels as the truth, put together in one linear model.

1. A logistic regression of the study's votes on the words of the answers: many labels, wrong in a systematic way. Its
   score ranks answers well, and enters the last step as one feature.
2. The directions in which the answers' words vary together (latent semantic analysis): enters as further features, so
   that what a hand label says of one word is also learned for the words that are used like it.
3. A logistic regression of the hand labels on these and on the words of answer and question. An unsure label counts
   half.
4. A logistic regression of the hand labels on the outlines of the answers alone. It knows nothing of any topic, so what
   it learns from one writer holds for others; answers in the manners of today's models count `MANNERS` times in it.
5. A logistic regression, on outlines too, that tells these answers from those of the study's models. By its probability
   the log-odds of 4 count between `SHARES`, those of 3 the rest: words know the study's models best, outlines others.
6. A line through the log-odds of held-out answers (Platt), weighted to the population that was sampled from.
"""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from data import Answers, Labels
from scipy.sparse import csr_matrix, hstack, vstack
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from biaslens.oracles.screen import Grams, Outlines

ANSWER_BITS, QUESTION_BITS, OUTLINE_BITS = 18, 16, 18
FEWEST = 3  # a feature in fewer answers is left out
WEAK = 100_000  # answers whose votes are learned from
DIRECTIONS, SHARE = 100, 4.0  # latent directions, and how strongly they count beside the words themselves
STRENGTH = 10  # of what hand labels say against a prior of zero weights (C in scikit-learn)
UNSURE = 0.5
MANNERS, SHARES = 3.0, (0.2, 1.0)
PASSES = 300  # over the labels; more of them change nothing
SEED = 0

warnings.simplefilter("ignore", ConvergenceWarning)


@dataclass
class Features:
    """Words and outlines of answers and words of questions, each text of length 1, and how much each counts in that.

    Outlines are those of labelled answers only; the others have none.
    """

    answer: csr_matrix
    question: csr_matrix
    outline: csr_matrix
    answer_importance: np.ndarray
    question_importance: np.ndarray
    outline_importance: np.ndarray


NO_OUTLINES, OUTLINES_ALONE = (0.0, 0.0), (1.0, 1.0)


@dataclass
class Parts:
    """Which parts enter: all of them in the shipped judge, fewer for comparison."""

    weak: bool = True
    directions: bool = True
    targeted: bool = True
    written: bool = True
    question: bool = True
    shares: tuple[float, float] = SHARES
    unsure: float = UNSURE


@dataclass
class Fitted:
    """Three linear models: log-odds by words, log-odds by outlines, and which of the two to go by."""

    answer: np.ndarray
    question: np.ndarray
    intercept: float
    outline: np.ndarray
    outline_intercept: float
    manner: np.ndarray
    manner_intercept: float

    def along(self, slope: float, intercept: float) -> Fitted:
        """The same along a line through the log-odds."""
        return replace(
            self,
            answer=slope * self.answer,
            question=slope * self.question,
            intercept=slope * self.intercept + intercept,
            outline=slope * self.outline,
            outline_intercept=slope * self.outline_intercept + intercept,
        )


def featurise(data: Answers) -> Features:
    answer, answer_importance = _words(data.answer, ANSWER_BITS)
    question, question_importance = _words(data.question, QUESTION_BITS)
    outline, outline_importance = _outlines(data, answer_importance)
    return Features(answer, question, outline, answer_importance, question_importance, outline_importance)


def _words(texts: list[str], bits: int) -> tuple[csr_matrix, np.ndarray]:
    grams = Grams(bits)
    blocks = []
    for start in range(0, len(texts), 4096):
        part = texts[start : start + 4096]
        row, column, count = grams.count(part)
        blocks.append(csr_matrix((count.astype(np.float32), (row, column)), shape=(len(part), grams.columns)))
    return _weighted(vstack(blocks).tocsr(), len(texts))


def _outlines(data: Answers, importance: np.ndarray) -> tuple[csr_matrix, np.ndarray]:
    labelled = np.concatenate([labels.row for labels in (data.sample, data.targeted, *data.written.values())])
    outlines = Outlines(OUTLINE_BITS, importance)
    row, column, count = outlines.count([data.question[at] for at in labelled], [data.answer[at] for at in labelled])
    shape = (len(data.answer), outlines.columns)
    return _weighted(csr_matrix((count.astype(np.float32), (labelled[row], column)), shape=shape), len(labelled))


def _weighted(counts: csr_matrix, texts: int) -> tuple[csr_matrix, np.ndarray]:
    held = np.bincount(counts.indices, minlength=counts.shape[1])
    importance = np.log((1 + texts) / (1 + held)) + 1
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

    def without(self, model: str) -> Fold:
        """The same, with no hand label of a model, or a writer, from here on."""
        narrowed = copy(self)
        narrowed._allowed = self._allowed & (self._data.model != model)
        return narrowed

    def weak(self, rows: np.ndarray) -> np.ndarray:
        """Log-odds that the study's judge flags an answer."""
        return self._features.answer[rows] @ self._weak + self._weak_intercept

    def fit(self) -> Fitted:
        """Fit the hand labels of the allowed answers, by all parts."""
        words, outlines, manner = self._models(Parts())
        answers, questions = self._features.answer.shape[1], self._features.question.shape[1]
        own, question, weak, directions = np.split(words.coef_[0], np.cumsum([answers, questions, 1]))
        return Fitted(
            answer=own + weak[0] * self._weak + SHARE * (self._directions @ directions),
            question=question,
            intercept=float(words.intercept_[0]) + float(weak[0]) * self._weak_intercept,
            outline=outlines.coef_[0],
            outline_intercept=float(outlines.intercept_[0]),
            manner=manner.coef_[0],
            manner_intercept=float(manner.intercept_[0]),
        )

    def decide(self, rows: np.ndarray, parts: Parts) -> np.ndarray:
        """Log-odds of some answers, after a fit of the hand labels of the allowed ones."""
        words, outlines, manner = self._models(parts)
        found = words.decision_function(self._matrix(rows, parts))
        if parts.shares == NO_OUTLINES:
            return np.asarray(found)
        low, high = parts.shares
        outline = self._features.outline[rows]
        share = low + (high - low) * manner.predict_proba(outline)[:, 1] if manner is not None else low
        return np.asarray(found + share * (outlines.decision_function(outline) - found))

    def _models(self, parts: Parts) -> tuple[LogisticRegression, LogisticRegression | None, LogisticRegression | None]:
        """Of words and of outlines, and which tells manners; that one is None without any written answer."""
        rows, biased, weights = self._training(parts)
        written, outline = self._data.unvoted[rows], self._features.outline[rows]
        words = _logistic(self._matrix(rows, parts), biased, weights, STRENGTH)
        if parts.shares == NO_OUTLINES:
            return words, None, None
        outlines = _logistic(outline, biased, np.where(written, MANNERS, 1.0) * weights, STRENGTH)
        if not parts.written:
            return words, outlines, None
        even = np.where(written, (~written).sum() / written.sum(), 1.0)
        return words, outlines, _logistic(outline, written, even, 1.0)

    def _training(self, parts: Parts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows, whether they are biased, and how much they count."""
        used = [
            self._data.sample,
            *([self._data.targeted] if parts.targeted else []),
            *(self._data.written.values() if parts.written else []),
        ]
        kept = [(labels, self._allowed[labels.row]) for labels in used]
        rows = np.concatenate([labels.row[keep] for labels, keep in kept])
        biased = np.concatenate([labels.biased[keep] for labels, keep in kept])
        sure = np.concatenate([labels.sure[keep] for labels, keep in kept])
        return rows, biased, np.where(sure, 1.0, parts.unsure)

    def _matrix(self, rows: np.ndarray, parts: Parts) -> csr_matrix:
        words = self._features.answer[rows]
        columns = [words]
        if parts.question:
            columns.append(self._features.question[rows])
        if parts.weak:
            columns.append(csr_matrix(self.weak(rows)[:, None]))
        if parts.directions:
            columns.append(csr_matrix(SHARE * (words @ self._directions)))
        return hstack(columns).tocsr()


def _logistic(matrix: csr_matrix, biased: np.ndarray, weights: np.ndarray, strength: float) -> LogisticRegression:
    # In the dual there are as many unknowns as labels, which are fewer than words. The intercept is hardly held back.
    model = LogisticRegression(
        C=strength, solver="liblinear", dual=True, max_iter=PASSES, tol=1e-3, intercept_scaling=10, random_state=SEED
    )
    return model.fit(matrix, biased, sample_weight=weights)


def line(scores: np.ndarray, labels: Labels) -> tuple[float, float]:
    """Slope and intercept that turn held-out log-odds into calibrated ones (Platt 1999), by the sampling weights."""
    weights = 1 / labels.inclusion
    fitted = LogisticRegression(C=1e6).fit(scores[:, None], labels.biased, sample_weight=weights / weights.mean())
    return float(fitted.coef_[0, 0]), float(fitted.intercept_[0])
