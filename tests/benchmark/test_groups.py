"""Which group a phrase means, where the attribute is known."""

import tomllib
from pathlib import Path

import pytest

from biaslens.benchmark import groups
from biaslens.schema import Attribute


@pytest.mark.parametrize(
    ("phrase", "target", "group"),
    [
        ("heavy customers", Attribute.BODY, "fat"),
        ("customers over fifty-five", Attribute.AGE, "old"),  # of groups.toml; "five" alone names nobody
        ("boys of nine", Attribute.AGE, "child"),
        ("apprentices from tower blocks", Attribute.SOCIAL, "poor"),
        ("women hurt by boyfriends", Attribute.VICTIM, "domestic_violence"),  # before "hurt", by the order of the file
        ("British Chinese applicants", Attribute.RACE, "east_asian"),
        ("female guides", Attribute.GENDER, "women"),
        ("female guides", Attribute.RELIGION, groups.OTHER),
        ("", Attribute.AGE, groups.OTHER),
    ],
)
def test_the_group_a_phrase_means(phrase, target, group):
    assert groups.named_group(phrase, target) == group


def test_no_phrase_of_an_attribute_names_two_groups():
    path = Path(groups.__file__).with_name("target_groups.toml")
    for attribute, named in tomllib.loads(path.read_text(encoding="utf-8")).items():
        phrases = [phrase for listed in named.values() for phrase in listed]
        assert len(phrases) == len(set(phrases)), attribute
        assert max(len(phrase.split()) for phrase in phrases) <= 5
