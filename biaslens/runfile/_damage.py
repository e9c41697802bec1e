"""Run files that are damaged: found before anything is written to them, and told of in one line."""

from __future__ import annotations

import re
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from biaslens.errors import BiasLensError, StorageError
from biaslens.runfile._schema import ALSO, EVALUATION_TABLES, TABLES

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


def is_damage(error: sqlite3.Error) -> bool:
    """Whether SQLite complains of what the file holds, and not of the disk or of another process."""
    return _SQLITE_SAYS.search(str(error)) is not None


def check_whole(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file whose pages do not fit together.

    Takes about a second per GB.

    Raises
    ------
    StorageError
        When SQLite's own check finds a fault.
    """
    try:
        (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        raise damaged(path, error) from error
    if found != "ok":
        raise damaged(path, found)


@contextmanager
def decoding(path: Path) -> Iterator[None]:
    """Turn what goes wrong while a run file's values are read into one line about the file.

    Raises
    ------
    StorageError
        When a value is none that biaslens has written.
    """
    try:
        yield
    except BiasLensError:
        raise
    except sqlite3.Error as error:
        if not is_damage(error):
            raise
        raise damaged(path, error) from error
    except _DECODING as error:
        raise damaged(path, f"{type(error).__name__}: {error}") from error


_STORED = {"TEXT": "text", "INTEGER": "integer", "REAL": "real"}


def check_evaluation(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file of an evaluation that has lost a table or column, or holds what was never written.

    Takes about a second per million rows.

    Raises
    ------
    StorageError
        At the first fault.
    """
    there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for table, columns in _defined(TABLES + EVALUATION_TABLES).items():
        if table not in there:
            raise damaged(path, f"table {table} is missing")
        missing = columns.keys() - {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
        if missing:
            raise damaged(path, f"table {table} has no column {min(missing)}")
        holds = " AND ".join([*columns.values(), *([ALSO[table]] if table in ALSO else [])])
        if connection.execute(f"SELECT 1 FROM {table} WHERE ({holds}) IS NOT 1 LIMIT 1").fetchone() is not None:
            raise damaged(path, f"table {table} holds a value that is none of its column's")


@cache
def _defined(tables: str) -> dict[str, dict[str, str]]:
    """By table and column, the condition that its values are of the declared type."""
    empty = sqlite3.connect(":memory:")
    try:
        empty.executescript(tables)
        names = [name for (name,) in empty.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            table: {
                name: f"(typeof({name}) = '{_STORED[kind]}'{'' if fixed or key else f' OR {name} IS NULL'})"
                for _, name, kind, fixed, _, key in empty.execute(f"PRAGMA table_info({table})")
            }
            for table in names
        }
    finally:
        empty.close()
