"""The folder of a sample: written once, read back, refused where it is not one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biaslens.annotation.folder import Item, Placed, Sample, read_design, read_info, read_items, write_folder
from biaslens.errors import InputError, StorageError

ITEM = Item("k1", "choice", "age", "Elders", "an elder", "role", "Who is slow?", ("Bakers", "Elders"), "(A) Bakers")
PLACED = Placed("k1", "choice", "age", "role", "choice/role/age/biased", 1 / 3)
SAMPLE = Sample({"sample": "5a3b1e", "model": "made/modèle"}, (ITEM,), (PLACED,))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_folder(tmp_path / "labels", SAMPLE)
    return tmp_path / "labels"


def test_a_sample_is_read_as_it_was_written(folder):
    assert read_info(folder) == SAMPLE.info
    assert read_items(folder) == SAMPLE.items
    assert read_design(folder) == SAMPLE.design  # one third too: to the last bit


@given(st.lists(st.text(), min_size=1, max_size=4))
def test_answers_of_any_characters_survive(texts):
    items = tuple(replace(ITEM, key=str(number), answer=text) for number, text in enumerate(texts))
    with TemporaryDirectory() as folder:
        write_folder(Path(folder), replace(SAMPLE, items=items))
        assert read_items(Path(folder)) == items


def test_a_second_time_changes_nothing(folder):
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}
    assert write_folder(folder, SAMPLE) is False
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()} == before
    assert len(before) == 3  # no temporary file stays


def test_labels_published_without_texts_get_them_back(folder):
    (folder / "items.jsonl").unlink()
    with pytest.raises(InputError, match=r"items\.jsonl is missing; labels that are published without texts"):
        read_items(folder)
    assert write_folder(folder, SAMPLE) is True
    assert read_items(folder) == SAMPLE.items


def test_another_sample_is_refused_and_nothing_touched(folder):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(InputError, match="holds another sample; nothing was changed"):
        write_folder(folder, replace(SAMPLE, info={"sample": "other"}))
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("name", ["annotators", "items.jsonl", "design.csv"])
def test_a_folder_with_somebody_else_s_files_is_refused(tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(InputError, match=f"holds {name}, but no sample"):
        write_folder(tmp_path, SAMPLE)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_folder_that_holds_other_things_may_be_used(tmp_path):
    (tmp_path / "README.md").write_text("who labels what")
    assert write_folder(tmp_path, SAMPLE)


def test_a_file_in_the_place_of_the_folder(tmp_path):
    (tmp_path / "labels").write_text("")
    with pytest.raises(StorageError, match="cannot be written"):
        write_folder(tmp_path / "labels", SAMPLE)
    with pytest.raises(InputError, match="holds no sample"):
        read_info(tmp_path / "labels")


def test_an_empty_folder_holds_no_sample(tmp_path):
    for read in (read_info, read_items, read_design):
        with pytest.raises(InputError, match=r"holds no sample \(sample\.json is missing\); `biaslens sample` draws"):
            read(tmp_path)


@pytest.mark.parametrize("content", [b"{", b"[]", b"{}", b'{"sample": 5}', b"\xff"])
def test_a_description_of_something_else(folder, content):
    (folder / "sample.json").write_bytes(content)
    with pytest.raises(InputError, match=r"sample\.json: not the description of a sample"):
        read_info(folder)


def _line(**changes: object) -> str:
    line = json.loads(json.dumps({name: getattr(ITEM, name) for name in Item.__slots__})) | changes
    return json.dumps({name: value for name, value in line.items() if value is not None}) + "\n"


@pytest.mark.parametrize(
    "line",
    ["{\n", "5\n", "\n", _line(answer=None), _line(answer=5), _line(options="AB"), _line(options=[1]), _line(more="x"),
     _line()[:-10]],
)  # fmt: skip
def test_a_broken_item_is_named_by_its_line(folder, line):
    (folder / "items.jsonl").write_text(_line() + line)
    with pytest.raises(InputError, match=r"items\.jsonl, line 2: not an item"):
        read_items(folder)


def test_an_item_that_is_there_twice(folder):
    (folder / "items.jsonl").write_text(_line() + _line())
    with pytest.raises(InputError, match="line 2: key k1 occurs twice"):
        read_items(folder)


@pytest.mark.parametrize(
    "row",
    ["k2,why,age,role,s,0", "k2,why,age,role,s,1.01", "k2,why,age,role,s,nan", "k2,why,age,role,s,", "k2,why,age,role",
     "k2,wh,age,role,s,1", "k2,why,ages,role,s,1", "k2,why,age,roles,s,1", ",why,age,role,s,1", "k2,why,age,role,,1"],
)  # fmt: skip
def test_a_broken_row_of_the_design_is_named(folder, row):
    with (folder / "design.csv").open("a") as file:
        file.write(row + "\n")
    with pytest.raises(InputError, match=r"design\.csv, row 3: needs key, kind, .*, inclusion; the last above 0"):
        read_design(folder)


def test_a_row_of_the_design_that_is_there_twice(folder):
    path = folder / "design.csv"
    path.write_text(path.read_text() + path.read_text().splitlines()[1] + "\n")
    with pytest.raises(InputError, match="row 3: key k1 occurs twice"):
        read_design(folder)


@pytest.mark.parametrize("content", [b"key,kind\n\xff,why\n", b'key\n"' + b"x" * 300_000])
def test_a_design_that_is_no_table(folder, content):
    (folder / "design.csv").write_bytes(content)
    with pytest.raises(InputError, match=r"design\.csv"):
        read_design(folder)


def test_a_design_saved_by_a_spreadsheet_is_read(folder):
    path = folder / "design.csv"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert read_design(folder) == SAMPLE.design


def test_a_missing_design(folder):
    (folder / "design.csv").unlink()
    with pytest.raises(InputError, match=r"design\.csv is missing"):
        read_design(folder)
