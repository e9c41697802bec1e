"""Everything that is measured of a benchmark; whether a role can be told from a question that does not name it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from biaslens._util.text import finite
from biaslens.benchmark.groups import words
from biaslens.benchmark.quality.lint import Duplicates, duplicates, lint
from biaslens.benchmark.quality.source import Fault, Requirement, Source, statement
from biaslens.benchmark.quality.variety import (
    Balance,
    Coverage,
    Diversity,
    Leak,
    Manner,
    Readability,
    Spread,
    balance,
    coverage,
    diversity,
    estimate,
    leaks,
    manner,
    readability,
    recorded,
    sample,
    spread,
)
from biaslens.embedding import HOW_TO_INSTALL, MODEL, available, embed
from biaslens.schema import Attribute, Kind, Question, Role, content_hash
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


_Found = TypeVar("_Found")

SAMPLE = 200
"""Questions of each kind in the sample on which diversity is measured."""


@dataclass(frozen=True)
class Quality:
    """What was found out about a benchmark.

    The faults stand in file order; `counts` are questions by attribute of the role and kind; `readability` is that of
    each kind, and of all (None). `spread` is None where no embedding model is installed. What is compared is
    `estimated` from the words, the same way for every benchmark, and `recorded` as the benchmark itself says, None
    where it says nothing; `agreement` is the share of the questions with a recorded target for which both are the same.
    `role_fit` says whether questions fit their roles, `manner` how they are put. `seed` is that of the sample.
    """

    source: Source
    faults: tuple[Fault, ...] = field(repr=False)
    counts: Mapping[tuple[Attribute, Kind], int] = field(repr=False)
    duplicates: Duplicates = field(repr=False)
    diversity: Diversity
    spread: Spread | None
    estimated: Coverage = field(repr=False)
    recorded: Coverage | None = field(repr=False)
    agreement: float
    leaks: tuple[Leak, ...]
    readability: Mapping[Kind | None, Readability]
    balance: Balance = field(repr=False)
    manner: Manner
    role_fit: Estimate
    seed: int

    @property
    def by_rule(self) -> Mapping[Requirement, int]:
        """Number of faults of each rule, 0 included."""
        found = Counter(fault.rule for fault in self.faults)
        return {rule: found[rule] for rule in Requirement}


MEASUREMENTS = 12
"""How often `check` calls its `step`."""


def check(source: Source, *, seed: int = 0, per_kind: int = SAMPLE, step: Callable[[], None] = lambda: None) -> Quality:
    """Find all faults of a benchmark, and measure how good it is; diversity on a sample of `per_kind` of each kind.

    `step` is called after each of the `MEASUREMENTS`.
    """

    def done(found: _Found) -> _Found:
        step()
        return found

    questions = source.questions
    drawn = sample(questions, per_kind, seed)
    repeats = done(duplicates(questions))
    estimates = done([estimate(question) for question in questions])
    known = [(one.target, question.target) for one, question in zip(estimates, questions, strict=True)]
    told = [(found, target) for found, target in known if target is not None]
    texts = {kind: [statement(q) for q in questions if kind in (None, q.kind)] for kind in (*Kind, None)}
    return Quality(
        source=source,
        faults=done(lint(source, repeats.exact)),
        counts=Counter((question.role.attribute, question.kind) for question in questions),
        duplicates=repeats,
        diversity=done(diversity(drawn)),
        spread=done(spread(embed([statement(question) for question in drawn])) if available() else None),
        estimated=done(coverage(questions, estimates)),
        recorded=done(coverage(questions, recorded(questions)) if told else None),
        agreement=sum(found == target for found, target in told) / len(told) if told else float("nan"),
        leaks=done(leaks(source.roles)),
        readability=done({kind: readability(said) for kind, said in texts.items() if said}),
        balance=done(balance(questions, estimates)),
        manner=done(manner(questions)),
        role_fit=done(role_fit(questions, seed=seed)),
        seed=seed,
    )


def as_record(quality: Quality) -> object:
    """Give a report as JSON-able values, all faults included; what was not measured is null."""
    source, found, fit = quality.source, quality.duplicates, quality.role_fit
    record = {
        "benchmark": source.name,
        "version": source.version,
        "roles": len(source.roles),
        "questions": len(source.questions),
        "counts": [
            {"attribute": attribute, "kind": kind, "questions": count}
            for (attribute, kind), count in quality.counts.items()
        ],
        "notes": source.notes,
        "faults_by_rule": {rule.value: count for rule, count in quality.by_rule.items()},
        "faults": [asdict(fault) for fault in quality.faults],
        "repeats": {"exact": len(found.exact), "loose": found.loose, "with_near_duplicate": found.near},
        "diversity": asdict(quality.diversity) | {"seed": quality.seed},
        "embeddings": _embeddings(quality),
        "estimated": _coverage(quality.estimated) | {"agreement_with_recorded": quality.agreement},
        "recorded": _coverage(quality.recorded) if quality.recorded else None,
        "leaks": [
            {"attribute": leak.role.attribute, "role": leak.role.name, "persona": leak.role.persona}
            | {"word": leak.word, "theme": leak.theme, "by_design": leak.by_design}
            for leak in quality.leaks
        ],
        "readability": {kind or "all": asdict(part) for kind, part in quality.readability.items()},
        "balance": asdict(quality.balance),
        "manner": asdict(quality.manner),
        "role_fit": {"share": fit.value, "low": fit.low, "high": fit.high, "chance": 1 / CANDIDATES},
    }
    return finite(record)


def _embeddings(quality: Quality) -> dict[str, Any]:
    if quality.spread is None:
        return {"model": MODEL, "similarity": None, "vendi": None, "not_measured": HOW_TO_INSTALL}
    return {"model": MODEL} | asdict(quality.spread)


def _coverage(found: Coverage) -> dict[str, Any]:
    return {
        "known": found.known,
        "targets": asdict(found.targets),
        "groups": asdict(found.pairs),
        "matrix": [
            {"role": role, "target": target, "questions": count} for (role, target), count in found.matrix.items()
        ],
    }
