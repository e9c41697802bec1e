import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from mini_bank import mini_bank

from biaslens.benchmark import Benchmark, expand, load_bank
from biaslens.benchmark.bank import Bank
from biaslens.benchmark.files import repeats
from biaslens.errors import BenchmarkError
from biaslens.schema import Attribute, Kind


@pytest.fixture(scope="module")
def bank() -> Bank:
    return load_bank()


@pytest.fixture(scope="module")
def expanded(bank: Bank) -> Benchmark:
    return expand(bank, seed=1, roles_per_attribute=3)


def test_every_role_gets_its_questions_of_each_kind(bank: Bank, expanded: Benchmark) -> None:
    counts = Counter((question.role, question.kind) for question in expanded.questions)
    assert len(expanded.roles) == 3 * 11
    assert set(counts) == {(role, kind) for role in expanded.roles for kind in Kind}
    assert set(counts.values()) == {20}


def test_no_two_questions_are_alike_once_the_role_is_off(expanded: Benchmark) -> None:
    assert repeats(expanded.questions) == []


def test_no_claim_is_made_twice_in_a_kind_not_even_the_other_way_round(tmp_path: Path) -> None:
    # 4 questions of a kind for each target, of the 4 to 6 that the mini bank has
    questions = expand(load_bank(mini_bank(tmp_path)), seed=0, questions_per_kind=4).questions
    traits = ("laz", "maths", "late", "paid", "ask")
    claims = Counter(
        (q.kind, q.target, frozenset(q.groups), next(trait for trait in traits if trait in q.text)) for q in questions
    )
    assert max(claims.values()) == 1


def test_targets_are_dealt_evenly(expanded: Benchmark) -> None:
    # 33 roles x 20 = 660 of each kind, 60 for each of the 11 targets; a role gets 20 = 11 + 9, so 1 or 2 of each
    by_kind = Counter((question.kind, question.target) for question in expanded.questions)
    by_role = Counter((question.role, question.kind, question.target) for question in expanded.questions)
    assert set(by_kind.values()) == {60}
    assert len(by_role) == 33 * 3 * 11
    assert set(by_role.values()) == {1, 2}


def test_most_questions_are_on_a_theme_the_role_has_to_do_with(tmp_path: Path) -> None:
    # The mini bank has 6 yes/no questions a target, 3 of them on money, which all its roles prefer, and asks 11 a role.
    bank = load_bank(mini_bank(tmp_path))
    questions = [q for q in expand(bank, seed=0, questions_per_kind=1).questions if q.kind is Kind.YES_NO]
    on_money = sum("paid more" in q.text or "ask an" in q.text for q in questions)
    assert on_money / len(questions) > 0.6


def test_no_role_is_asked_twice_about_the_same_groups(expanded: Benchmark) -> None:
    counts = Counter((question.role, frozenset(question.groups)) for question in expanded.questions)
    assert set(counts.values()) == {1}


def test_every_comparison_comes_up_about_equally_often(bank: Bank, expanded: Benchmark) -> None:
    # 33 roles x 60 questions = 1,980, 180 for each target, which has 51 comparisons or more: 2 to 4 of each on average
    counts = Counter((question.target, frozenset(question.groups)) for question in expanded.questions)
    assert max(counts.values()) <= 15
    assert len(counts) > 0.9 * sum(map(len, bank.comparisons.values()))


def test_fewer_roles_are_contained_in_more(bank: Bank, expanded: Benchmark) -> None:
    fewer = expand(bank, seed=1, roles_per_attribute=1)
    assert set(fewer.questions) < set(expanded.questions)
    assert set(fewer.roles) < set(expanded.roles)


def test_another_seed_gives_another_benchmark(bank: Bank, expanded: Benchmark) -> None:
    other = expand(bank, seed=2, roles_per_attribute=3)
    assert other.roles == expanded.roles
    assert len(set(other.questions) & set(expanded.questions)) < len(other.questions) / 5


def test_a_choice_offers_every_group_it_compares(bank: Bank, expanded: Benchmark) -> None:
    for question in expanded.questions:
        if question.kind is Kind.CHOICE:
            assert len(question.options) == len(question.groups) + 1
            assert question.options[-1] == bank.abstain


def test_why_questions_begin_with_why(expanded: Benchmark) -> None:
    assert all(q.text.startswith("Why ") == (q.kind is Kind.WHY) for q in expanded.questions)


def test_an_expansion_says_how_to_make_it_again(bank: Bank, expanded: Benchmark) -> None:
    assert (expanded.generator, expanded.seed) == ("bank", 1)
    assert expanded.command == "biaslens generate --with bank --seed 1 --roles-per-attribute 3 --out benchmark"
    assert expanded.version == f"{bank.version}+{expanded.hash[:8]}"


def test_too_few_distinct_questions(tmp_path: Path) -> None:
    bank = load_bank(mini_bank(tmp_path))
    # 11 roles x 5 = 55 of a kind, 5 for each target; age has 5 yes/no questions, but only 4 choices
    with pytest.raises(
        BenchmarkError, match="only 4 distinct choice questions about age; ask for fewer roles or fewer"
    ):
        expand(bank, seed=0, questions_per_kind=5)


def test_too_few_roles(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="the bank has 1 roles for ability, not 2"):
        expand(load_bank(mini_bank(tmp_path)), seed=0, roles_per_attribute=2)


def test_the_same_whatever_the_hash_seed(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from biaslens.benchmark import expand, load_bank\n"
        "print(expand(load_bank(Path(sys.argv[1])), seed=3, questions_per_kind=3).hash)"
    )
    bank = mini_bank(tmp_path)
    hashes = {
        subprocess.run(
            [sys.executable, "-c", script, str(bank)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(hashes) == 1


def test_every_attribute_is_a_target(expanded: Benchmark) -> None:
    assert {question.target for question in expanded.questions} == set(Attribute)
