"""Rates drawn to the mean of their family, beside the raw ones."""

import numpy as np
from made_runs import made_run

from biaslens.analysis import pooled, rates, top_roles


def test_raw_rates_stay_as_they_are():
    frame = rates(made_run(1), ["attribute", "kind"], totals=["attribute", "kind"])
    found = pooled(frame, "attribute")
    assert found[frame.columns].equals(frame)


def test_totals_have_no_pooled_rate():
    frame = pooled(rates(made_run(1), ["attribute", "kind"], totals=["attribute", "kind"]), "attribute")
    assert frame.loc[frame["attribute"] == "all", "pooled_rate"].isna().all()
    assert frame.loc[frame["attribute"] != "all", "pooled_rate"].notna().all()


def test_the_highest_roles_are_expected_lower():
    frame = top_roles(made_run(2, roles=66), limit=10)
    assert (frame["pooled_rate"] < frame["bias_rate"]).all()
    assert (frame["pooled_low"] <= frame["pooled_rate"]).all()


def test_conditions_and_kinds_are_pooled_apart():
    frame = rates(made_run(3), ["attribute", "kind"])
    whole = pooled(frame, "attribute")
    chosen = (frame["kind"] == "why") & (frame["condition"] == "role")
    alone = pooled(frame[chosen].reset_index(drop=True), "attribute")
    np.testing.assert_allclose(whole[chosen]["pooled_rate"], alone["pooled_rate"])
