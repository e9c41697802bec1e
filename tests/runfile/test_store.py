"""The run file."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from biaslens.errors import RunLockedError, RunMismatchError, StorageError
from biaslens.runfile import EVALUATION_TABLES, Answer, Store
from biaslens.runfile._store import FORMAT

ANSWER = Answer("k", "m", "Yes.", "stop", "m-1", 1, 1, None, 0.5, 1, "2026-01-01T00:00:00+00:00")


def test_an_answer_is_never_overwritten(tmp_path: Path):
    with Store(tmp_path / "r.sqlite", write=True) as store:
        for text in ("first", "second"):
            with store.transaction() as connection:
                store.save(connection, [Answer("k", "m", text, "stop", "m-1", 1, 1, None, 0.5, 1, "now")])
        assert store.connection.execute("SELECT text FROM answers").fetchall() == [("first",)]


def test_a_failed_transaction_leaves_nothing(tmp_path: Path):
    with Store(tmp_path / "r.sqlite", write=True) as store:
        with pytest.raises(ZeroDivisionError), store.transaction() as connection:
            store.save(connection, [ANSWER])
            _ = 1 / 0
        assert store.connection.execute("SELECT count(*) FROM answers").fetchone() == (0,)


def test_a_second_writer_is_refused_and_a_reader_is_not(tmp_path: Path):
    path = tmp_path / "r.sqlite"
    with Store(path, write=True):
        with pytest.raises(RunLockedError, match="another process"):
            Store(path, write=True)
        with Store(path) as reader:
            assert reader.meta()["format"] == FORMAT
    Store(path, write=True).close()


def test_a_second_process_is_refused(tmp_path: Path):
    path = tmp_path / "r.sqlite"
    code = f"from pathlib import Path; from biaslens.runfile import Store; Store(Path({str(path)!r}), write=True)"
    with Store(path, write=True):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "RunLockedError" in done.stderr


def test_facts_of_a_run_cannot_change(tmp_path: Path):
    with Store(tmp_path / "r.sqlite", write=True) as store:
        store.require_meta({"model": "a", "params": {"top_p": None}}, hint="name another file")
        store.require_meta({"model": "a", "params": {"top_p": None}, "seed": 0}, hint="name another file")
        with pytest.raises(RunMismatchError, match='model = "a", not "b"; name another file'):
            store.require_meta({"model": "b"}, hint="name another file")


def test_a_missing_file_is_not_made_by_reading(tmp_path: Path):
    with pytest.raises(StorageError, match="no such run file"):
        Store(tmp_path / "r.sqlite")
    assert not (tmp_path / "r.sqlite").exists()


def test_a_file_that_is_no_run_file_is_refused_and_left_alone(tmp_path: Path):
    path = tmp_path / "r.sqlite"
    path.write_text("my precious notes, long enough for a database header\n" * 50)
    for write in (True, False):
        with pytest.raises(StorageError, match="not a run file"):
            Store(path, write=write)
    assert path.read_text().startswith("my precious notes")


def of_format(path: Path, number: int) -> Path:
    with Store(path, write=True) as store, store.transaction() as connection:
        store.save(connection, [ANSWER])
        connection.execute("UPDATE meta SET value = ? WHERE name = 'format'", (number,))
    return path


@pytest.mark.parametrize(
    ("number", "reader"), [(1, "biaslens 0.1.0 reads it"), (99, "another version of biaslens reads it")]
)
def test_a_file_of_another_format_is_refused_in_a_line_that_says_who_reads_it(tmp_path: Path, number: int, reader: str):
    path = of_format(tmp_path / "r.sqlite", number)
    refused = f"run file format {number}, this version reads format {FORMAT}; {reader}"
    with pytest.raises(RunMismatchError, match=refused):
        Store(path)


def test_a_file_of_another_format_is_not_written_to(tmp_path: Path):
    path = of_format(tmp_path / "r.sqlite", 1)
    with pytest.raises(RunMismatchError):
        Store(path, write=True, tables=EVALUATION_TABLES)
    connection = sqlite3.connect(path)
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    connection.close()
    assert tables == {"meta", "answers", "other_answers", "failures", "batches", "batch_requests"}


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="needs the sqlite3 program")
def test_the_command_in_the_refusal_saves_the_answers(tmp_path: Path):
    path = of_format(tmp_path / "my run.sqlite", 1)
    with pytest.raises(RunMismatchError) as refusal:
        Store(path)
    command = str(refusal.value).split("saves its answers: ", 1)[1]
    subprocess.run(command, shell=True, check=True, cwd=tmp_path)
    assert "Yes." in (tmp_path / "answers.csv").read_text(encoding="utf-8")


def test_a_folder_that_cannot_be_made_is_one_clear_error(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="file"):
        Store(tmp_path / "file" / "r.sqlite", write=True)


def test_a_link_to_a_run_file_is_the_same_run(tmp_path: Path):
    (tmp_path / "link.sqlite").symlink_to(tmp_path / "r.sqlite")
    with Store(tmp_path / "r.sqlite", write=True), pytest.raises(RunLockedError):
        Store(tmp_path / "link.sqlite", write=True)


def test_a_copy_without_the_log_holds_what_was_there_at_the_last_checkpoint(tmp_path: Path):
    copy = tmp_path / "copy.sqlite"
    with Store(tmp_path / "r.sqlite", write=True) as store:
        store.keep(ANSWER)
        store.checkpoint()
        shutil.copy(store.path, copy)
    with Store(copy) as copied:
        assert copied.connection.execute("SELECT text FROM answers").fetchall() == [("Yes.",)]


def test_a_copy_made_before_any_checkpoint_says_what_is_missing(tmp_path: Path):
    with Store(tmp_path / "r.sqlite", write=True) as store:
        store.keep(ANSWER)
        shutil.copy(store.path, tmp_path / "copy.sqlite")
    with pytest.raises(StorageError, match=r"copy\.sqlite-wal when it was copied: copy both files"):
        Store(tmp_path / "copy.sqlite")


def test_a_closed_file_is_whole_even_while_somebody_reads_it(tmp_path: Path):
    with Store(tmp_path / "r.sqlite", write=True) as store:
        store.keep(ANSWER)
        reader = Store(tmp_path / "r.sqlite")
    shutil.copy(tmp_path / "r.sqlite", tmp_path / "copy.sqlite")
    reader.close()
    with Store(tmp_path / "copy.sqlite") as copied:
        assert copied.connection.execute("SELECT text FROM answers").fetchall() == [("Yes.",)]
