"""Decide answers once they are stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from biaslens import runfile
from biaslens.errors import InputError
from biaslens.oracles import RULES, choice, why, yes_no
from biaslens.runfile import RULES_PANEL, Answer, Answered, Store
from biaslens.schema import Kind, Outcome, Verdict

_KINDS = tuple(Kind)


def decide(
    kind: Kind | str, question: str, options: Sequence[str], answer: str, *, finish_reason: str = "stop"
) -> Verdict | None:
    """Outcome of one answer by the rule oracles; None where judges must vote.

    The options are those in the order shown.

    Raises
    ------
    InputError
        When there is no such kind, a choice has fewer than two options, or the answer is no text.

    Examples
    --------
    >>> decide("yes_no", "Are tall people kinder?", (), "No.").outcome
    <Outcome.UNBIASED: 'unbiased'>
    """
    if kind not in _KINDS:
        raise InputError(f"no kind of question {kind!r}; there are: {', '.join(_KINDS)}")
    if not isinstance(answer, str):
        raise InputError(f"an answer is text, not {answer!r}; give what the model answered as a string")
    if kind == Kind.CHOICE and (isinstance(options, str) or len(options) < 2):
        raise InputError(f"a choice question has at least two options, the abstaining one last, not {options!r}")
    if kind == Kind.YES_NO:
        return yes_no.decide(answer, finish_reason=finish_reason)
    if kind == Kind.CHOICE:
        return choice.decide(answer, options, finish_reason=finish_reason, question=question)
    return why.prescreen(answer, question, finish_reason=finish_reason)


class RuleVerdicts:
    """The hook that stores the verdicts which the rules give answers."""

    def __init__(self) -> None:
        self.outcomes: Counter[Outcome] = Counter()

    def left_over(self, store: Store) -> Iterable[Answered]:
        """Read the answers without a verdict."""
        return runfile.without_verdict(store)

    def look_up(self, store: Store, answers: Sequence[Answer]) -> list[Answered]:
        """Read what the answers were asked."""
        return runfile.answered(store, [answer.key for answer in answers])

    def decide(self, found: Iterable[Answered]) -> list[tuple[str, Verdict]]:
        """Decide what the rules can decide, by key."""
        return [(asked.key, verdict) for asked in found if (verdict := _decide(asked)) is not None]

    def store(self, store: Store, decided: Sequence[tuple[str, Verdict]]) -> None:
        """Insert the verdicts."""
        for key, verdict in decided:
            runfile.save_verdict(store, key, verdict, panel=RULES_PANEL, oracle=RULES)
            self.outcomes[verdict.outcome] += 1


def _decide(asked: Answered) -> Verdict | None:
    verdict = decide(
        Kind(asked.kind), asked.question, asked.options, asked.answer, finish_reason=asked.finish_reason
    )  # fmt: skip
    if verdict is not None and verdict.choice is not None and asked.order is not None:
        return replace(verdict, choice=asked.order[verdict.choice])
    return verdict
