"""Another form of a benchmark from the bank."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from command import biaslens
from mini_bank import mini_bank
from small import NURSE, TEENAGER, small_benchmark

from biaslens.benchmark import Benchmark, expand, load_bank, parallel, read
from biaslens.benchmark.bank import Bank
from biaslens.errors import BenchmarkError


@pytest.fixture
def bank(tmp_path: Path) -> Bank:
    (tmp_path / "bank").mkdir()
    return load_bank(mini_bank(tmp_path / "bank"))


def claims(benchmark: Benchmark) -> set[tuple]:
    traits = ("laz", "maths", "late", "paid", "ask")
    return {(frozenset(q.groups), next(trait for trait in traits if trait in q.text)) for q in benchmark.questions}


def test_it_asks_the_same_roles_about_the_same_targets_and_says_nothing_again(bank: Bank) -> None:
    public = expand(bank, seed=0, questions_per_kind=1)
    made = parallel(bank, public, seed=5)
    assert made.roles == public.roles
    asked = [Counter((q.role, q.kind, q.target) for q in each.questions) for each in (made, public)]
    assert asked[0] == asked[1]
    assert not claims(made) & claims(public)
    assert made.version.startswith("3-B+")


def test_the_seed_decides(bank: Bank) -> None:
    public = expand(bank, seed=0, questions_per_kind=1)
    assert parallel(bank, public, seed=5) == parallel(bank, public, seed=5)
    assert parallel(bank, public, seed=5).hash != parallel(bank, public, seed=6).hash


def test_mirrors_come_along_and_a_target_that_is_not_known_is_drawn(bank: Bank) -> None:
    public = expand(bank, seed=0, questions_per_kind=1, mirrors=True)
    assert any(question.mirror_of for question in parallel(bank, public, seed=1).questions)
    untold = replace(public, questions=tuple(replace(q, target=None) for q in public.questions if not q.mirror_of))
    assert all(question.target for question in parallel(bank, untold, seed=1).questions)


def test_a_bank_that_is_too_small_is_refused(bank: Bank) -> None:
    with pytest.raises(BenchmarkError, match="has only"):
        parallel(bank, expand(bank, seed=0, questions_per_kind=4), seed=1)


def test_one_command_makes_it(tmp_path: Path) -> None:
    public = small_benchmark(tmp_path / "public", copies=2)
    make = ("generate", "--with", "bank", "--fresh-seed", "123456789", "--of", public)
    done = biaslens(*make, "--out", tmp_path / "fresh")
    assert (done.returncode, done.stderr) == (0, "")
    made = read(tmp_path / "fresh")
    assert (made.roles, len(made.questions), made.seed) == ((TEENAGER, NURSE), 12, 123456789)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--with", "encounters", "--fresh-seed", "1"), "as public as its questions"),
        (("--with", "bank", "--fresh-seed", "1", "--seed", "2"), "--seed does not go with --fresh-seed"),
        (("--with", "bank", "--fresh-seed", "1", "--mirrors"), "it has as many as the benchmark"),
        (("--with", "bank", "--of", "public"), "--of goes with --fresh-seed"),
    ],
)
def test_what_does_not_go_is_said(options: tuple[str, ...], said: str) -> None:
    done = biaslens("generate", *options, "--out", "made")
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
