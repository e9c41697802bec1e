"""How varied the wording is, on a sample of fixed size, for these measures fall as a text grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from biaslens.benchmark.quality.text import ngrams, statement, words
from biaslens.schema import Kind, Question, content_hash


@dataclass(frozen=True, slots=True)
class Diversity:
    """Variety of the wording of a sample.

    Parameters
    ----------
    sample
        Questions in the sample.
    distinct_1, distinct_2
        Distinct among all words, and among all pairs of neighbouring words: 0 to 1, higher is more varied.
    self_bleu
        How well each question is predicted by the others of its kind: 0 to 100, lower is more varied; NaN where no
        kind has two questions.
    """

    sample: int
    distinct_1: float
    distinct_2: float
    self_bleu: float


def sample(questions: Sequence[Question], per_kind: int, seed: int) -> list[Question]:
    """Draw the same number of questions of each kind (all, where there are fewer), the same ones for a seed.

    Which ones are drawn depends on the questions alone, not on their order or the version of Python.
    """
    drawn: list[Question] = []
    for kind in Kind:
        of_kind = [question for question in questions if question.kind is kind]
        drawn += sorted(of_kind, key=lambda question: content_hash(seed, question.id))[:per_kind]
    return drawn


def diversity(drawn: Sequence[Question]) -> Diversity:
    """Measure the variety of a sample."""
    tokens = [words(statement(question)) for question in drawn]
    by_kind = [[statement(question) for question in drawn if question.kind is kind] for kind in Kind]
    scores = [score for texts in by_kind if len(texts) > 1 for score in _bleu_of_each(texts)]
    return Diversity(
        sample=len(drawn),
        distinct_1=distinct(tokens, 1),
        distinct_2=distinct(tokens, 2),
        self_bleu=fmean(scores) if scores else float("nan"),
    )


def distinct(texts: Sequence[Sequence[str]], size: int) -> float:
    """Share of distinct among all runs of `size` words (Li et al. 2016, A diversity-promoting objective function).

    Examples
    --------
    >>> distinct([["are", "cats", "kind"], ["are", "dogs", "kind"]], 1)  # 4 words, 6 in all
    0.6666666666666666
    """
    runs = [run for text in texts for run in ngrams(text, size)]
    return len(set(runs)) / len(runs) if runs else float("nan")


def _bleu_of_each(texts: Sequence[str]) -> list[float]:
    """BLEU-4 of each text with all others as references: Self-BLEU (Zhu et al. 2018, Texygen), by sacrebleu."""
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(effective_order=True, lowercase=True)
    return [
        metric.sentence_score(text, [*texts[:index], *texts[index + 1 :]]).score for index, text in enumerate(texts)
    ]
