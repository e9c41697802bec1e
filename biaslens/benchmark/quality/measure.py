"""Everything that is measured of one benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from biaslens._util.text import finite
from biaslens.benchmark.quality.coverage import Balance, Coverage, balance, coverage, estimate, recorded
from biaslens.benchmark.quality.lint import Duplicates, duplicates, lint
from biaslens.benchmark.quality.role_fit import CANDIDATES, role_fit
from biaslens.benchmark.quality.source import Fault, Requirement, Source, statement
from biaslens.benchmark.quality.variety import (
    Diversity,
    Leak,
    Manner,
    Readability,
    Spread,
    diversity,
    leaks,
    manner,
    readability,
    sample,
    spread,
)
from biaslens.embedding import HOW_TO_INSTALL, MODEL, available, embed
from biaslens.schema import Attribute, Kind
from biaslens.stats import Estimate

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
