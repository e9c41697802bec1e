"""Decide answers as they are stored."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from biaslens.engine import Answer
from biaslens.errors import InputError
from biaslens.evaluation.plan import shown_options
from biaslens.evaluation.tables import RULES_PANEL
from biaslens.oracles import RULES, choice, why, yes_no
from biaslens.schema import Kind, Outcome, Verdict

_INSERT = "INSERT INTO verdicts VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"

_KINDS = tuple(Kind)


def decide(
    kind: Kind | str, question: str, options: Sequence[str], answer: str, *, finish_reason: str = "stop"
) -> Verdict | None:
    """Outcome of one answer by the rule oracles; None where judges must vote.

    Parameters
    ----------
    kind, question, options
        What was asked, the options in the order shown.
    answer, finish_reason
        What came back.

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


class RuleSettler:
    """Stores, in the transaction that stores an answer, the verdict that the rules give it.

    Attributes
    ----------
    outcomes
        How many answers of this start came to each outcome.
    """

    def __init__(self) -> None:
        self.outcomes: Counter[Outcome] = Counter()

    def __call__(self, connection: sqlite3.Connection, answers: Sequence[Answer]) -> None:
        """Decide the answers and insert their verdicts."""
        for answer in answers:
            kind, text, options, order = connection.execute(
                "SELECT kind, text, options, option_order FROM plan JOIN questions USING (question_id) WHERE key = ?",
                (answer.key,),
            ).fetchone()
            shown = shown_options(options, order)
            verdict = decide(Kind(kind), text, shown, answer.text, finish_reason=answer.finish_reason)
            if verdict is not None:
                if order is not None and verdict.choice is not None:
                    verdict = replace(verdict, choice=json.loads(order)[verdict.choice])
                save_verdict(connection, answer.key, verdict, panel=RULES_PANEL, oracle=RULES)
                self.outcomes[verdict.outcome] += 1


def save_verdict(connection: sqlite3.Connection, key: str, verdict: Verdict, *, panel: str, oracle: str) -> None:
    """Insert the verdict of a panel on a response; `oracle` says who decided."""
    connection.execute(_INSERT, (key, panel, verdict.outcome, verdict.reason, verdict.choice, oracle))
