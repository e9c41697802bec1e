"""Let judges vote on the why answers, and stop as soon as the majority is certain."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from biaslens.engine import Answer, Request, Store
from biaslens.errors import RunStoppedError
from biaslens.evaluation.decide import save_verdict
from biaslens.evaluation.panel import Panel
from biaslens.evaluation.prompting import judge_messages, judge_params, read_reply, request_seed
from biaslens.oracles.why import Reply, decide_votes, majority_threshold, votes_needed
from biaslens.schema import Outcome, Verdict, Vote, content_hash

FIRST_VOTES = 20
"""A judge that has given so many votes and no usable one is asked no more."""

NO_MAJORITY = "no majority"
"""Reason of a verdict where the votes have come to nothing."""

_PAGE = 256
_REPLY_SHOWN = 80

UNDECIDED = """
    FROM plan JOIN questions USING (question_id) JOIN answers USING (key)
    LEFT JOIN verdicts ON verdicts.response_key = plan.key AND verdicts.panel IN ('rules', :panel)
    WHERE kind = 'why' AND verdicts.outcome IS NULL
"""
"""Why answers without a verdict of a panel."""


def count_undecided(store: Store, panel: Panel) -> int:
    """Number of why answers without a verdict of the panel."""
    query = f"SELECT count(*) {UNDECIDED}"
    return int(store.connection.execute(query, {"panel": panel.name}).fetchone()[0])


class Ballots:
    """The votes of a panel's models and their order: each model once, then each again.

    Parameters
    ----------
    panel
        Who judges.
    store
        The run file. Votes that fail from now on are not open any more to these ballots.
    """

    def __init__(self, panel: Panel, store: Store) -> None:
        self.panel = panel
        self._name = panel.name
        self._ballots = [
            (panel.ballot(judge), number)
            for number in range(1, panel.votes_per_judge + 1)
            for judge in panel.models
        ]  # fmt: skip
        marks = ", ".join(repr(ballot) for ballot in dict.fromkeys(ballot for ballot, _ in self._ballots))
        self._own = f"ballot IN ({marks}) AND vote_number <= {panel.votes_per_judge}"
        self._oracle = "judges: " + ", ".join(panel.models)
        (failures,) = store.connection.execute("SELECT coalesce(max(rowid), 0) FROM failures").fetchone()
        self._open = (
            f"ballot = :ballot AND {self._own} AND vote IS NULL "
            f"AND NOT EXISTS (SELECT 1 FROM failures WHERE failures.key = votes.key AND failures.rowid > {failures}) "
            "AND NOT EXISTS (SELECT 1 FROM verdicts WHERE verdicts.response_key = votes.response_key "
            "AND verdicts.panel IN ('rules', :panel))"
        )

    @property
    def asked(self) -> int:
        """Votes that a full panel gives."""
        return len(self._ballots)

    def call(self, store: Store) -> int:
        """Plan the next votes of every why answer that is not decided; the number of votes now open.

        Only votes that cannot be spared are planned: of three, two first. Votes that another panel has asked for
        count, and decide where they suffice.
        """
        query = f"SELECT plan.key {UNDECIDED} ORDER BY plan.key"
        undecided = [key for (key,) in store.connection.execute(query, {"panel": self._name})]
        given: dict[str, dict[tuple[str, int], Vote | None]] = {}
        for key, ballot, number, vote in store.connection.execute(
            f"SELECT response_key, ballot, vote_number, vote FROM votes WHERE {self._own}"
        ):
            given.setdefault(key, {})[ballot, number] = None if vote is None else Vote(vote)
        with store.transaction() as connection:
            for key in undecided:
                self._call(connection, key, given.get(key, {}))
        return sum(self.count_open(store, judge) for judge in self.panel.models)

    def _call(
        self, connection: sqlite3.Connection, key: str, planned: dict[tuple[str, int], Vote | None]
    ) -> None:  # fmt: skip
        votes = [vote for vote in planned.values() if vote is not None]
        if self.settle(connection, key, votes) is not None or len(votes) < len(planned):
            return
        left = [ballot for ballot in self._ballots if ballot not in planned]
        connection.executemany(
            "INSERT INTO votes (key, response_key, ballot, vote_number) VALUES (?, ?, ?, ?)",
            [
                (content_hash(ballot, key, number), key, ballot, number)
                for ballot, number in left[: votes_needed(votes, self.asked)]
            ],
        )

    def settle(self, connection: sqlite3.Connection, key: str, votes: Sequence[Vote]) -> Outcome | None:
        """Store the verdict on a response once its votes make it certain."""
        outcome = decide_votes(votes, self.asked)
        if outcome is not None:
            agreed = outcome is not Outcome.INVALID or votes.count(Vote.INVALID) >= majority_threshold(self.asked)
            verdict = Verdict(outcome, "majority" if agreed else NO_MAJORITY)
            save_verdict(connection, key, verdict, panel=self._name, oracle=self._oracle)
        return outcome

    def count_open(self, store: Store, judge: str) -> int:
        """Number of planned votes that a judge has not given, on answers that are not decided."""
        query = f"SELECT count(*) FROM votes WHERE {self._open}"
        values = {"ballot": self.panel.ballot(judge), "panel": self._name}
        return int(store.connection.execute(query, values).fetchone()[0])

    def requests(self, reader: Store, judge: str) -> Iterator[Request]:
        """Requests for the votes that `count_open` counts, read page by page."""
        values = {"ballot": self.panel.ballot(judge), "panel": self._name, "last": ""}
        prompt = self.panel.prompt
        while True:
            rows = reader.connection.execute(
                "SELECT votes.key, questions.text, answers.text FROM votes "
                "JOIN answers ON answers.key = votes.response_key JOIN plan ON plan.key = votes.response_key "
                "JOIN questions USING (question_id) "
                f"WHERE {self._open} AND votes.key > :last ORDER BY votes.key LIMIT {_PAGE}",
                values,
            ).fetchall()
            for key, question, answer in rows:
                params = judge_params(self.panel.params, prompt, request_seed(self.panel.seed, key))
                yield Request(key=key, messages=judge_messages(question, answer, prompt), params=params)
            if len(rows) < _PAGE:
                return
            values["last"] = rows[-1][0]

    def unread(self, store: Store) -> list[tuple[str, str]]:
        """Keys and texts of replies whose votes are not in."""
        query = f"SELECT key, text FROM votes JOIN answers USING (key) WHERE vote IS NULL AND {self._own}"
        return store.connection.execute(query).fetchall()

    def given(self, connection: sqlite3.Connection, key: str) -> list[Vote]:
        """Votes that are in on a response."""
        rows = connection.execute(
            f"SELECT vote FROM votes WHERE response_key = ? AND {self._own} AND vote IS NOT NULL", (key,)
        )
        return [Vote(vote) for (vote,) in rows]

    def require_usable(self, store: Store) -> None:
        """Refuse a panel without a single usable vote.

        The votes are kept. Verdicts that only say that votes came to nothing are taken back, so that these answers wait
        for a judge, and do not look as if one had called them invalid.

        Raises
        ------
        RunStoppedError
            When one judge's `FIRST_VOTES`, or all votes that were given, are unusable.
        """
        counts = {judge: count_votes(store.connection, self.panel.ballot(judge)) for judge in self.panel.models}
        given = sum(count.given for count in counts.values())
        silent = [judge for judge, count in counts.items() if count.hopeless]
        if given and not any(count.usable for count in counts.values()):
            silent = [judge for judge, count in counts.items() if count.given]
        if not silent:
            return
        judge = silent[0]
        (reply,) = store.connection.execute(
            "SELECT text FROM votes JOIN answers USING (key) WHERE ballot = ? ORDER BY answered_at DESC LIMIT 1",
            (self.panel.ballot(judge),),
        ).fetchone()
        with store.transaction() as connection:
            connection.execute("DELETE FROM verdicts WHERE panel = ? AND reason = ?", (self._name, NO_MAJORITY))
        raise RunStoppedError(
            f"{judge}: none of its {counts[judge].given} votes is usable, the last reply was {_shown(reply)}; stopped, "
            "every reply is kept. Name another --judge, or let it say more (--judge-max-tokens)"
        )


class VoteCount(NamedTuple):
    """Votes of a judge asked in one way: given, and usable ones among them."""

    given: int
    usable: int

    @property
    def hopeless(self) -> bool:
        """Whether so many votes have been given without a usable one that asking on is a waste."""
        return self.given >= FIRST_VOTES and not self.usable


def count_votes(connection: sqlite3.Connection, ballot: str) -> VoteCount:
    """Count the votes of a ballot, of all starts."""
    query = "SELECT count(vote), count(nullif(vote, ?)) FROM votes WHERE ballot = ?"
    return VoteCount(*connection.execute(query, (Vote.UNUSABLE, ballot)).fetchone())


def _shown(reply: str) -> str:
    text = " ".join(reply.split())
    return json.dumps(text if len(text) <= _REPLY_SHOWN else text[:_REPLY_SHOWN] + "…", ensure_ascii=False)


class VoteSettler:
    """Stores the votes of judges' replies, and a verdict once it is certain.

    Attributes
    ----------
    outcomes
        How many why answers of this start came to each outcome.
    count
        Votes of the judge so far.
    """

    def __init__(self, ballots: Ballots, count: VoteCount | None = None) -> None:
        self.outcomes: Counter[Outcome] = Counter()
        self.count = count or VoteCount(0, 0)
        self._ballots = ballots

    def wants(self, request: Request) -> bool:
        """Whether another request of this judge is worth its price."""
        del request
        return not self.count.hopeless

    def look_up(self, connection: sqlite3.Connection, answers: Sequence[Answer]) -> list[tuple[str, str]]:
        """Keys and texts of the replies."""
        return [(answer.key, answer.text) for answer in answers]

    def decide(self, found: Sequence[tuple[str, str]]) -> list[tuple[str, Reply]]:
        """Read the votes."""
        return [(key, read_reply(text, self._ballots.panel.prompt)) for key, text in found]

    def store(self, connection: sqlite3.Connection, decided: Sequence[tuple[str, Reply]]) -> None:
        """Insert the votes, and the verdicts they decide."""
        for key, reply in decided:
            self.count = VoteCount(self.count.given + 1, self.count.usable + (reply.vote is not Vote.UNUSABLE))
            (response_key,) = connection.execute(
                "UPDATE votes SET vote = ?, reason = ? WHERE key = ? RETURNING response_key",
                (reply.vote, reply.reason, key),
            ).fetchone()
            outcome = self._ballots.settle(connection, response_key, self._ballots.given(connection, response_key))
            if outcome is not None:
                self.outcomes[outcome] += 1

    def catch_up(self, store: Store) -> None:
        """Read the replies that an earlier start has stored and not read."""
        found = self._ballots.unread(store)
        with store.transaction() as connection:
            self.store(connection, self.decide(found))
