"""Join run files of one run as sets: the order in which they are taken in makes no difference."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from biaslens.errors import RunMismatchError
from biaslens.runfile._store import ACTIVE_PANEL, IMPORT_TABLES, Store, damaged, storage_errors

SHARED = (
    "purpose", "model", "weights", "benchmark_version", "benchmark_hash", "params", "system", "template_hash", "seed",
    "shuffle_options", ACTIVE_PANEL,
)  # fmt: skip
"""Facts that files of one run have in common, as far as they know them."""

_VOTES = ("votes", "thought_votes")
_APART = frozenset({"meta", "roles", "questions", "plan", "retries", "answers", "other_answers", "failures"})
_HINT = "merge files of one run only: the same model, benchmark, wording and parameters"


class Clash(NamedTuple):
    """A key that two files have different answers to; the earlier one counts, the later one stands in other_answers."""

    key: str
    kept: str
    other: str


def take_in(store: Store, source: Store) -> None:
    """Take everything that another file of the same run holds into one that is open for writing.

    Of two answers to one request the earlier one counts, with what was made of it; the other one is kept beside it.
    RunMismatchError where the files are not of one run.
    """
    if source.has("imported"):
        store.connection.executescript(IMPORT_TABLES)
    with _attached(store, source), store.transaction():
        _join_meta(store, source)
        _join_plan(store)
        _join_answers(store)
        for table in _tables(store):
            _join(store, table)
        _execute(
            store,
            *(f"DELETE FROM {table} WHERE response_key NOT IN (SELECT key FROM plan)" for table in _dependent(store)),
            "INSERT INTO failures SELECT * FROM theirs.failures EXCEPT SELECT * FROM main.failures",
        )


def tidy(store: Store) -> None:
    """Give what was taken in the order it has in any run, and take back majorities of votes that have changed.

    Whoever calls this decides anew what the votes come to.
    """
    changed = "response_key IN (SELECT response_key FROM {} WHERE key IN (SELECT key FROM other_answers))"
    with store.transaction():
        _execute(
            store,
            f"DELETE FROM verdicts WHERE oracle LIKE 'judges:%' AND {changed.format('votes')}",
            "CREATE TEMP TABLE ranked AS SELECT role_id AS old, "
            "row_number() OVER (ORDER BY attribute, name) AS new FROM roles",
            "UPDATE roles SET role_id = -role_id",
            "UPDATE roles SET role_id = (SELECT new FROM ranked WHERE old = -role_id)",
            "UPDATE questions SET role_id = (SELECT new FROM ranked WHERE old = role_id)",
            "CREATE TEMP TABLE failed AS SELECT DISTINCT * FROM failures",
            "DELETE FROM failures",
            "INSERT INTO failures SELECT * FROM failed ORDER BY failed_at, key, message",
        )
        if store.has("thought_verdicts"):
            # Votes on thoughts are decided as their replies are read: these are read once more.
            where = changed.format("thought_votes")
            _execute(
                store,
                f"DELETE FROM thought_verdicts WHERE {where}",
                f"UPDATE thought_votes SET vote = NULL, reason = NULL WHERE {where}",
            )
    broken = store.rows("PRAGMA foreign_key_check")
    if broken:
        raise damaged(store.path, f"table {broken[0][0]} refers to rows that are in none of the files")


def clashes(store: Store) -> list[Clash]:
    """Requests that were answered differently in files that were merged, in the order of their keys."""
    rows = store.rows(
        "SELECT key, coalesce(answers.text, ''), other_answers.text FROM other_answers LEFT JOIN answers USING (key) "
        "ORDER BY key, other_answers.answered_at, other_answers.text"
    )
    return [Clash(*row) for row in rows]


@contextmanager
def _attached(store: Store, source: Store) -> Iterator[None]:
    connection = store.connection
    with storage_errors(source.path):
        connection.execute("PRAGMA foreign_keys = OFF")  # rows come table by table; `tidy` checks all
        connection.execute("ATTACH ? AS theirs", (source.address,))
        try:
            yield
        finally:
            connection.execute("DETACH theirs")


def _execute(store: Store, *statements: str) -> None:
    for statement in statements:
        store.connection.execute(statement)


def _columns(store: Store, table: str) -> list[str]:
    return [f'"{name}"' for name in store.column(f"SELECT name FROM pragma_table_info('{table}')")]


def _tables(store: Store) -> list[str]:
    """Tables whose rows stand for themselves, in both files."""
    names = store.column(
        "SELECT name FROM main.sqlite_master WHERE type = 'table' AND name IN "
        "(SELECT name FROM theirs.sqlite_master WHERE type = 'table') ORDER BY name"
    )
    return [name for name in names if name not in _APART]


def _dependent(store: Store) -> list[str]:
    return [table for table in _tables(store) if '"response_key"' in _columns(store, table)]


def _row(alias: str, columns: list[str]) -> str:
    """All of a row as one text, by which rows are compared."""
    return " || ',' || ".join(f"quote({alias}.{column})" for column in columns)


def _join_meta(store: Store, source: Store) -> None:
    ours, theirs = store.meta(), source.meta()
    for name in SHARED:
        if name in ours and name in theirs and ours[name] != theirs[name]:
            raise RunMismatchError(
                f"{source.path}: this run has {name} = {json.dumps(theirs[name])}, the others have "
                f"{json.dumps(ours[name])}; {_HINT}"
            )
    differ = store.column(
        "SELECT panel FROM main.panels JOIN theirs.panels AS other USING (panel) WHERE other.spec <> panels.spec"
    )
    if differ:
        raise RunMismatchError(f"{source.path}: {differ[0]} has judged this run under other conditions; {_HINT}")
    joined = {name: _joined(name, ours, theirs) for name in sorted(ours | theirs)}
    store.connection.executemany(
        "INSERT OR REPLACE INTO meta VALUES (?, ?)",
        [(name, json.dumps(value, ensure_ascii=False, sort_keys=True)) for name, value in joined.items()],
    )


def _joined(name: str, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> object:
    known = [meta[name] for meta in (ours, theirs) if name in meta]
    match name:
        case "starts" | "conditions":
            each = {json.dumps(item, sort_keys=True): item for items in known for item in items}
            return [each[text] for text in sorted(each, key=lambda text: (_begun(each[text]), text))]
        case "trials" | "format":
            return max(known)
        case "thought_panels":
            return {panel: spec for panels in known for panel, spec in panels.items()}
    return min(known, key=lambda value: json.dumps(value, sort_keys=True))


def _begun(item: object) -> str:
    return str(item.get("at", "")) if isinstance(item, dict) else ""


def _join_plan(store: Store) -> None:
    _execute(
        store,
        "INSERT OR IGNORE INTO roles (attribute, name, persona) SELECT attribute, name, persona FROM theirs.roles",
    )
    columns = _columns(store, "questions")
    chosen = ", ".join("mine.role_id" if column == '"role_id"' else f"q.{column}" for column in columns)
    _execute(
        store,
        f"INSERT OR IGNORE INTO questions SELECT {chosen} FROM theirs.questions AS q "
        "JOIN theirs.roles AS r USING (role_id) "
        "JOIN main.roles AS mine ON mine.attribute = r.attribute AND mine.name = r.name",
        "INSERT OR IGNORE INTO plan SELECT * FROM theirs.plan",
    )
    retries = set(store.rows("SELECT first, key, max_tokens FROM main.retries"))
    retries |= set(store.rows("SELECT first, key, max_tokens FROM theirs.retries"))
    if not retries:
        return
    # A response may have been asked again here and there, with another limit: the largest one reached counts.
    after: dict[str, list[tuple[str, int]]] = {}
    for first, key, limit in retries:
        after.setdefault(first, []).append((key, limit))

    def reached(key: str, limit: int) -> tuple[int, str]:
        return max((reached(*each) for each in after.get(key, ())), default=(limit, key))

    kept, last = [], set()
    for first in after.keys() - {key for _, key, _ in retries}:
        key = first
        while key in after:
            best = max(after[key], key=lambda each: (reached(*each), each))
            kept.append((key, *best))
            key = best[0]
        last.add(key)
    _execute(store, "DELETE FROM retries")
    store.connection.executemany("INSERT INTO retries (first, key, max_tokens) VALUES (?, ?, ?)", kept)
    left = {key for retry in retries for key in retry[:2]} - last
    store.connection.executemany("DELETE FROM plan WHERE key = ?", ((key,) for key in left))


def _join_answers(store: Store) -> None:
    columns = _columns(store, "answers")
    columns = ['"answered_at"', *(name for name in columns if name != '"answered_at"')]  # the earlier one comes first
    votes = [table for table in _VOTES if table in _tables(store)]
    ours, theirs = _row("ours", columns), _row("t", columns)
    _execute(
        store,
        "DROP TABLE IF EXISTS temp.clash",
        "DROP TABLE IF EXISTS temp.lost",
        f"CREATE TEMP TABLE clash AS SELECT key, {theirs} < {ours} AS won FROM theirs.answers AS t "
        f"JOIN main.answers AS ours USING (key) WHERE {theirs} <> {ours}",
        "CREATE TEMP TABLE lost (side TEXT, key TEXT, PRIMARY KEY (side, key)) WITHOUT ROWID",
        "INSERT INTO lost SELECT CASE WHEN won THEN 'main' ELSE 'theirs' END, key FROM clash WHERE key IN "
        "(SELECT key FROM plan)",
    )
    for table in votes:
        # A judge's reply is on the answer that its file held: with that one it is lost.
        for side in ("main", "theirs"):
            _execute(
                store,
                f"INSERT OR IGNORE INTO lost SELECT '{side}', v.key FROM {side}.{table} AS v "
                f"JOIN lost ON lost.side = '{side}' AND lost.key = v.response_key",
            )
    _execute(
        store,
        "INSERT OR IGNORE INTO lost SELECT CASE WHEN won THEN 'main' ELSE 'theirs' END, key FROM clash "
        "WHERE key NOT IN (SELECT key FROM lost)",
        "INSERT OR IGNORE INTO other_answers SELECT * FROM main.answers WHERE key IN "
        "(SELECT key FROM lost WHERE side = 'main')",
        "DELETE FROM main.answers WHERE key IN (SELECT key FROM lost WHERE side = 'main')",
        "INSERT OR IGNORE INTO other_answers SELECT * FROM theirs.answers WHERE key IN "
        "(SELECT key FROM lost WHERE side = 'theirs')",
        "INSERT OR IGNORE INTO other_answers SELECT * FROM theirs.other_answers",
        "INSERT OR IGNORE INTO answers SELECT * FROM theirs.answers WHERE key NOT IN "
        "(SELECT key FROM lost WHERE side = 'theirs')",
        "DELETE FROM other_answers WHERE EXISTS (SELECT 1 FROM answers WHERE answers.key = other_answers.key "
        "AND answers.answered_at = other_answers.answered_at AND answers.text = other_answers.text)",
    )


def _join(store: Store, table: str) -> None:
    columns = _columns(store, table)
    key = store.column(f"SELECT name FROM pragma_table_info('{table}') WHERE pk ORDER BY pk")
    chosen, holds = ", ".join(columns), "true"
    if '"response_key"' in columns:
        _execute(
            store,
            f"DELETE FROM {table} WHERE response_key IN (SELECT key FROM lost WHERE side = 'main')",
        )
        holds = "response_key NOT IN (SELECT key FROM lost WHERE side = 'theirs')"
    if table in _VOTES:
        # A vote is what was read of the reply: it goes with it.
        lost = "key IN (SELECT key FROM lost WHERE side = '{}')"
        _execute(store, f"UPDATE {table} SET vote = NULL, reason = NULL WHERE {lost.format('main')}")
        taken = (
            f"CASE WHEN {lost.format('theirs')} THEN NULL ELSE {column} END"
            if column in ('"vote"', '"reason"')
            else column
            for column in columns
        )
        chosen = ", ".join(taken)
    excluded = ", ".join(f"{column} = excluded.{column}" for column in columns)
    _execute(
        store,
        # NULL comes last: what is known is preferred.
        f"INSERT INTO main.{table} SELECT {chosen} FROM theirs.{table} WHERE {holds} "
        f"ON CONFLICT ({', '.join(key)}) DO UPDATE SET {excluded} "
        f"WHERE {_row('excluded', columns)} < {_row(table, columns)}",
    )
