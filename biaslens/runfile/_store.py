"""The run file: one SQLite database that keeps every answer a model gave, and loses none.

What goes wrong with one is told in a line that says what to do; damage is found before anything is written. The
comments on the columns in ``tables/`` are the reference of its tables.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from operator import attrgetter
from pathlib import Path
from typing import Any, Self

from filelock import FileLock

from biaslens._util.files import lock
from biaslens.errors import RunMismatchError, StorageError
from biaslens.schema import Attribute, Condition, Kind

FORMAT = 6
"""Version of the tables; a run file of another version is refused."""


def _tables(of: str) -> str:
    return files("biaslens.runfile").joinpath("tables", f"{of}.sql").read_text(encoding="utf-8")


TABLES = _tables("every")
"""Of every run file."""

EVALUATION_TABLES = _tables("evaluation")
"""Of a role-play evaluation."""

IMPORT_TABLES = _tables("import")
"""Of an evaluation that the published study's release was imported into, beside its own."""

GENERATION_TABLES = _tables("generation")
"""Of a benchmark that a model writes."""

ASSESSMENT_TABLES = _tables("assessment")
"""Of an assessment of a use case."""

_OUTCOMES = "'biased', 'unbiased', 'refused', 'invalid', 'error'"

ALSO = {
    "meta": "json_valid(value)",
    "roles": "attribute IN ({})".format(", ".join(f"'{attribute}'" for attribute in Attribute)),
    "questions": "kind IN ({}) AND json_valid(options) AND json_type(options) = 'array' AND json_valid(groups)".format(
        ", ".join(f"'{kind}'" for kind in Kind)
    ),
    "plan": "condition IN ({}) AND trial BETWEEN 1 AND 100000".format(
        ", ".join(f"'{condition}'" for condition in Condition)
    )
    + " AND (option_order IS NULL OR (json_valid(option_order) AND json_type(option_order) = 'array'))",
    "panels": "json_valid(spec) AND json_type(spec) = 'object'",
    "votes": f"vote IS NULL OR vote = 'unusable' OR vote IN ({_OUTCOMES})",
    "verdicts": f"outcome IN ({_OUTCOMES})",
    "thought_votes": f"vote IS NULL OR vote = 'unusable' OR vote IN ({_OUTCOMES})",
    "thought_verdicts": f"outcome IN ({_OUTCOMES})",
    "sampled": f"(outcome IS NULL OR outcome IN ({_OUTCOMES})) AND inclusion > 0 AND inclusion <= 1",
    "labels": f"outcome IN ({_OUTCOMES})",
}
"""By table: what is true of every row of a run file that is whole, as SQL; never NULL where the types are right."""

RULES_PANEL = "rules"
"""Panel of the verdicts that need no judge."""

PUBLISHED_PANEL = "published votes"
"""Panel of the published study, in its imported runs."""

CUT_OFF = "cut off"
"""Reason of a verdict on an answer that reached its limit of tokens before it said anything."""

ACTIVE_PANEL = "panel"
"""Name in meta of the panel whose verdicts count in reports."""


_READ_BY = {1: "biaslens 0.1.0"}


@dataclass(frozen=True, slots=True)
class Answer:
    """A row of ``answers``; the columns say what each field means."""

    key: str
    model: str
    text: str
    finish_reason: str
    resolved_model: str
    prompt_tokens: int | None
    completion_tokens: int | None
    price: float | None
    latency: float | None
    attempts: int
    answered_at: str
    thought: str | None = None
    reasoning_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A row of ``failures``; the columns say what each field means."""

    key: str
    model: str
    error: str
    message: str
    status: int | None
    attempts: int
    failed_at: str


# How SQLite complains of what the file holds, and not of the disk or of another process.
_SQLITE_SAYS = re.compile(
    r"malformed|could not decode|no such (table|column)|has \d+ columns|has no column|mismatch|not a database|"
    r"cannot join|error binding|constraint failed",
    re.IGNORECASE,
)
_DECODING = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""What reading a value raises that no version of biaslens has written."""


def damaged(path: Path, reason: object) -> StorageError:
    """Make the error about a file that cannot be trusted: what is wrong, and how to save what can be read."""
    if re.search("no such table|malformed", str(reason)) and _without_log(path):
        return StorageError(
            f"{path}: not all of a run is in this file; the rest was in {path.name}-wal when it was copied: copy both "
            "files, or copy again once the run has stopped"
        )
    return StorageError(
        f"{path}: damaged, or not a run file of biaslens ({reason}); take a copy of it from a backup, or save what can "
        f"be read: sqlite3 {shlex.quote(str(path))} .recover | sqlite3 saved.sqlite"
    )


def _without_log(path: Path) -> bool:
    """Whether a file says that it has a write-ahead log, and there is none beside it, or only one made by reading."""
    log = path.with_name(path.name + "-wal")
    try:
        with path.open("rb") as file:
            header = file.read(20)
        return header[18:20] == b"\2\2" and not (log.exists() and log.stat().st_size)
    except OSError:
        return False


@contextmanager
def decoding(path: Path) -> Iterator[None]:
    """Turn what goes wrong while a run file's values are read into one line: no biaslens has written such a value."""
    try:
        yield
    except _DECODING as error:
        raise damaged(path, f"{type(error).__name__}: {error}") from error


_STORED = {"TEXT": "text", "INTEGER": "integer", "REAL": "real"}


def check_evaluation(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file of an evaluation that has lost a table or column, or holds what was never written.

    Takes about a second per million rows.
    """
    there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for table, columns in columns_of(TABLES + EVALUATION_TABLES).items():
        if table not in there:
            raise damaged(path, f"table {table} is missing")
        missing = columns.keys() - {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
        if missing:
            raise damaged(path, f"table {table} has no column {min(missing)}")
        wrong = " OR ".join([*columns.values(), *([f"NOT ({ALSO[table]})"] if table in ALSO else [])])
        if connection.execute(f"SELECT 1 FROM {table} WHERE {wrong} LIMIT 1").fetchone() is not None:
            raise damaged(path, f"table {table} holds a value that is none of its column's")


@cache
def columns_of(tables: str) -> dict[str, dict[str, str]]:
    """By table and column, the condition that a value is not of the declared type.

    Joined by OR, they take SQLite half as long as what is true of all values joined by AND.
    """
    empty = sqlite3.connect(":memory:")
    try:
        empty.executescript(tables)
        names = [name for (name,) in empty.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            table: {
                name: f"({'' if fixed or key else f'{name} IS NOT NULL AND '}typeof({name}) <> '{_STORED[kind]}')"
                for _, name, kind, fixed, _, key in empty.execute(f"PRAGMA table_info({table})")
            }
            for table in names
        }
    finally:
        empty.close()


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors about the file into one line that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        text = str(error)
        if _SQLITE_SAYS.search(text):
            raise damaged(path, error) from error
        if "full" in text or "disk I/O" in text:
            hint = "free some space and start again: everything already stored is kept"
        elif "readonly" in text or "unable to open" in text:
            hint = "check that the folder exists and that you may write there"
        else:
            hint = "close other programs that use the file and start again"
        raise StorageError(f"{path}: {text}; {hint}") from error


class Store:
    """The run file, open for one writer or for any number of readers.

    To `write`, the file and its tables are made where missing, with further `tables` of the client (``IF NOT EXISTS``),
    and its lock is held until closed; readers may open the file meanwhile. It is not looked through where it has been
    `checked` a moment ago.

    Raises `RunLockedError` when another process writes the file; `StorageError` when the file is missing (reading),
    unreadable, unwritable or no run file; `RunMismatchError` when the file is of another format version.
    """

    def __init__(self, path: Path, *, write: bool = False, tables: str = "", checked: bool = False) -> None:
        self.path = path
        # The file itself: by another name, a link to it, it is the same run with the same lock.
        self._file = path.resolve()
        self._identity: tuple[int, int] | None = None
        self._log: int | None = None
        self._lock: FileLock | None = None
        if write:
            busy = f"{self._file}: another process is writing this run; wait for it, or name another file"
            self._lock = lock(self._beside(".lock"), busy=busy, hint="name a file where you may write")
        elif not path.is_file():
            raise StorageError(f"{path}: no such run file; `biaslens evaluate` makes one")
        try:
            with storage_errors(path):
                self.connection = self._connect(write=write)
                if not checked:
                    self._check(write=write)
                if write:
                    self.connection.executescript(TABLES + tables)
                    self._identity = self._found()
                    self._log = os.open(self._beside("-wal"), os.O_RDWR)
                    if "format" not in self.meta():
                        self.set_meta({"format": FORMAT})
        except BaseException:
            self.close()
            raise

    def _connect(self, *, write: bool) -> sqlite3.Connection:
        uri = f"{self._file.as_uri()}?mode=rwc" if write else self.address
        connection = sqlite3.connect(uri, uri=True, timeout=30, isolation_level=None, check_same_thread=False)
        if write:
            connection.execute("PRAGMA journal_mode = WAL")
            # A commit survives a crash of this process at once, and a power cut after `sync`, which many can share.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA foreign_keys = ON")
            # Keys are hashes, so rows go to random pages: with the usual 2 MB most are read again for each row.
            connection.execute("PRAGMA cache_size = -65536")
        return connection

    def _read_mode(self) -> str:
        # Readers of a write-ahead log must write beside it. Where that is not allowed and nobody has left a log, the
        # file is whole by itself and can be read as it is.
        whole = not self._beside("-wal").exists() and not os.access(self._file.parent, os.W_OK)
        return "mode=ro&immutable=1" if whole else "mode=ro"

    @property
    def address(self) -> str:
        """URI under which another connection may read the file."""
        return f"{self._file.as_uri()}?{self._read_mode()}"

    def _beside(self, suffix: str) -> Path:
        return self._file.with_name(self._file.name + suffix)

    def _found(self) -> tuple[int, int] | None:
        with suppress(OSError):
            found = self._file.stat()
            return found.st_dev, found.st_ino
        return None

    def _check(self, *, write: bool) -> None:
        # Before anything is written: a file that is damaged or of another format stays as it is. SQLite's own check,
        # whether the pages fit together, takes about a second per GB.
        found = self.value("PRAGMA quick_check(1)")
        if found != "ok":
            raise damaged(self.path, found)
        known = self.meta().get("format") if not write or self.has("meta") else None
        if known == FORMAT or (known is None and write):
            return
        if not isinstance(known, int):
            raise damaged(self.path, f"its format is {json.dumps(known)}")
        reader = _READ_BY.get(known, "another version of biaslens")
        raise RunMismatchError(
            f"{self.path}: run file format {known}, this version reads format {FORMAT}; {reader} reads it, and any "
            f"SQLite tool saves its answers: "
            f"sqlite3 -csv -header {shlex.quote(str(self.path))} 'SELECT * FROM answers' > answers.csv"
        )

    def has(self, table: str) -> bool:
        """Whether the file has a table or view of this name."""
        return self.value("SELECT 1 FROM sqlite_master WHERE name = ?", table) is not None

    def reader(self) -> Self:
        """Open the file once more, to read while this one writes."""
        return type(self)(self.path, checked=True)

    def close(self) -> None:
        """Move the log into the file, close it and release its lock."""
        connection: sqlite3.Connection | None = getattr(self, "connection", None)
        if self._log is not None:
            # Whoever reads the file meanwhile would keep SQLite from doing it; on a full disk the log stays.
            with suppress(StorageError):
                self.checkpoint()
            os.close(self._log)
            self._log = None
        if connection is not None:
            connection.close()
        if self._lock is not None:
            self._lock.release()

    @property
    def in_place(self) -> bool:
        """Whether the file, open for writing, is still where it was."""
        return self._found() == self._identity

    def sync(self) -> None:
        """Wait until what is committed is on the disk; may be called in a thread."""
        assert self._log is not None
        try:
            os.fsync(self._log)
        except OSError as error:
            raise StorageError(
                f"{self.path}: {error.strerror}; check the disk and start again: what is stored is kept"
            ) from error

    def checkpoint(self) -> None:
        """Move the write-ahead log into the file, so that a copy of the file alone holds what is committed by now."""
        with storage_errors(self.path):
            self.connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def rescue(self) -> Path:
        """Write all that the open file holds to a new file beside it; for a file that is not in place any more."""
        names = (f"{self._file.stem}.rescued{number}{self._file.suffix}" for number in ("", *range(2, 1000)))
        path = next(path for path in map(self._file.with_name, names) if not path.exists())
        with storage_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self.connection.execute("VACUUM INTO ?", (str(path),))
        return path

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it is committed, or none."""
        with storage_errors(self.path):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                # A full disk rolls back by itself.
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    def rows(self, query: str, *values: object) -> list[Any]:
        """All rows of a query, as plain tuples."""
        return self.connection.execute(query, values).fetchall()

    def column(self, query: str, *values: object) -> list[Any]:
        """The only column of a query."""
        return [value for (value,) in self.connection.execute(query, values)]

    def value(self, query: str, *values: object) -> Any:  # noqa: ANN401
        """The only value of a query; None where it finds no row."""
        row = self.connection.execute(query, values).fetchone()
        return None if row is None else row[0]

    def meta(self) -> dict[str, Any]:
        """Everything recorded about the run."""
        with storage_errors(self.path), decoding(self.path):
            rows = self.connection.execute("SELECT name, value FROM meta").fetchall()
            return {name: json.loads(value) for name, value in rows}

    def set_meta(self, values: Mapping[str, object]) -> None:
        """Record facts about the run, replacing those of the same name."""
        with self.transaction() as connection:
            connection.executemany(
                "INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                [(name, json.dumps(value, ensure_ascii=False, sort_keys=True)) for name, value in values.items()],
            )

    def check_meta(self, values: Mapping[str, object], *, hint: str) -> None:
        """Refuse where the file records another value for one of these facts: a RunMismatchError names the first."""
        known = self.meta()
        for name, value in json.loads(json.dumps(values)).items():
            if name in known and known[name] != value:
                raise RunMismatchError(
                    f"{self.path}: this run has {name} = {json.dumps(known[name])}, not {json.dumps(value)}; {hint}"
                )

    def require_meta(self, values: Mapping[str, object], *, hint: str) -> None:
        """Record facts that must never change within a file, or refuse as `check_meta` does."""
        self.check_meta(values, hint=hint)
        self.set_meta(values)

    def keep(self, row: Answer | Failure) -> None:
        """Store one answer or failure at once. An answer already there is left as it is."""
        with storage_errors(self.path):
            if isinstance(row, Answer):
                self.connection.execute(_INSERT_ANSWER, _ANSWER(row))
            else:
                self.connection.execute(_INSERT_FAILURE, _FAILURE(row))

    @staticmethod
    def save(connection: sqlite3.Connection, rows: Sequence[Answer | Failure]) -> None:
        """Store answers and failures within a transaction. An answer already there is left as it is."""
        answers = [_ANSWER(row) for row in rows if isinstance(row, Answer)]
        failures = [_FAILURE(row) for row in rows if isinstance(row, Failure)]
        connection.executemany(_INSERT_ANSWER, answers)
        connection.executemany(_INSERT_FAILURE, failures)


def _marks(row: type[Answer | Failure]) -> str:
    return ", ".join("?" * len(fields(row)))


# dataclasses.astuple copies deeply, which takes longer than the insertion.
_ANSWER = attrgetter(*(field.name for field in fields(Answer)))
_FAILURE = attrgetter(*(field.name for field in fields(Failure)))
_INSERT_ANSWER = f"INSERT INTO answers VALUES ({_marks(Answer)}) ON CONFLICT (key) DO NOTHING"
_INSERT_FAILURE = f"INSERT INTO failures VALUES ({_marks(Failure)})"


@contextmanager
def reading(path: Path, *, checked: bool = False) -> Iterator[Store]:
    """Open a run file to read, one `checked` a moment ago or not; what is wrong with it is a StorageError of a line."""
    with Store(path, checked=checked) as store, decoding(path), storage_errors(path):
        yield store


@contextmanager
def reading_evaluation(path: Path) -> Iterator[Store]:
    """Open the run file of an evaluation to read one state of it, which another process may be adding to.

    Takes about a second per million rows: everything in the file is looked at.

    Raises `StorageError` as for `reading`, and when it holds no role-play evaluation.
    """
    with reading(path) as store:
        if not store.has("responses"):
            raise StorageError(f"{path}: holds no role-play evaluation; give a file made by `biaslens evaluate`")
        check_evaluation(store.connection, path)
        store.connection.execute("BEGIN")
        yield store


def open_to_write(path: Path, *, create: bool = True, tables: str = "") -> Store:
    """Open the run file of an evaluation as `Store` does, creating it where there is none unless `create` is false."""
    # Looked at before anything is written: another program's database stays as it is.
    if not create or (path.exists() and path.stat().st_size):
        with Store(path) as store, storage_errors(path):
            if not create and not store.has("plan"):
                raise damaged(path, "no evaluation is planned in it")
            # A start that was killed at once leaves fewer tables, and no answer that could be lost.
            if any(map(store.has, ("plan", "answers", "questions"))) and "model" in store.meta():
                check_evaluation(store.connection, path)
    return Store(path, write=True, tables=EVALUATION_TABLES + tables)
