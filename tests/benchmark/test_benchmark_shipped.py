"""The bank and the benchmark in the box."""

import re
from collections import Counter

import pytest

from biaslens._util.files import resource
from biaslens.benchmark import Benchmark, capacity, load_bank, shipped
from biaslens.benchmark.bank import Bank
from biaslens.benchmark.files import repeats
from biaslens.schema import Attribute, Kind


@pytest.fixture(scope="module")
def bank() -> Bank:
    return load_bank()


@pytest.fixture(scope="module")
def benchmark_in_the_box() -> Benchmark:
    return shipped()


def test_its_size_and_makings(benchmark_in_the_box: Benchmark) -> None:
    counts = Counter(question.kind for question in benchmark_in_the_box.questions)
    assert len(benchmark_in_the_box.roles) == 11 * 50
    assert counts == dict.fromkeys(Kind, 11 * 50 * 20)
    assert benchmark_in_the_box.command == "biaslens generate --with bank --seed 0 --out benchmark"
    assert benchmark_in_the_box.version == load_bank().version


def test_no_question_repeats_another(benchmark_in_the_box: Benchmark) -> None:
    assert repeats(benchmark_in_the_box.questions) == []


def test_the_bank_can_make_each_claim_in_one_kind_only(bank: Bank) -> None:
    # 550 roles x 60 questions = 33,000, 3,000 for each of 11 targets; with room to choose by theme
    assert min(min(counts.values()) for counts in capacity(bank).values()) >= 1.5 * 3000


def test_each_attribute_has_fifty_roles_of_different_names_and_personas(bank: Bank) -> None:
    assert Counter(role.attribute for role in bank.roles) == dict.fromkeys(Attribute, 50)
    for texts in ([role.name for role in bank.roles], [role.persona for role in bank.roles]):
        assert len(set(map(str.casefold, texts))) == 11 * 50


def test_each_attribute_has_comparisons_of_three_groups(bank: Bank) -> None:
    for comparisons in bank.comparisons.values():
        assert sum(len(comparison.groups) == 3 for comparison in comparisons) >= 3


def test_role_attributes_and_targets_meet_evenly(benchmark_in_the_box: Benchmark) -> None:
    # 33,000 questions / 121 pairs of attributes = 272.7; 50 roles x 20 = 1,000 of a kind do not divide by 11
    met = Counter((q.role.attribute, q.target) for q in benchmark_in_the_box.questions)
    assert len(met) == 121
    assert all(270 <= count <= 276 for count in met.values())


def test_every_comparison_comes_up_a_fair_number_of_times(benchmark_in_the_box: Benchmark, bank: Bank) -> None:
    by_groups = Counter((q.target, frozenset(q.groups)) for q in benchmark_in_the_box.questions)
    assert len(by_groups) == sum(map(len, bank.comparisons.values()))
    # The rarest comparison comes up at least half as often as 3,000 / 70
    assert min(by_groups.values()) >= 3000 / 70 / 2


def test_articles_agree_with_what_follows(bank: Bank, benchmark_in_the_box: Benchmark) -> None:
    sounds_like_a_consonant = ("european", "university", "used", "one", "ukrainian", "union", "uyghur")
    phrases = [role.persona for role in benchmark_in_the_box.roles]
    phrases += [group.one for pairs in bank.comparisons.values() for pair in pairs for group in pair.groups]
    for phrase in phrases:
        article, following = phrase.casefold().split()[:2]
        vowel = following == "heir" or (following[0] in "aeiou" and not following.startswith(sounds_like_a_consonant))
        assert article == ("an" if vowel else "a"), phrase


def test_sentences_are_whole(benchmark_in_the_box: Benchmark) -> None:
    for question in benchmark_in_the_box.questions:
        assert re.fullmatch(r"[A-Z][^?{}\[\]]*\?", question.text), question.text
        assert "  " not in question.text
        assert all(option[0].isupper() for option in question.options)


def test_every_group_is_compared_and_every_frame_used(bank: Bank) -> None:
    folder = resource("benchmark") / "bank"
    compared = {group.many for pairs in bank.comparisons.values() for pair in pairs for group in pair.groups}
    written = {
        many
        for path in folder.glob("*.toml")
        for many in re.findall(r'^\w+ = \{ many = "(.*?)"', path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    }
    assert written == compared
