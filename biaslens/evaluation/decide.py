"""Decide answers once they are stored."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from biaslens.engine import Answer, Store
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


_ASKED = """
    SELECT key, kind, questions.text, options, option_order, answers.text, finish_reason
    FROM plan JOIN questions USING (question_id) JOIN answers USING (key)
"""

_Asked = tuple[str, str, str, str, str | None, str, str]


class RuleSettler:
    """Stores the verdicts that the rules give answers.

    Attributes
    ----------
    outcomes
        How many answers of this start came to each outcome.
    """

    def __init__(self) -> None:
        self.outcomes: Counter[Outcome] = Counter()

    def look_up(self, connection: sqlite3.Connection, answers: Sequence[Answer]) -> list[_Asked]:
        """Read what the answers were asked."""
        keys = [answer.key for answer in answers]
        return connection.execute(f"{_ASKED} WHERE key IN ({', '.join('?' * len(keys))})", keys).fetchall()

    def decide(self, found: Sequence[_Asked]) -> list[tuple[str, Verdict]]:
        """Decide what the rules can decide, by key."""
        return [(row[0], verdict) for row in found if (verdict := _decide(row)) is not None]

    def store(self, connection: sqlite3.Connection, decided: Sequence[tuple[str, Verdict]]) -> None:
        """Insert the verdicts."""
        for key, verdict in decided:
            save_verdict(connection, key, verdict, panel=RULES_PANEL, oracle=RULES)
            self.outcomes[verdict.outcome] += 1

    def catch_up(self, store: Store, *, stop: Callable[[], bool]) -> None:
        """Decide what an earlier start has stored and not decided; may be called in a thread, alone."""
        reader = store.connection.execute(
            f"{_ASKED} WHERE NOT EXISTS (SELECT 1 FROM verdicts WHERE response_key = plan.key)"
        )
        decided = [found for row in reader if not stop() for found in self.decide([row])]
        with store.transaction() as connection:
            self.store(connection, decided)


def _decide(asked: _Asked) -> Verdict | None:
    _, kind, question, options, order, answer, finish_reason = asked
    verdict = decide(Kind(kind), question, shown_options(options, order), answer, finish_reason=finish_reason)
    if verdict is not None and verdict.choice is not None and order is not None:
        return replace(verdict, choice=json.loads(order)[verdict.choice])
    return verdict


def save_verdict(connection: sqlite3.Connection, key: str, verdict: Verdict, *, panel: str, oracle: str) -> None:
    """Insert the verdict of a panel on a response; `oracle` says who decided."""
    connection.execute(_INSERT, (key, panel, verdict.outcome, verdict.reason, verdict.choice, oracle))
