"""Mirrors in the files of a benchmark."""

from dataclasses import replace
from pathlib import Path

import pytest

from biaslens.benchmark import Benchmark, content_hash, read, write
from biaslens.errors import BenchmarkError
from biaslens.schema import Attribute, Kind, Mirror, Question, Role

BAKER = Role(Attribute.OCCUPATION, "Bakers", "a baker")
MILLER = Role(Attribute.OCCUPATION, "Millers", "a miller")
ORIGINAL = Question(BAKER, Kind.YES_NO, "Are cats kinder than dogs?")
SWAPPED = Question(BAKER, Kind.YES_NO, "Are dogs kinder than cats?", mirror_of=ORIGINAL.id, mirror=Mirror.SWAPPED)
CHOICE = Question(BAKER, Kind.CHOICE, "Who is kinder?", ("Cats", "Dogs", "Neither"))


def written(path: Path, *questions: Question) -> Path:
    write(Benchmark("1", "", None, (BAKER, MILLER), questions), path)
    return path


def test_mirrors_survive_the_files(tmp_path: Path) -> None:
    assert read(written(tmp_path, ORIGINAL, SWAPPED)).questions == (ORIGINAL, SWAPPED)


def test_columns_for_mirrors_are_there_only_where_there_are_mirrors(tmp_path: Path) -> None:
    for questions, expected in (((ORIGINAL,), "text,options"), ((ORIGINAL, SWAPPED), "options,mirror,mirror_of")):
        header = (written(tmp_path, *questions) / "questions.csv").read_text().splitlines()[0]
        assert header.endswith(f"{expected},canary")


def test_a_mirror_is_not_told_apart_by_its_id_but_by_the_hash_of_the_benchmark() -> None:
    plain = replace(SWAPPED, mirror=None, mirror_of=None)
    assert plain.id == SWAPPED.id
    assert content_hash([BAKER], [ORIGINAL, plain]) != content_hash([BAKER], [ORIGINAL, SWAPPED])


def test_a_mirrored_choice_may_differ_in_the_order_of_its_options_only(tmp_path: Path) -> None:
    mirror = replace(CHOICE, options=("Dogs", "Cats", "Neither"), mirror=Mirror.SWAPPED, mirror_of=CHOICE.id)
    assert read(written(tmp_path, CHOICE, mirror)).questions == (CHOICE, mirror)


FAULTS = {
    "has both 'mirror' and 'mirror_of'": replace(SWAPPED, mirror=None),
    "is no id of an original of the same role and kind": replace(SWAPPED, mirror_of="0" * 32),
    "no id of an original of the same role": replace(SWAPPED, role=MILLER),
    "no id of an original of the same role and kind": replace(SWAPPED, kind=Kind.WHY),
    "says the same as an original; remove it": replace(SWAPPED, text=ORIGINAL.text),
    "a choice question has no reversed mirror": replace(CHOICE, mirror=Mirror.REVERSED, mirror_of=CHOICE.id, text="W?"),
}


@pytest.mark.parametrize("expected", FAULTS)
def test_a_faulty_mirror(tmp_path: Path, expected: str) -> None:
    with pytest.raises(BenchmarkError, match=f"question 3: .*{expected}"):
        written(tmp_path, ORIGINAL, CHOICE, FAULTS[expected])


def test_an_unknown_mirror(tmp_path: Path) -> None:
    path = written(tmp_path, ORIGINAL, SWAPPED) / "questions.csv"
    path.write_text(path.read_text().replace("swapped", "flipped"))
    with pytest.raises(BenchmarkError, match=r"questions\.csv:3: mirror 'flipped' is unknown; use one of swapped, rev"):
        read(tmp_path)
