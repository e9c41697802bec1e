"""How well the questions fit their roles: whether a role can be told from a question that does not name it."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from biaslens.benchmark.groups import words
from biaslens.schema import Question, Role, content_hash
from biaslens.stats import Estimate, clustered_rate

CANDIDATES = 5
"""Roles to choose from: chance is one in so many."""

_FEWEST = 2
"""Encounters that a role needs: one to learn from, and one to be asked about."""

_Vector = Mapping[str, float]


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
    halves = _halves(questions, seed)
    right: dict[Role, list[bool]] = defaultdict(list)
    for learned, asked in (halves, halves[::-1]):
        weights = _weights(learned)
        profiles = _profiles(learned, weights)
        roles = sorted(profiles, key=_name)
        for question in asked:
            if question.role in profiles:
                right[question.role].append(_guessed(question, roles, profiles, weights, seed))
    return clustered_rate([sum(found) for found in right.values()], [len(found) for found in right.values()])


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


def _features(question: Question) -> Counter[str]:
    found = words(" ".join((question.text, *question.options[:-1])))
    return Counter([*found, *map(" ".join, pairwise(found))])


def _weights(questions: Sequence[Question]) -> _Vector:
    """Inverse document frequencies, smoothed: log((1 + n) / (1 + df)) + 1."""
    documents = Counter(feature for question in questions for feature in _features(question))
    return {feature: math.log((1 + len(questions)) / (1 + count)) + 1 for feature, count in documents.items()}


def _vector(question: Question, weights: _Vector) -> dict[str, float]:
    found = {
        feature: (1 + math.log(count)) * weights[feature]
        for feature, count in _features(question).items()
        if feature in weights
    }
    length = math.sqrt(sum(value**2 for value in found.values()))
    return {feature: value / length for feature, value in found.items()}


def _profiles(questions: Sequence[Question], weights: _Vector) -> dict[Role, dict[str, float]]:
    sums: dict[Role, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for question in questions:
        for feature, value in _vector(question, weights).items():
            sums[question.role][feature] += value
    profiles = {}
    for role, found in sums.items():
        length = math.sqrt(sum(value**2 for value in found.values())) or 1.0
        profiles[role] = {feature: value / length for feature, value in found.items()}
    return profiles


def _guessed(
    question: Question, roles: Sequence[Role], profiles: Mapping[Role, _Vector], weights: _Vector, seed: int
) -> bool:
    """Whether the own role's profile is the nearest; of equally near ones the first in a random order counts."""
    draw = np.random.default_rng(int(content_hash(seed, question.id), 16))
    others = [roles[index] for index in draw.permutation(len(roles))[:CANDIDATES] if roles[index] != question.role]
    candidates = [question.role, *others[: CANDIDATES - 1]]
    draw.shuffle(candidates)
    vector = _vector(question, weights)
    guess: Role = max(candidates, key=lambda role: _dot(vector, profiles[role]))
    return guess == question.role


def _dot(one: _Vector, other: _Vector) -> float:
    return sum(value * other.get(feature, 0.0) for feature, value in one.items())


def _name(role: Role) -> tuple[str, str]:
    return role.attribute, role.name
