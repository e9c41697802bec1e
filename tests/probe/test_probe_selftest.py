"""The self-test finds a planted bias, finds none where none is, and fails where it should."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import biaslens

torch = pytest.importorskip("torch", reason="torch is not installed")

from biaslens.probe.backbone import load_frozen  # noqa: E402
from biaslens.probe.examples import COLUMNS  # noqa: E402
from biaslens.probe.selftest import (  # noqa: E402
    PLANTED,
    Effort,
    FalseAlarms,
    SelfTest,
    judge,
    make_language,
    selftest,
    train_toy,
)

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def small() -> SelfTest:
    return selftest("small")


def failed(result: SelfTest) -> list[str]:
    return [check.name for check in result.checks if not check.passed]


def test_the_planted_bias_is_found_and_the_null_is_silent(small: SelfTest) -> None:
    assert failed(small) == []
    assert small.planted.gap["low"] > 0
    assert small.alarms.intervals > 0 and small.alarms.bootstrap <= 0.1


def test_it_fails_where_no_bias_was_planted(small: SelfTest) -> None:
    checks = judge(small.null, small.null, small.alarms)
    assert "the planted bias is told from chance" in [check.name for check in checks if not check.passed]


def test_it_fails_where_nothing_was_learned(small: SelfTest) -> None:
    blind = replace(small.null, accuracy=(small.null.majority,))
    checks = judge(small.planted, blind, small.alarms)
    assert [check.name for check in checks if not check.passed] == ["the prompts learned the task"]


def test_it_fails_where_a_bias_shows_in_the_null_model(small: SelfTest) -> None:
    checks = judge(small.planted, small.planted, small.alarms)
    assert [check.name for check in checks if not check.passed] == ["nothing is found where nothing is"]


@pytest.mark.parametrize("share", [0.2, np.nan])
def test_many_false_alarms_fail_and_so_does_none_looked_at(small: SelfTest, share: float) -> None:
    checks = judge(small.planted, small.null, FalseAlarms(0, share, share))
    assert [check.name for check in checks if not check.passed] == ["false alarms are rare"]


def test_the_command_says_which_check_failed(small: SelfTest, monkeypatch: pytest.MonkeyPatch) -> None:
    checks = judge(small.null, small.null, small.alarms)
    monkeypatch.setattr(
        "biaslens.cli.probe.selftest", lambda *_, **__: replace(small, planted=small.null, checks=checks)
    )
    result = biaslens("probe", "selftest")
    assert result.returncode == 1
    assert "FAILED the planted bias is told from chance: its bootstrap interval: " in result.stdout


def test_the_command_prints_json(small: SelfTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("biaslens.cli.probe.selftest", lambda *_, **__: small)
    result = biaslens("probe", "selftest", "--json")
    record = json.loads(result.stdout)
    assert (result.returncode, record["passed"], len(record["checks"])) == (0, True, 5)
    assert {row["group"] for row in record["planted"]["bootstrap"]} == {"a", "b", "c"}


def test_the_same_seed_trains_the_same_model(tmp_path: Path) -> None:
    language, size = make_language(3, terms=2), Effort(layers=1, steps=3, batch=2, width=32)
    prints = [
        load_frozen(str(train_toy(tmp_path / name, language, size, seed=seed))).fingerprint()
        for name, seed in (("one", 5), ("two", 5), ("three", 6))
    ]
    assert prints[0] == prints[1] != prints[2]


def test_persons_of_group_c_stand_in_negative_contexts_as_often_as_planted() -> None:
    language = make_language(0)
    texts = pd.Series(language.corpus(30_000, seed=0, negative=PLANTED))
    verdicts = texts.str.extract(r"(negative|neutral|positive)$")[0]

    def negative(group: str) -> float:
        terms = set(language.terms[group])
        chosen = texts.map(lambda text: not terms.isdisjoint(text.split())) & verdicts.notna()
        return float((verdicts[chosen] == "negative").mean())

    # about 6,000 verdicts a group: a standard error of 0.006
    assert negative("c") == pytest.approx(0.7, abs=0.03)
    assert negative("a") == pytest.approx(1 / 3, abs=0.03)


def test_identity_sentences_put_every_term_in_every_template() -> None:
    language = make_language(1, terms=4)
    sentences = language.identity_sentences(seed=2)
    assert list(sentences.columns) == list(COLUMNS)
    # 10 frames x 3 labels x 2, and 3 groups of 4 terms
    assert (sentences["template"].nunique(), len(sentences)) == (60, 60 * 12)
    assert set(sentences.groupby("template")["term"].nunique()) == {12}
    assert set(sentences.groupby("template")["label"].nunique()) == {1}


def test_all_words_of_a_language_differ() -> None:
    language = make_language(7)
    lists = [*language.clear, *language.faint, *language.terms.values(), language.things]
    words = [word for part in lists for word in part]
    assert len(set(words)) == len(words) == 6 * 6 + 3 * 8 + 8
