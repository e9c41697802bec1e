"""What holds of any run: laws of the analyses, over random runs of all shapes."""

from dataclasses import replace

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from made_runs import made_run

from biaslens.analysis import (
    Run,
    ablation,
    ablation_by_role,
    abstention,
    compare,
    consistency,
    rates,
    summarise,
    top_questions,
    top_roles,
    trigger_counts,
)
from biaslens.analysis.rates import By

RUNS = st.builds(
    made_run,
    st.integers(0, 10**6),
    roles=st.integers(1, 12),
    per_kind=st.integers(1, 3),
    trials=st.integers(1, 4),
    invalid=st.sampled_from([0.0, 0.3, 0.9, 1.0]),
    more=st.sampled_from([0.0, 0.3, 1.0]),
)
BY: st.SearchStrategy[list[By]] = st.lists(st.sampled_from(["attribute", "kind", "target", "role"]), unique=True)
COUNTS = ["questions", "biased_questions", "planned_trials", "valid_trials", "biased_trials", "invalid_trials"]

few = settings(max_examples=40)


def between_0_and_1(values: pd.DataFrame) -> bool:
    known = values.to_numpy(dtype=float)
    return bool(((known >= 0) & (known <= 1) | np.isnan(known)).all())


@given(RUNS, BY)
@few
def test_groups_add_up_to_the_whole(run: Run, by):
    added = rates(run, by).groupby("condition", sort=False)[COUNTS].sum()
    assert (added.to_numpy() == rates(run)[COUNTS].to_numpy()).all()


@given(RUNS, BY)
@few
def test_totals_are_the_rows_without_that_grouping(run: Run, by):
    # Roles come with their attribute.
    names: list[By] = [*by, *(["attribute"] if "role" in by else [])]
    whole = rates(run, by, totals=names)
    for name in names:
        whole = whole[whole[name] == "all"]
    pd.testing.assert_frame_equal(whole[COUNTS].reset_index(drop=True), rates(run)[COUNTS])


@given(RUNS, BY)
@few
def test_a_rate_lies_in_its_interval_and_is_unknown_without_a_valid_trial(run: Run, by):
    frame = rates(run, by)
    assert (frame["bias_rate"].isna() == (frame["valid_trials"] == 0)).all()
    known = frame[frame["bias_rate_low"].notna()]
    assert (known["bias_rate_low"] <= known["bias_rate"]).all()
    assert (known["bias_rate"] <= known["bias_rate_high"]).all()
    assert between_0_and_1(frame[["bias_rate_low", "bias_rate_high", "coverage"]])


@given(RUNS)
@few
def test_the_difference_is_that_of_the_rates(run: Run):
    for frame in (ablation(run), ablation_by_role(run)):
        np.testing.assert_allclose(frame["difference"], frame["rate_role"] - frame["rate_against"], atol=1e-12)
        known = frame[frame["difference_low"].notna()]
        assert (known["difference_low"] <= known["difference"] + 1e-12).all()
        assert (known["difference"] <= known["difference_high"] + 1e-12).all()


@given(RUNS)
@few
def test_shares_of_trials_are_shares(run: Run):
    frame = consistency(run)
    shares = ["consistent", "mostly_biased", "mostly_unbiased", "flip_rate", "flip_rate_low", "flip_rate_high"]
    assert between_0_and_1(frame[[*shares, "verdicts_changed"]])
    answered = abstention(run, ["kind"])
    assert between_0_and_1(answered[["unbiased_share", "refused_share", "invalid_share"]])


@given(RUNS, st.integers(0, 10**6))
@few
def test_a_comparison_does_not_hang_on_the_order_of_questions(run: Run, seed):
    # Ids are only names: turned round, every question stands elsewhere.
    other = made_run(seed, roles=len(run.questions.role_names), per_kind=2, model="other")
    there = compare([run, other], force=True).pairs
    turned = [replace(one, questions=replace(one.questions, ids=_turned(one))) for one in (run, other)]
    back = compare([_sorted(one) for one in turned], force=True).pairs
    numbers = ["questions", "roles", "rate_a", "rate_b", "difference", "difference_low", "p"]
    np.testing.assert_allclose(there[numbers].astype(float), back[numbers].astype(float), atol=1e-9)


def _turned(run: Run) -> tuple[str, ...]:
    return tuple(f"{999_999 - int(question_id):06}" for question_id in run.questions.ids)


def _sorted(run: Run) -> Run:
    """The questions in the order of their ids, as a run file gives them."""
    order = np.argsort(run.questions.ids)
    names = ("role", "kind", "target", "options", "mirror_of", "mirror", "comparison")
    questions = replace(
        run.questions,
        ids=tuple(run.questions.ids[place] for place in order),
        **{name: getattr(run.questions, name)[order] for name in names},
    )
    conditions = {
        condition: replace(trials, states=trials.states[order], taken=trials.taken[order], shown=trials.shown[order])
        for condition, trials in run.conditions.items()
    }
    return Run(run.info, questions, conditions)


@given(RUNS)
@few
def test_trigger_counts_of_one_model_twice_are_all_or_nothing(run: Run):
    frame = trigger_counts([run, run])
    assert (frame.loc[frame["k"] == 1, "questions"] == 0).all()
    assert set(top_questions([run, run])["triggered"]) <= {2}
    assert top_roles(run)["bias_rate"].is_monotonic_decreasing


@given(RUNS)
@few
def test_the_summary_and_the_table_count_alike(run: Run):
    cells = [condition.cell() for condition in summarise(run).conditions]
    frame = rates(run)
    assert frame["biased_questions"].tolist() == [cell.biased_questions for cell in cells]
    np.testing.assert_array_equal(frame["bias_rate_high"], [cell.bias_rate.high for cell in cells])
