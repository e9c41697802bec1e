"""Everything that is measured of one benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from biaslens.benchmark.quality.balance import Balance, balance
from biaslens.benchmark.quality.coverage import Coverage, coverage, recorded
from biaslens.benchmark.quality.diversity import Diversity, diversity, sample
from biaslens.benchmark.quality.duplicates import Duplicates, duplicates
from biaslens.benchmark.quality.embedding import Spread, spread
from biaslens.benchmark.quality.faults import Fault, Rule
from biaslens.benchmark.quality.leakage import Leak, leaks
from biaslens.benchmark.quality.lint import lint
from biaslens.benchmark.quality.readability import Readability, readability
from biaslens.benchmark.quality.source import Source
from biaslens.benchmark.quality.targets import estimate
from biaslens.benchmark.quality.text import statement
from biaslens.embedding import available, embed
from biaslens.schema import Attribute, Kind

SAMPLE = 200
"""Questions of each kind in the sample on which diversity is measured."""


@dataclass(frozen=True)
class Quality:
    """What was found out about a benchmark.

    Parameters
    ----------
    source
        The benchmark itself.
    faults
        All faults, in file order.
    counts
        Questions by attribute of the role and kind.
    duplicates, diversity, leaks, balance
        See the modules of these names.
    readability
        Of each kind, and of all (None); kinds without questions are missing.
    spread
        Embeddings of the sample; None where the model is not installed.
    estimated
        What is compared, estimated from the words: the same way for every benchmark.
    recorded
        What is compared as the benchmark itself says; None where it says nothing.
    agreement
        Share of the questions with a recorded target for which the estimate is the same; NaN without any.
    seed
        Of the sample.
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
    seed: int

    @property
    def by_rule(self) -> Mapping[Rule, int]:
        """Number of faults of each rule, 0 included."""
        found = Counter(fault.rule for fault in self.faults)
        return {rule: found[rule] for rule in Rule}


def check(source: Source, *, seed: int = 0, per_kind: int = SAMPLE) -> Quality:
    """Find all faults of a benchmark, and measure how good it is.

    Parameters
    ----------
    source
        From `read_source`.
    seed
        Of the sample on which diversity is measured.
    per_kind
        Questions of each kind in that sample.
    """
    questions = source.questions
    drawn = sample(questions, per_kind, seed)
    repeats = duplicates(questions)
    estimates = [estimate(question) for question in questions]
    known = [(one.target, question.target) for one, question in zip(estimates, questions, strict=True)]
    told = [(found, target) for found, target in known if target is not None]
    texts = {kind: [statement(q) for q in questions if kind in (None, q.kind)] for kind in (*Kind, None)}
    return Quality(
        source=source,
        faults=lint(source, repeats.exact),
        counts=Counter((question.role.attribute, question.kind) for question in questions),
        duplicates=repeats,
        diversity=diversity(drawn),
        spread=spread(embed([statement(question) for question in drawn])) if available() else None,
        estimated=coverage(questions, estimates),
        recorded=coverage(questions, recorded(questions)) if told else None,
        agreement=sum(found == target for found, target in told) / len(told) if told else float("nan"),
        leaks=leaks(source.roles),
        readability={kind: readability(said) for kind, said in texts.items() if said},
        balance=balance(questions, estimates),
        seed=seed,
    )
