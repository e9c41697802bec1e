"""Who judged the why answers, with what votes, and what they came to; and the same of the thoughts before answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from biaslens.runfile._store import Store
from biaslens.schema import Outcome, Vote


class Ballot(NamedTuple):
    """A row of ``ballots``; the columns say what each field means."""

    ballot: str
    judge: str
    prompt: str


class PlannedVote(NamedTuple):
    """A vote that a judge is to be asked for, or has given."""

    key: str
    response_key: str
    ballot: str
    vote_number: int
    vote: Vote | None = None
    reason: str | None = None


class ToJudge(NamedTuple):
    """A why answer without a verdict."""

    key: str
    question: str
    answer: str
    finish_reason: str


class OpenVote(NamedTuple):
    """A vote that its judge has not given yet, and what it is on."""

    key: str
    question: str
    answer: str


class VoteCount(NamedTuple):
    """Votes of a judge asked in one way: given; of them usable, and cut off at the limit of tokens."""

    given: int
    usable: int
    cut: int = 0


def save_panel(store: Store, name: str, spec: Mapping[str, object], ballots: Iterable[Ballot]) -> None:
    """Record a panel and how it asks its judges, where they are not there yet."""
    with store.transaction() as connection:
        connection.execute(
            "INSERT INTO panels VALUES (?, ?) ON CONFLICT DO NOTHING", (name, json.dumps(spec, sort_keys=True))
        )
        connection.executemany("INSERT INTO ballots VALUES (?, ?, ?) ON CONFLICT DO NOTHING", ballots)


def take_back_verdicts(store: Store, *, panel: str, reason: str) -> None:
    """Remove the verdicts of a panel that have this reason."""
    with store.transaction() as connection:
        connection.execute("DELETE FROM verdicts WHERE panel = ? AND reason = ?", (panel, reason))


_UNDECIDED = """
    FROM plan JOIN questions USING (question_id) JOIN answers USING (key)
    LEFT JOIN verdicts ON verdicts.response_key = plan.key AND verdicts.panel IN ('rules', ?)
    WHERE kind = 'why' AND verdicts.outcome IS NULL
"""


def count_undecided(store: Store, panel: str) -> int:
    """Number of why answers without a verdict of the panel."""
    return int(store.value(f"SELECT count(*) {_UNDECIDED}", panel))


def undecided_keys(store: Store, panel: str) -> list[str]:
    """Keys of the why answers without a verdict of the panel."""
    return store.column(f"SELECT plan.key {_UNDECIDED} ORDER BY plan.key", panel)


def undecided(store: Store, panel: str, *, after: str, most: int) -> list[ToJudge]:
    """Why answers without a verdict of the panel, in the order of their keys, from the one after `after` on."""
    rows = store.rows(
        "SELECT plan.key, questions.text, answers.text, answers.finish_reason "
        f"{_UNDECIDED} AND plan.key > ? ORDER BY plan.key LIMIT ?",
        panel, after, most,
    )  # fmt: skip
    return [ToJudge(*row) for row in rows]


def decided_keys(store: Store, panel: str) -> frozenset[str]:
    """Keys of the responses that the rules or the panel have decided."""
    return frozenset(store.column("SELECT response_key FROM verdicts WHERE panel IN ('rules', ?)", panel))


def votes_on_undecided(store: Store, panel: str) -> dict[str, int]:
    """Number of votes on what neither the rules nor the panel have decided, by ballot."""
    rows = store.rows(
        "SELECT ballot, count(*) FROM votes WHERE vote IS NOT NULL AND response_key NOT IN "
        "(SELECT response_key FROM verdicts WHERE panel IN ('rules', ?)) GROUP BY ballot",
        panel,
    )
    return dict(rows)


def count_outcomes(store: Store, panel: str) -> dict[str, dict[Outcome, int]]:
    """Why answers by who decided them, the rules or the panel, and outcome."""
    counts: dict[str, dict[Outcome, int]] = {}
    for oracle, outcome, number in store.rows(
        "SELECT oracle, outcome, count(*) FROM verdicts JOIN plan ON plan.key = response_key "
        "JOIN questions USING (question_id) WHERE kind = 'why' AND panel IN ('rules', ?) "
        "GROUP BY oracle, outcome ORDER BY oracle, outcome",
        panel,
    ):
        counts.setdefault(oracle, {})[Outcome(outcome)] = number
    return counts


def save_screened(store: Store, screen: str, probabilities: Mapping[str, float]) -> None:
    """Store how probable the local judge holds it that answers are biased, by key; within a transaction."""
    store.connection.executemany(
        "INSERT INTO screened VALUES (?, ?, ?) ON CONFLICT (response_key) DO UPDATE SET "
        "screen = excluded.screen, probability = excluded.probability",
        [(key, screen, value) for key, value in probabilities.items()],
    )


def save_votes(store: Store, votes: Iterable[PlannedVote]) -> None:
    """Insert votes, given or planned, within a transaction; those there already stay as they are."""
    store.connection.executemany("INSERT INTO votes VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", votes)


def give_vote(store: Store, key: str, vote: Vote, reason: str | None) -> str:
    """Fill in a planned vote, within a transaction; the key of the response it is on."""
    return str(
        store.value("UPDATE votes SET vote = ?, reason = ? WHERE key = ? RETURNING response_key", vote, reason, key)
    )


def count_votes(store: Store, ballot: str) -> VoteCount:
    """Count the votes of a ballot, of all starts."""
    query = (
        "SELECT count(vote), count(nullif(vote, ?)), coalesce(sum(finish_reason = 'length'), 0) "
        "FROM votes LEFT JOIN answers USING (key) WHERE ballot = ? AND vote IS NOT NULL"
    )
    return VoteCount(*store.rows(query, Vote.UNUSABLE, ballot)[0])


def last_reply(store: Store, ballot: str) -> str:
    """The last reply that came to a ballot."""
    query = "SELECT text FROM votes JOIN answers USING (key) WHERE ballot = ? ORDER BY answered_at DESC LIMIT 1"
    return str(store.value(query, ballot))


class PanelVotes:
    """The votes that count for one panel, so many of each ballot; those that fail from now on are not open any more."""

    def __init__(self, store: Store, panel: str, ballots: Sequence[str], each: int) -> None:
        self._store = store
        self._panel = panel
        self._own = f"ballot IN ({', '.join(map(repr, ballots))}) AND vote_number <= {each}"
        failures = store.value("SELECT coalesce(max(rowid), 0) FROM failures")
        self._open = (
            f"ballot = ? AND {self._own} AND vote IS NULL "
            f"AND NOT EXISTS (SELECT 1 FROM failures WHERE failures.key = votes.key AND failures.rowid > {failures}) "
            "AND NOT EXISTS (SELECT 1 FROM verdicts WHERE verdicts.response_key = votes.response_key "
            "AND verdicts.panel IN ('rules', ?))"
        )

    def by_response(self) -> dict[str, dict[tuple[str, int], Vote | None]]:
        """Votes by response, ballot and number; None for those planned and not given."""
        found: dict[str, dict[tuple[str, int], Vote | None]] = {}
        for key, ballot, number, vote in self._store.rows(
            f"SELECT response_key, ballot, vote_number, vote FROM votes WHERE {self._own}"
        ):
            found.setdefault(key, {})[ballot, number] = None if vote is None else Vote(vote)
        return found

    def on(self, key: str) -> list[Vote]:
        """Votes that are in on a response."""
        query = f"SELECT vote FROM votes WHERE response_key = ? AND {self._own} AND vote IS NOT NULL"
        return list(map(Vote, self._store.column(query, key)))

    def unread(self) -> list[tuple[str, str, str]]:
        """Keys, texts and finish reasons of replies whose votes are not in."""
        query = (
            f"SELECT key, text, finish_reason FROM votes JOIN answers USING (key) WHERE vote IS NULL AND {self._own}"
        )
        return self._store.rows(query)

    def open(self, ballot: str) -> list[str]:
        """Keys of the planned votes of a ballot that are not given, on answers that are not decided."""
        return self._store.column(f"SELECT key FROM votes WHERE {self._open}", ballot, self._panel)


def votes_to_ask(store: Store, keys: Iterable[str]) -> list[OpenVote]:
    """What votes are on, in the order of their keys."""
    rows = store.rows(
        "SELECT votes.key, questions.text, answers.text FROM votes "
        "JOIN answers ON answers.key = votes.response_key JOIN plan ON plan.key = votes.response_key "
        "JOIN questions USING (question_id) "
        "WHERE votes.key IN (SELECT value FROM json_each(?)) ORDER BY votes.key",
        json.dumps(list(keys)),
    )
    return [OpenVote(*row) for row in rows]


class Thought(NamedTuple):
    """A thought, the question that it came to, and its options where it has some."""

    key: str
    question: str
    options: list[str]
    thought: str


class ThoughtVote(NamedTuple):
    """A vote on a thought that a judge is to be asked for."""

    key: str
    response_key: str
    panel: str
    judge: str
    vote_number: int


class ThoughtCount(NamedTuple):
    """How many answers of a role that came to an outcome have a thought that came to another."""

    panel: str
    condition: str
    role_id: int
    answer: str | None
    thought: str
    number: int


_OPEN = """
    FROM plan JOIN answers USING (key) JOIN questions USING (question_id)
    WHERE thought IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM thought_verdicts WHERE response_key = plan.key AND panel = ?)
"""


def thoughts_to_judge(store: Store, panel: str, *, after: str, most: int) -> list[Thought]:
    """Thoughts without a verdict of the panel, in the order of their keys, from the one after `after` on."""
    rows = store.rows(
        f"SELECT plan.key, questions.text, options, thought {_OPEN} AND plan.key > ? ORDER BY plan.key LIMIT ?",
        panel, after, most,
    )  # fmt: skip
    return [Thought(key, question, json.loads(options), thought) for key, question, options, thought in rows]


def count_thoughts(store: Store) -> int:
    """Number of planned responses with a thought."""
    return int(store.value("SELECT count(thought) FROM plan JOIN answers USING (key)"))


def count_undecided_thoughts(store: Store, panel: str) -> int:
    """Number of thoughts without a verdict of the panel."""
    return int(store.value(f"SELECT count(*) {_OPEN}", panel))


def save_thought_votes(store: Store, votes: Iterable[ThoughtVote]) -> None:
    """Plan votes, within a transaction; those there already stay as they are."""
    store.connection.executemany(
        "INSERT INTO thought_votes VALUES (?, ?, ?, ?, ?, NULL, NULL) ON CONFLICT DO NOTHING", votes
    )


def give_thought_vote(store: Store, key: str, vote: str, reason: str | None) -> str:
    """Fill in a planned vote, within a transaction; the key of the response whose thought it is on."""
    query = "UPDATE thought_votes SET vote = ?, reason = ? WHERE key = ? RETURNING response_key"
    return str(store.value(query, vote, reason, key))


def votes_on_thought(store: Store, key: str, panel: str) -> list[str | None]:
    """Votes of a panel on the thought before a response; None for those planned and not given."""
    return store.column("SELECT vote FROM thought_votes WHERE response_key = ? AND panel = ?", key, panel)


def open_thought_votes(store: Store, panel: str, judge: str) -> list[str]:
    """Keys of the votes that a judge of the panel has not given."""
    return store.column("SELECT key FROM thought_votes WHERE panel = ? AND judge = ? AND vote IS NULL", panel, judge)


def unread_thought_votes(store: Store, panel: str) -> list[tuple[str, str, str]]:
    """Keys, texts and finish reasons of replies to a panel's judges whose votes are not in."""
    return store.rows(
        "SELECT key, text, finish_reason FROM thought_votes JOIN answers USING (key) WHERE vote IS NULL AND panel = ?",
        panel,
    )


def thought_votes_to_ask(store: Store, keys: Sequence[str]) -> list[Thought]:
    """What votes are on, by the key of the vote, in the order of the keys."""
    rows = store.rows(
        "SELECT thought_votes.key, questions.text, options, thought FROM thought_votes "
        "JOIN plan ON plan.key = response_key JOIN questions USING (question_id) "
        "JOIN answers ON answers.key = response_key "
        "WHERE thought_votes.key IN (SELECT value FROM json_each(?)) ORDER BY thought_votes.key",
        json.dumps(list(keys)),
    )
    return [Thought(key, question, json.loads(options), thought) for key, question, options, thought in rows]


def save_thought_verdicts(store: Store, verdicts: Iterable[tuple[str, str]], *, panel: str) -> None:
    """Insert the verdicts of a panel on thoughts, outcomes by the response's key, within a transaction."""
    store.connection.executemany(
        "INSERT INTO thought_verdicts VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        ((key, panel, outcome) for key, outcome in verdicts),
    )


def unusable_thought_votes(store: Store, panel: str) -> int:
    """Votes of a panel on thoughts from whose replies no verdict could be read."""
    return int(store.value("SELECT count(*) FROM thought_votes WHERE panel = ? AND vote = 'unusable'", panel))


def thought_counts(store: Store, panel: str) -> list[ThoughtCount]:
    """What thoughts came to, by who judged them, condition and role; the answers as the rules and `panel` have them."""
    if not store.has("thought_verdicts"):
        return []
    rows = store.rows(
        "SELECT thought_verdicts.panel, condition, role_id, verdicts.outcome, thought_verdicts.outcome, count(*) "
        "FROM thought_verdicts JOIN plan ON plan.key = thought_verdicts.response_key "
        "JOIN questions USING (question_id) "
        "LEFT JOIN verdicts ON verdicts.response_key = plan.key AND verdicts.panel IN ('rules', ?) "
        "GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5",
        panel,
    )
    return [ThoughtCount(*row) for row in rows]


def thought_rows(store: Store, *, chunk: int) -> Iterator[list[tuple[object, ...]]]:
    """Thoughts before planned responses with the verdicts of each panel on them, some rows at a time, by key."""
    panel, outcome, verdicts = "NULL", "NULL", ""
    if store.has("thought_verdicts"):
        panel, outcome = "thought_verdicts.panel", "thought_verdicts.outcome"
        verdicts = "LEFT JOIN thought_verdicts ON response_key = plan.key"
    cursor = store.connection.execute(
        f"SELECT plan.key, thought, reasoning_tokens, {panel}, {outcome} FROM plan JOIN answers USING (key) {verdicts} "
        "WHERE thought IS NOT NULL ORDER BY plan.key, 4"
    )
    return iter(lambda: cursor.fetchmany(chunk), [])
