"""Do responses change with the group? Similarity and sentiment of counterfactual pairs, beside no-effect pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from biaslens import embedding
from biaslens.stats import Estimate
from biaslens.stats.resampling import GAP, Fold, Sums
from biaslens.usecase._lexicon import Lexicon
from biaslens.usecase._reading import Response, Series, check_groups
from biaslens.usecase._result import Measure, Resampling, Standout, Worst
from biaslens.usecase._spec import Recorder, Score, TextSpec
from biaslens.usecase._tokens import masked, taken, tokenise
from biaslens.usecase.metrics._scores import scsp_contrast, scsp_sums, wcsp_contrast, wcsp_sums
from biaslens.usecase.metrics._similarity import bleu_scores, rouge_l_scores, similarity_sums

TEST = "that responses to the second group lie no further from those to the first than these do from one another"
ASKED_ONCE = "each prompt was asked once a group; a second response shows how far apart two of one prompt lie"
_NEUTRAL = "someone"

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
_Similar = Callable[[Rows, Rows], Floats]
"""Similarity of the texts in these rows, pair by pair."""
_Place = tuple[str, int]
"""Prompt id and trial."""


@dataclass(slots=True)
class _Cell:
    """Responses to the prompts of one group in one series: texts, prompts where they are known, and withheld ones."""

    texts: dict[_Place, str] = field(default_factory=dict)
    prompts: dict[str, str] = field(default_factory=dict)
    withheld: set[_Place] = field(default_factory=set)

    def add(self, response: Response) -> None:
        place = (response.prompt_id, response.trial)
        if response.filtered:
            self.withheld.add(place)
        else:
            self.texts[place] = response.text
        if response.prompt is not None:
            self.prompts.setdefault(response.prompt_id, response.prompt)


class Cells:
    """All responses to counterfactual prompts, by attribute, group and series."""

    def __init__(self) -> None:
        self._cells: dict[tuple[str, str, Series], _Cell] = {}

    def add(self, part: Sequence[Response]) -> None:
        """Take in responses; those to prompts as they are do not belong here."""
        for response in part:
            if response.group:
                place = (response.attribute, response.group, response.series)
                self._cells.setdefault(place, _Cell()).add(response)

    def groups(self, attribute: str) -> list[str]:
        """Groups of an attribute that there are responses for."""
        return [of for name, of, series in self._cells if name == attribute and series is Series.COUNTERFACTUAL]

    def of(self, attribute: str, group: str, series: Series) -> _Cell:
        """The responses to one group in one series."""
        return self._cells.get((attribute, group, series), _Cell())


class _Opposed:
    """The responses to two groups, paired by prompt and trial and read once for all metrics.

    Parameters
    ----------
    texts, rows
        Different texts, and where those to the two groups stand among them; then, where prompts were asked again, those
        to group A, to group B, and to group A once more.
    units, triple_units
        The prompt of each pair from 0, and of each of those triples.
    scores
        A column a metric, a row a pair.
    """

    def __init__(self, cells: Cells, spec: TextSpec, attribute: str, groups: tuple[str, str]) -> None:
        self.spec, self.attribute, self.groups = spec, attribute, groups
        first, second = (cells.of(attribute, group, Series.COUNTERFACTUAL) for group in groups)
        again, partner = _asked_again(first, cells.of(attribute, groups[0], Series.NO_EFFECT))
        places = [place for place in first.texts if place in second.texts]
        three = [place for place in places if partner.get(place) in again]
        everywhere = first.texts.keys() | first.withheld, second.texts.keys() | second.withheld
        self._withheld = len((first.withheld | second.withheld) & everywhere[0] & everywhere[1])
        self._unpaired = len(everywhere[0] ^ everywhere[1])
        number = {name: index for index, name in enumerate(dict.fromkeys(name for name, _ in places))}
        self.units, self.triple_units = (
            np.array([number[name] for name, _ in there], dtype=np.intp) for there in (places, three)
        )
        self.count = len(number)
        self._prompts = [(first.prompts.get(name), second.prompts.get(name)) for name in number]
        one, two = first.texts, second.texts
        sides = [
            *([texts[place] for place in places] for texts in (one, two)),
            *([texts[place] for place in three] for texts in (one, two)),
            [again[partner[place]] for place in three],
        ]
        numbers = {text: index for index, text in enumerate(dict.fromkeys(text for side in sides for text in side))}
        self.texts = list(numbers)
        self.rows = [np.array([numbers[text] for text in side], dtype=np.intp) for side in sides]
        self.scores: dict[str, Sequence[object]] = {
            "prompt_id": [name for name, _ in places],
            "trial": [trial for _, trial in places],
        }

    def example(self, index: int, score: float, why: str) -> Standout:
        """A pair as an example."""
        return Standout(
            why=why,
            score=float(score),
            prompts=tuple(prompt for prompt in self._prompts[self.units[index]] if prompt is not None),
            texts=(self.texts[self.rows[0][index]], self.texts[self.rows[1][index]]),
            groups=self.groups,
        )

    def measure(self, metric: str, estimate: Estimate, *notes: str, **what: Any) -> Measure:  # noqa: ANN401 - fields
        """A metric of the pairs, with a note on what was left out."""
        left_out = [
            f"{self._withheld:,} pairs left out because a filter withheld a side" if self._withheld else "",
            f"{self._unpaired:,} responses left out because the other side is missing" if self._unpaired else "",
        ]
        return Measure(
            family="counterfactual",
            metric=metric,
            attribute=self.attribute,
            groups=self.groups,
            estimate=estimate,
            test=TEST,
            note="; ".join(filter(None, [*left_out, *notes])),
            **what,
        )


def _asked_again(first: _Cell, again: _Cell) -> tuple[dict[_Place, str], dict[_Place, _Place]]:
    """Texts of a second asking of the first group, and the place among them of each response.

    Where there are no no-effect responses, the second half of a prompt's responses stands for the second asking.
    """
    if again.texts:
        return again.texts, {place: place for place in again.texts}
    trials: dict[str, list[int]] = {}
    for name, trial in first.texts:
        trials.setdefault(name, []).append(trial)
    partner: dict[_Place, _Place] = {}
    for name, there in trials.items():
        half = len(there) // 2
        ordered = sorted(there)
        partner |= {(name, one): (name, two) for one, two in zip(ordered[:half], ordered[half:], strict=False)}
    return first.texts, partner


class _Vectors:
    """Sentence embeddings, each different text being embedded once.

    Protected words are replaced first, unless `plain`: otherwise two responses would differ by naming the group that
    they were asked about, and no model could be fair.
    """

    def __init__(self) -> None:
        self._known: dict[str, Floats] = {}

    def between(self, texts: Sequence[str], lexicon: Lexicon, *, plain: bool) -> _Similar:
        """Cosine of the texts of two rows each."""
        hidden = texts if plain else [_neutral(text, lexicon) for text in texts]
        if new := [text for text in dict.fromkeys(hidden) if text not in self._known]:
            self._known.update(zip(new, embedding.embed(new), strict=True))
        vectors = np.array([self._known[text] for text in hidden]).reshape(len(hidden), -1 if hidden else 1)
        return lambda a, b: np.einsum("ij,ij->i", vectors[a], vectors[b]).clip(-1, 1).astype(np.float64)


def _neutral(text: str, lexicon: Lexicon) -> str:
    parts, end = [], 0
    for found in lexicon.find(text):
        parts += [text[end : found.start], _NEUTRAL]
        end = found.end
    return "".join([*parts, text[end:]])


async def counterfactual_measures(
    cells: Cells, spec: TextSpec, score: Score, recorder: Recorder
) -> tuple[list[Measure], dict[str, list[Standout]]]:
    """Every counterfactual metric of every pair of groups, and the pairs that stand out most by heading."""
    measures: list[Measure] = []
    least, widest, vectors = Worst(), Worst(), _Vectors()
    for attribute, wanted in spec.compared.items():
        there = cells.groups(attribute)
        check_groups(len(there), attribute)
        for groups in combinations([group for group in wanted if group in there], 2):
            opposed = _Opposed(cells, spec, attribute, groups)
            if not spec.path.sentiment_only:
                measures += _similarities(opposed, vectors, least)
            measures += await _sentiments(opposed, score, widest)
            recorder.pairs(attribute, groups, opposed.scores)
    return measures, {"Pairs least alike": least.examples(), "Pairs furthest apart in sentiment": widest.examples()}


def _similarities(opposed: _Opposed, vectors: _Vectors, worst: Worst) -> Iterator[Measure]:
    tokens = tokenise(opposed.texts)
    hidden = masked(tokens, opposed.spec.lexicon.match(tokens))

    def rouge_l(a: Rows, b: Rows) -> Floats:
        return rouge_l_scores(taken(hidden, a), taken(hidden, b))

    def bleu(a: Rows, b: Rows) -> Floats:
        return bleu_scores(taken(hidden, a), taken(hidden, b))

    first, second, *_ = opposed.rows
    for index, score in enumerate(rouge_l(first, second)):
        if worst.wants(-score):
            worst.add(opposed.example(index, score, f"ROUGE-L {score:.2f}"), -score)
    yield _similarity(opposed, "ROUGE-L", rouge_l)
    yield _similarity(opposed, "BLEU", bleu)
    if embedding.available():
        plain = opposed.spec.options.variant == "langfair"
        between = vectors.between(opposed.texts, opposed.spec.lexicon, plain=plain)
        cosine = _similarity(opposed, "Cosine", between, bounds=(-1.0, 1.0))
        note = "" if plain else f'protected words read "{_NEUTRAL}" in both texts'
        yield replace(cosine, note="; ".join(filter(None, [note, cosine.note])))


def _similarity(opposed: _Opposed, metric: str, similar: _Similar, bounds: tuple[float, float] = (0.0, 1.0)) -> Measure:
    """Mean similarity of the pairs, that of the no-effect pairs, and the test that it is no lower."""
    first, second, a, b, again = opposed.rows
    resampling, share, count = opposed.spec.options.resampling, bounds[0] == 0, opposed.count
    scores, within = similar(first, second), similar(a, again)
    opposed.scores[metric.lower().replace("-", "_")] = scores.tolist()
    itself = similarity_sums(within, opposed.triple_units, count)
    baseline, p = beside_itself(similar(a, b), within, itself, opposed.triple_units, resampling, share=share)
    estimate = resampling.estimate(similarity_sums(scores, opposed.units, count), share=share)
    what = {"units": estimate.items, "direction": "higher is fairer", "bounds": bounds, "baseline": baseline, "p": p}
    return opposed.measure(metric, estimate, **what)


def beside_itself(
    across: Floats,
    within: Floats,
    metric: Sums,
    units: Rows,
    resampling: Resampling,
    *,
    share: bool = False,
) -> tuple[Estimate, float]:
    """How like itself a group is (`metric` of `within`), and the test that the groups are no less alike (`across`).

    Exchanged is which response is the group's own.
    """
    if not len(units):
        return Estimate.undefined(ASKED_ONCE), nan
    known = ~(np.isnan(across) | np.isnan(within))
    sums = [np.bincount(units[known], scores[known], metric.units) for scores in (across, within)]
    number = np.bincount(units[known], minlength=metric.units).astype(np.float64)

    def gap(totals: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(totals[..., 2] > 0, (totals[..., 1] - totals[..., 0]) / totals[..., 2], np.nan)

    exchange = np.array([1, 0, 2], dtype=np.intp)
    tested = Sums(np.stack([*sums, number], axis=1), gap, lambda totals: "" if totals[2] else ASKED_ONCE, exchange)
    return resampling.estimate(metric, share=share), resampling.p(tested)


async def _sentiments(opposed: _Opposed, score: Score, worst: Worst) -> list[Measure]:
    """Distance of the sentiment of the two groups, strict and weak, that of the no-effect pairs, and the test."""
    options, scorer, count = opposed.spec.options, opposed.spec.scorers["sentiment"], opposed.count
    scores = await score(scorer, opposed.texts)
    first, second, *triple = (scores[rows] for rows in opposed.rows)
    missing = int(np.isnan([first, second]).sum())
    said = f"{missing:,} of {2 * len(first):,} responses have no sentiment score" if missing else ""
    for index, gap in enumerate(np.abs(first - second)):
        if worst.wants(gap):
            worst.add(opposed.example(index, gap, f"sentiment {first[index]:.2f} and {second[index]:.2f}"))
    opposed.scores |= {"sentiment_a": first.tolist(), "sentiment_b": second.tolist()}
    langfair = options.variant == "langfair"

    def weak(a: Floats, b: Floats, units: Rows) -> Sums:
        # The difference with its sign: its interval, folded, is that of the gap.
        return wcsp_sums(a, b, units, units, count, threshold=options.threshold, variant="langfair")

    def strict(a: Floats, b: Floats, units: Rows) -> Sums:
        return scsp_sums(a, b, units, units, count)

    def measure(
        metric: str, distance: Callable[..., Sums], contrast: Callable[..., Sums], fold: Fold | None = None
    ) -> Measure:
        across, baseline, p = distance(first, second, opposed.units), Estimate.undefined(ASKED_ONCE), nan
        if len(opposed.triple_units):
            within = distance(triple[0], triple[2], opposed.triple_units)
            baseline = options.resampling.estimate(within, fold=fold)
            p = options.resampling.p(contrast(triple, opposed.triple_units, count))
        estimate = options.resampling.estimate(across, fold=fold)
        signed = langfair and distance is weak
        return opposed.measure(
            metric,
            estimate,
            said,
            units=int(across.adding.sum()),
            direction="0 is fair" if signed else "lower is fairer",
            bounds=(-1.0, 1.0) if signed else (0.0, 1.0),
            baseline=baseline,
            p=p,
            scorer=scorer.name,
        )

    weak_contrast = partial(wcsp_contrast, threshold=options.threshold)
    return [
        measure("Sentiment, strict (SCSP)", strict, scsp_contrast),
        measure("Sentiment, weak (WCSP)", weak, weak_contrast, None if langfair else GAP),
    ]
