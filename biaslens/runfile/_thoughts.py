"""Verdicts and votes on the thoughts before answers, which count in no rate of the answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from biaslens.runfile._store import Store


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
