"""What analyses, reports and exports read of a run, and a run as records that it can be restored from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from biaslens.runfile._store import (
    CUT_OFF,
    EVALUATION_TABLES,
    IMPORT_TABLES,
    RULES_PANEL,
    TABLES,
    Store,
    check_evaluation,
    columns_of,
)
from biaslens.schema import Question


class RoleRow(NamedTuple):
    """A row of ``roles``; the columns say what each field means."""

    role_id: int
    attribute: str
    name: str


class QuestionRow(NamedTuple):
    """A question without its text; `options` is their number, `picks` the position of the one the prejudice picks."""

    question_id: str
    role_id: int
    kind: str
    target: str | None
    options: int
    encounter: str
    theme: str
    disfavoured: str
    picks: int | None
    groups: tuple[str, ...]


class ExampleAnswer(NamedTuple):
    """An answer to be shown, and what it answers."""

    question: str
    answer: str
    outcome: str
    kind: str
    condition: str
    trial: int


class JudgeVote(NamedTuple):
    """A vote that was given, and the role of the question it is on."""

    condition: str
    key: str
    judge: str
    number: int
    vote: str
    role: int


@dataclass(frozen=True, slots=True)
class Usage:
    """Replies of one sort: all; those cut at the limit of tokens; those with known tokens, and with a known price.

    `thoughts` shows how many came with a thought, and `reasoning_tokens` what thinking took of the completion tokens as
    far as the provider says.
    """

    replies: int = 0
    cut: int = 0
    counted: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    priced: int = 0
    dollars: float = 0.0
    thoughts: int = 0
    reasoning_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Stopped:
    """Answers that their provider ended.

    Those cut off before they said anything, which are invalid; those that the provider refused, by its content filter
    or in a field of its own; and the responses that were asked again with a larger limit, after they had been cut off.
    """

    cut_off: int = 0
    refused_by_provider: int = 0
    retried: int = 0


_SUMS = (
    "count(*), coalesce(sum(finish_reason = 'length'), 0), "
    "count(completion_tokens), coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0), "
    "count(price), coalesce(sum(price), 0.0), count(thought), coalesce(sum(reasoning_tokens), 0)"
)


def usage_of_answers(store: Store) -> dict[str, Usage]:
    """What the answers took, by condition."""
    rows = store.rows(f"SELECT condition, {_SUMS} FROM plan JOIN answers USING (key) GROUP BY condition")
    return {condition: Usage(*sums) for condition, *sums in rows}


def usage_of_retried(store: Store) -> Usage:
    """What the answers took that were cut off and asked again; they are in the place of no response any more."""
    return Usage(*store.rows(f"SELECT {_SUMS} FROM retries JOIN answers ON answers.key = retries.first")[0])


def stopped_answers(store: Store, panel: str) -> dict[str, Stopped]:
    """What the provider ended, by condition."""
    rows = store.rows(
        "SELECT condition, coalesce(sum(reason = ?), 0), coalesce(sum(outcome = 'refused' "
        "AND finish_reason IN ('content_filter', 'refusal')), 0), count(retries.key) "
        "FROM plan JOIN answers USING (key) LEFT JOIN retries USING (key) "
        "LEFT JOIN verdicts ON response_key = plan.key AND panel IN ('rules', ?) GROUP BY condition",
        CUT_OFF, panel,
    )  # fmt: skip
    return {condition: Stopped(*counts) for condition, *counts in rows}


_LENGTHS = "avg(completion_tokens) FROM {} JOIN answers USING (key) GROUP BY 1 HAVING count(completion_tokens) >= ?"


def answer_lengths(store: Store, fewest: int) -> dict[str, float]:
    """Mean tokens of the answers of each kind that has so many, their thoughts included."""
    return dict(store.rows("SELECT kind, " + _LENGTHS.format("plan JOIN questions USING (question_id)"), fewest))


def vote_lengths(store: Store, fewest: int) -> dict[str, float]:
    """Mean tokens of the replies to each ballot that has so many."""
    return dict(store.rows("SELECT ballot, " + _LENGTHS.format("votes"), fewest))


def unusable_votes(store: Store) -> int:
    """Votes of all panels from whose replies no verdict could be read."""
    return int(store.value("SELECT count(*) FROM votes WHERE vote = 'unusable'"))


def usage_of_votes(store: Store) -> Usage:
    """What the judges' votes of all panels took."""
    return Usage(*store.rows(f"SELECT {_SUMS} FROM votes JOIN answers USING (key)")[0])


def answer_times(store: Store) -> Iterator[str]:
    """When each reply came, in no order."""
    return (at for (at,) in store.connection.execute("SELECT answered_at FROM answers"))


def roles(store: Store) -> list[RoleRow]:
    """All roles, by attribute and name."""
    return [RoleRow(*row) for row in store.rows("SELECT role_id, attribute, name FROM roles ORDER BY attribute, name")]


def questions(store: Store) -> list[QuestionRow]:
    """All questions, by id."""
    rows = store.rows(
        "SELECT question_id, role_id, kind, target, json_array_length(options), encounter, theme, disfavoured, "
        "CASE WHEN picks <> '' THEN (SELECT key FROM json_each(options) WHERE value = picks) END, groups "
        "FROM questions ORDER BY question_id"
    )
    return [QuestionRow._make([*row[:-1], _texts(row[-1])]) for row in rows]


@lru_cache(maxsize=1 << 12)  # the same groups are compared by many questions
def _texts(listed: str) -> tuple[str, ...]:
    return tuple(json.loads(listed))


def mirrors(store: Store) -> dict[str, tuple[str, str]]:
    """The question that each mirroring question mirrors, and how."""
    rows = store.rows("SELECT question_id, mirror_of, mirror FROM mirrors")
    return {question_id: (mirror_of, mirror) for question_id, mirror_of, mirror in rows}


def question_texts(store: Store, ids: Iterable[str]) -> list[tuple[str, str, list[str]]]:
    """Id, text and options of questions; ids that the run does not hold are left out."""
    rows = store.rows(
        "SELECT question_id, text, options FROM questions WHERE question_id IN (SELECT value FROM json_each(?))",
        json.dumps(list(ids)),
    )
    return [(question_id, text, json.loads(options)) for question_id, text, options in rows]


def panels(store: Store) -> Mapping[str, dict[str, Any]]:
    """Panels that have judged a run, by name, with what they recorded."""
    rows = store.rows("SELECT panel, spec FROM panels ORDER BY panel")
    return {name: json.loads(spec) for name, spec in rows if name != RULES_PANEL}


def has_labels(store: Store) -> bool:
    """Whether some answers of a run have a final label."""
    return store.value("SELECT 1 FROM sampled WHERE outcome IS NOT NULL LIMIT 1") is not None


def same_wordings(store: Store) -> dict[str, str]:
    """Questions of an attribute that are asked in the same words, persona included: by id, the first id of them."""
    return dict(
        store.rows(
            "SELECT question_id, min(question_id) OVER (PARTITION BY attribute, persona, kind, text, options) "
            "FROM questions JOIN roles USING (role_id)"
        )
    )


Trial = tuple[str, str, int, str | None, int | None, str | None, str | None, str | None]


def trials(store: Store, panel: str) -> Iterator[Trial]:
    """What became of every planned response under the rules and a panel, in the order of the keys.

    Question id, condition and trial; outcome, None where it was not asked or not judged; choice, option order, resolved
    model and time of the answer.
    """
    # What the view `responses` says, without the questions and roles it joins to each row: twice as fast. In the order
    # of the key, plan, answers and verdicts are read side by side: five times faster than any other.
    return store.connection.execute(
        """
        SELECT plan.question_id, plan.condition, plan.trial,
               CASE WHEN verdicts.outcome IS NOT NULL THEN verdicts.outcome
                    WHEN answers.key IS NULL AND EXISTS (SELECT 1 FROM failures WHERE failures.key = plan.key)
                        THEN 'error'
               END,
               verdicts.choice, plan.option_order, answers.resolved_model, answers.answered_at
        FROM plan LEFT JOIN answers USING (key)
        LEFT JOIN verdicts ON verdicts.response_key = plan.key AND verdicts.panel IN ('rules', ?)
        ORDER BY plan.key
        """,
        (panel,),
    )


def judge_votes(store: Store) -> list[JudgeVote]:
    """All votes that were given, by response, number and judge."""
    rows = store.rows(
        "SELECT plan.condition, votes.response_key, ballots.judge, vote_number, vote, questions.role_id "
        "FROM votes JOIN ballots USING (ballot) JOIN plan ON plan.key = votes.response_key "
        "JOIN questions USING (question_id) "
        "WHERE vote IS NOT NULL ORDER BY votes.response_key, vote_number, judge"
    )
    return [JudgeVote(*row) for row in rows]


def ruled_answers(store: Store) -> Iterator[tuple[str, str, int, str | None, str | None]]:
    """Planned yes/no and choice responses by key: question id, condition, trial, answer, and the rule that decided."""
    return store.connection.execute(
        "SELECT question_id, condition, trial, answer, reason FROM responses WHERE kind != 'why' ORDER BY key"
    )


def decided_answers(store: Store, attribute: str) -> Iterator[tuple[str, str, str]]:
    """Key, role and outcome of the answers of an attribute that say something and are decided, by key."""
    return store.connection.execute(
        "SELECT key, role, outcome FROM responses "
        "WHERE attribute = ? AND outcome IS NOT NULL AND answer <> '' ORDER BY key",
        (attribute,),
    )


def example(store: Store, key: str) -> ExampleAnswer:
    """An answer and what it answers."""
    query = f"SELECT {', '.join(ExampleAnswer._fields)} FROM responses WHERE key = ?"
    (found,) = store.rows(query, key)
    return ExampleAnswer(*found)


Rows = Sequence[Sequence[object]]


def response_rows(
    store: Store, columns: Iterable[str], *, model: object, chunk: int, by_question: bool = False
) -> Iterator[Rows]:
    """The model, then columns of the view ``responses``, some rows at a time, by key.

    Or `by_question`: those of a question side by side, questions by attribute, role and kind.
    """
    # In the order of the key plan, answers and verdicts are read side by side, and nothing is sorted.
    order = "attribute, role, kind, question_id, condition, trial" if by_question else "key"
    query = f"SELECT ? AS model, {', '.join(columns)} FROM responses ORDER BY {order}"
    cursor = store.connection.execute(query, (model,))
    return iter(lambda: cursor.fetchmany(chunk), [])


def vote_rows(store: Store, *, chunk: int) -> Iterator[Rows]:
    """All votes with the replies they were read from, some rows at a time, by key."""
    cursor = store.connection.execute(
        "SELECT votes.key, response_key, condition, attribute, roles.name AS role, judge, prompt, vote_number, vote, "
        "reason, answers.text AS reply, resolved_model, prompt_tokens, completion_tokens, price, answered_at "
        "FROM votes JOIN ballots USING (ballot) LEFT JOIN plan ON plan.key = response_key "
        "LEFT JOIN questions USING (question_id) LEFT JOIN roles USING (role_id) "
        "LEFT JOIN answers ON answers.key = votes.key ORDER BY votes.key"
    )
    return iter(lambda: cursor.fetchmany(chunk), [])


def question_rows(store: Store) -> list[Sequence[object]]:
    """All questions by id, lists as JSON.

    Id, attribute, role, kind, target, text, options, groups, encounter, theme, disfavoured group, the option that the
    prejudice picks, the question that it mirrors, and how.
    """
    return store.rows(
        "SELECT question_id, attribute, name, kind, target, text, options, groups, encounter, theme, disfavoured, "
        "picks, mirror_of, mirror "
        "FROM questions JOIN roles USING (role_id) LEFT JOIN mirrors USING (question_id) ORDER BY question_id"
    )


Row = dict[str, Any]
Record = dict[str, list[Row]]
"""Rows by table, as dictionaries of their columns. Those of ``questions`` have the columns of role and mirror too."""

_PAGE = 1024

_QUESTION = [each.name for each in fields(Question) if each.name != "role"]

_BY_RESPONSE = (
    "verdicts", "votes", "screened", "thought_votes", "thought_verdicts", "sampled", "labels", "published",
)  # fmt: skip
_BY_KEY = ("answers", "other_answers", "failures")
_OF_RUN = ("panels", "ballots")


def question_row(question: Question) -> Row:
    """The row of a question as a record has it."""
    plain = {name: getattr(question, name) for name in _QUESTION}
    lists = {name: json.dumps(list(plain[name]), ensure_ascii=False) for name in ("options", "groups")}
    role = question.role
    who = {"attribute": role.attribute, "name": role.name, "persona": role.persona}
    return plain | lists | {"question_id": question.id} | who


def run_rows(store: Store) -> Record:
    """Rows that belong to no response: panels and ballots."""
    return {table: _dicts(store, f"SELECT * FROM {table} ORDER BY 1") for table in _OF_RUN}


def records(store: Store, condition: str) -> Iterator[Record]:
    """Everything about each planned response of a condition: by attribute, role, question and trial."""
    keys = store.column(
        "SELECT key FROM plan JOIN questions USING (question_id) JOIN roles USING (role_id) WHERE condition = ? "
        "ORDER BY attribute, name, kind, question_id, trial",
        condition,
    )
    by_response = [table for table in _BY_RESPONSE if store.has(table)]
    for start in range(0, len(keys), _PAGE):
        yield from _page(store, keys[start : start + _PAGE], by_response)


def _page(store: Store, keys: Sequence[str], by_response: Sequence[str]) -> Iterator[Record]:
    found: dict[str, Record] = {key: {} for key in keys}
    owner = {key: key for key in keys}  # of an answer, which may be one to a judge: the response that it is about

    def take(table: str, column: str, wanted: Iterable[str]) -> list[Row]:
        rows = _among(store, f"SELECT * FROM {table} WHERE {column}", wanted)
        for row in rows:
            found[owner[row[column]]].setdefault(table, []).append(row)
        return rows

    plan = take("plan", "key", keys)
    query = "SELECT * FROM questions JOIN roles USING (role_id) LEFT JOIN mirrors USING (question_id) WHERE question_id"
    questions = {row["question_id"]: row for row in _among(store, query, {row["question_id"] for row in plan})}
    for row in plan:
        found[row["key"]]["questions"] = [questions[row["question_id"]]]
    for table in by_response:
        for row in take(table, "response_key", keys):
            if table in ("votes", "thought_votes"):
                owner[row["key"]] = row["response_key"]
    again: Sequence[str] = keys
    while again:
        rows = take("retries", "key", again)
        owner |= {row["first"]: owner[row["key"]] for row in rows}
        again = [row["first"] for row in rows]
    for table in _BY_KEY:
        take(table, "key", owner)
    return iter(found.values())


def restore(store: Store, rows: Record, responses: Iterable[Record]) -> None:
    """Insert what `run_rows` and `records` gave, in one transaction; what is there already stays as it is.

    Raises `StorageError`, and writes nothing, when a value is none of its column's.
    """
    left = iter(responses)
    with store.transaction():
        _insert(store, rows)
        while page := list(islice(left, _PAGE)):
            _insert(store, _together(page))
        check_evaluation(store.connection, store.path)


def _together(page: Iterable[Record]) -> Record:
    joined: Record = {}
    for record in page:
        for table, rows in record.items():
            joined.setdefault(table, []).extend(rows)
    return joined


def _insert(store: Store, rows: Record) -> None:
    roles = {(row["attribute"], row["name"], row["persona"]) for row in rows.get("questions", ())}
    store.connection.executemany(
        "INSERT INTO roles (attribute, name, persona) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", sorted(roles)
    )
    ids = {tuple(role[1:]): role[0] for role in store.rows("SELECT role_id, attribute, name FROM roles")}
    questions = [row | {"role_id": ids[row["attribute"], row["name"]]} for row in rows.get("questions", ())]
    mirrors = [row for row in questions if row.get("mirror_of") is not None]
    ordered = {"questions": questions, "mirrors": mirrors, "plan": (), **dict.fromkeys(("panels", "ballots"), ())}
    for table in (*ordered, "retries", *_BY_RESPONSE, *_BY_KEY):
        given = ordered.get(table) or rows.get(table, ())
        if given:
            _insert_rows(store, table, given)


def _insert_rows(store: Store, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
    columns = list(columns_of(TABLES + EVALUATION_TABLES + IMPORT_TABLES)[table])
    marks = ", ".join("?" * len(columns))
    values = [tuple(row.get(column) for column in columns) for row in rows]
    if table == "failures":  # which has no key: the same one may come again
        same = " AND ".join(f"{column} IS ?" for column in columns)
        query = f"INSERT INTO failures SELECT {marks} WHERE NOT EXISTS (SELECT 1 FROM failures WHERE {same})"
        store.connection.executemany(query, [(*row, *row) for row in values])
    else:
        store.connection.executemany(f"INSERT INTO {table} VALUES ({marks}) ON CONFLICT DO NOTHING", values)


def _among(store: Store, query: str, values: Iterable[str]) -> list[Row]:
    return _dicts(store, f"{query} IN (SELECT value FROM json_each(?)) ORDER BY 1, 2", json.dumps(list(values)))


def _dicts(store: Store, query: str, *values: object) -> list[Row]:
    cursor = store.connection.execute(query, values)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]
