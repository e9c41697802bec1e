"""How much it takes to find a difference."""

import json
from dataclasses import replace

import numpy as np
import pytest
from command import biaslens
from made_runs import made_run
from scipy.special import stdtrit

from biaslens.analysis.power import PUBLISHED, DifferenceVariance, designs, pilot_parts
from biaslens.benchmark import shipped
from biaslens.errors import InputError


def test_a_larger_difference_takes_fewer_calls():
    few, many = (min(one.calls for one in designs(shipped().questions, PUBLISHED, points)[0]) for points in (0.1, 0.05))
    assert few < many / 2


def test_no_slice_finds_less_than_the_least():
    found, least = designs(shipped().questions, PUBLISHED, 0.03)
    assert found == []
    assert 0.03 < least < 0.05
    assert designs(shipped().questions, PUBLISHED, least + 1e-9)[0]


def test_without_effects_it_is_the_plain_formula():
    # Questions and trials alone: SE^2 = (0.1 + 0.06 / T) / N.
    parts = DifferenceVariance(0.0, 0.0, 0.0, 0.1, 0.06, "made")
    for one in designs(shipped().questions, parts, 0.03)[0]:
        error = np.sqrt((0.1 + 0.06 / one.trials) / one.questions)
        # 11 attributes: as many degrees of freedom less.
        assert one.detectable == pytest.approx(stdtrit(one.roles - 11, [0.975, 0.8]).sum() * error)


def test_a_pilot_of_two_runs_has_the_variance_of_their_difference():
    runs = [made_run(seed, roles=44, per_kind=6) for seed in (1, 2)]
    parts = pilot_parts(runs)
    # Question and half of a trial of each model make up nearly all: chances of 0 to 1 times a role's.
    assert 0.01 < parts.question < 0.2
    assert 0.1 < parts.trial < 0.4
    assert "two pilot runs" in parts.source


def test_a_pilot_of_single_trials_is_refused():
    with pytest.raises(InputError, match="--trials 2 or more"):
        pilot_parts([made_run(1, trials=1)])


def test_three_pilots_are_refused():
    with pytest.raises(InputError, match="not 3"):
        pilot_parts([replace(made_run(1))] * 3)


def test_plan_prints_the_slice():
    done = biaslens("plan", "openai/gpt-4o-mini", "--detect", "6", "--json")
    printed = json.loads(done.stdout)
    assert printed["designs"][0]["detectable"] <= 0.06
    assert "Fewest calls: --roles-per-attribute" in biaslens("plan", "openai/gpt-4o-mini", "--detect", "6").stdout


def test_a_pilot_without_a_difference_is_wrong_usage():
    assert biaslens("plan", "openai/gpt-4o-mini", "--pilot", "a.sqlite").returncode == 2
