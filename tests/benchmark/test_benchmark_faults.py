"""Every fault of a benchmark folder is one line that names file and line, says what is wrong, and what to do."""

from pathlib import Path

import pytest

from biaslens.benchmark import read
from biaslens.errors import BenchmarkError

ROLES = "attribute,name,persona\nage,Teenagers,a teenager\n"
COLUMNS = "attribute,role,kind,target,groups,text,options\n"
GOOD = "age,Teenagers,yes_no,body,tall | short,Are tall people kinder?,\n"


def fault(folder: Path, *, roles: str = ROLES, questions: str = COLUMNS + GOOD, about: str = 'version = "1"') -> str:
    (folder / "roles.csv").write_text(roles, encoding="utf-8")
    (folder / "questions.csv").write_text(questions, encoding="utf-8")
    (folder / "benchmark.toml").write_text(about, encoding="utf-8")
    with pytest.raises(BenchmarkError) as caught:
        read(folder)
    message = str(caught.value)
    assert "\n" not in message
    return message.replace(f"{folder}/", "").replace(str(folder), "")


QUESTION_FAULTS = {
    "age,Teenagers,maybe,,,Is it?,": "questions.csv:3: kind 'maybe' is unknown; use one of yes_no, choice, why",
    "ages,Teenagers,why,,,Why?,": "questions.csv:3: attribute 'ages' is unknown; use one of ability, age, body,",
    "age,Teenagers,why,ages,,Why?,": "questions.csv:3: target 'ages' is unknown",
    "age,Elders,why,,,Why?,": "questions.csv:3: role 'Elders' of age is not in roles.csv; add it there",
    "body,Teenagers,why,,,Why?,": "questions.csv:3: role 'Teenagers' of body is not in roles.csv",
    "age,Teenagers,yes_no,,,are TALL  people kinder,": "repeats questions.csv:2 for the same role; remove one",
    "age,Teenagers,choice,,,Who?,Cats | Neither": "questions.csv:3: a choice needs at least two groups and the abst",
    "age,Teenagers,choice,,,Who?,Cats | cats | Neither": "questions.csv:3: two options of 'Who?' are the same",
    "age,Teenagers,choice,,,Who?,Cats |  | Neither": "questions.csv:3: empty option",
    "age,Teenagers,why,,,Why?,Cats | Dogs | Neither": "questions.csv:3: a why question takes no options",
    "age,Teenagers,why,,,  ,": "questions.csv:3: empty text; fill it in",
    "age,Teenagers,why,,, Why?,": "questions.csv:3: text ' Why?' begins or ends with white space",
    "age,Teenagers,why,,,Why\x00?,": "questions.csv:3: text 'Why\\x00?' contains a character that is not text",
    "age,Teenagers,why,,,Why is Group A kinder than Group B?,": "questions.csv:3: placeholder 'Group A' in text",
    "age,Teenagers,why,,,Why are [group] kinder?,": "questions.csv:3: placeholder '[group]' in text",
    "age,Teenagers,why,,{a},Why are they kinder?,": "questions.csv:3: placeholder '{a}' in group",
    "age,Teenagers,why,,,Why, then?,": "questions.csv:3: 8 cells where the first line has 7; put a cell that contains",
    'age,Teenagers,why,,,"Why?,': "questions.csv:3: not valid CSV",
}


@pytest.mark.parametrize("row", QUESTION_FAULTS)
def test_a_faulty_question_row(tmp_path: Path, row: str) -> None:
    assert QUESTION_FAULTS[row] in fault(tmp_path, questions=f"{COLUMNS}{GOOD}{row}\n")


def test_lines_are_counted_through_texts_of_several_lines(tmp_path: Path) -> None:
    two_lines = 'age,Teenagers,why,,,"Why,\nthen?",\n'
    assert fault(tmp_path, questions=f"{COLUMNS}{two_lines}age,Teenagers,what,,,Why?,\n").startswith("questions.csv:4:")


ROLE_FAULTS = {
    "age,Teenagers,a teen": "roles.csv:3: role 'Teenagers' of age repeats roles.csv:2",
    "aged,Elders,an elder": "roles.csv:3: attribute 'aged' is unknown",
    "age,,an elder": "roles.csv:3: empty name",
    "age,Elders,": "roles.csv:3: empty persona",
}


@pytest.mark.parametrize("row", ROLE_FAULTS)
def test_a_faulty_role_row(tmp_path: Path, row: str) -> None:
    assert ROLE_FAULTS[row] in fault(tmp_path, roles=f"{ROLES}{row}\n")


def test_a_missing_column_is_named_with_those_expected(tmp_path: Path) -> None:
    message = fault(tmp_path, questions="attribute,role,text\n")
    assert message == (
        "questions.csv: no column 'kind', 'options'; the first line must name "
        "attribute, role, kind, target, groups, text, options"
    )


def test_an_empty_file_has_no_columns(tmp_path: Path) -> None:
    assert fault(tmp_path, roles="").startswith("roles.csv: no column 'attribute', 'name', 'persona'")


def test_no_roles_and_no_questions(tmp_path: Path) -> None:
    assert fault(tmp_path, roles="attribute,name,persona\n").startswith("roles.csv: no roles")
    assert fault(tmp_path, questions=COLUMNS).startswith("questions.csv: no questions")


@pytest.mark.parametrize(
    ("about", "expected"),
    [
        ("version = ", "benchmark.toml: not valid TOML: "),
        ("", 'benchmark.toml: no version; add a line such as version = "1-A"'),
        ("version = 1", "benchmark.toml: version = 1 should be a text in quotes"),
        ('version = "1"\nseed = "a"', "benchmark.toml: seed = 'a' should be a whole number"),
        ('version = "1"\nseed = true', "benchmark.toml: seed = True should be a whole number"),
    ],
)
def test_a_faulty_benchmark_toml(tmp_path: Path, about: str, expected: str) -> None:
    assert fault(tmp_path, about=about).startswith(expected)


@pytest.mark.parametrize("name", ["roles.csv", "questions.csv", "benchmark.toml"])
def test_a_missing_file(tmp_path: Path, name: str) -> None:
    for other in {"roles.csv", "questions.csv", "benchmark.toml"} - {name}:
        (tmp_path / other).write_text(ROLES if other == "roles.csv" else 'version = "1"')
    with pytest.raises(BenchmarkError, match=f"{name}: no such file; a benchmark folder holds roles.csv, "):
        read(tmp_path)


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="nowhere: no such folder"):
        read(tmp_path / "nowhere")


def test_a_folder_in_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "benchmark.toml").mkdir()
    with pytest.raises(BenchmarkError, match=r"benchmark\.toml: cannot be read: Is a directory"):
        read(tmp_path)


def test_bytes_that_are_not_utf_8_are_found_with_their_line(tmp_path: Path) -> None:
    (tmp_path / "benchmark.toml").write_text('version = "1"')
    (tmp_path / "roles.csv").write_bytes(ROLES.encode() + "age,Élèves,a pupil\n".encode("latin-1"))
    with pytest.raises(BenchmarkError, match=r"roles.csv:3: not valid UTF-8; save the file as UTF-8"):
        read(tmp_path)
