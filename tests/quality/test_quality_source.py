"""Files that `read` refuses are read all the same, and every fault is listed with its line."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quality_items import source, yes_no
from small import small_benchmark

from biaslens.benchmark import read
from biaslens.benchmark.quality import Requirement, check, read_source
from biaslens.benchmark.quality.lint import duplicates, lint
from biaslens.errors import BenchmarkError
from biaslens.report.quality import print_quality
from biaslens.schema import Mirror

HEADER = "attribute,role,kind,target,groups,text,options\n"


def faults(folder):
    found = read_source(folder)
    return [(fault.rule, fault.place) for fault in lint(found, duplicates(found.questions).exact)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return small_benchmark(tmp_path / "benchmark")


def test_a_good_benchmark_has_no_fault(folder):
    assert faults(folder) == []


def test_every_fault_is_listed_with_its_line(folder):
    (folder / "questions.csv").write_bytes(
        HEADER.encode()
        + b"age,Teenagers,yes_no,,,Are Group A kinder?,\n"
        + b"age,Teenagers,yes_no,,,are cats  kind,\n"
        + b"age,Teenagers,essay,,,Why?,\n"
        + b"age,Teenagers,why,wealth,,Why are caf\xe9s kind?,\n"
        + b"age,Nobody,why,,,Why are cats\n kind?,\n"
        + b"age,Teenagers,why,,\n"
        + b"age,Teenagers,choice,,,Who is kind?,Cats | Dogs\n"
        + b"occupation,Nurses,yes_no,,,ARE Group A kinder?,\n"
    )
    (folder / "benchmark.toml").write_text('version = "0-A"\n')
    assert faults(folder) == [
        (Requirement.CHARACTER, "questions.csv:5"),
        (Requirement.FILE, "questions.csv:4"),
        (Requirement.FILE, "questions.csv:5"),
        (Requirement.FILE, "questions.csv:6"),
        (Requirement.FILE, "questions.csv:7"),
        (Requirement.FILE, "questions.csv:8"),
        (Requirement.PLACEHOLDER, "questions.csv:2"),
        (Requirement.FORM, "questions.csv:3"),
        (Requirement.SPACING, "questions.csv:3"),
        (Requirement.CAPITAL, "questions.csv:3"),
        (Requirement.CHARACTER, "questions.csv:5"),
        (Requirement.OPTIONS, "questions.csv:9"),
        (Requirement.PLACEHOLDER, "questions.csv:10"),
        (Requirement.REPEAT, "questions.csv:10"),
    ]


def test_faults_of_roles_and_of_the_whole(folder):
    with (folder / "roles.csv").open("a") as file:
        file.write("age,Teenagers,a teenager\nwealth,Rich people,a rich person\nage,Elders,a elder\n")
    assert faults(folder) == [
        (Requirement.REPEAT, "roles.csv:4"),
        (Requirement.FILE, "roles.csv:5"),
        (Requirement.FILE, "benchmark.toml"),  # its hash is another's
        (Requirement.ARTICLE, "roles.csv:6"),
    ]


def test_mirrors_belong_to_an_original():
    lost = yes_no("Are dogs kind?", mirror_of="0" * 32, mirror=Mirror.SWAPPED)
    half = yes_no("Are mice kind?", mirror=Mirror.SWAPPED)
    found = lint(source(yes_no("Are cats kind?"), lost, half), [])
    assert [(fault.rule, fault.place) for fault in found] == [
        (Requirement.MIRROR, "questions.csv:3"),
        (Requirement.MIRROR, "questions.csv:4"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("questions.csv", "attribute,role\n", "no column 'kind'"),
        ("questions.csv", HEADER, "no questions"),
        ("roles.csv", None, "roles.csv: no such file"),
    ],
)
def test_what_cannot_be_measured_is_one_line(folder, name, text, says):
    (folder / name).unlink() if text is None else (folder / name).write_text(text)
    with pytest.raises(BenchmarkError, match=says):
        read_source(folder)


cells = st.text(st.sampled_from("ab A?|[]\x00\u200b,"), max_size=8)


@settings(max_examples=60)
@given(
    text=cells,
    options=st.one_of(cells, st.just("A | B | Neither")),
    kind=st.sampled_from(["yes_no", "choice", "why", "odd"]),
)
def test_whatever_read_refuses_is_a_fault(text, options, kind):
    with TemporaryDirectory() as name:
        folder = small_benchmark(Path(name))
        (folder / "benchmark.toml").write_text('version = "0-A"\n')
        with (folder / "questions.csv").open("a") as file:
            file.write(f'age,Teenagers,{kind},,,"{text}","{options}"\n')
        try:
            read(folder)
        except BenchmarkError:
            assert faults(folder)


def test_a_checked_benchmark_counts_its_questions(folder, monkeypatch, capsys):
    monkeypatch.setattr("biaslens.benchmark.quality.measure.available", lambda: False)
    found = check(read_source(folder))
    print_quality(found)
    assert "not measured: pip install '.[embeddings]'" in " ".join(capsys.readouterr().out.split())
    assert dict(found.counts) == {
        (role, kind): 1 for role in ("age", "occupation") for kind in ("yes_no", "choice", "why")
    }
    assert found.spread is None
    assert found.recorded is not None
    assert found.recorded.targets.categories == 1
    assert found.by_rule[Requirement.FORM] == 0
