"""Do responses change with the group? Similarity and sentiment of counterfactual pairs, beside no-effect pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import nan

import numpy as np
from numpy.typing import NDArray

from biaslens import embedding
from biaslens.stats import Estimate
from biaslens.usecase.assessing.contrast import scsp_contrast, wcsp_contrast
from biaslens.usecase.assessing.pairing import Cells, Pairs
from biaslens.usecase.assessing.spec import Score, TextSpec
from biaslens.usecase.assessing.worst import Worst
from biaslens.usecase.marked import masked, taken
from biaslens.usecase.metrics.sentiment import scsp_sums, wcsp_sums
from biaslens.usecase.metrics.similarity import bleu_scores, rouge_l_scores, similarity_sums
from biaslens.usecase.reading import check_groups
from biaslens.usecase.recording import Recorder
from biaslens.usecase.resampling import GAP, Fold
from biaslens.usecase.result import Example, Measure
from biaslens.usecase.sparse import SparseSums
from biaslens.usecase.sums import Sums
from biaslens.usecase.swapping import SwappedSums
from biaslens.usecase.tokens import tokenise
from biaslens.usecase.words import Lexicon

TEST = "that responses to the second group lie no further from those to the first than these do from one another"
ASKED_ONCE = "each prompt was asked once a group; a second response shows how far apart two of one prompt lie"
_NEUTRAL = "someone"

Rows = NDArray[np.intp]
Similar = Callable[[Rows, Rows], NDArray[np.float64]]
"""Similarity of the texts in these rows, pair by pair."""


class Vectors:
    """Sentence embeddings, each different text being embedded once.

    Protected words are replaced first: otherwise two responses would differ by naming the group that they were asked
    about, and no model could be fair.
    """

    def __init__(self) -> None:
        self.available = embedding.available()
        self._known: dict[str, NDArray[np.float64]] = {}

    def between(self, opposed: Opposed, *, plain: bool) -> Similar:
        """Cosine of the texts of two rows each; plain with their protected words."""
        lexicon = opposed.spec.lexicon
        hidden = opposed.texts if plain else [_neutral(text, lexicon) for text in opposed.texts]
        new = [text for text in dict.fromkeys(hidden) if text not in self._known]
        if new:
            self._known.update(zip(new, embedding.embed(new), strict=True))
        vectors = np.array([self._known[text] for text in hidden]).reshape(len(hidden), -1 if hidden else 1)

        def similar(a: Rows, b: Rows) -> NDArray[np.float64]:
            return np.asarray(np.einsum("ij,ij->i", vectors[a], vectors[b]).clip(-1, 1), dtype=np.float64)

        return similar


def _neutral(text: str, lexicon: Lexicon) -> str:
    parts, end = [], 0
    for found in lexicon.find(text):
        parts += [text[end : found.start], _NEUTRAL]
        end = found.end
    return "".join([*parts, text[end:]])


class Opposed:
    """The responses to two groups, read once for all metrics.

    Parameters
    ----------
    pairs
        The responses.
    spec
        Lexicon, scorers and resampling.
    attribute, groups
        Whom they are about.
    """

    def __init__(self, pairs: Pairs, spec: TextSpec, attribute: str, groups: tuple[str, str]) -> None:
        self.pairs = pairs
        self.spec = spec
        self.attribute = attribute
        self.groups = groups
        triples = pairs.triples
        sides = (pairs.first, pairs.second, triples.first, triples.second, triples.again)
        self.texts = list(dict.fromkeys(text for side in sides for text in side))
        number = {text: index for index, text in enumerate(self.texts)}
        self.rows = [np.array([number[text] for text in side], dtype=np.intp) for side in sides]
        # A score a pair, by metric, for whoever wants to look at them one by one.
        self.scores: dict[str, Sequence[object]] = {
            "prompt_id": [name for name, _ in pairs.places],
            "trial": [trial for _, trial in pairs.places],
        }
        tokens = tokenise(self.texts)
        self.masked = masked(tokens, spec.lexicon.match(tokens))

    def note(self) -> str:
        """What was left out."""
        said = []
        if self.pairs.withheld:
            said.append(f"{self.pairs.withheld:,} pairs left out because a filter withheld a side")
        if self.pairs.unpaired:
            said.append(f"{self.pairs.unpaired:,} responses left out because the other side is missing")
        return "; ".join(said)

    def measure(self, metric: str, estimate: Estimate, **what: object) -> Measure:
        """A measure of these two groups."""
        made = Measure(
            family="counterfactual",
            metric=metric,
            attribute=self.attribute,
            groups=self.groups,
            estimate=estimate,
            units=self.pairs.count,
            direction="",
            note=self.note(),
        )
        return replace(made, **what)  # type: ignore[arg-type]

    def example(self, index: int, score: float, why: str) -> Example:
        """A pair as an example."""
        pairs = self.pairs
        asked = pairs.prompts[pairs.units[index]]
        return Example(
            why=why,
            score=float(score),
            prompts=tuple(prompt for prompt in asked if prompt is not None),
            texts=(pairs.first[index], pairs.second[index]),
            groups=self.groups,
        )


async def counterfactual_measures(
    cells: Cells, spec: TextSpec, score: Score, recorder: Recorder
) -> tuple[list[Measure], dict[str, list[Example]]]:
    """Every counterfactual metric of every pair of groups, and the pairs that stand out most by heading."""
    measures: list[Measure] = []
    least, widest, vectors = Worst(), Worst(), Vectors()
    for attribute, wanted in spec.compared.items():
        there = cells.groups(attribute)
        check_groups(len(there), attribute)
        for groups in combinations([group for group in wanted if group in there], 2):
            opposed = Opposed(cells.pairs(attribute, *groups), spec, attribute, groups)
            if not spec.path.sentiment_only:
                measures += _similarities(opposed, vectors, least)
            measures += await _sentiments(opposed, score, widest)
            recorder.pairs(attribute, groups, opposed.scores)
    return measures, {"Pairs least alike": least.examples(), "Pairs furthest apart in sentiment": widest.examples()}


def _similarities(opposed: Opposed, vectors: Vectors, worst: Worst) -> Iterator[Measure]:
    hidden = opposed.masked

    def rouge_l(a: Rows, b: Rows) -> NDArray[np.float64]:
        return rouge_l_scores(taken(hidden, a), taken(hidden, b))

    def bleu(a: Rows, b: Rows) -> NDArray[np.float64]:
        return bleu_scores(taken(hidden, a), taken(hidden, b))

    first, second, *_ = opposed.rows
    scores = rouge_l(first, second)
    for index, score in enumerate(scores):
        if worst.wants(-score):
            worst.add(opposed.example(index, score, f"ROUGE-L {score:.2f}"), -score)
    yield _similarity(opposed, "ROUGE-L", rouge_l)
    yield _similarity(opposed, "BLEU", bleu)
    if vectors.available:
        plain = opposed.spec.variant == "langfair"
        cosine = _similarity(opposed, "Cosine", vectors.between(opposed, plain=plain), bounds=(-1.0, 1.0))
        note = "" if plain else f'protected words read "{_NEUTRAL}" in both texts'
        yield replace(cosine, note="; ".join(filter(None, [note, cosine.note])))


def _similarity(opposed: Opposed, metric: str, similar: Similar, bounds: tuple[float, float] = (0.0, 1.0)) -> Measure:
    """Mean similarity of the pairs, that of the no-effect pairs, and the test that it is no lower."""
    first, second, a, b, again = opposed.rows
    pairs, count, resampling = opposed.pairs, opposed.pairs.count, opposed.spec.resampling
    scores = similar(first, second)
    opposed.scores[metric.lower().replace("-", "_")] = scores.tolist()
    mean = similarity_sums(scores, pairs.units, count)
    across, within = similar(a, b), similar(a, again)
    units = pairs.triples.units
    share = bounds[0] == 0
    baseline = Estimate.undefined(ASKED_ONCE)
    if len(units):
        baseline = resampling.estimate(similarity_sums(within, units, count), share=share)
    estimate = resampling.estimate(mean, share=share)
    return opposed.measure(
        metric,
        estimate,
        units=estimate.items,
        direction="higher is fairer",
        bounds=bounds,
        baseline=baseline,
        p=resampling.p(gap_of(across, within, units, count)) if len(units) else nan,
        test=TEST,
    )


def gap_of(across: NDArray[np.float64], within: NDArray[np.float64], units: Rows, count: int) -> SwappedSums:
    """How much less alike the groups are than a group is to itself; exchanged is which response is the group's own."""
    known = ~(np.isnan(across) | np.isnan(within))
    units = units[known]
    sums = [np.bincount(units, scores[known], count) for scores in (across, within)]
    number = np.bincount(units, minlength=count).astype(np.float64)

    def gap(totals: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(totals[..., 2] > 0, (totals[..., 1] - totals[..., 0]) / totals[..., 2], np.nan)

    as_is = Sums(np.stack([*sums, number], axis=1), gap, lambda totals: "" if totals[2] else ASKED_ONCE)
    return SwappedSums(as_is, Sums(as_is.sums[:, [1, 0, 2]], gap, as_is.reason))


async def _sentiments(opposed: Opposed, score: Score, worst: Worst) -> list[Measure]:
    """Distance of the sentiment of the two groups, strict and weak, that of the no-effect pairs, and the test."""
    spec, pairs = opposed.spec, opposed.pairs
    scorer = spec.scorers["sentiment"]
    scores = await score(scorer, opposed.texts)
    missing = int(np.isnan(scores[np.concatenate(opposed.rows[:2])]).sum())
    said = f"{missing:,} of {2 * len(pairs.first):,} responses have no sentiment score" if missing else ""
    note = "; ".join(filter(None, [opposed.note(), said]))
    first, second, *triple = (scores[rows] for rows in opposed.rows)
    for index, gap in enumerate(np.abs(first - second)):
        if worst.wants(gap):
            worst.add(opposed.example(index, gap, f"sentiment {first[index]:.2f} and {second[index]:.2f}"))
    opposed.scores |= {"sentiment_a": first.tolist(), "sentiment_b": second.tolist()}
    a, _, again = triple
    units, count, few = pairs.triples.units, pairs.count, spec.threshold
    signed = spec.variant == "langfair"
    there = len(units) > 0
    strict = Sentiment(
        across=scsp_sums(first, second, pairs.units, pairs.units, count),
        within=scsp_sums(a, again, units, units, count) if there else None,
        contrast=scsp_contrast(triple, units, count) if there else None,
    )
    # The difference with its sign: its interval, folded, is that of the gap.
    weak = Sentiment(
        across=wcsp_sums(first, second, pairs.units, pairs.units, count, threshold=few, variant="langfair"),
        within=wcsp_sums(a, again, units, units, count, threshold=few, variant="langfair") if there else None,
        contrast=wcsp_contrast(triple, units, count, threshold=few) if there else None,
        fold=None if signed else GAP,
    )
    return [
        replace(strict.measure(opposed, "Sentiment, strict (SCSP)", scorer.name, signed=False), note=note),
        replace(weak.measure(opposed, "Sentiment, weak (WCSP)", scorer.name, signed=signed), note=note),
    ]


@dataclass(frozen=True, slots=True)
class Sentiment:
    """One metric on sentiment: of the pairs, of the no-effect pairs, and the difference of both.

    Parameters
    ----------
    across, within, contrast
        The three; the last two are None where every prompt was asked once.
    fold
        How a metric with a sign becomes the one without.
    """

    across: SparseSums
    within: SparseSums | None
    contrast: SparseSums | None
    fold: Fold | None = None

    def measure(self, opposed: Opposed, metric: str, scorer: str, *, signed: bool) -> Measure:
        """The measure of two groups."""
        resampling = opposed.spec.resampling
        baseline = Estimate.undefined(ASKED_ONCE)
        if self.within is not None:
            baseline = resampling.estimate(self.within, fold=self.fold)
        return opposed.measure(
            metric,
            resampling.estimate(self.across, fold=self.fold),
            units=int((np.diff(self.across.sums.indptr) > 0).sum()),
            direction="0 is fair" if signed else "lower is fairer",
            bounds=(-1.0, 1.0) if signed else (0.0, 1.0),
            baseline=baseline,
            p=nan if self.contrast is None else resampling.p(self.contrast),
            test=TEST,
            scorer=scorer,
        )
