"""What users bring that nobody expected."""

from __future__ import annotations

import json
from math import isnan
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from assessed import QUICK, assess

from biaslens.errors import InputError
from biaslens.report.assessment import score_files, write_assessment
from biaslens.usecase import assess_lists, assess_texts
from biaslens.usecase._result import Standout, Worst
from biaslens.usecase._spec import TextOptions

CF = "counterfactual"


def families(found) -> set[str]:
    return {measure.family for measure in found.measures}


def has_warning(found, start: str) -> bool:
    return any(warning.startswith(start) for warning in found.warnings)


def test_one_group_only():
    found = assess([("1", "female", "", "She."), ("2", "female", "", "Her.")])
    assert CF not in families(found)
    assert has_warning(found, "Of gender there are responses for female only; a comparison needs two groups.")


def test_groups_that_the_word_lists_do_not_know():
    frame = pd.DataFrame(
        {"prompt_id": [1, 1], "attribute": "region", "group": ["north", "south"], "response": ["One.", "Two."]}
    )
    found = assess(frame, families=[CF])
    assert found.measure("ROUGE-L").groups == ("north", "south")
    assert found.measure("ROUGE-L").attribute == "region"


@pytest.mark.parametrize("attributes", [None, ["race"]])
def test_groups_of_an_attribute_that_the_prompts_do_not_name(attributes):
    frame = pd.DataFrame(
        {"prompt_id": [1, 1], "attribute": "race", "group": ["native", "pacific"], "response": ["One.", "Two."]}
    )
    found = assess(frame, families=[CF], attributes=attributes)
    assert found.measure("ROUGE-L").groups == ("native", "pacific")


def test_attributes_that_were_not_named_are_said_not_to_be_compared():
    frame = pd.DataFrame(
        {"prompt_id": [1, 1], "attribute": "race", "group": ["white", "black"], "response": ["One.", "Two."]}
    )
    found = assess(frame, attributes=["gender"])
    assert CF not in families(found)
    assert has_warning(found, "Responses for groups of race are not compared, for it is none of the attributes named.")


def test_groups_beyond_those_compared_are_said():
    rows = [("1", group, "", "One.") for group in ("female", "male", "neutral")]
    found = assess(rows, families=[CF])
    assert {measure.groups for measure in found.measures} == {("female", "male")}
    assert has_warning(found, "Responses for neutral (gender) are not compared; --compare names the groups that are.")
    found = assess(rows, families=[CF], compare={"gender": ["male", "neutral"]})
    assert {measure.groups for measure in found.measures} == {("male", "neutral")}


def test_groups_without_a_prompt_in_common():
    found = assess([("1", "female", "", "She."), ("2", "male", "", "He.")], families=[CF])
    for measure in found.measures:
        assert isnan(measure.estimate.value) and measure.estimate.reason
        assert measure.units == 0
        assert measure.note.startswith(("2 responses left out because the other side is missing", "protected words"))


def test_all_texts_equal():
    rows = [(str(n), group, "", "It is fine.") for n in range(4) for group in ("female", "male") * 2]
    found = assess(rows)
    assert found.measure("ROUGE-L").estimate.value == 1
    assert found.measure("Sentiment, strict (SCSP)").estimate.value == 0
    assert found.measure("ROUGE-L").p == 1
    assert found.measure("Expected maximum (EMT)").estimate.value < 0.5


def test_empty_responses_are_counted_and_pairs_of_them_left_out():
    rows = [("1", "female", "", ""), ("1", "male", "", " "), ("2", "female", "", ""), ("2", "male", "", "He is fine.")]
    found = assess(rows)
    assert found.counts["empty"] == 3
    assert has_warning(found, "3 responses are empty;")
    measure = found.measure("ROUGE-L")
    assert (measure.estimate.value, measure.units) == (0, 1)  # one side without a word: nothing in common
    assert found.measure("Sentiment, weak (WCSP)").note == "3 of 4 responses have no sentiment score"
    with pytest.raises(InputError, match="none of the 2 responses has any text"):
        assess(rows[:2])


@pytest.mark.parametrize(
    "text",
    ["🙂🙃 🤦🏽‍♀️", "Вона медсестра.", "她是护士。", "‮esrever‬", "\x00\x07\x1b[31m", "a" * 200_000, "word " * 40_000],
)
def test_unusual_texts(text):
    found = assess([("1", "female", "", text), ("1", "male", "", "He is a nurse."), ("1", "", "", text)])
    files = write_assessment(found, Path("out"))
    assert json.loads(files[1].read_text(encoding="utf-8"))["counts"]["responses"] == 3
    assert not isnan(found.measure("Expected maximum (EMT)").estimate.value)


def test_one_prompt():
    found = assess([("1", "", "", "She is a nurse."), ("1", "", "", "He is a doctor.")])
    measure = found.measure("Expected maximum (EMT)")
    assert isnan(measure.estimate.low)
    assert measure.estimate.reason == "one unit alone says nothing about how units differ"
    assert measure.note == "2 responses to each prompt"
    assert has_warning(found, "There is only 1 prompt: ")


def test_responses_without_prompts_stand_alone():
    found = assess(pd.DataFrame({"response": ["She is kind.", "He is kind.", "He is kind."]}))
    assert found.steps[0].answer == "not known"
    assert found.counts["prompts"] == 3
    assert has_warning(found, "There are no responses to counterfactual prompts")
    assert families(found) == {"toxicity", "stereotype"}


def test_a_column_of_prompts_without_any_says_nothing_about_them():
    found = assess(pd.DataFrame({"prompt": ["", ""], "response": ["She.", "He."]}))
    assert found.steps[0].answer == "not known"


def test_prompts_without_protected_words():
    frame = pd.DataFrame({"prompt": ["Is it raining?"] * 2, "response": ["Yes.", "No."]})
    found = assess(frame)
    assert [family.applies for family in found.families] == [True, False, False]
    assert found.record["groups"] == {}
    # Asked for all the same, words are compared.
    assert found.counts["prompts"] == 1
    found = assess(frame, families=["stereotype"])
    assert found.measure("SA").groups == ("female", "male")


def test_unequal_numbers_of_responses_are_said():
    rows = [("1", "", "", "a"), ("1", "", "", "b"), ("1", "", "", "c"), ("2", "", "", "d")]
    note = assess(rows).measure("Probability (TP)").note
    assert note == "1 to 3 responses a prompt: maximum and probability are higher where there are more"


def test_invariance_is_not_wanted():
    rows = [("1", "female", "", "She is good."), ("1", "male", "", "He is good.")]
    found = assess(rows, families=[CF], invariance=False)
    assert [measure.metric for measure in found.measures] == ["Sentiment, strict (SCSP)", "Sentiment, weak (WCSP)"]


def test_the_worst_are_kept_in_order_and_ties_as_they_came():
    worst = Worst(2)
    for name, score in (("a", 0.5), ("b", 0.9), ("c", 0.5), ("d", float("nan")), ("e", 0.9)):
        worst.add(Standout(why=name, score=score, prompts=(), texts=(name,)))
    assert [example.why for example in worst.examples()] == ["b", "e"]
    worst = Worst(2)
    for score in (0.9, 0.9, 0.2):
        worst.add(Standout(why=str(score), score=score, prompts=(), texts=("x",)))
    assert [example.why for example in worst.examples()] == ["0.9", "0.2"]


def test_one_item_a_list(tmp_path):
    frame = pd.DataFrame({"prompt_id": [1, 1, 2, 2], "group": ["a", "b"] * 2, "items": ["x", "x", "x", "y"]})
    for variant in ("paper", "langfair"):
        found = assess_lists(frame, k=1, variant=variant, resampling=QUICK)
        assert found.measure("Jaccard-1").estimate.value == 0.5
        write_assessment(found, tmp_path)


def test_lists_of_a_neutral_group_come_last():
    frame = pd.DataFrame({"prompt_id": 1, "group": ["neutral", "a", "b"], "items": ["x|y", "x|z", "x|y"]})
    found = assess_lists(frame, k=2, resampling=QUICK)
    assert [m.groups for m in found.measures[::3]] == [("a", "b"), ("neutral", "a"), ("neutral", "b")]


def test_the_files_of_scores_can_be_assessed_again():
    rows = [
        (str(n), group, "", f"Text {n} {group} {trial}, kind and nice.")
        for n in range(3)
        for group in ("", "female", "male")
        for trial in range(2)
    ]
    with score_files(Path("out")) as recorder:
        found = assess_texts(source(rows), TextOptions(resampling=QUICK), recorder=recorder)
    again = assess_texts("out/responses.csv", TextOptions(resampling=QUICK))
    assert found.to_dict()["measures"] == again.to_dict()["measures"]
    pairs = pd.read_csv("out/pairs.csv")
    assert pairs["rouge_l"].mean() == pytest.approx(found.measure("ROUGE-L").estimate.value, abs=1e-5)
    scores = pd.read_csv("out/responses.csv")
    assert scores["toxicity"].notna().sum() == 6  # of the original responses
    assert np.isclose(scores.groupby("prompt_id")["toxicity"].max().mean(),
                      found.measure("Expected maximum (EMT)").estimate.value, atol=1e-5)  # fmt: skip


def source(rows) -> pd.DataFrame:
    from assessed import responses

    return responses(rows)


def test_targets_of_two_words_are_refused():
    with pytest.raises(InputError, match="the target 'head nurse' is 2 words"):
        assess([("1", "", "", "She is a nurse.")], targets=["head nurse"])


def test_responses_that_broke_off_are_counted():
    frame = pd.DataFrame(
        {
            "prompt": ["Tell me of her day."] * 3,
            "response": ["She got", "She slept.", "No."],
            "finish_reason": ["length", "stop", ""],
        }
    )
    found = assess(frame)
    assert found.counts["cut off at the limit of tokens"] == 1
    assert has_warning(found, "1 response was cut off at the limit of tokens")


def test_there_is_no_test_where_a_group_is_never_named():
    # Prompts that ask of her bring "she" into every response: 0.5 is all that SA can be then.
    frame = pd.DataFrame(
        {"prompt": [f"Describe her day {n}." for n in range(12)], "response": ["She is a kind nurse."] * 12}
    )
    found = assess(frame, attributes=["gender"])
    assert found.measure("SA").estimate.value == 0.5
    assert isnan(found.measure("SA").p)
    assert "there is no test" in found.measure("SA").note
