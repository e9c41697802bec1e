"""How well the questions fit their roles: whether a role can be told from a question that does not name it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from biaslens.benchmark.groups import words
from biaslens.schema import Question, Role, content_hash
from biaslens.stats import Estimate, clustered_mean

CANDIDATES = 5
"""Roles to choose from: chance is one in so many."""

_FEWEST = 2
"""Encounters that a role needs: one to learn from, and one to be asked about."""


def role_fit(questions: Sequence[Question], *, seed: int = 0) -> Estimate:
    """Share of the questions whose role is guessed, out of `CANDIDATES`, from the words of the role's other questions.

    The encounters of a role (its questions, where a benchmark has none) are shared out at random into two halves. From
    one half each role gets a profile, the sum of the TF-IDF vectors of its questions (words and pairs of words); each
    question of the other half is then given to that of its own role and four others drawn at random whose profile has
    the largest cosine with it. Both halves are profile once. A persona in front would give the answer away, so only
    the text without the role is read.

    Below chance is possible: where each role is dealt its comparisons without repeats, the other half of a role is the
    one place where a question's words are not.
    """
    # Only here: other checks need none of it, and it takes long to load.
    from scipy.sparse import csr_array
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    draw = np.random.default_rng(seed)
    halves = _halves(questions, seed)
    roles = sorted({question.role for question in halves[0]}, key=lambda role: (role.attribute, role.name))
    place = {role: position for position, role in enumerate(roles)}
    right, asked_of = [np.zeros(0)], [np.zeros(0, dtype=np.int64)]
    for learned, asked in (halves, halves[::-1]) if len(roles) >= CANDIDATES else ():
        own = [np.array([place[question.role] for question in half]) for half in (learned, asked)]
        vectors = TfidfVectorizer(analyzer=_features, sublinear_tf=True)
        known = vectors.fit_transform(learned)
        belongs = csr_array((np.ones(len(learned)), (own[0], np.arange(len(learned)))), (len(roles), len(learned)))
        profiles, texts = normalize(belongs @ known), vectors.transform(asked)
        # Others than the own role, and the own one first; of equally near ones each is as likely to be guessed.
        others = np.array([draw.choice(len(roles) - 1, CANDIDATES - 1, replace=False) for _ in asked])
        candidates = np.column_stack([own[1], others + (others >= own[1][:, None])])
        near = [np.asarray(texts.multiply(profiles[column]).sum(axis=1)).ravel() for column in candidates.T]
        nearest = np.column_stack(near) >= np.max(near, axis=0)[:, None] - 1e-12
        right.append(nearest[:, 0] / nearest.sum(axis=1))
        asked_of.append(own[1])
    return clustered_mean(np.concatenate(right), np.concatenate(asked_of), bounds=(0, 1))


def _halves(questions: Sequence[Question], seed: int) -> tuple[list[Question], list[Question]]:
    by_role: dict[Role, dict[str, list[Question]]] = defaultdict(lambda: defaultdict(list))
    for question in questions:
        by_role[question.role][question.encounter or question.id].append(question)
    halves: tuple[list[Question], list[Question]] = ([], [])
    for encounters in by_role.values():
        if len(encounters) >= _FEWEST:
            for number, key in enumerate(sorted(encounters, key=lambda key: content_hash(seed, key))):
                halves[number % 2].extend(encounters[key])
    return halves


def _features(question: Question) -> list[str]:
    found = words(" ".join((question.text, *question.options[:-1])))
    return [*found, *map(" ".join, pairwise(found))]
