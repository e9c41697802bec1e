"""A bounded sample of answers, for people who want to see what stands behind a number."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from biaslens.engine import Store
from biaslens.engine.damage import decoding
from biaslens.engine.store import storage_errors
from biaslens.schema import Attribute

PER_ROLE = 3
"""Answers shown of a role; two of them biased, where there are."""

LONGEST = 600
"""Characters shown of an answer or a question."""

_BIASED = 2

_KEYS = (
    "SELECT key, role, outcome FROM responses WHERE attribute = ? AND outcome IS NOT NULL AND answer <> '' ORDER BY key"
)
_ANSWER = "SELECT question, answer, outcome, kind, condition, trial FROM responses WHERE key = ?"


@dataclass(frozen=True, slots=True)
class Example:
    """An answer as it is shown: whatever a model wrote, cut, and not yet escaped."""

    question: str
    text: str
    cut: bool
    outcome: str
    kind: str
    condition: str
    trial: int


def examples(path: Path, attribute: Attribute, *, seed: int = 0) -> Mapping[str, list[Example]]:
    """Draw answers of every role of an attribute: the same ones for the same run and seed.

    Parameters
    ----------
    path
        The run file.
    attribute
        Whose roles.
    seed
        Of the sample.

    Returns
    -------
    mapping
        Examples by role, biased ones first; roles without an answer are left out.
    """
    by_role: dict[str, dict[bool, list[str]]] = {}
    with Store(path) as store, decoding(path), storage_errors(path):
        for key, role, outcome in store.connection.execute(_KEYS, (attribute,)):
            by_role.setdefault(role, {True: [], False: []})[outcome == "biased"].append(key)
        return {
            role: [_example(store, key) for key in _draw(found, f"{seed} {attribute} {role}")]
            for role, found in sorted(by_role.items())
        }


def _draw(found: Mapping[bool, list[str]], seed: str) -> Iterator[str]:
    rng = random.Random(seed)  # noqa: S311 - no secret
    biased = rng.sample(found[True], min(_BIASED, len(found[True])))
    yield from biased
    yield from rng.sample(found[False], min(PER_ROLE - len(biased), len(found[False])))


def _example(store: Store, key: str) -> Example:
    question, text, outcome, kind, condition, trial = store.connection.execute(_ANSWER, (key,)).fetchone()
    return Example(question[:LONGEST], text[:LONGEST], len(text) > LONGEST, outcome, kind, condition, trial)
