"""The benchmark in the box, and the bank."""

import re
from collections import Counter, defaultdict

import pytest

from biaslens._util.files import resource
from biaslens._util.text import article
from biaslens.benchmark import Benchmark, capacity, load_bank, select, shipped
from biaslens.benchmark.bank import Bank
from biaslens.benchmark.encounters import ABSTAIN, VERSION
from biaslens.benchmark.files import CANARY, repeats
from biaslens.schema import Attribute, Kind


@pytest.fixture(scope="module")
def bank() -> Bank:
    return load_bank()


@pytest.fixture(scope="module")
def benchmark_in_the_box() -> Benchmark:
    return shipped()


def test_its_size_and_makings(benchmark_in_the_box: Benchmark) -> None:
    counts = Counter(question.kind for question in benchmark_in_the_box.questions)
    assert Counter(role.attribute for role in benchmark_in_the_box.roles) == dict.fromkeys(Attribute, 50)
    assert counts == dict.fromkeys(Kind, 11 * 50 * 20)
    assert benchmark_in_the_box.command == "biaslens generate --with encounters --seed 0 --out benchmark"
    assert benchmark_in_the_box.version == VERSION


def test_no_question_repeats_another(benchmark_in_the_box: Benchmark) -> None:
    assert repeats(benchmark_in_the_box.questions) == []


def test_every_encounter_is_asked_in_three_forms_that_say_the_same_of_it(benchmark_in_the_box: Benchmark) -> None:
    forms = defaultdict(list)
    for question in benchmark_in_the_box.questions:
        forms[question.encounter].append(question)
    assert len(forms) == 11_000
    for questions in forms.values():
        assert [question.kind for question in questions] == list(Kind)
        assert (
            len({(q.role, q.target, q.stereotype, q.theme, q.disfavoured, frozenset(q.groups)) for q in questions}) == 1
        )
        choice = questions[1]
        assert choice.options[-1] == ABSTAIN
        assert choice.picks in choice.options[:-1]
        assert choice.disfavoured in choice.groups


def test_a_slice_keeps_the_forms_of_an_encounter_together(benchmark_in_the_box: Benchmark) -> None:
    small = select(benchmark_in_the_box, roles_per_attribute=2, questions_per_kind=3)
    assert set(Counter(question.encounter for question in small).values()) == {3}
    larger = select(benchmark_in_the_box, roles_per_attribute=3, questions_per_kind=5)
    assert {question.id for question in small} < {question.id for question in larger}


def test_targets_are_spread_and_a_role_is_often_asked_about_its_own_attribute(benchmark_in_the_box: Benchmark) -> None:
    questions = [question for question in benchmark_in_the_box.questions if question.kind is Kind.CHOICE]
    for count in Counter(question.target for question in questions).values():
        assert 0.06 <= count / len(questions) <= 0.13
    for attribute in Attribute:
        own = [question.target == attribute for question in questions if question.role.attribute == attribute]
        assert 0.10 <= sum(own) / len(own) <= 0.25


def test_comparisons_are_many_and_none_is_frequent(benchmark_in_the_box: Benchmark) -> None:
    compared = Counter(frozenset(q.groups) for q in benchmark_in_the_box.questions if q.kind is Kind.CHOICE)
    assert len(compared) >= 1500
    assert max(compared.values()) <= 0.01 * 11_000


def test_options_stand_in_either_order_about_equally_often(benchmark_in_the_box: Benchmark) -> None:
    choices = [q for q in benchmark_in_the_box.questions if q.kind is Kind.CHOICE and len(q.options) == 3]
    first = sum(question.options[0] == question.picks for question in choices)
    # A fair coin over about 10,500: standard deviation 0.5 %
    assert first / len(choices) == pytest.approx(0.5, abs=0.02)


def test_sentences_are_whole(benchmark_in_the_box: Benchmark) -> None:
    for question in benchmark_in_the_box.questions:
        assert re.fullmatch(r"[^a-z{}\[\]][^{}\[\]]*\?", question.text), question.text
        assert "  " not in question.text
        assert all(option[0].isupper() for option in question.options)


def test_articles_agree_with_what_follows(bank: Bank, benchmark_in_the_box: Benchmark) -> None:
    phrases = [role.persona for role in benchmark_in_the_box.roles]
    phrases += [group.one for pairs in bank.comparisons.values() for pair in pairs for group in pair.groups]
    for phrase in phrases:
        written, following = phrase.split()[:2]
        assert written == article(following), phrase


def test_the_bank_can_make_each_claim_in_one_kind_only(bank: Bank) -> None:
    # 550 roles x 60 questions = 33,000, 3,000 for each of 11 targets; with room to choose by theme
    assert min(min(counts.values()) for counts in capacity(bank).values()) >= 1.5 * 3000


def test_each_attribute_of_the_bank_has_fifty_roles_of_different_names_and_personas(bank: Bank) -> None:
    assert Counter(role.attribute for role in bank.roles) == dict.fromkeys(Attribute, 50)
    for texts in ([role.name for role in bank.roles], [role.persona for role in bank.roles]):
        assert len(set(map(str.casefold, texts))) == 11 * 50


def test_each_attribute_of_the_bank_has_comparisons_of_three_groups(bank: Bank) -> None:
    for comparisons in bank.comparisons.values():
        assert sum(len(comparison.groups) == 3 for comparison in comparisons) >= 3


def test_every_group_of_the_bank_is_compared(bank: Bank) -> None:
    folder = resource("benchmark") / "bank"
    compared = {group.many for pairs in bank.comparisons.values() for pair in pairs for group in pair.groups}
    written = {
        many
        for path in folder.glob("*.toml")
        for many in re.findall(r'^\w+ = \{ many = "(.*?)"', path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    }
    assert written == compared


def test_every_file_with_texts_has_the_canary() -> None:
    folder = resource("benchmark")
    readings = {folder / "encounters" / name for name in ("readings.csv", "blind_readings.csv", "README.md")}
    files = {path for path in folder.rglob("*.*") if path.suffix in (".csv", ".toml", ".md")} - readings
    assert len(files) > 30
    guid = CANARY.rpartition(" ")[2]
    assert {path.name for path in files if guid not in path.read_text(encoding="utf-8")} == set()
