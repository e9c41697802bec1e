from pathlib import Path

import pytest
from mini_bank import mini_bank

from biaslens.benchmark import capacity, load_bank
from biaslens.benchmark.bank import Form, Trait
from biaslens.errors import BenchmarkError
from biaslens.schema import Attribute, Kind


def test_a_bank_is_read_with_its_files_put_together(tmp_path: Path) -> None:
    bank = load_bank(mini_bank(tmp_path))
    pair, triple = bank.comparisons[Attribute.BODY]
    assert [group.one for group in pair.groups] == ["an body x", "an body y"]
    assert (pair.themes, triple.preferences) == ({"work", "money"}, False)
    assert [trait.form for trait in bank.own_traits[Attribute.BODY]["work"]] == [Form.LIKELY]
    assert bank.interests[bank.roles[0]] == {"money"}


def test_capacity_counts_each_comparison_with_each_trait_once(tmp_path: Path) -> None:
    counts = capacity(load_bank(mini_bank(tmp_path)))
    # pair: lazy, good at maths (not for age), be late, be paid, ask = 5; three groups: be paid = 1, but not as a choice
    assert counts[Kind.YES_NO][Attribute.BODY] == counts[Kind.WHY][Attribute.BODY] == 6
    assert counts[Kind.CHOICE][Attribute.BODY] == 5
    assert counts[Kind.YES_NO][Attribute.AGE] == 5


FAULTS = [
    ("bank", ('version = "3-B"\n', ""), "bank.toml: version: Field required"),
    ("bank", ('"Nobody"', '"Nobody'), "bank.toml: not valid TOML"),
    ("traits", ('is = "lazy"', 'was = "lazy"'), "traits.toml: traits.work.0.was: Extra inputs are not permitted"),
    ("traits", ('is = "lazy"', 'is = "lazy", make = "x"'), "traits.work.0: a trait has exactly one of"),
    ("traits", (', who = "whom would you rather ask"', ""), "'who' belongs to 'rather', and only to it"),
    ("traits", ('not_for = ["age"]', 'not_for = ["ages"]'), "traits.toml: traits.work.1.not_for.0: Input should be"),
    ("frames", ("[why]", "[why_not]"), "frames.toml: why: Field required"),
    ("frames", ('is = ["Why', 'is = ["How'), "frames.toml: why.is.0: String should match pattern '^Why '"),
    ("frames", ("should =", "could ="), "frames.toml: yes_no.could.[key]: Input should be"),
    ("frames", ("{a} {more}", "{c} {more}"), "yes_no.is.0: frame 'Are {c} {more} {b} {list}' cannot be filled"),
    ("frames", ("{a} {more}", "{a {more}"), "yes_no.is.0: frame 'Are {a {more} {b} {list}' cannot be filled"),
    ("frames", ('is = ["Are {a} {more} {b} {list}"]', "is = []"), "frames.toml: yes_no.is: Tuple should have at least"),
    ("frames", ('is = ["Are {a} {more} {b} {list}"]', ""), "frames.toml: yes_no: no frames for is"),
    ("roles/age", ('"money"', '"money monies"'), "roles/age.toml: unknown theme 'monies'; traits.toml has work, money"),
    ("roles/age", ('on = "money"', "interests = []"), "roles/age.toml: roles.0.on: Field required"),
    (
        "roles/age",
        ("{ name", '{ name = "age people", persona = "a person of age", on = "work" }, { name'),
        "occurs twice",
    ),
    ("body", ('on = "work money"', 'on = "work monies"'), "body.toml: unknown theme 'monies'"),
    ("body", ("work = [{", "works = [{"), "body.toml: unknown theme 'works'"),
    ("body", ('["x", "y"]', '["x", "w"]'), "body.toml: comparison of unknown group 'w'"),
    ("body", ('["x", "y"]', '["x"]'), "body.toml: comparisons.0.groups: "),
    ("body", ('"an body x"', '"body x"'), "body.toml: groups.x.one: String should match pattern"),
    ("body", ('["x", "y", "z"]', '["y", "x"]'), "body.toml: body xs / body ys is compared twice"),
    ("body", ('many = "body ys"', 'many = "body xs"'), "body.toml: body xs is compared twice"),
    ("body", ('["x", "y", "z"]', '["x", "y"]'), "body.toml: body xs / body ys is compared twice"),
]


@pytest.mark.parametrize(("file", "change", "expected"), FAULTS)
def test_a_faulty_bank_is_told_in_one_line(tmp_path: Path, file: str, change: tuple[str, str], expected: str) -> None:
    with pytest.raises(BenchmarkError) as caught:
        load_bank(mini_bank(tmp_path, **{file: change}))
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_bank_file(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match=r"bank\.toml: no such file"):
        load_bank(tmp_path)


def test_a_trait_knows_its_form_and_words() -> None:
    trait = Trait(likely="be late")
    assert (trait.form, trait.text) == (Form.LIKELY, "be late")
