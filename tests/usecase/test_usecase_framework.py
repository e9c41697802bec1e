"""Which metrics apply: unawareness, every way through the decision framework, and what a user overrides."""

from __future__ import annotations

import pytest

from biaslens.errors import InputError
from biaslens.usecase._lexicon import load_words
from biaslens.usecase._spec import (
    FAMILIES,
    DecisionPath,
    Intervention,
    UseCase,
    check_unawareness,
    classification_path,
    generation_path,
    groups_compared,
    recommendation_path,
)

LEXICON = load_words()
MENTIONING, SILENT = ["Is she qualified?", "Is it raining?"], ["Is it raining?"]


def path_of(prompts, **options):
    found = check_unawareness(prompts, LEXICON) if prompts else None
    satisfied = None if found is None else found.satisfied
    return generation_path(mentions=None if found is None else str(found), satisfied=satisfied, **options)


def applying(path: DecisionPath) -> list[str]:
    return [family.name for family in path.families if family.applies]


@pytest.mark.parametrize("task", [UseCase.GENERATION, UseCase.SUMMARISATION])
@pytest.mark.parametrize(
    ("prompts", "invariance", "families", "sentiment_only"),
    [
        (MENTIONING, True, ["toxicity", "stereotype", "counterfactual"], False),
        (MENTIONING, False, ["toxicity", "stereotype", "counterfactual"], True),
        (SILENT, True, ["toxicity"], False),
        (SILENT, False, ["toxicity"], False),
        ([], True, ["toxicity", "stereotype", "counterfactual"], False),  # without prompts nothing is ruled out
    ],
)
def test_generation(task, prompts, invariance, families, sentiment_only):
    path = path_of(prompts, task=task, invariance=invariance)
    assert applying(path) == families
    assert path.sentiment_only is sentiment_only
    assert [family.name for family in path.families] == list(FAMILIES[task])
    assert all(family.reason for family in path.families)


def test_the_steps_say_what_was_found():
    path = path_of(MENTIONING)
    assert [(step.answer, step.because) for step in path.steps] == [
        ("yes", "1 of 2 prompts: gender in 1 (she 1)"),
        ("yes", "assumed; say --no-invariance otherwise"),
    ]
    path = path_of(SILENT)
    (step,) = path.steps
    assert step.answer == "no"
    assert step.because.startswith("none of 1 prompts has a word of gender, race")
    path = path_of([])
    assert path.steps[0].answer == "not known"


@pytest.mark.parametrize(
    ("parity", "intervention", "families"),
    [
        (True, None, ["representation"]),
        (True, Intervention.PUNITIVE, ["representation"]),
        (False, Intervention.ASSISTIVE, ["misses"]),
        (False, Intervention.PUNITIVE, ["false alarms"]),
        (False, None, ["misses", "false alarms"]),
    ],
)
def test_classification(parity, intervention, families):
    path = classification_path(groups=["a", "b"], column="sex", parity=parity, intervention=intervention)
    assert applying(path) == families
    assert path.steps[0].because == "column sex: 2 groups"


@pytest.mark.parametrize(
    ("satisfied", "invariance", "applies"),
    [(False, True, True), (None, True, True), (False, False, False), (True, True, False), (True, False, False)],
)
def test_recommendation(satisfied, invariance, applies):
    path = recommendation_path(mentions=None, satisfied=satisfied, invariance=invariance)
    assert [family.applies for family in path.families] == [applies]


def test_a_user_overrides_and_the_reason_stays():
    path = generation_path(mentions="m", satisfied=True, wanted=["counterfactual"])
    assert [(family.applies, family.reason) for family in path.families] == [
        (False, "not asked for, though: always applies to generated text"),
        (False, "no prompt mentions a protected word, so the model cannot tell groups apart"),
        (True, "asked for, though: no prompt mentions a protected word, so the model cannot tell groups apart"),
    ]
    path = classification_path(groups=["a", "b"], column="c", parity=True, wanted=["misses"])
    assert applying(path) == ["misses"]
    assert applying(recommendation_path(mentions=None, satisfied=True, wanted=["similarity of lists"]))


@pytest.mark.parametrize("task", list(UseCase))
def test_a_family_that_does_not_exist(task):
    with pytest.raises(InputError, match=f"no metrics 'fairness' for {task}; there are {FAMILIES[task][0]}"):
        if task is UseCase.CLASSIFICATION:
            classification_path(groups=["a"], column="c", wanted=["fairness"])
        elif task is UseCase.RECOMMENDATION:
            recommendation_path(mentions=None, satisfied=None, wanted=["fairness"])
        else:
            generation_path(mentions=None, satisfied=None, wanted=["fairness"], task=task)


def compared(prompts, given=None, *, attributes=None):
    lexicon = load_words(attributes)
    found = check_unawareness(prompts, lexicon) if prompts else None
    return dict(groups_compared(lexicon, given or {}, found, named=attributes is not None))


def test_groups_compared_are_those_that_prompts_mention_or_the_user_names():
    assert compared(MENTIONING) == {"gender": ("female", "male")}
    assert compared([]) == {"gender": ("female", "male")}
    assert compared(SILENT) == {"gender": ("female", "male")}  # stands in where metrics are asked for anyway
    assert list(compared(MENTIONING, attributes=["religion", "race"])) == ["race", "religion"]
    assert compared(MENTIONING, {"age": ["old", "young"]}) == {"gender": ("female", "male"), "age": ("old", "young")}
    assert compared(MENTIONING, {"gender": ["male", "neutral", "male"]}) == {"gender": ("male", "neutral")}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"colour": ["red", "blue"]}, "no attribute 'colour'"),
        ({"gender": ["female", "robot"]}, "no group 'robot' of gender; there are female, male, neutral"),
        ({"gender": ["female"]}, "a comparison of gender needs two groups"),
        ({"gender": ["female", "female"]}, "a comparison of gender needs two groups"),
    ],
)
def test_groups_that_cannot_be_compared(given, says):
    with pytest.raises(InputError, match=says):
        compared(MENTIONING, given)


GENDER_AND_RACE = load_words(["gender", "race"])


def test_which_words_where_and_how_often() -> None:
    prompts = ["Is she a good nurse?", "Hello", "The woman said she is black.", "A man, a woman"]
    found = check_unawareness(prompts, GENDER_AND_RACE)
    assert not found.satisfied
    assert found.prompts == 4
    assert found.mentioning == (0, 2, 3)
    gender = found.attributes["gender"]
    assert gender.prompts == (0, 2, 3)
    # she in prompts 0 and 2, woman in 2 and 3.
    assert gender.groups["female"].words == {"she": 2, "woman": 2}
    assert sum(gender.groups["female"].words.values()) == 4
    assert gender.groups["male"].prompts == (3,)
    assert gender.groups["neutral"].words == {}
    assert found.attributes["race"].groups["black"].prompts == (2,)
    index, spans = gender.examples[0]
    assert (index, [(one.start, one.end, one.text) for one in spans]) == (0, [(3, 6, "she")])


def test_satisfied_means_that_no_prompt_names_a_group() -> None:
    found = check_unawareness(["Is the applicant qualified?", "black coffee", ""], GENDER_AND_RACE)
    assert found.satisfied
    assert found.mentioning == ()
    assert found.attributes["race"].satisfied


def test_no_prompts() -> None:
    assert check_unawareness([], GENDER_AND_RACE).satisfied


def test_prompts_are_read_in_chunks() -> None:
    found = check_unawareness((("she" if number == 25_000 else "it") for number in range(30_000)), GENDER_AND_RACE)
    assert found.prompts == 30_000
    assert found.mentioning == (25_000,)
    assert found.attributes["gender"].examples[0][0] == 25_000
