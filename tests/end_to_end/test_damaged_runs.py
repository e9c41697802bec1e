"""A run file that is damaged: every command that reads one says so in a line, or is not touched by the damage."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path

import pytest
from command import biaslens
from labelled_runs import write_labels
from run_files import ASKED, write_run

Damage = Callable[[Path], None]

PAGE = 4096

COMMANDS = (
    ("report", "r.sqlite"),
    ("report", "r.sqlite", "--json"),
    ("leaderboard", "r.sqlite", "--out", "board"),
    ("export", "r.sqlite", "--out", "out.jsonl", "--format", "jsonl"),
    ("analyze", "r.sqlite"),
    ("compare", "r.sqlite", "r.sqlite"),
    ("page", "r.sqlite", "--out", "page"),
    ("sample", "r.sqlite", "--out", "drawn", "--size", "1"),
    ("agreement", "r.sqlite"),
    ("labels", "import", "r.sqlite", "labels"),
    ("reproduce", "r.sqlite", "--out", "finding"),
    ("judge", "r.sqlite", "--judge", "local/screen"),
)


def truncated(size: float) -> Damage:
    def damage(path: Path) -> None:
        data = path.read_bytes()
        path.write_bytes(data[: int(size if size > 1 else size * len(data))])

    return damage


def overwritten(page: int, byte: Callable[[int], int]) -> Damage:
    def damage(path: Path) -> None:
        data = bytearray(path.read_bytes())
        assert len(data) > page * PAGE
        for place in range(page * PAGE, min((page + 1) * PAGE, len(data))):
            data[place] = byte(data[place])
        path.write_bytes(data)

    return damage


def done_by(*statements: str) -> Damage:
    def damage(path: Path) -> None:
        connection = sqlite3.connect(path)
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.close()

    return damage


def without_column(table: str, column: str) -> Damage:
    def damage(path: Path) -> None:
        connection = sqlite3.connect(path)
        names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[1] != column]
        view = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'responses'").fetchone()[0]
        connection.execute("DROP VIEW responses")
        connection.execute(f"CREATE TABLE fresh AS SELECT {', '.join(names)} FROM {table}")
        connection.execute(f"DROP TABLE {table}")
        connection.execute(f"ALTER TABLE fresh RENAME TO {table}")
        connection.execute(view)
        connection.commit()
        connection.close()

    return damage


TABLES = {
    "meta": ("name", "value"),
    "answers": ("key", "text", "finish_reason", "resolved_model", "price", "attempts", "answered_at"),
    "failures": ("key", "message"),
    "roles": ("attribute", "name"),
    "questions": ("question_id", "role_id", "kind", "options", "target", "groups"),
    "plan": ("key", "question_id", "condition", "trial", "option_order"),
    "panels": ("panel", "spec"),
    "votes": ("response_key", "vote"),
    "verdicts": ("response_key", "panel", "outcome", "choice", "oracle"),
    "sampled": ("response_key", "inclusion", "outcome"),
    "labels": ("annotator", "outcome"),
}


def damages() -> Iterator[tuple[str, Damage]]:
    wrong = cycle((("bytes", "X'FF00FE'"), ("a word", "'nonsense'"), ("negative", "-7"), ("huge", "9e99")))
    odd = cycle(("[[[]]]", '{"a": 1}', "null", "-1", '"word"'))
    for size in (0, 50, 100, 1024, PAGE, 0.3, 0.9):
        yield f"cut at {size}", truncated(size)
    for page in (0, 1, 3, 6, 9, 14, 19):
        yield f"page {page} zeroed", overwritten(page, lambda _: 0)
        yield f"page {page} flipped", overwritten(page, lambda byte: byte ^ 0xFF)
        yield f"page {page} made noise", overwritten(page, lambda byte: byte * 7 % 256)
    yield "no view", done_by("DROP VIEW responses")
    for table, columns in TABLES.items():
        yield f"no {table}", done_by(f"DROP TABLE {table}")
        yield f"{table} empty", done_by(f"DELETE FROM {table}")
        for column in columns:
            yield f"no {table}.{column}", without_column(table, column)
            name, value = next(wrong)
            yield f"{table}.{column} {name}", done_by(f"UPDATE OR REPLACE {table} SET {column} = {value}")
    for name in ("conditions", "trials", "panel", "model", "format", "starts", "params", "benchmark_hash"):
        for value in ("[", next(odd)):
            yield f"meta {name} {value}", done_by(f"INSERT OR REPLACE INTO meta VALUES ('{name}', '{value}')")


EVERY = dict(damages())


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    path = write_run(folder / "r.sqlite", ASKED)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    assert path.stat().st_size > 10 * PAGE
    return path


@pytest.mark.parametrize("name", EVERY)
def test_every_command_says_in_a_line_that_the_file_is_damaged_or_does_without(name: str, whole: Path) -> None:
    write_labels(Path("labels"), {ASKED[0]: 1.0}, {"ann": ["biased"]})
    number = list(EVERY).index(name)
    # What SQLite's own check finds is found by all; of the rest each command gets its turn.
    commands = COMMANDS if name.startswith(("cut", "page")) else [COMMANDS[(number + turn) % 12] for turn in (0, 5, 10)]
    for command in commands:
        shutil.copy(whole, "r.sqlite")
        EVERY[name](Path("r.sqlite"))
        done = biaslens(*command)
        assert "Traceback" not in done.stderr, (command, done.stderr)
        assert done.returncode in (0, 1, 3), (command, done.stderr)
        said = [line for line in done.stderr.splitlines() if line.startswith("biaslens: ")]
        assert len(said) == (done.returncode == 1), (command, done.stderr)
        if said and re.search(r"malformed|decode|SQL|not a database|no such (table|column)|Error", said[0]):
            assert re.search("damaged.*\\.recover", said[0]), (command, said)
        assert "close other programs" not in done.stderr, (command, done.stderr)
        if name.startswith(("cut at", "page")):
            assert done.returncode == 1, (command, done.stderr)
        for leftover in ("r.sqlite-wal", "r.sqlite-shm"):
            Path(leftover).unlink(missing_ok=True)
