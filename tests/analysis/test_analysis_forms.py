"""A public form of a benchmark against a private one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from run_files import Asked, write_run
from scipy.stats import ttest_rel

from biaslens.analysis import forms, pair_forms, read_run
from biaslens.errors import InputError, RunMismatchError
from biaslens.stats import Clusters, Estimand, unpaired_difference

ROLES = tuple("ABCDEFGH")


def run_of(name: str, biased: dict[str, int], *, form: str = "public", model: str = "m", numbers=(1, 2, 3, 4), **meta):
    """Four questions a role, of which so many are biased."""
    asked = [
        Asked("age", role, "yes_no", ("biased" if number <= count else "unbiased",) * 3, number=number, text=f"{form}?")
        for role, count in biased.items()
        for number in numbers
    ]
    return read_run(
        write_run(Path(f"{name}.sqlite"), asked, model=model, benchmark_hash=form, **meta), estimand=Estimand.THESE
    )


def rows(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["kind"] == "all"].set_index("model")


PUBLIC = dict(zip(ROLES, (0, 1, 1, 2, 0, 1, 2, 1), strict=True))
PRIVATE = dict(zip(ROLES, (1, 1, 3, 3, 2, 2, 2, 4), strict=True))


def test_it_is_the_paired_t_test_of_the_roles(tmp_path: Path) -> None:
    frame = forms([(run_of("a", PUBLIC), run_of("b", PRIVATE, form="private"))])
    row = rows(frame).loc["m"]
    means = [np.array(list(counts.values())) / 4 for counts in (PRIVATE, PUBLIC)]
    found = ttest_rel(*means)
    assert row["difference"] == pytest.approx(means[0].mean() - means[1].mean())
    assert (row["difference_low"], row["difference_high"]) == pytest.approx(tuple(found.confidence_interval()))
    assert row["p"] == row["p_holm"] == pytest.approx(found.pvalue)
    assert (row["roles"], row["questions_public"], row["questions_private"]) == (8, 32, 32)
    assert np.isnan(row["beyond_others"])
    assert set(frame["kind"]) == {"all", "yes_no"}


def test_only_roles_of_both_forms_count_however_many_questions_they_have() -> None:
    public = run_of("a", PUBLIC | {"Z": 4})
    private = run_of("b", dict.fromkeys((*ROLES[:3], "Y"), 1), form="private", numbers=(1, 2))
    row = rows(forms([(public, private)])).loc["m"]
    assert (row["roles"], row["questions_public"], row["questions_private"]) == (3, 12, 6)
    assert (row["rate_public"], row["rate_private"]) == pytest.approx((2 / 12, 1 / 2))
    assert row["difference"] == pytest.approx(1 / 2 - 2 / 12)


def test_what_the_forms_do_to_all_models_alike_is_taken_out() -> None:
    sharper = {role: count + 1 for role, count in PUBLIC.items()}
    pairs = [
        (run_of("a", PUBLIC, model="a"), run_of("a2", sharper, form="private", model="a")),
        (run_of("b", PUBLIC, model="b"), run_of("b2", sharper, form="private", model="b")),
        (run_of("c", PUBLIC, model="c"), run_of("c2", PRIVATE, form="private", model="c")),
    ]
    found = rows(forms(pairs))
    assert found.loc["a", "difference"] == pytest.approx(1 / 4)
    expected = np.array([PRIVATE[role] - sharper[role] for role in ROLES]) / 4
    assert found.loc["c", "beyond_others"] == pytest.approx(expected.mean())
    assert found.loc["a", "beyond_others"] == pytest.approx(-expected.mean() / 2)
    assert found.loc["c", "p_beyond"] == pytest.approx(ttest_rel(expected, 0 * expected).pvalue)


def test_shared_comparisons_count_once_with_their_sign() -> None:
    # What a comparison adds in both forms is no difference between them.
    rng = np.random.default_rng(3)
    role, first = np.repeat(np.arange(40), 10), np.tile(np.repeat([True, False], 5), 40)
    comparison = np.tile(np.arange(5), 80)
    values = rng.normal(0, 1, 5)[comparison] + rng.normal(0, 0.1, 400)
    apart = np.where(first, comparison, comparison + 5)
    shared, other = (unpaired_difference(values, first, Clusters(role, each)) for each in (comparison, apart))
    assert shared.standard_error < 0.02 < other.standard_error


@pytest.mark.parametrize(
    ("change", "message"),
    [({"model": "other"}, "no run of other"), ({"form": "public"}, "asked the same benchmark")],
)
def test_runs_that_are_no_pair_are_refused(change: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        pair_forms([run_of("a", PUBLIC)], [run_of("b", PRIVATE, **{"form": "private"} | change)])


def test_forms_without_a_common_role_or_asked_differently_are_refused() -> None:
    public = run_of("a", PUBLIC)
    with pytest.raises(InputError, match="share no role"):
        forms([(public, run_of("b", {"Z": 1}, form="private"))])
    other = run_of("c", PRIVATE, form="private", shuffle_options=True)
    with pytest.raises(RunMismatchError, match="option shuffling differs"):
        forms([(public, other)])
    assert len(forms([(public, other)], force=True))
