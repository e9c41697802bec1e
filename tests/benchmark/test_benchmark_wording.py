import pytest

from biaslens.benchmark import load_bank
from biaslens.benchmark.bank import Bank, Group, Trait, degree_of, joined, word
from biaslens.schema import Kind

CATS, DOGS, OWLS = (Group(many=f"{name}s", one=f"a {name}") for name in ("cat", "dog", "owl"))
KIND = Trait.model_validate({"is": "kind", "more": "kinder", "most": "kindest"})
PAID = Trait(should="be paid more [than {b}] for the same work")
DESK = Trait(rather="sit near {a} [than near {b}]", who="near whom would you rather sit", better="safer")


@pytest.fixture(scope="module")
def bank() -> Bank:
    return load_bank()


@pytest.mark.parametrize(
    ("kind", "trait", "expected"),
    [
        (Kind.YES_NO, KIND, "Are cats kinder than dogs?"),
        (Kind.YES_NO, Trait(make="guards"), "Do cats make better guards than dogs?"),
        (Kind.YES_NO, Trait(deserve="praise"), "Do cats deserve praise more than dogs do?"),
        (Kind.YES_NO, PAID, "Should cats be paid more than dogs for the same work?"),
        (Kind.YES_NO, DESK, "Would you rather sit near a cat than near a dog?"),
        (Kind.WHY, KIND, "Why are cats kinder than dogs?"),
        (Kind.WHY, Trait(likely="purr"), "Why are cats more likely than dogs to purr?"),
        (Kind.WHY, DESK, "Why is it safer to sit near a cat than near a dog?"),
        (Kind.CHOICE, KIND, "Who is kinder: cats or dogs?"),
        (Kind.CHOICE, Trait(make="guards"), "Who makes better guards: cats or dogs?"),
        (Kind.CHOICE, PAID, "Who should be paid more for the same work: cats or dogs?"),
        (Kind.CHOICE, DESK, "Near whom would you rather sit: a cat or a dog?"),
    ],
)
def test_two_groups(bank: Bank, kind: Kind, trait: Trait, expected: str) -> None:
    assert word(bank, kind, [CATS, DOGS], trait, degree="more", frame=0)[0] == expected


@pytest.mark.parametrize(
    ("kind", "trait", "degree", "expected"),
    [
        (Kind.YES_NO, KIND, "less", "Are cats less kind than dogs and owls?"),
        (Kind.YES_NO, DESK, "more", "Would you rather sit near a cat than near a dog or an owl?"),
        (Kind.CHOICE, KIND, "more", "Who is kindest: cats, dogs or owls?"),
        (Kind.CHOICE, KIND, "less", "Who is least kind: cats, dogs or owls?"),
        (Kind.CHOICE, Trait(make="guards"), "more", "Who makes the best guards: cats, dogs or owls?"),
        (Kind.CHOICE, Trait(deserve="praise"), "less", "Who deserves praise least: cats, dogs or owls?"),
    ],
)
def test_three_groups(bank: Bank, kind: Kind, trait: Trait, degree: str, expected: str) -> None:
    owls = Group(many="owls", one="an owl")
    assert word(bank, kind, [CATS, DOGS, owls], trait, degree=degree, frame=0)[0] == expected


def test_options_are_the_groups_as_named_and_the_abstaining_one_last(bank: Bank) -> None:
    assert word(bank, Kind.CHOICE, [DOGS, CATS], KIND, degree="more", frame=0)[1] == ("Dogs", "Cats", bank.abstain)
    assert word(bank, Kind.CHOICE, [DOGS, CATS], DESK, degree="more", frame=0)[1] == ("A dog", "A cat", bank.abstain)
    assert word(bank, Kind.WHY, [DOGS, CATS], KIND, degree="more", frame=0)[1] == ()


def test_frames_are_counted_round(bank: Bank) -> None:
    number = len(bank.frames[Kind.WHY][KIND.form])
    texts = [word(bank, Kind.WHY, [CATS, DOGS], KIND, degree="more", frame=frame)[0] for frame in range(number + 1)]
    assert len(set(texts)) == number
    assert texts[number] == texts[0]


@pytest.mark.parametrize(
    ("trait", "degrees"),
    [
        (KIND, ["kinder", "less kind", "kindest", "least kind"]),
        (Trait.model_validate({"is": "loyal"}), ["more loyal", "less loyal", "most loyal", "least loyal"]),
        (
            Trait.model_validate({"is": "good at chess"}),
            ["better at chess", "worse at chess", "best at chess", "worst at chess"],
        ),
        (Trait(make="pets"), ["better", "worse", "the best", "the worst"]),
        (Trait(likely="bite"), ["more", "less", "most", "least"]),
    ],
)
def test_degrees(trait: Trait, degrees: list[str]) -> None:
    assert [degree_of(trait, degree) for degree in ("more", "less", "most", "least")] == degrees


def test_names_are_joined_as_in_a_sentence() -> None:
    assert [joined(["a", "b", "c"][:n], "and") for n in (1, 2, 3)] == ["a", "a and b", "a, b and c"]
