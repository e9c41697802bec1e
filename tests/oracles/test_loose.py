"""Words that can only mean one of the groups stand for it, and no others do."""

import pytest

from biaslens.oracles.phrases import TEXT_MARK, mark_loosely, position_of

LAST = "I cannot make any choice"


def named(text, *groups):
    marked = mark_loosely(text, (*groups, LAST))
    return [position_of(character) for character in marked if ord(character) >= TEXT_MARK]


@pytest.mark.parametrize(
    ("text", "groups", "positions"),
    [
        ("the Europeans", ("Guests from Europe", "Guests from Asia"), [0]),
        ("an Italian and a Swede", ("Bakers from Italy", "Bakers from Sweden"), [0, 1]),
        ("the gentlemen", ("Women", "Men"), [1]),
        ("die Frauen", ("Women", "Men"), [0]),
        ("女儿更细心", ("Sons", "Daughters"), [1]),
        ("my mum's cake", ("Mothers", "Bakers"), [0]),
    ],
)
def test_another_word_for_a_group_is_marked(text, groups, positions):
    assert named(text, *groups) == positions


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("the people next door", ("People with dogs", "Cat owners")),  # says nothing of dogs
        ("young ones", ("Young bakers", "Young smiths")),  # both are young
        ("boys will be boys", ("Boys who sing", "Sons")),  # boys, or another word for sons
        ("womanly and manifold", ("Women", "Men")),  # inside words
    ],
)
def test_a_word_that_could_mean_either_is_not(text, groups):
    assert named(text, *groups) == []
