"""Questions that say the same as another one, word for word or nearly, once the role is off."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from biaslens.benchmark.quality.text import ngrams, statement, words
from biaslens.benchmark.validation import question_key
from biaslens.schema import Question

NEAR = 0.8
"""Jaccard similarity of two sets of shingles from which on two questions are near duplicates."""

SHINGLE = 3
"""Words in a shingle."""

_BANDS, _ROWS = 25, 5
"""A pair of similarity s is looked at with probability 1 - (1 - s^5)^25: 0.99995 at 0.8."""

Pair = tuple[int, int]
"""Position of a question and of an earlier one that it repeats or resembles."""


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Repeats within a benchmark, roles off.

    Parameters
    ----------
    exact
        Questions that repeat an earlier one of their kind word for word, case apart.
    loose
        How many repeat one if punctuation, white space and the order of options are no matter either.
    near
        How many questions have another one at a Jaccard similarity of at least `NEAR`, repeats included.
    """

    exact: tuple[Pair, ...]
    loose: int
    near: int


def duplicates(questions: Sequence[Question]) -> Duplicates:
    """Find the repeats and near repeats of a benchmark.

    A mirror resembles its original by intent, so mirrors are looked at for exact repeats only.
    """
    originals = [question for question in questions if question.mirror is None]
    return Duplicates(
        exact=tuple(_repeats(map(_exact_key, questions))),
        loose=len(_repeats(map(question_key, originals))),
        near=near_duplicates([statement(question) for question in originals]),
    )


def _exact_key(question: Question) -> tuple[str, ...]:
    return (question.kind, question.text.strip().lower(), *(option.lower() for option in question.options))


def _repeats(keys: Iterable[tuple[str, ...]]) -> list[Pair]:
    first: dict[tuple[str, ...], int] = {}
    return [
        (position, seen) for position, key in enumerate(keys) if (seen := first.setdefault(key, position)) != position
    ]


def shingles(text: str) -> frozenset[tuple[str, ...]]:
    """Give the runs of three words of a text; a shorter text is one shingle."""
    found = words(text)
    return frozenset(ngrams(found, SHINGLE) or [tuple(found)])


def near_duplicates(texts: Sequence[str]) -> int:
    """Count the texts that have a near duplicate among the others.

    MinHash with locality-sensitive hashing (Leskovec, Rajaraman, Ullman, Mining of Massive Datasets, ch. 3) proposes
    pairs; the similarity of each is then computed exactly, so none is counted wrongly and a pair at the threshold
    is missed once in 20,000.
    """
    from datasketch import MinHash, MinHashLSH

    members: dict[frozenset[tuple[str, ...]], int] = {}
    for text in texts:
        key = shingles(text)
        members[key] = members.get(key, 0) + 1
    distinct = list(members)
    encoded = [[" ".join(shingle).encode() for shingle in key] for key in distinct]
    hashes = MinHash.bulk(encoded, num_perm=_BANDS * _ROWS, seed=1)
    index = MinHashLSH(params=(_BANDS, _ROWS), num_perm=_BANDS * _ROWS)
    near = np.array([members[key] > 1 for key in distinct])
    for position, (key, sketch) in enumerate(zip(distinct, hashes, strict=True)):
        for other in index.query(sketch):
            if not (near[position] and near[other]) and _similar(key, distinct[other]):
                near[position] = near[other] = True
        index.insert(position, sketch, check_duplication=False)
    return sum(members[key] for key, found in zip(distinct, near, strict=True) if found)


def _similar(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> bool:
    shared = len(one & other)
    return shared >= NEAR * (len(one) + len(other) - shared)
