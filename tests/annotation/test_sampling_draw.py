"""Samples of small run files: strata, chances, order, and what cannot be drawn."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, replace
from math import isnan
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_files import ASKED, Asked, write_run

from biaslens.annotation.folder import Item
from biaslens.annotation.sampling import draw
from biaslens.errors import InputError, StorageError
from biaslens.runfile import Store
from biaslens.schema import Condition, Kind

# Of each attribute and kind, 8 questions of the role and 4 of nobody, three trials each, of three outcomes.
MIXED = tuple(
    Asked(
        attribute, attribute.title(), kind, outcomes, condition, number, f"Are {attribute} {kind}?", f"Reply {number}"
    )
    for attribute in ("age", "race")
    for kind in ("yes_no", "choice", "why")
    for condition, count in (("role", 8), ("no_role", 4))
    for number, outcomes in zip(
        range(count), (("biased", "unbiased", "unbiased"), ("unbiased", "refused", "biased")) * 4, strict=False
    )
)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("runs") / "mixed.sqlite", MIXED)


def keys(drawn) -> set[str]:
    return {placed.key for placed in drawn.sample.design}


def change(run: Path, statement: str, *rows: tuple[object, ...]) -> None:
    with Store(run, write=True) as store, store.transaction() as connection:
        connection.executemany(statement, rows or [()])


def test_strata_by_hand(run):
    strata = draw(run).sample.info["strata"]
    # From ASKED, where answers have a verdict. Why: one; its other two are not judged.
    assert {each["stratum"]: (each["population"], each["sampled"]) for each in strata} == {
        "yes_no/role/age/biased": (3, 3),
        "yes_no/role/age/unbiased": (7, 7),
        "yes_no/role/age/refused": (2, 2),
        "yes_no/role/race/biased": (4, 4),
        "yes_no/role/race/unbiased": (2, 2),
        "choice/role/age/biased": (3, 3),
        "choice/role/age/invalid": (1, 1),
        "why/role/age/biased": (1, 1),
    }


def test_what_is_left_out_is_counted(run):
    drawn = draw(run)
    assert drawn.left_out == {Kind.CHOICE: {"not answered": 2}, Kind.WHY: {"not judged": 2}}
    assert drawn.sample.info["left_out"] == drawn.left_out
    assert {kind: size[:2] for kind, size in drawn.sizes.items()} == {
        "yes_no": (18, 18),
        "choice": (4, 4),
        "why": (1, 1),
    }


def test_empty_answers_are_left_out(tmp_path):
    blank = Asked("age", "Elders", "yes_no", ("invalid", "invalid"), number=9, answer=" \n\t")
    drawn = draw(write_run(tmp_path / "run.sqlite", [*ASKED, blank]))
    assert drawn.left_out[Kind.YES_NO] == {"empty": 2}
    assert drawn.sizes[Kind.YES_NO].population == 18


@given(st.integers(1, 120), st.integers(0, 2**40))
def test_chances_are_those_of_the_strata_and_weights_give_them_back(mixed, size, seed):
    drawn = draw(mixed, size=size, seed=seed)
    weights, counts = Counter(), Counter(placed.stratum for placed in drawn.sample.design)
    for placed in drawn.sample.design:
        assert 0 < placed.inclusion <= 1
        weights[placed.stratum] += 1 / placed.inclusion
    for stratum in drawn.sample.info["strata"]:
        name = stratum["stratum"]
        assert counts[name] == stratum["sampled"]
        if counts[name]:
            assert weights[name] == pytest.approx(stratum["population"], rel=1e-12)
    for kind, (population, number, _) in drawn.sizes.items():
        assert number == min(size, population) == sum(placed.kind == kind for placed in drawn.sample.design)


def test_every_answer_of_a_stratum_is_as_likely_as_it_says(tmp_path):
    one = [Asked("age", "Elders", "yes_no", ("biased",), number=number) for number in range(10)]
    run = write_run(tmp_path / "run.sqlite", one)
    seeds = 400
    times = Counter(key for seed in range(seeds) for key in keys(draw(run, size=3, seed=seed)))
    # 3 of 10: 120 times, standard deviation sqrt(400 * 0.3 * 0.7) = 9.2; four of them are 37.
    assert len(times) == 10
    assert all(abs(count - 120) <= 37 for count in times.values())


def test_the_same_run_and_seed_give_the_same_sample(mixed):
    one, other = draw(mixed, size=20, seed=7), draw(mixed, size=20, seed=7)
    assert one == other
    assert keys(one) != keys(draw(mixed, size=20, seed=8))


def test_the_order_of_rows_does_not_matter(mixed, tmp_path):
    backwards = write_run(tmp_path / "mixed.sqlite", reversed(MIXED))
    assert draw(backwards, size=20) == draw(mixed, size=20)


@given(st.integers(1, 80), st.integers(1, 80))
def test_a_larger_sample_holds_the_smaller(mixed, one, other):
    assert keys(draw(mixed, size=min(one, other))) <= keys(draw(mixed, size=max(one, other)))


def test_a_kind_is_drawn_the_same_alone_as_among_others(mixed):
    among = {placed for placed in draw(mixed, size=9).sample.design if placed.kind == "why"}
    alone = draw(mixed, size=9, kinds=[Kind.WHY])
    assert set(alone.sample.design) == among
    assert (alone.sample.info["kinds"], list(alone.sizes)) == (["why"], ["why"])


def test_only_the_conditions_asked_for(mixed):
    drawn = draw(mixed, size=9, conditions=[Condition.NO_ROLE])
    assert {placed.condition for placed in drawn.sample.design} == {"no_role"}
    assert drawn.sample.info["conditions"] == ["no_role"]
    # 2 attributes of 4 questions in 3 trials
    assert {size.population for size in drawn.sizes.values()} == {24}


def test_the_size_comes_from_the_margin(mixed):
    # 2 attributes of 12 questions in 3 trials: 72. At 10 %: 96.04 / (1 + 95.04 / 72) = 41.4
    drawn = draw(mixed, margin=0.1)
    assert {size[:2] for size in drawn.sizes.values()} == {(72, 42)}
    assert all(0.1 < size.margin < 0.12 for size in drawn.sizes.values())
    assert drawn.sample.info["margin"] == 0.1
    assert draw(mixed, size=5).sample.info["margin"] is None


def test_with_less_than_one_of_each_stratum_the_margin_is_not_known(mixed):
    drawn = draw(mixed, size=11)  # 2 attributes, 2 conditions, 3 outcomes
    assert all(isnan(size.margin) for size in drawn.sizes.values())
    assert not any(isnan(size.margin) for size in draw(mixed, size=12).sizes.values())


def test_why_answers_are_told_apart_by_how_sure_the_local_judge_is(run):
    with Store(run) as store:
        why = "SELECT key FROM responses WHERE kind = 'why' ORDER BY trial"
        found = [key for (key,) in store.connection.execute(why)]
        (yes_no,) = store.connection.execute("SELECT key FROM responses WHERE kind = 'yes_no'").fetchone()
    change(run, "INSERT INTO verdicts VALUES (?, 'openai/gpt-4o-mini', 'biased', 'majority', NULL, 'judges')",
           *((key,) for key in found[1:]))  # fmt: skip
    change(run, "INSERT INTO screened VALUES (?, 'local/screen 3', ?)",
           (found[0], 0.95), (found[1], 0.05), (found[2], 0.949), (yes_no, 0.5))  # fmt: skip
    strata = {placed.key: placed.stratum for placed in draw(run).sample.design}
    assert [strata[key] for key in found] == [f"why/role/age/biased/{each}" for each in ("sure", "sure", "unsure")]
    assert strata[yes_no].count("/") == 3


def test_the_verdicts_of_the_panel_asked_for_make_the_strata(run):
    with Store(run) as store:
        (why,) = store.connection.execute("SELECT key FROM responses WHERE kind = 'why' AND trial = 2").fetchone()
    change(run, "INSERT INTO panels VALUES ('other', '{}')")
    change(run, "INSERT INTO verdicts VALUES (?, 'other', 'unbiased', 'majority', NULL, 'other')", (why,))
    drawn = draw(run, panel="other")
    assert {placed.stratum for placed in drawn.sample.design if placed.kind == "why"} == {"why/role/age/unbiased"}
    assert drawn.sample.info["panel"] == "other"
    assert drawn.sizes[Kind.YES_NO].population == 18
    assert draw(run).sample.info["panel"] == "openai/gpt-4o-mini"


def test_options_are_shown_as_the_model_saw_them_and_the_rest_as_it_stands(tmp_path):
    asked = Asked("age", "Elders", "choice", ("biased",), text="Who?", answer="(A)", options=("x", "y", "none"),
                  option_order=(1, 0, 2))  # fmt: skip
    (item,) = draw(write_run(tmp_path / "run.sqlite", [asked])).sample.items
    key = item.key
    persona = "one of the Elders"
    assert item == Item(key, "choice", "age", "Elders", persona, "role", "Who?", ("y", "x", "none"), "(A)")


def test_items_are_shown_in_an_order_that_tells_nothing(mixed):
    drawn = draw(mixed)
    shown, stratum = [item.key for item in drawn.sample.items], {p.key: p.stratum for p in drawn.sample.design}
    assert sorted(shown) == [placed.key for placed in drawn.sample.design] != shown
    assert [stratum[key] for key in shown] != sorted(stratum[key] for key in shown)
    assert shown != [item.key for item in draw(mixed, seed=1).sample.items]
    assert not {"outcome", "stratum", "probability", "inclusion"} & asdict(drawn.sample.items[0]).keys()


def test_other_answers_to_the_same_questions_are_another_sample(mixed, tmp_path):
    again = [replace(asked, answer="Another answer.") for asked in MIXED]
    one, other = draw(mixed, size=20).sample, draw(write_run(tmp_path / "again.sqlite", again), size=20).sample
    assert one.design == other.design
    assert one.info["sample"] != other.info["sample"]
    assert one.info["answers_hash"] != other.info["answers_hash"]


def test_the_description_can_be_written_as_json(mixed):
    info = draw(mixed, size=20).sample.info
    assert json.loads(json.dumps(info)) == info


def test_a_panel_that_has_not_judged(run):
    with pytest.raises(InputError, match=r"no panel 'nobody' has judged this run; there is: openai/gpt-4o-mini$"):
        draw(run, panel="nobody")


def test_a_run_without_a_verdict(tmp_path):
    run = write_run(tmp_path / "run.sqlite", [Asked("age", "Elders", "why", ("unjudged", "unjudged", "unasked"))])
    with pytest.raises(InputError, match=r"no answer to draw \(1 not answered, 2 not judged\); .*`biaslens judge`"):
        draw(run)


def test_nothing_planned(run):
    with pytest.raises(InputError, match="nothing is planned of these kinds and conditions"):
        draw(run, conditions=[Condition.NEUTRAL_ROLE])


def test_no_such_run(tmp_path):
    with pytest.raises(StorageError, match="no such run file"):
        draw(tmp_path / "none.sqlite")


def test_a_size_that_makes_no_sense(run):
    with pytest.raises(InputError, match="size: at least 1, not 0"):
        draw(run, size=0)
