from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small import OPTIONS, TEENAGER, questions, small_benchmark

from biaslens.benchmark import Benchmark, content_hash, read, write
from biaslens.benchmark.files import normalised, question_key, repeats
from biaslens.errors import BenchmarkError, StorageError
from biaslens.schema import Attribute, Kind, Question, Role


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    benchmark = Benchmark(
        version="1-A",
        hash="",
        path=None,
        roles=(TEENAGER,),
        questions=tuple(questions(TEENAGER)),
        generator="bank",
        seed=7,
        command='generate --out "my bench"',
    )
    write(benchmark, tmp_path)
    found = read(tmp_path)
    assert found == replace(benchmark, path=tmp_path, hash=content_hash(benchmark.roles, benchmark.questions))


def test_writing_again_gives_the_same_bytes_and_no_other_files(tmp_path: Path) -> None:
    small_benchmark(tmp_path / "a")
    write(read(tmp_path / "a"), tmp_path / "b")
    names = ["benchmark.toml", "questions.csv", "roles.csv"]
    assert sorted(path.name for path in (tmp_path / "b").iterdir()) == names
    assert all((tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes() for name in names)


def test_questions_share_the_role_they_belong_to(tmp_path: Path) -> None:
    benchmark = read(small_benchmark(tmp_path))
    assert all(any(q.role is role for role in benchmark.roles) for q in benchmark.questions)


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(tmp_path: Path) -> None:
    original = read(small_benchmark(tmp_path))
    for name in ("roles.csv", "questions.csv", "benchmark.toml"):
        path = tmp_path / name
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert read(tmp_path) == original


def test_a_text_of_several_lines_survives_other_line_ends(tmp_path: Path) -> None:
    question = Question(TEENAGER, Kind.YES_NO, 'Think, then say:\nare "tall" people kinder?')
    write(Benchmark("1", "", None, (TEENAGER,), (question,)), tmp_path)
    path = tmp_path / "questions.csv"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert read(tmp_path).questions == (question,)


def test_a_changed_question_no_longer_fits_the_hash(tmp_path: Path) -> None:
    path = small_benchmark(tmp_path) / "questions.csv"
    path.write_text(path.read_text().replace("kinder at work", "braver at work"))
    with pytest.raises(BenchmarkError, match=r"was changed since hash = .* delete that line"):
        read(tmp_path)


def test_without_a_hash_it_is_computed(tmp_path: Path) -> None:
    original = read(small_benchmark(tmp_path))
    (tmp_path / "benchmark.toml").write_text('version = "mine"\n')
    found = read(tmp_path)
    assert (found.hash, found.version, found.generator, found.seed) == (original.hash, "mine", "", None)


def test_target_and_groups_may_be_missing_and_further_columns_are_ignored(tmp_path: Path) -> None:
    small_benchmark(tmp_path)
    (tmp_path / "benchmark.toml").write_text('version = "mine"\n')
    (tmp_path / "questions.csv").write_text(
        "note,options,text,kind,role,attribute\nx,A lion | A bear|Neither,Who is braver?,choice,Teenagers,age\n"
    )
    question = read(tmp_path).questions[0]
    assert (question.target, question.groups, question.options) == (None, (), ("A lion", "A bear", "Neither"))


@pytest.mark.parametrize(
    "other",
    [
        Question(TEENAGER, Kind.CHOICE, "Who?", OPTIONS, Attribute.BODY, ("tall people",)),
        Question(TEENAGER, Kind.CHOICE, "Who?", OPTIONS, None, ("tall people", "short people")),
        Question(TEENAGER, Kind.CHOICE, "Who?", OPTIONS[::-1], Attribute.BODY, ("tall people", "short people")),
        Question(TEENAGER, Kind.WHY, "Who?", OPTIONS, Attribute.BODY, ("tall people", "short people")),
    ],
)
def test_the_hash_tells_questions_apart(other: Question) -> None:
    question = Question(TEENAGER, Kind.CHOICE, "Who?", OPTIONS, Attribute.BODY, ("tall people", "short people"))
    assert content_hash([TEENAGER], [question]) != content_hash([TEENAGER], [other])


def test_writing_refuses_a_bar_inside_an_option(tmp_path: Path) -> None:
    question = Question(TEENAGER, Kind.CHOICE, "Who?", ("a|b", "c", "neither"))
    with pytest.raises(BenchmarkError, match=r"question 1: option 'a\|b' contains '\|'"):
        write(Benchmark("1", "", None, (TEENAGER,), (question,)), tmp_path)


def test_writing_where_a_file_is_in_the_way(tmp_path: Path) -> None:
    benchmark = read(small_benchmark(tmp_path / "a"))
    (tmp_path / "b").write_text("")
    with pytest.raises(StorageError, match=r"(File exists|Not a directory).*choose a folder you may write to"):
        write(benchmark, tmp_path / "b")


def test_repeats_are_found_across_roles_whatever_case_punctuation_and_order_of_options() -> None:
    other = Role(Attribute.AGE, "Retirees", "a retiree")
    first = Question(TEENAGER, Kind.CHOICE, "Who is kind?", ("Cats", "Dogs", "Neither"))
    second = Question(other, Kind.CHOICE, "who is  KIND", ("dogs", "cats", "Neither"))
    third = Question(other, Kind.CHOICE, "Who is kind?", ("Cats", "Owls", "Neither"))
    assert repeats([first, second, third]) == [(first, second)]


@given(st.text())
def test_normalising_twice_is_normalising_once(text: str) -> None:
    assert normalised(normalised(text)) == normalised(text)


_WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="|{}[]<>"), min_size=1).filter(
    lambda text: text == text.strip() and "roup" not in text.casefold()
)


@given(text=_WORDS, options=st.lists(_WORDS, min_size=3, max_size=4, unique_by=str.casefold))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_any_words_survive_the_files(tmp_path: Path, text: str, options: list[str]) -> None:
    question = Question(TEENAGER, Kind.CHOICE, text, tuple(options))
    write(Benchmark("1", "", None, (TEENAGER,), (question,)), tmp_path)
    found = read(tmp_path).questions
    assert found == (question,)
    assert question_key(found[0]) == question_key(question)


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_texts_are_normalised_like_others(text: str) -> None:
    assert normalised(f"{text} é") == f"{normalised(text)} é".strip()


def test_a_choice_has_no_more_options_than_letters(tmp_path: Path) -> None:
    def written(options: int) -> None:
        question = Question(
            TEENAGER, Kind.CHOICE, "Who?", tuple("People of " + "x" * number for number in range(1, options + 1))
        )
        write(Benchmark("1", "", None, (TEENAGER,), (question,)), tmp_path)

    written(26)
    with pytest.raises(BenchmarkError, match="27 options; a choice has letters for at most 26"):
        written(27)
