"""`biaslens check`, as it is run."""

import json
import re
from pathlib import Path

import pytest
from command import biaslens
from small import small_benchmark


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return small_benchmark(tmp_path / "benchmark")


def spoil(folder: Path) -> Path:
    questions = folder / "questions.csv"
    line = "age,Teenagers,why,body,tall people | short people,Are <b>tall</b> people & cats kind?,\n"
    questions.write_text(questions.read_text() + line)
    return folder


def test_a_good_benchmark_leaves_with_0(folder):
    done = biaslens("check", folder)
    assert done.returncode == 0, done.stderr
    assert "No faults." in done.stdout
    assert re.search(r"questions, why +2\n", done.stdout)


def test_faults_leave_with_1_and_their_lines(folder):
    done = biaslens("check", spoil(folder))
    assert done.returncode == 1
    assert "questions.csv:8: does not ask why" in done.stdout
    assert "Traceback" not in done.stderr


def test_json_on_stdout_is_all_there_is_on_it(folder):
    done = biaslens("check", spoil(folder), "--json")
    (found,) = json.loads(done.stdout)
    assert (found["roles"], found["questions"]) == (2, 7)
    assert found["faults_by_rule"]["form"] == 1
    assert [fault["place"] for fault in found["faults"] if fault["rule"] == "form"] == ["questions.csv:8"]
    assert found["repeats"]["exact"] == 0


def test_two_side_by_side_in_every_form(folder, tmp_path):
    other = spoil(small_benchmark(tmp_path / "other"))
    done = biaslens("check", folder, "--against", other, "--page", "out/check.html")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"form +0 +1 +◀", done.stdout)
    assert [
        found["questions"] for found in json.loads(biaslens("check", folder, "--against", other, "--json").stdout)
    ] == [6, 7]
    page = Path("out/check.html").read_text()
    assert "&lt;b&gt;tall&lt;/b&gt; people &amp; cats" in page
    assert "<b>tall" not in page
    assert not re.search(r'<script|<link|src=|href=(?!"#)|url\(|@import', page)


@pytest.mark.parametrize("path", ["missing", "empty", "noise.tar.xz"])
def test_what_cannot_be_read_is_one_line(tmp_path, path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "noise.tar.xz").write_bytes(b"\xfd7zXZ noise")
    done = biaslens("check", path)
    assert done.returncode == 1
    assert done.stderr.startswith("biaslens: ")
    assert done.stderr.count("\n") == 1
