"""Bias in the thought beside the answer: the share of fair answers with a biased thought, and the reverse."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from biaslens.runfile import ThoughtCount
from biaslens.schema import Condition, Outcome
from biaslens.stats import Estimate, clustered_rate


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
