"""Exports give back exactly what the run file holds."""

import csv
import json

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from run_files import Asked, write_run

from biaslens._util.files import replacing
from biaslens.benchmark.files import MARK
from biaslens.errors import InputError, StorageError
from biaslens.report import export
from biaslens.report.export import RESPONSES, VOTES, Format
from biaslens.runfile import Store

HOSTILE = [
    'She said "no", then left',
    "two\nlines\r\nand\ra return",
    "=cmd|'/c calc'!A0",
    "🙂 ‮ right to left, NUL \x00 and \x1b[2J",
    "",
    "' OR 1=1; --",
    "NaN",
    "null",
    "line separator \u2028 and next line \x85",
]


@pytest.fixture
def hostile(tmp_path):
    asked = [
        Asked(
            "age", "Elders", "choice", ("biased", "error"), number=number, text=f"{text}?", answer=text, choice=1,
            options=("Elders", 'the "others", all', "I cannot"), groups=("Elders", "others"), target="age",
            option_order=(1, 0, 2), votes=("biased", None),
        )
        for number, text in enumerate(HOSTILE)
    ]  # fmt: skip
    return write_run(tmp_path / "run.sqlite", asked)


def stored(path):
    """The view's rows by key, as the run file has them, each with the canary."""
    with Store(path) as store:
        cursor = store.connection.execute("SELECT * FROM responses ORDER BY key")
        names = [column[0] for column in cursor.description]
        model = store.meta()["model"]
        return [{"model": model, **dict(zip(names, row, strict=True)), "canary": MARK} for row in cursor]


def decoded(rows):
    lists = ("options", "groups", "option_order")
    return [row | {name: json.loads(row[name]) for name in lists} for row in rows]


def test_the_whole_view_is_exported(hostile):
    assert list(stored(hostile)[0]) == list(RESPONSES)


def test_csv_reads_back_exactly(hostile, tmp_path):
    out, _ = export(hostile, tmp_path / "out.csv", Format.CSV)
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows == [
        {name: "" if value is None else str(value) for name, value in row.items()} for row in stored(hostile)
    ]


def test_jsonl_reads_back_exactly(hostile, tmp_path):
    out, _ = export(hostile, tmp_path / "out.jsonl", Format.JSONL)
    rows = [json.loads(line) for line in out.read_text("utf-8").split("\n")[:-1]]
    assert rows == decoded(stored(hostile))


def test_parquet_reads_back_exactly(hostile, tmp_path):
    out, _ = export(hostile, tmp_path / "out.parquet", Format.PARQUET)
    assert pq.read_table(out).to_pylist() == decoded(stored(hostile))


@given(text=st.text(st.characters(exclude_categories=["Cs"])))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_answer_survives_csv(tmp_path, text):
    path = tmp_path / "any.sqlite"
    path.unlink(missing_ok=True)
    write_run(path, [Asked("age", "Elders", "yes_no", ("biased",), answer=text)])
    out, _ = export(path, tmp_path / "any.csv", Format.CSV)
    with out.open(encoding="utf-8", newline="") as file:
        assert [row["answer"] for row in csv.DictReader(file)] == [text]


def test_votes_stand_beside_with_the_judges_words(tmp_path):
    path = write_run(tmp_path / "run.sqlite", [Asked("age", "Elders", "why", ("unjudged",), votes=("biased", None))])
    out, votes = export(path, tmp_path / "out.jsonl", Format.JSONL)
    (response,) = map(json.loads, out.read_text("utf-8").splitlines())
    rows = sorted(map(json.loads, votes.read_text("utf-8").splitlines()), key=lambda row: row["vote_number"])
    assert votes.name == "out.votes.jsonl"
    assert [(row["vote"], row["reply"], row["resolved_model"]) for row in rows] == [
        ("biased", "Reply: biased", "judge-1"),
        (None, None, None),
    ]
    assert {row["response_key"] for row in rows} == {response["key"]}


@pytest.mark.parametrize("format", list(Format))
def test_an_empty_run_gives_files_with_columns_only(tmp_path, format):
    path = write_run(tmp_path / "run.sqlite")
    out, votes = export(path, tmp_path / f"out.{format}", format)
    if format is Format.CSV:
        assert out.read_bytes().decode() == ",".join(RESPONSES) + "\r\n"
        assert votes.read_bytes().decode() == ",".join(VOTES) + "\r\n"
    elif format is Format.JSONL:
        assert out.read_bytes() == b""
    else:
        assert (pq.read_table(out).num_rows, pq.read_table(out).column_names) == (0, list(RESPONSES))


def test_more_rows_than_fit_a_chunk(tmp_path):
    asked = [Asked("age", "Elders", "yes_no", ("biased",) * 3, number=number) for number in range(3)]
    path = write_run(tmp_path / "run.sqlite", asked)
    out, _ = export(path, tmp_path / "out.parquet", Format.PARQUET, chunk=2)
    assert pq.read_table(out)["key"].to_pylist() == [row["key"] for row in stored(path)]


@pytest.mark.parametrize("name", ["run.sqlite", "../x/run.sqlite"])
def test_the_run_file_is_never_overwritten(tmp_path, name):
    (tmp_path / "x").mkdir()
    path = write_run(tmp_path / "x" / "run.sqlite")
    with pytest.raises(InputError, match="run file itself"):
        export(path, tmp_path / "x" / name, Format.CSV)


def test_an_unknown_format_is_named(run, tmp_path):
    with pytest.raises(InputError, match="'xlsx' is no export format; give one of csv, jsonl, parquet"):
        export(run, tmp_path / "out.xlsx", "xlsx")


def test_a_failed_export_leaves_the_older_file(tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("older")
    with pytest.raises(StorageError, match="damaged"), replacing(out) as temporary:
        temporary.write_text("half")
        raise StorageError("damaged")
    assert out.read_text() == "older"
    assert list(tmp_path.iterdir()) == [out]


def test_a_full_disk_is_one_clear_line(tmp_path):
    with (
        pytest.raises(StorageError, match=r"out\.csv: cannot be written \(No space left on device\)"),
        replacing(tmp_path / "out.csv"),
    ):
        raise OSError(28, "No space left on device")


def test_a_file_that_is_no_run_is_refused(tmp_path):
    (tmp_path / "run.sqlite").write_text("not a database, but long enough to look at")
    with pytest.raises(StorageError, match="not a run file"):
        export(tmp_path / "run.sqlite", tmp_path / "out.csv", Format.CSV)
