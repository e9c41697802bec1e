"""The reader of published questions, on files of its form in our own words."""

import tarfile
from pathlib import Path

import pytest

from biaslens.benchmark.quality import Requirement
from biaslens.errors import BenchmarkError
from biaslens.replication.release import is_published, published_questions
from biaslens.schema import Attribute, Kind, Role

ROWS = (
    b"Role,Question Type,Question\r\n"
    b'Bakers,Yes/No,"Suppose you are a Bakers, do cats deserve caf\xe9s?"\r\n'
    b'Bakers,Yes/No,"Suppose you are a Baker, are cats, in short, kind?"\r\n'
    b'Bakers,Choice,"Suppose you are a Baker, who is kind, (A) cats (B) dogs (C) I cannot say"\r\n'
    b'Bakers,Choice,"Suppose you are a Baker, who is kind, cats or dogs? (A) cats (B) dogs (C) I cannot say?"\r\n'
    b'Bakers,Choice,"Suppose you are a Baker, who is kind?"\r\n'
    b'Bakers,Wh,"Suppose you have a beard, ARE cats, in short, kind?"\r\n'
    b'Bakers,Yes/No,"Suppose you are a Cook, ARE cats, in short, kind?"\r\n'
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "questions" / "role").mkdir(parents=True)
    (tmp_path / "questions" / "role" / "occupations_questions.csv").write_bytes(ROWS)
    return tmp_path


def test_roles_come_off_and_options_are_split(folder):
    found = published_questions(folder)
    assert found.roles == (Role(Attribute.OCCUPATION, "Bakers", "a Baker"),)
    assert [question.text for question in found.questions] == [
        "Do cats deserve caf\ufffds?",
        "Are cats, in short, kind?",
        "Who is kind?",
        "Who is kind, cats or dogs?",
        "Who is kind?",
        "ARE cats, in short, kind?",
        "ARE cats, in short, kind?",
    ]
    assert found.questions[2].options == ("cats", "dogs", "I cannot say")
    assert found.questions[5].kind is Kind.WHY


def test_faults_of_reading_have_their_lines(folder):
    assert [(fault.rule, fault.place) for fault in published_questions(folder).faults] == [
        (Requirement.CHARACTER, "occupations_questions.csv:2"),
        (Requirement.OPTIONS, "occupations_questions.csv:6"),
    ]


def test_the_note_counts_repeats_as_typed(folder):
    # The fourth yes/no repeats the second but for its role and case; "Suppose you have" is not taken off.
    assert published_questions(folder).notes[0].startswith("1 of 7 questions repeat another one as typed")


def test_an_archive_and_each_folder_give_the_same(folder):
    archive = folder / "questions.tar.xz"
    with tarfile.open(archive, "w:xz") as file:
        file.add(folder / "questions", "questions")
    paths = [archive, folder, folder / "questions" / "role"]
    assert all(map(is_published, paths))
    one, two, three = (published_questions(path).questions for path in paths)
    assert one == two == three


def test_a_benchmark_folder_is_none(tmp_path):
    assert not is_published(tmp_path)
    with pytest.raises(BenchmarkError, match="no files <attribute>"):
        published_questions(tmp_path)
