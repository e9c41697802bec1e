"""Length and Flesch numbers, by hand."""

import pytest

from biaslens.benchmark.quality.variety import readability, syllables


def test_flesch_by_hand():
    # 3 + 5 words in 2 sentences: w = 4. Syllables: are cats kind 1 + 1 + 1; do gentle teachers deserve it
    # 1 + 2 + 2 + 2 + 1; s = 11 / 8.
    # Ease 206.835 - 1.015 * 4 - 84.6 * 1.375 = 86.45; grade 0.39 * 4 + 11.8 * 1.375 - 15.59 = 2.195.
    found = readability(["Are cats kind?", "Do gentle teachers deserve it?"])
    assert found.mean_length == 4
    assert found.flesch == pytest.approx(86.45)
    assert found.grade == pytest.approx(2.195)


def test_quartiles_of_length():
    # 1, 2, 3, 4, 5 words.
    assert readability([" ".join("abcde"[:n]) for n in range(1, 6)]).lengths == (1, 2, 3, 4, 5)


@pytest.mark.parametrize(
    ("word", "count"),
    [("a", 1), ("women's", 2), ("people", 2), ("retired", 2), ("helped", 1), ("wanted", 2), ("self-employed", 3)],
)
def test_syllables(word, count):
    assert syllables(word) == count
