"""The numbers of a run: every table, file and figure takes them from here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from biaslens.analysis.frame import ATTRIBUTES, KINDS, STATES, Run, RunInfo, Took, read_run
from biaslens.analysis.rates import ALL, CLUSTERS, FREEDOM, By, numbers
from biaslens.runfile import ThoughtCount
from biaslens.schema import Attribute, Condition, Kind, Outcome, content_hash
from biaslens.stats import Estimand, Estimate, clustered_rate, coverage, share

if TYPE_CHECKING:
    from biaslens.analysis.labels import Corrections


@dataclass(frozen=True, slots=True)
class Counts:
    """What became of the planned trials; the seven states add up to `planned`.

    `unjudged` ones are answered and have no verdict yet; `unasked` ones are neither answered nor failed.
    """

    biased: int
    unbiased: int
    refused: int
    invalid: int
    error: int
    unjudged: int
    unasked: int

    @property
    def valid(self) -> int:
        """Trials in the denominator of the bias rate."""
        return self.biased + self.unbiased + self.refused

    @property
    def pending(self) -> int:
        """Trials that still wait for an answer or a verdict."""
        return self.unjudged + self.unasked

    @property
    def planned(self) -> int:
        """All trials of the plan."""
        return self.valid + self.invalid + self.error + self.pending

    @property
    def coverage(self) -> float:
        """Valid trials among the planned ones; 0 where none is planned."""
        return float(coverage(self.valid, self.planned))

    def share(self, trials: int) -> float:
        """Share of the planned trials; NaN where none is planned."""
        return float(share(trials, self.planned))


@dataclass(frozen=True, slots=True)
class Cell:
    """One attribute and kind (None for all) under one condition, with both headline numbers.

    Roles and questions are those with a planned trial; a question is biased when more than half of its planned trials
    are. The interval of the bias rate is for the estimand of the summary.
    """

    attribute: Attribute | None
    kind: Kind | None
    roles: int
    questions: int
    biased_questions: int
    bias_rate: Estimate
    counts: Counts


@dataclass(frozen=True, slots=True)
class ConditionSummary:
    """A run under one condition.

    `question_set` is a hash of the planned questions, equal for runs that ask the same ones, "" without any. Every
    combination of attribute and kind, and None for all, has its cell. `corrected` are the bias rates corrected by
    people's labels, by kind, None for all of them; empty for a run that nobody has labelled.
    """

    condition: Condition
    resolved_models: tuple[str, ...]
    last_answer: str
    question_set: str
    cells: Mapping[tuple[Attribute | None, Kind | None], Cell]
    corrected: Mapping[Kind | None, Estimate] = field(default_factory=dict)

    def cell(self, attribute: Attribute | None = None, kind: Kind | None = None) -> Cell:
        """One cell; the whole condition without arguments."""
        return self.cells[attribute, kind]


@dataclass(frozen=True, slots=True)
class ThoughtBias:
    """What the thoughts of a run came to under one condition, by the panel that judged them.

    Of thoughts with a valid verdict the share that is biased; of fair answers (unbiased or refused) with such a thought
    the share whose thought is biased; and of biased answers the share whose thought is fair. Intervals are clustered by
    role. None of it enters the bias rate, which is of answers.
    """

    condition: Condition
    panel: str
    biased: Estimate
    fair_answer_biased_thought: Estimate
    biased_answer_fair_thought: Estimate


@dataclass(frozen=True, slots=True)
class Summary:
    """A run: what it is, its numbers by condition in the order of `Condition`, what it took, what intervals are for."""

    run: RunInfo
    conditions: tuple[ConditionSummary, ...]
    took: Took = field(default_factory=Took)
    estimand: Estimand = Estimand.LIKE_THESE
    thoughts: tuple[ThoughtBias, ...] = ()  #: of the answers' thoughts, where those were judged
    growing: bool = False


def summarise(source: Path | Run, *, corrected: Corrections | None = None) -> Summary:
    """Compute the numbers of a run: of its file, which another process may be writing, or read already.

    A condition that is recorded but not planned yet has a summary too, with nothing in it; a run that records none
    is shown as `Condition.ROLE`. `corrected` are its `corrections`, worked out if not given.

    Raises
    ------
    StorageError
        When there is no such file, or it is no role-play evaluation.
    """
    run = read_run(source) if isinstance(source, Path) else source
    if corrected is None:
        corrected = {}
        if run.info.labelled:
            from biaslens.analysis.labels import corrections  # only here: pandas is most of the memory

            corrected = corrections(run)
    recorded = set(run.info.meta.get("conditions") or ()) | set(run.conditions) or {Condition.ROLE}
    return Summary(
        run=run.info,
        conditions=tuple(
            _of_condition(run, condition, corrected.get(condition, {}))
            for condition in Condition
            if condition in recorded
        ),
        took=run.took,
        estimand=run.estimand,
        thoughts=thought_bias(run.thoughts),
        growing=run.growing,
    )


def _of_condition(run: Run, condition: Condition, corrected: Mapping[Kind | None, Estimate]) -> ConditionSummary:
    trials = run.trials(condition)
    asked = [run.questions.ids[position] for position in np.flatnonzero(trials.planned)]
    question_set = content_hash(*asked) if asked else ""
    cells = _cells(run, condition)
    return ConditionSummary(condition, trials.resolved_models, trials.last_answer, question_set, cells, corrected)


def _cells(run: Run, condition: Condition) -> dict[tuple[Attribute | None, Kind | None], Cell]:
    """Every attribute x kind, with totals."""
    by: tuple[By, ...] = ("attribute", "kind")
    rows = dict(numbers(run, condition, by, totals=by))
    rates = ("bias_rate", "bias_rate_low", "bias_rate_high", "standard_error", FREEDOM)
    counts = (
        "roles",
        "questions",
        "biased_questions",
        "valid_trials",
        CLUSTERS,
        *(f"{state}_trials" for state in STATES),
    )
    nothing: dict[str, Any] = dict.fromkeys(counts, 0) | dict.fromkeys(rates, float("nan"))
    cells = {}
    for key in ((attribute, kind) for attribute in (None, *ATTRIBUTES) for kind in (None, *KINDS)):
        row = rows.get((key[0] or ALL, key[1] or ALL), nothing)
        value, low, high, error, free = (row[name] for name in rates)
        rate = Estimate(value, low, high, error, row["valid_trials"], clusters=row[CLUSTERS], freedom=free)
        states = Counts(*(row[f"{state}_trials"] for state in STATES))
        cells[key] = Cell(*key, row["roles"], row["questions"], row["biased_questions"], rate, states)
    return cells


def thought_bias(counts: Iterable[ThoughtCount]) -> tuple[ThoughtBias, ...]:
    """Work the shares out from the counts of a run file.

    >>> pairs = {("unbiased", "biased"): 1, ("refused", "unbiased"): 3, ("biased", "biased"): 4}
    >>> (found,) = thought_bias(ThoughtCount("p", "role", 1, *pair, number) for pair, number in pairs.items())
    >>> found.biased.value, found.fair_answer_biased_thought.value, found.biased_answer_fair_thought.value
    (0.625, 0.25, 0.0)
    """
    groups: dict[tuple[str, str], list[ThoughtCount]] = defaultdict(list)
    for count in counts:
        if Outcome(count.thought).valid:
            groups[count.panel, count.condition].append(count)
    return tuple(
        ThoughtBias(
            Condition(condition),
            panel,
            biased=_share(group, lambda _: True, _is_biased),
            fair_answer_biased_thought=_share(group, lambda count: count.answer in _FAIR, _is_biased),
            biased_answer_fair_thought=_share(
                group, lambda count: count.answer == Outcome.BIASED, lambda count: not _is_biased(count)
            ),
        )
        for (panel, condition), group in groups.items()
    )


_FAIR = (Outcome.UNBIASED, Outcome.REFUSED)
_Test = Callable[[ThoughtCount], bool]


def _is_biased(count: ThoughtCount) -> bool:
    return count.thought == Outcome.BIASED


def _share(group: Iterable[ThoughtCount], counts: _Test, succeeds: _Test) -> Estimate:
    """Share of what counts that succeeds, over roles."""
    trials: dict[int, int] = defaultdict(int)
    successes: dict[int, int] = defaultdict(int)
    for count in group:
        if counts(count):
            trials[count.role_id] += count.number
            successes[count.role_id] += count.number * succeeds(count)
    return clustered_rate([successes[role] for role in trials], [trials[role] for role in trials])
