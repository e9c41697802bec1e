"""What is compared, and how evenly; how varied, readable and free of leaks the wording is."""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from biaslens.benchmark.groups import mentions, words
from biaslens.benchmark.quality.lint import FACTUAL, PERCEPTION
from biaslens.benchmark.quality.source import last_sentence, ngrams, statement
from biaslens.schema import Attribute, Kind, Mirror, Question, Role, content_hash


@dataclass(frozen=True, slots=True)
class Compared:
    """What a question seems to compare.

    `target` is the attribute of which most groups are named, of several the one named first; None where none is named.
    `groups` are those of that attribute, in the order in which the question names them.
    """

    target: Attribute | None
    groups: tuple[str, ...]


def estimate(question: Question) -> Compared:
    """Estimate target and groups of a question from its words alone, whatever the benchmark says of them.

    >>> from biaslens.schema import Kind, Role
    >>> baker = Role(Attribute.OCCUPATION, "Bakers", "a baker")
    >>> estimate(Question(baker, Kind.YES_NO, "Are older women wiser than young women?")).groups
    ('old', 'young')
    """
    return estimate_text(statement(question))


def estimate_text(text: str) -> Compared:
    """Estimate target and groups from a text."""
    named: dict[Attribute, dict[str, None]] = {}
    for attribute, group in mentions(text):
        named.setdefault(attribute, {})[group] = None
    if not named:
        return Compared(None, ())
    target = max(named, key=lambda attribute: len(named[attribute]))  # the first of the largest: insertion order
    return Compared(target, tuple(named[target]))


@dataclass(frozen=True, slots=True)
class Evenness:
    """How evenly counts of categories are spread.

    `categories` are those that occur, `bits` the Shannon entropy of their shares, `share` the entropy as a share of the
    most that is possible, 0 to 1; NaN where nothing was counted, and the share where that is 0.
    """

    total: int
    categories: int
    bits: float
    share: float

    @property
    def effective(self) -> float:
        """Number of equally frequent categories that would have the same entropy: 2 to the power of the bits."""
        return math.exp2(self.bits)


Matrix = Mapping[tuple[Attribute, Attribute], int]
"""Number of questions by attribute of the role and target attribute."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """What the questions compare.

    `known` is the share of questions whose target is known, `targets` the spread over target attributes, of which the
    most possible is that of all eleven alike, `pairs` that over sets of two or more groups, their order apart, of which
    the most possible is that of the sets that occur, all alike. `matrix` counts questions by attribute of the role and
    target.
    """

    known: float
    targets: Evenness
    pairs: Evenness
    matrix: Matrix


def recorded(questions: Sequence[Question]) -> list[Compared]:
    """Give target and groups as the benchmark records them; none where it does not."""
    return [Compared(question.target, question.groups) for question in questions]


def coverage(questions: Sequence[Question], compared: Sequence[Compared]) -> Coverage:
    """Measure the spread over targets and groups of what each question compares, recorded or estimated."""
    targets = Counter(one.target for one in compared if one.target is not None)
    pairs = Counter(pair(one) for one in compared if len(one.groups) > 1)
    matrix = Counter(
        (question.role.attribute, one.target)
        for question, one in zip(questions, compared, strict=True)
        if one.target is not None
    )
    return Coverage(
        known=targets.total() / len(questions) if questions else float("nan"),
        targets=evenness(targets.values(), possible=len(Attribute)),
        pairs=evenness(pairs.values()),
        matrix=dict(matrix),
    )


def pair(compared: Compared) -> tuple[Attribute | None, frozenset[str]]:
    """Groups as a set: two questions that name them in another order compare the same."""
    return compared.target, frozenset(map(str.casefold, compared.groups))


def evenness(counts: Iterable[int], *, possible: int | None = None) -> Evenness:
    """Measure how evenly counts are spread (C. E. Shannon 1948; as a share of the maximum, E. C. Pielou 1966).

    `possible` is the number of categories there could be; by default those that occur. 1/2 * 1 + 1/4 * 2 + 1/4 * 2 is
    1.5 bits, of log2(8) = 3:

    >>> evenness([2, 1, 1], possible=8)
    Evenness(total=4, categories=3, bits=1.5, share=0.5)
    """
    found = [count for count in counts if count > 0]
    total = sum(found)
    if not total:
        return Evenness(0, 0, float("nan"), float("nan"))
    bits = -sum(count / total * math.log2(count / total) for count in found)
    most = math.log2(len(found) if possible is None else possible)
    return Evenness(total, len(found), bits + 0.0, bits / most if most > 0 else float("nan"))


ENOUGH = 20
"""Questions about a pair from which on its order is judged."""


@dataclass(frozen=True, slots=True)
class Order:
    """How often each of two groups of the target is named first: the more usual one, and the other one."""

    target: Attribute
    first: str
    second: str
    ahead: int
    behind: int

    @property
    def total(self) -> int:
        """Questions about the two."""
        return self.ahead + self.behind

    @property
    def share(self) -> float:
        """Share that names the more usual one first: 0.5 is balanced, 1 always the same order."""
        return self.ahead / self.total


@dataclass(frozen=True, slots=True)
class Balance:
    """Mirrors, and the order of groups.

    `swapped` and `reversed` count questions that have such a mirror, of all `originals` and of the `yes_no` ones.
    `orders` are the pairs of groups asked about in at least `ENOUGH` questions, the most frequent first; `one_sided` is
    the share of these questions that name the pair in its more usual order, `option_a` the same for which group is
    option A of a choice; NaN without any.
    """

    swapped: int
    reversed: int
    yes_no: int
    originals: int
    orders: tuple[Order, ...]
    one_sided: float
    option_a: float


def balance(questions: Sequence[Question], compared: Sequence[Compared]) -> Balance:
    """Measure the balance of a benchmark.

    `compared` are the groups of each question in the order in which its text names them, in the same words throughout.
    """
    originals = [question for question in questions if question.mirror_of is None]
    mirrored = Counter({(question.mirror, question.mirror_of) for question in questions if question.mirror_of})
    kinds = Counter(mirror for mirror, _ in mirrored)
    orders = _orders(compared)
    return Balance(
        swapped=kinds[Mirror.SWAPPED],
        reversed=kinds[Mirror.REVERSED],
        yes_no=sum(question.kind is Kind.YES_NO for question in originals),
        originals=len(originals),
        orders=orders,
        one_sided=_one_sided(orders),
        option_a=_one_sided(_orders(list(_options(questions)))),
    )


def _options(questions: Sequence[Question]) -> Iterator[Compared]:
    for question in questions:
        if question.kind is Kind.CHOICE and len(question.options) == 3:
            yield estimate_text(" / ".join(question.options[:-1]))


def _orders(compared: Sequence[Compared]) -> tuple[Order, ...]:
    counts: dict[object, Counter[tuple[Attribute, str, str]]] = {}
    for one in compared:
        if one.target is not None and len(one.groups) == 2:
            counts.setdefault(pair(one), Counter())[one.target, one.groups[0], one.groups[1]] += 1
    found = []
    for ways in counts.values():
        if ways.total() >= ENOUGH:
            (target, first, second), ahead = ways.most_common(1)[0]
            found.append(Order(target, first, second, ahead, ways.total() - ahead))
    return tuple(sorted(found, key=lambda order: (-order.total, order.target, order.first)))


def _one_sided(orders: Sequence[Order]) -> float:
    total = sum(order.total for order in orders)
    return sum(order.ahead for order in orders) / total if total else float("nan")


@dataclass(frozen=True, slots=True)
class Diversity:
    """Variety of the wording of a sample.

    `distinct_1` and `distinct_2` are the shares of distinct among all words, and among all pairs of neighbouring words:
    higher is more varied. `self_bleu`, 0 to 100, says how well each question is predicted by the others of its kind:
    lower is more varied; NaN where no kind has two questions.
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

    4 different words, 6 in all:

    >>> distinct([["are", "cats", "kind"], ["are", "dogs", "kind"]], 1)
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


@dataclass(frozen=True, slots=True)
class Manner:
    """How questions are put.

    `openings` is the spread over the first three words of what is asked, scenes apart, and `commonest` the share of
    questions that begin in one of the ten commonest ways. `perception` is the share that asks what people think, which
    a fair person can answer, and `factual` the share that law, statistics or bodies decide: both by the words of
    wording.toml, so at least so many.
    """

    openings: Evenness
    commonest: float
    perception: float
    factual: float


def manner(questions: Sequence[Question]) -> Manner:
    """Measure how questions are put."""
    texts = [statement(question) for question in questions]
    openings = Counter(tuple(words(last_sentence(question.text))[:3]) for question in questions)
    total = len(texts) or float("nan")
    return Manner(
        openings=evenness(openings.values()),
        commonest=sum(count for _, count in openings.most_common(10)) / total,
        perception=sum(bool(PERCEPTION.search(text)) for text in texts) / total,
        factual=sum(bool(FACTUAL.search(text)) for text in texts) / total,
    )


@dataclass(frozen=True, slots=True)
class Spread:
    """Variety of the meaning of a sample.

    `similarity` is the mean cosine similarity of two different questions: lower is more varied. `vendi` is the
    effective number of different questions in the sample, 1 to its size: higher is more varied.
    """

    similarity: float
    vendi: float


def spread(vectors: NDArray[np.float64]) -> Spread:
    """Measure how far vectors of length 1 lie apart, shape (items, dimensions); similarity needs two of them.

    Four items that share nothing:

    >>> spread(np.eye(4)).vendi
    4.0
    """
    count = len(vectors)
    total = float(np.square(vectors.sum(axis=0)).sum())
    similarity = (total - count) / (count * (count - 1)) if count > 1 else float("nan")
    return Spread(similarity, vendi_score(vectors))


def vendi_score(vectors: NDArray[np.float64]) -> float:
    """Exponential of the entropy of the eigenvalues of K / n, K the similarities (Friedman & Dieng 2023, eq. 1).

    The smaller of the two Gram matrices has the same eigenvalues but for zeros.
    """
    count, dimensions = vectors.shape
    if not count:
        return float("nan")
    gram = vectors @ vectors.T if count <= dimensions else vectors.T @ vectors
    weights = np.linalg.eigvalsh(gram / count)
    weights = weights[weights > 1e-12]
    return float(np.exp(-(weights * np.log(weights)).sum()))


@dataclass(frozen=True, slots=True)
class Leak:
    """A word of judgement in the name or persona of a role.

    `theme` is what it judges: competence, diligence, warmth, morals, temper or standing.
    """

    role: Role
    word: str
    theme: str

    @property
    def by_design(self) -> bool:
        """Whether the role is one of character, which is made of such a trait."""
        return self.role.attribute is Attribute.CHARACTER


def leaks(roles: Sequence[Role]) -> tuple[Leak, ...]:
    """Find the roles whose name or persona has a word of ``traits.toml``, each role once.

    A lexicon sees words, not meanings: it finds "lazy students" and misses a stereotype told in a story.
    """
    themes = _themes()
    found = []
    for role in roles:
        said = [*words(role.name), *words(role.persona)]
        if word := next((word for word in said if word in themes), None):
            found.append(Leak(role, word, themes[word]))
    return tuple(found)


@cache
def _themes() -> Mapping[str, str]:
    table = tomllib.loads(Path(__file__).with_name("traits.toml").read_text(encoding="utf-8"))
    return {word: theme for theme, listed in table.items() for word in listed}


_VOWELS = re.compile(r"[aeiouy]+")
_SILENT_END = re.compile(r"(?:[^laeiouy]e|[^aeiouytd]ed|[^aeiouylcgsxzh]es)$")


@dataclass(frozen=True, slots=True)
class Readability:
    """Length and ease of reading.

    `lengths` are words in a question: least, lower quartile, median, upper quartile, most. `flesch` is the Flesch
    Reading Ease, each question one sentence: 0 to 100 or so, higher is easier; `grade` that of Flesch and Kincaid:
    years of school in the United States.
    """

    lengths: tuple[float, float, float, float, float]
    mean_length: float
    flesch: float
    grade: float


def readability(texts: Sequence[str]) -> Readability:
    """Measure texts, each of which is one sentence.

    Flesch Reading Ease is ``206.835 - 1.015 w - 84.6 s`` and the grade ``0.39 w + 11.8 s - 15.59``, with w words a
    sentence and s syllables a word (R. Flesch 1948, A new readability yardstick; J. P. Kincaid et al. 1975).
    """
    found = [words(text) for text in texts]
    counts = np.array([len(text) for text in found])
    memory: dict[str, int] = {}
    total = 0
    for word in (word for text in found for word in text):
        if word not in memory:
            memory[word] = syllables(word)
        total += memory[word]
    per_sentence, per_word = float(counts.mean()), total / max(int(counts.sum()), 1)
    least, lower, median, upper, most = map(float, np.percentile(counts, [0, 25, 50, 75, 100]))
    return Readability(
        lengths=(least, lower, median, upper, most),
        mean_length=per_sentence,
        flesch=206.835 - 1.015 * per_sentence - 84.6 * per_word,
        grade=0.39 * per_sentence + 11.8 * per_word - 15.59,
    )


def syllables(word: str) -> int:
    """Estimate the syllables of a word: its groups of vowels, a silent ending apart; at least one a part.

    >>> [syllables(word) for word in ("kinder", "trade", "table", "hired", "trusted", "hard-working", "houses")]
    [2, 1, 2, 1, 2, 3, 2]
    """
    return sum(_part(part) for part in word.lower().split("-"))


def _part(part: str) -> int:
    groups = len(_VOWELS.findall(part))
    return max(groups - bool(_SILENT_END.search(part)), 1)
