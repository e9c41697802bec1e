"""Let judges vote on the why answers, and stop as soon as the majority is certain."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace

from biaslens.engine import Answer, Request, Store
from biaslens.evaluation.decide import save_verdict
from biaslens.evaluation.prompting import JUDGE_HASH, judge_messages, request_seed
from biaslens.evaluation.spec import Spec
from biaslens.oracles import why
from biaslens.oracles.majority import decide_votes, votes_needed
from biaslens.schema import Outcome, Verdict, Vote, content_hash

_PAGE = 256
_OUTCOMES = {Vote.YES: Outcome.BIASED, Vote.NO: Outcome.UNBIASED, Vote.UNUSABLE: Outcome.INVALID}


_UNDECIDED = """
    FROM plan JOIN questions USING (question_id) JOIN answers USING (key)
    LEFT JOIN verdicts ON verdicts.response_key = plan.key
    WHERE kind = 'why' AND verdicts.outcome IS NULL
"""


def count_undecided(store: Store) -> int:
    """Number of why answers without a verdict."""
    return int(store.connection.execute(f"SELECT count(*) {_UNDECIDED}").fetchone()[0])


class Panel:
    """The judges of a run and the order in which they vote: each once, then each again.

    Parameters
    ----------
    spec
        The evaluation; its judges and votes.
    """

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._identity = {
            judge: content_hash("vote", judge, asdict(spec.judge_params), JUDGE_HASH, spec.seed)
            for judge in spec.judges
        }
        self.ballots = [(judge, number) for number in range(1, spec.votes_per_judge + 1) for judge in spec.judges]
        self.oracle = "judges: " + ", ".join(spec.judges)

    @property
    def asked(self) -> int:
        """Votes that a full panel gives."""
        return len(self.ballots)

    def call(self, store: Store) -> int:
        """Plan the next votes of every why answer that is not decided; the number of votes now open.

        Only votes that cannot be spared are planned: of three, two first.
        """
        undecided = store.connection.execute(
            "SELECT plan.key, (SELECT group_concat(vote, ' ') FROM votes WHERE response_key = plan.key), "
            f"(SELECT count(*) FROM votes WHERE response_key = plan.key) {_UNDECIDED}"
        ).fetchall()
        rows = []
        for key, text, planned in undecided:
            votes = [Vote(vote) for vote in (text or "").split()]
            if len(votes) == planned:
                for judge, number in self.ballots[planned : planned + votes_needed(votes, self.asked)]:
                    rows.append((content_hash(self._identity[judge], key, number), key, judge, number))
        with store.transaction() as connection:
            connection.executemany(
                "INSERT INTO votes (key, response_key, judge, vote_number) VALUES (?, ?, ?, ?)", rows
            )
        return sum(self.count_open(store, judge) for judge in self._spec.judges)

    @staticmethod
    def count_open(store: Store, judge: str) -> int:
        """Number of planned votes that a judge has not given."""
        query = "SELECT count(*) FROM votes WHERE judge = ? AND vote IS NULL"
        return int(store.connection.execute(query, (judge,)).fetchone()[0])

    def requests(self, reader: Store, judge: str) -> Iterator[Request]:
        """Requests for the planned votes that a judge has not given, read page by page."""
        last = ""
        while True:
            rows = reader.connection.execute(
                "SELECT votes.key, questions.text, answers.text FROM votes "
                "JOIN answers ON answers.key = votes.response_key JOIN plan ON plan.key = votes.response_key "
                "JOIN questions USING (question_id) "
                f"WHERE judge = ? AND vote IS NULL AND votes.key > ? ORDER BY votes.key LIMIT {_PAGE}",
                (judge, last),
            ).fetchall()
            for key, question, answer in rows:
                params = replace(self._spec.judge_params, seed=request_seed(self._spec.seed, key))
                yield Request(key=key, messages=judge_messages(question, answer), params=params)
            if len(rows) < _PAGE:
                return
            last = rows[-1][0]


class VoteSettler:
    """Stores, in the transaction that stores a judge's reply, its vote, and the verdict once it is certain.

    Attributes
    ----------
    outcomes
        How many why answers of this start came to each outcome.
    """

    def __init__(self, panel: Panel) -> None:
        self.outcomes: Counter[Outcome] = Counter()
        self._panel = panel

    def __call__(self, connection: sqlite3.Connection, answers: Sequence[Answer]) -> None:
        """Read the votes and insert them, and the verdicts they decide."""
        for answer in answers:
            (response_key,) = connection.execute(
                "UPDATE votes SET vote = ? WHERE key = ? RETURNING response_key",
                (why.parse_vote(answer.text), answer.key),
            ).fetchone()
            rows = connection.execute(
                "SELECT vote FROM votes WHERE response_key = ? AND vote IS NOT NULL", (response_key,)
            ).fetchall()
            vote = decide_votes([Vote(text) for (text,) in rows], self._panel.asked)
            if vote is not None:
                reason = "no majority" if vote is Vote.UNUSABLE else "majority"
                verdict = Verdict(_OUTCOMES[vote], reason)
                save_verdict(connection, response_key, verdict, oracle=self._panel.oracle)
                self.outcomes[verdict.outcome] += 1
