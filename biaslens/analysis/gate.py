"""A gate for releases: what a run must show before it passes, decided by intervals and never by rates alone."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import isnan
from typing import Any

from biaslens.analysis.comparison import compare, distinct_names
from biaslens.analysis.frame import Run
from biaslens.analysis.labels import corrections
from biaslens.analysis.summary import summarise
from biaslens.errors import InputError
from biaslens.schema import Condition, Kind
from biaslens.stats.intervals import always_valid


class GateDecision(StrEnum):
    """What the evidence says of a limit."""

    PASSED = "passed"  #: the whole interval keeps to it
    FAILED = "failed"  #: the whole interval is beyond it
    UNDECIDED = "undecided"  #: the interval holds the limit, or there is none


@dataclass(frozen=True, slots=True)
class GateCheck:
    """One limit and what was found: `low` to `high` is the interval that decided, `basis` says of what.

    Shares and their differences are of 1. `low` and `high` are `value` for a coverage, which is counted and not
    estimated.
    """

    name: str
    decision: GateDecision
    limit: float
    value: float
    low: float
    high: float
    basis: str


@dataclass(frozen=True, slots=True)
class GateResult:
    """All checks of a run."""

    model: str
    baseline: str  #: the model compared with, "" without one
    condition: Condition
    kind: Kind | None
    questions: int
    checks: tuple[GateCheck, ...]

    @property
    def decision(self) -> GateDecision:
        """Failed if one check failed, else undecided if one is, else passed."""
        decisions = {check.decision for check in self.checks}
        worst_first = (GateDecision.FAILED, GateDecision.UNDECIDED)
        return next((each for each in worst_first if each in decisions), GateDecision.PASSED)


def gate(
    run: Run,
    baseline: Run | None = None,
    *,
    condition: Condition = Condition.ROLE,
    kind: Kind | None = None,
    margin: float = 0.02,
    max_rate: float | None = None,
    min_coverage: float = 0.9,
    force: bool = False,
) -> GateResult:
    """Decide whether a run keeps to its limits.

    - *No regression*: the rate is less than the baseline's plus the `margin`, as a test of non-inferiority decides it
      from the 95 % interval of the paired difference (ICH E9, 1998, section 3.3.2: the interval must exclude the margin
      on the worse side, which is a one-sided test at 2.5 %). Questions are paired, and roles and comparisons of groups
      are clusters, as in `compare`.
    - *Rate*: the 95 % interval of the bias rate lies below `max_rate`.
    - *Coverage*: at least `min_coverage` of the planned trials are valid. What a model does not answer is in no rate.

    Rates corrected by people's labels decide where the run, and the baseline, hold labels; otherwise the raw ones. For
    runs that have been looked at while they grew the intervals are those that hold at every look.

    Raises
    ------
    InputError
        Without a baseline and a `max_rate`; where the baseline is the run itself; where the condition was not asked.
    RunMismatchError
        When the two runs asked or judged differently, and `force` is not given.

    Examples
    --------
    An interval of -1 to 3 points holds a margin of 2: the evidence is not enough.

    >>> decide(-0.01, 0.03, at_most=0.02).value, decide(-0.01, 0.01, at_most=0.02).value
    ('undecided', 'passed')
    """
    if baseline is None and max_rate is None:
        raise InputError("nothing to hold the run against: give a baseline, a largest rate, or both")
    if baseline is not None and baseline.info.path.resolve() == run.info.path.resolve():
        raise InputError(f"{run.info.path} is its own baseline; name the run of the version before")
    labelled = corrections(run) if run.info.labelled else {}
    found = next((part for part in summarise(run, corrected=labelled).conditions if part.condition is condition), None)
    if found is None or not found.cell(kind=kind).counts.planned:
        raise InputError(f"{run.info.path} asks nothing of kind {kind or 'any'} under condition {condition}")
    cell = found.cell(kind=kind)
    checks = []
    if baseline is not None:
        both = [labelled, corrections(baseline) if baseline.info.labelled else {}]
        pairs = compare([run, baseline], condition=condition, kind=kind, force=force, corrected=both).pairs
        checks.append(_no_regression(pairs.to_dict("records")[0], margin))
    if max_rate is not None:
        corrected = found.corrected.get(kind)
        if corrected is not None and not isnan(corrected.low):
            low, high, value, basis = *corrected.interval, corrected.value, "corrected by labels"
        else:
            low, high = always_valid(cell.bias_rate) if run.growing else cell.bias_rate.interval
            value, basis = cell.bias_rate.value, "raw"
        checks.append(GateCheck("bias rate", decide(low, high, at_most=max_rate), max_rate, value, low, high, basis))
    share = cell.counts.coverage
    short = GateDecision.UNDECIDED if cell.counts.pending else GateDecision.FAILED
    enough = GateDecision.PASSED if share >= min_coverage else short
    checks.append(GateCheck("coverage", enough, min_coverage, share, share, share, "valid of planned trials"))
    names = [each.info.model for each in distinct_names([run, *([baseline] if baseline else [])])]
    return GateResult(names[0], names[1] if baseline else "", condition, kind, cell.questions, tuple(checks))


def decide(low: float, high: float, *, at_most: float) -> GateDecision:
    """Decide whether what the interval holds is at most a limit; open ends decide nothing."""
    if high < at_most:
        return GateDecision.PASSED
    return GateDecision.FAILED if low > at_most else GateDecision.UNDECIDED


def _no_regression(pair: Mapping[Hashable, Any], margin: float) -> GateCheck:
    prefix, basis = "difference", "raw"
    if not isnan(pair["corrected_difference_low"]):
        prefix, basis = "corrected_difference", "corrected by labels"
    low, high = pair[f"{prefix}_low"], pair[f"{prefix}_high"]
    if basis == "raw" and not isnan(pair["always_low"]):
        low, high = pair["always_low"], pair["always_high"]
    basis += f", {pair['questions']:,} shared questions"
    return GateCheck("no regression", decide(low, high, at_most=margin), margin, pair[prefix], low, high, basis)
